// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Compaction: of each key the latest record stays (B264 to B272; doc/formats/log-directory.md for the files). The log's owner decides what is due and
// swaps the result in; reading and writing happens in between and may happen on another thread, over segments that nothing
// appends to any more.
//
//   TRY(auto candidate, log.clean_candidate(checkpointed_offset, now));
//   if (candidate.due(log.config())) {
//     TRY(auto task, log.begin_clean(candidate, now));
//     task->run(offset_map, cancelled);              // elsewhere, for as long as it takes
//     TRY(auto stats, log.finish_clean(*task, now)); // back here; stats.end_offset is the new checkpoint
//   }
//
// A truncation, a deletion or a failure in between costs only the work: the task's files are removed with it. A crash at any point
// leaves the old segments or the new ones (log/recovery.cc).

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <set>

#include "log/log.h"
#include "log/offset_map.h"
#include "log/segment.h"

namespace castellan::log {

struct CleanCandidate {
  int64_t first_dirty_offset = 0;        // below it is clean
  int64_t first_uncleanable_offset = 0;  // a segment's base: from here on nothing may go yet
  uint64_t clean_bytes = 0;
  uint64_t cleanable_bytes = 0;
  bool lag_exceeded = false;             // max.compaction.lag.ms

  double dirty_ratio() const;
  bool due(const LogConfig& config) const;
};

struct CleanStats {
  int64_t end_offset = 0;  // everything below is clean now
  uint64_t bytes_read = 0, bytes_written = 0;
  uint64_t records_read = 0, records_kept = 0, records_without_key = 0;
  int segments_before = 0, segments_after = 0;
};

class CleanTask {
 public:
  ~CleanTask();
  // Called between batches with the bytes read and written so far: may wait, so that clients have the disk too.
  using Pace = std::function<void(uint64_t bytes)>;
  // Any thread, once. CORRUPT_MESSAGE when a source is damaged: such a log is not compacted. `cancelled` is looked at between batches.
  Result<void> run(OffsetMap& map, const std::atomic<bool>* cancelled = nullptr, Pace pace = {});
  const CleanStats& stats() const { return stats_; }

 private:
  friend class Log;

  struct Source {
    std::shared_ptr<Segment> segment;        // the owner's: only its identity is used here
    std::shared_ptr<const io::File> file;
    std::string path;
    int64_t base_offset = 0;
    int64_t end_offset = 0;
    uint64_t size = 0;
    int64_t modified_ms = 0;
  };
  struct Group {
    std::vector<Source> sources;
    std::vector<std::shared_ptr<Segment>> cleaned;
  };
  // Which producer's last batch must stay, even empty.
  struct LastRecord {
    std::optional<int64_t> data_offset;
    int16_t epoch = -1;
  };

  // Follows transactions through a scan: which batches are of aborted ones, and which markers have nothing left to mark.
  class Transactions {
   public:
    // For a scan from `start_offset` on: what ended before is over, its marker will not come by.
    Transactions(std::vector<AbortedTransaction> aborted, int64_t start_offset);
    // May the batch's records go? For a marker: is nothing of its transaction left? `kept` gets the index entry of an abort that must stay.
    Result<bool> discards(const record::BatchView& batch, std::vector<AbortedTransaction>* kept);

   private:
    struct Open {
      AbortedTransaction transaction;
      bool seen = false;  // a batch of it
    };
    void open_up_to(int64_t offset);

    std::vector<AbortedTransaction> aborted_;  // by first offset
    size_t next_ = 0;
    std::map<int64_t, Open> open_;
    std::set<int64_t> committed_;
  };

  CleanTask() = default;
  Result<void> build_map(OffsetMap& map);
  Result<void> clean_group(Group& group, const OffsetMap& map, Transactions& transactions);
  Result<Bytes> filter(const record::BatchView& batch, const OffsetMap& map, bool discard, bool is_marker);
  Result<std::shared_ptr<Segment>> new_segment(int64_t base_offset);
  Result<void> close_segment(Segment& segment, std::vector<AbortedTransaction>& aborted, int64_t modified_ms);
  Result<void> between_batches() const;
  static Result<void> check_format(const Source& source, const SegmentScanner& scanner, const record::BatchView& batch);

  io::FileSystem* files_ = nullptr;
  std::string directory_;
  LogConfig config_;
  WallTime now_;
  int64_t high_watermark_ = 0;
  int64_t first_dirty_offset_ = 0;
  uint64_t truncations_ = 0;
  std::vector<Source> sources_;
  std::vector<AbortedTransaction> aborted_;
  std::map<int64_t, LastRecord> last_records_;
  std::vector<Group> groups_;
  const std::atomic<bool>* cancelled_ = nullptr;
  Pace pace_;
  uint64_t mapped_bytes_ = 0;  // read to build the map
  bool finished_ = false;
  CleanStats stats_;
};

}  // namespace castellan::log
