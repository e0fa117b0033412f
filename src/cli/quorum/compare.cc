// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <algorithm>

#include "cli/quorum/recover.h"
#include "log/directory.h"
#include "quorum/metadata_directory.h"
#include "quorum/survey.h"

namespace castellan::cli {
namespace {

// The log's own folder may be given too.
std::string metadata_directory(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return io::base_name(path) == quorum::metadata_folder_name ? io::parent(path) : path;
}

std::string table_row(std::vector<std::string> cells) { return fmt::format("{}\n", fmt::join(cells, "\t")); }

}  // namespace

Result<std::string> compare_directories(std::span<const std::string> directories, Environment& environment) {
  std::vector<std::unique_ptr<io::FileLock>> locks;
  std::vector<quorum::Survey> surveys;
  for (const std::string& given : directories) {
    const std::string directory = metadata_directory(given);
    if (!environment.files.is_directory(directory)) return fail(ErrorCode::INVALID_CONFIG, "{} is no directory", directory);
    TRY(auto lock, log::lock_directory(environment.files, directory));
    locks.push_back(std::move(lock));
    TRY(auto survey, quorum::survey_directory(environment.files, directory));
    const auto& first = surveys.empty() ? survey : surveys.front();
    if (first.meta.cluster_id != survey.meta.cluster_id) {
      return fail(ErrorCode::INVALID_CONFIG, "{} is of cluster {}, {} of cluster {}: their logs cannot be compared", first.directory,
                  first.meta.cluster_id.value_or("(none)"), survey.directory, survey.meta.cluster_id.value_or("(none)"));
    }
    surveys.push_back(std::move(survey));
  }
  // As raft compares logs: the epoch of the last record first, then the length.
  std::ranges::stable_sort(surveys, [](const quorum::Survey& a, const quorum::Survey& b) {
    if (a.damage.empty() != b.damage.empty()) return a.damage.empty();
    return a.end > b.end;
  });

  std::string text = table_row({"NodeId", "LastEpoch", "LogEndOffset", "HighestEpoch", "Snapshot", "KRaftVersion", "Voters", "DirectoryId", "Directory"});
  for (const auto& survey : surveys) {
    std::vector<int32_t> voters;
    for (const auto& [id, voter] : survey.voters) voters.push_back(id.value);
    text += table_row({fmt::format("{}", survey.meta.node_id.value_or(-1)), fmt::format("{}", survey.end.epoch), fmt::format("{}", survey.end.offset),
                       fmt::format("{}", survey.highest_epoch), survey.snapshot ? fmt::format("{}", *survey.snapshot) : "-",
                       fmt::format("{}", survey.kraft_version), voters.empty() ? "-" : fmt::format("{}", fmt::join(voters, ",")),
                       survey.meta.directory_id ? survey.meta.directory_id->text() : "-", survey.directory});
  }
  for (const auto& survey : surveys) {
    for (const std::string& remark : survey.remarks) text += fmt::format("Note: {}\n", remark);
    for (const std::string& damage : survey.damage) text += fmt::format("Damaged: {}\n", damage);
    if (survey.lost_acknowledged()) {
      text += fmt::format("Warning: {} once acknowledged up to offset {} in epoch {}, which its log no longer has\n", survey.directory,
                          survey.acknowledged->offset, survey.acknowledged->epoch);
    }
  }
  const auto& best = surveys.front();
  if (!best.damage.empty()) return text + "No log is whole.\n";
  std::vector<std::string> longest;
  for (const auto& survey : surveys) {
    if (survey.damage.empty() && survey.end == best.end) longest.push_back(survey.directory);
  }
  return text + fmt::format("The longest log: {} (ends at offset {} in epoch {})\n", fmt::join(longest, ", "), best.end.offset, best.end.epoch);
}

}  // namespace castellan::cli
