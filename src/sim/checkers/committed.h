// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What is committed is on the disks of a majority of the voters, is the same for everybody, and is never lost: every later leader has
// it (Raft, "leader completeness" and "state machine safety"). Keeps the committed log of the whole run, and the metadata that it makes.

#pragma once

#include <functional>
#include <vector>

#include "image/apply.h"
#include "sim/checkers/report.h"
#include "sim/checkers/seen.h"

namespace castellan::sim {

class Committed {
 public:
  static constexpr std::string_view name = "committed never lost";
  // The voters in force at `offset` of a log, where the log still says so.
  using VotersAt = std::function<std::optional<raft::VoterSet>(const LogMirror& log, int64_t offset)>;
  // Whether the disk of this voter holds the batch; true for a voter whose disk was taken away.
  using HasDurably = std::function<bool(const raft::Voter& voter, const LogEntry& entry)>;
  using RecordSeen = std::function<void(const image::MetadataRecord& record, int64_t offset)>;

  Committed(Report& report, VotersAt voters_at, HasDurably has_durably, RecordSeen on_record)
      : report_(report), voters_at_(std::move(voters_at)), has_durably_(std::move(has_durably)), on_record_(std::move(on_record)) {}

  void look(const Seen& seen);
  // On the first sight of a leader in its epoch.
  void elected(const Seen& leader);

  int64_t end() const { return entries_.empty() ? 0 : entries_.back().end; }
  const LogEntry* at(int64_t offset) const;
  const LogEntry* last() const { return entries_.empty() ? nullptr : &entries_.back(); }
  const image::Image& image() const { return replay_.stable(); }

 private:
  bool on_a_majority(const raft::VoterSet& voters, const LogEntry& entry) const;
  void extend(const Seen& seen, int64_t high_watermark);
  void compare(const Seen& seen, int64_t from, int64_t high_watermark);
  void apply(const LogEntry& entry);

  Report& report_;
  VotersAt voters_at_;
  HasDurably has_durably_;
  RecordSeen on_record_;
  std::vector<LogEntry> entries_;
  image::Replay replay_;
  struct Life {
    int life = 0;
    int64_t high_watermark = -1;
  };
  std::map<int, Life> lives_;
};

}  // namespace castellan::sim
