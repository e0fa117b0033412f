// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/leftovers.h"

#include <set>

#include "log/segment.h"

namespace castellan::log {
namespace {

bool has_suffix(std::string_view name, std::string_view suffix) { return name.size() > suffix.size() && name.ends_with(suffix); }

// The segments that a compacted one replaces hold offsets between its first and its last: they go, it takes its name.
Result<void> complete_swap(io::FileSystem& files, const std::string& directory, int64_t base, const std::set<std::string>& names) {
  TRY(const auto segment, Segment::open(files, directory, base, false, 0, std::string(swap_suffix)));
  TRY(const auto file, segment->file());
  SegmentScanner scanner = segment->scan(*file, 0, ScanDepth::headers);
  for (;;) {
    TRY(const auto batch, scanner.next());
    if (!batch) break;
  }
  for (const std::string& name : names) {
    const auto offset = parse_segment_file_name(name);
    const bool segment_file = has_suffix(name, log_suffix) || has_suffix(name, index_suffix) || has_suffix(name, time_index_suffix) ||
                              has_suffix(name, transaction_index_suffix);
    // The one with its own base goes too: whatever it holds was compacted into the new one.
    if (offset && segment_file && *offset >= base && *offset < std::max(scanner.next_offset(), base + 1)) TRY_VOID(files.remove(io::join(directory, name)));
  }
  return segment->change_suffix("");
}

}  // namespace

Result<void> remove_leftovers(io::FileSystem& files, const std::string& directory, std::vector<Notice>& notices) {
  TRY(const auto entries, files.list(directory));
  int64_t first_cleaned = INT64_MAX;
  std::set<std::string> names;
  for (const auto& entry : entries) {
    if (entry.is_directory) continue;
    if (has_suffix(entry.name, deleted_suffix) && parse_segment_file_name(entry.name)) {
      TRY_VOID(files.remove(io::join(directory, entry.name)));
    } else if (has_suffix(entry.name, cleaned_suffix)) {
      first_cleaned = std::min(first_cleaned, parse_segment_file_name(entry.name).value_or(INT64_MAX));
      TRY_VOID(files.remove(io::join(directory, entry.name)));
    } else {
      names.insert(entry.name);
    }
  }
  std::vector<int64_t> swapped;
  for (auto name = names.begin(); name != names.end();) {
    const auto offset = has_suffix(*name, swap_suffix) ? parse_segment_file_name(*name) : std::nullopt;
    if (offset && *offset >= first_cleaned) {
      TRY_VOID(files.remove(io::join(directory, *name)));
      name = names.erase(name);
      continue;
    }
    if (offset && name->contains(std::string(log_suffix) + std::string(swap_suffix))) swapped.push_back(*offset);
    ++name;
  }
  for (const int64_t base : swapped) TRY_VOID(complete_swap(files, directory, base, names));
  // Index files of swapped segments whose .log took its place already, and indexes without a segment.
  for (const std::string& name : names) {
    const auto offset = parse_segment_file_name(name);
    if (!offset) continue;
    if (has_suffix(name, swap_suffix)) {
      const std::string final_name = name.substr(0, name.size() - swap_suffix.size());
      if (files.exists(io::join(directory, name))) TRY_VOID(files.rename(io::join(directory, name), io::join(directory, final_name)));
    }
  }
  TRY(const auto left, files.list(directory));
  for (const auto& entry : left) {
    const auto offset = parse_segment_file_name(entry.name);
    if (!offset || entry.is_directory) continue;
    const bool is_index = has_suffix(entry.name, index_suffix) || has_suffix(entry.name, time_index_suffix) || has_suffix(entry.name, transaction_index_suffix);
    if (is_index && !files.exists(io::join(directory, segment_file_name(*offset, log_suffix)))) {
      notices.push_back({Notice::Level::warning, fmt::format("{} has no segment and is removed", io::join(directory, entry.name))});
      TRY_VOID(files.remove(io::join(directory, entry.name)));
    }
  }
  return {};
}

}  // namespace castellan::log
