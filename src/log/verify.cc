// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/verify.h"

#include "log/log.h"
#include "log/segment.h"

namespace castellan::log {

void VerifyTask::run() {
  const auto file = files_->open(path_, io::OpenMode::read_only);
  if (!file) {
    unreadable_ = true;
    return;
  }
  SegmentScanner scanner(**file, begin_, end_, base_offset_, base_offset_, limit_offset_, ScanDepth::checksums);
  while (bytes_ < most_) {
    const auto batch = scanner.next();
    if (!batch) unreadable_ = true;
    if (!batch || !*batch) break;
    if (!scanner.bad().empty()) break;  // the log itself goes on from there
    if (!good_.empty() && good_.back().second == scanner.position()) good_.back().second = scanner.end_position();
    else good_.emplace_back(scanner.position(), scanner.end_position());
    bytes_ = scanner.end_position() - begin_;
  }
  suspicious_ = !scanner.bad().empty();
}

std::optional<VerifyTask> Log::begin_verify(uint64_t max_bytes) {
  for (const auto& [base_offset, segment] : segments_) {
    const uint64_t begin = segment->verified().first_gap(0);
    if (begin >= segment->size() || unverifiable_.contains(base_offset)) continue;
    VerifyTask task;
    task.files_ = &files_;
    task.segment_ = segment;
    task.path_ = segment->path();
    task.begin_ = begin;
    task.end_ = segment->verified().gap_end(begin, segment->size());
    task.most_ = max_bytes;
    task.base_offset_ = base_offset;
    task.limit_offset_ = segment->limit_offset();
    return task;
  }
  return std::nullopt;
}

Result<void> Log::finish_verify(VerifyTask& task) {
  const auto found = segments_.find(task.base_offset_);
  if (found == segments_.end() || found->second != task.segment_) return {};  // deleted or compacted meanwhile
  Segment& segment = *found->second;
  uint64_t at = task.begin_;
  for (const auto& [begin, end] : task.good_) {
    segment.verified().add(begin, end);
    at = end;
  }
  if (task.unreadable_) {
    unverifiable_.insert(task.base_offset_);
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} cannot be checked for damage: it cannot be read", task.path_);
  }
  if (task.suspicious_) {
    TRY(const auto file, segment.file());
    SegmentScanner scanner = segment.scan(*file, at, ScanDepth::checksums);
    while (scanner.bad().empty()) {
      TRY(const auto batch, scanner.next());
      if (!batch) break;
      segment.verified().add(scanner.position(), scanner.end_position());
    }
    for (const BadBytes& bad : scanner.bad()) add_damage(found, bad);
  }
  // Whatever happened, a piece is not looked at twice.
  if (segment.verified().first_gap(0) <= task.begin_) unverifiable_.insert(task.base_offset_);
  return {};
}

}  // namespace castellan::log
