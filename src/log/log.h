// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One partition's log on disk: segments with their indexes, the leader epochs, the producers' states, in Apache Kafka's
// files (doc/formats/log-directory.md). The metadata log is one too.
//
//   TRY(auto log, Log::open(files, directory, config, {.clean_shutdown = clean, .recovery_point = 17, .now = now}));
//   TRY(auto appended, log->append_as_leader(batch, epoch, now));
//   TRY(auto data, log->read(offset, 1 << 20, high_watermark, true));     // a range of a file, for sendfile
//
// Offsets are Kafka's: first/last inclusive, next/end exclusive. `now` is wall clock in milliseconds.
//
// Threads: a Log belongs to one thread, except
//  - a FlushTask or CleanTask made there may run on another thread meanwhile (they touch files only), and is finished here;
//  - FetchData may be read and sent from any thread: it keeps its file open, also when the segment is deleted meanwhile.
//
// Errors: KAFKA_STORAGE_ERROR is the disk's, and the directory should go offline; OFFSET_OUT_OF_RANGE the reader's;
// CORRUPT_MESSAGE means damage inside a file, named with its position: reads elsewhere are served. A failed append leaves
// the log as it was, or, when even that could not be made sure, says KAFKA_STORAGE_ERROR from then on.

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/time.h"
#include "base/uuid.h"
#include "io/file.h"
#include "log/config.h"
#include "log/leader_epochs.h"
#include "log/producer_states.h"
#include "log/transaction_index.h"
#include "log/verify.h"
#include "record/batch.h"

namespace castellan::log {

class CleanTask;
class Segment;
struct BadBytes;
struct CleanCandidate;
struct CleanStats;
struct BatchPlace;

// What to do with damage in the middle of a log that must be scanned.
enum class OnDamage {
  keep,  // sole replica: nothing behind it is dropped, the damaged range is known
  cut,   // other replicas have it: cut there, fetch anew
};

struct OpenOptions {
  // The clean marker was there: nothing is scanned but the end of the last segment.
  bool clean_shutdown = false;
  // Of recovery-point-offset-checkpoint; 0 when unknown. What lies below was synced.
  int64_t recovery_point = 0;
  // Of log-start-offset-checkpoint; 0 when unknown.
  int64_t log_start_offset = 0;
  // Of replication-offset-checkpoint; -1 when unknown (then the log start). Clipped to what is there.
  int64_t high_watermark = -1;
  OnDamage on_damage = OnDamage::keep;
  WallTime now;
};

// A line for the operator about what a log found or did; the shell prints it.
struct Notice {
  enum class Level { debug, info, warning, error } level = Level::info;
  std::string text;
};

// Offsets that cannot be read any more, and where the bad bytes lie.
struct DamagedRange {
  int64_t first_offset = 0;
  int64_t end_offset = 0;
  std::string file;
  uint64_t position = 0;
  uint64_t length = 0;
  std::string reason;

  std::string text() const;
};

struct AppendResult {
  int64_t first_offset = -1;
  int64_t last_offset = -1;
  int64_t max_timestamp = -1;
  int64_t log_append_time = -1;
  int64_t bytes = 0;
  bool duplicate = false;  // nothing was appended: these are the offsets it had the first time (B195)
};

enum class AppendOrigin {
  client,       // sequence numbers are checked
  coordinator,  // a broker's own: sequences as they are; transaction markers are checked (B214)
};

// A range of one segment's file.
struct FetchData {
  std::shared_ptr<const io::File> file;  // none when there is nothing
  uint64_t position = 0;
  uint32_t length = 0;
  int64_t segment_base_offset = -1;
  // The first batch did not fit into max_bytes and min_one_batch was not asked for: length is 0 then.
  bool first_batch_too_large = false;

  Result<Bytes> load() const;
};

struct TimestampOffset {
  int64_t timestamp = -1;
  int64_t offset = -1;
  int32_t leader_epoch = -1;

  friend bool operator==(const TimestampOffset&, const TimestampOffset&) = default;
};

struct SegmentInfo {
  int64_t base_offset = 0;
  int64_t end_offset = 0;  // base of the next one, or the log's end
  uint64_t size = 0;
  int64_t largest_timestamp = -1;
  bool active = false;
};

// Syncs what was written before it was made. run() may be called on any thread, once.
class FlushTask {
 public:
  Result<void> run();
  int64_t offset() const { return offset_; }

 private:
  friend class Log;
  int64_t offset_ = 0;
  std::vector<std::shared_ptr<io::File>> files_;
  io::FileSystem* file_system_ = nullptr;
  std::string directory_;
  bool sync_directory_ = false;
  uint64_t truncations_ = 0;
  std::optional<Error> failed_;
};

class Log {
 public:
  // Opens the folder, made when absent. Leftovers of a crash are put right first (.deleted, .cleaned, .swap).
  static Result<std::unique_ptr<Log>> open(io::FileSystem& files, std::string directory, const LogConfig& config, const OpenOptions& options);
  ~Log();
  Log(const Log&) = delete;

  // --- positions
  int64_t log_start_offset() const { return log_start_offset_; }
  int64_t log_end_offset() const { return log_end_offset_; }
  int64_t high_watermark() const { return high_watermark_; }
  int64_t recovery_point() const { return recovery_point_; }     // everything below is synced
  int64_t last_stable_offset() const;                            // min(high watermark, first open transaction) (B211)
  // Clipped to [log start, log end].
  void set_high_watermark(int64_t offset);

  // --- append
  // Validated batches of a leader: offsets are assigned from the log's end and patched into `batches`, as the epoch is.
  // Idempotent producers are checked first (B194 to B201).
  Result<AppendResult> append_as_leader(std::span<uint8_t> batches, int32_t leader_epoch, WallTime now, AppendOrigin origin = AppendOrigin::client);
  // Batches that have their offsets: fetched from a leader, or the metadata log's. Checked: whole, checksum, offsets from
  // the log's end on and rising. Batches from `epoch_limit` on are left out (KAFKA-18723).
  Result<AppendResult> append_as_follower(BytesView batches, WallTime now, int32_t epoch_limit = INT32_MAX);

  // --- read
  // At most max_bytes from the batch that holds `offset` on, of offsets below `limit` (high watermark, last stable offset or log end). Nothing when
  // offset >= limit. With min_one_batch the first batch comes whole, however large. One segment at a time.
  Result<FetchData> read(int64_t offset, uint32_t max_bytes, int64_t limit, bool min_one_batch);
  // Aborted transactions that overlap [offset, what `data` holds), for read_committed.
  Result<std::vector<AbortedTransaction>> aborted_transactions(int64_t offset, const FetchData& data);
  // The first record whose timestamp is at least `timestamp`, below `limit`.
  Result<std::optional<TimestampOffset>> offset_for_timestamp(int64_t timestamp, int64_t limit = INT64_MAX);
  // The record with the largest timestamp (the first of equals).
  Result<std::optional<TimestampOffset>> offset_of_max_timestamp();

  // --- epochs, producers
  const LeaderEpochCache& leader_epochs() const { return leader_epochs_; }
  // A new leader's epoch starts at the log's end. On disk with the next flush.
  Result<void> start_leader_epoch(int32_t epoch);
  const ProducerStates& producers() const { return producers_; }
  void expire_producers(WallTime now);

  // --- durability
  // Everything below the log's end; the task's end is the new recovery point.
  FlushTask begin_flush();
  void finish_flush(const FlushTask& task);
  Result<void> flush();  // both, here and now
  // flush.messages or flush.ms say that it is time.
  bool flush_due(WallTime now);
  // Clean close: everything synced, the producers' snapshot written, indexes trimmed. After it only the destructor.
  Result<void> close();

  // --- shape
  Result<void> roll(WallTime now);
  // Cuts everything from `offset` on; false when there was nothing to cut.
  Result<bool> truncate_to(int64_t offset);
  // Empties the log; it goes on at `offset`.
  Result<void> truncate_fully_and_start_at(int64_t offset);
  // Moves the log start forward (DeleteRecords, snapshots); not beyond the high watermark. The caller has it in the directory's
  // checkpoint before it answers. Segments below are deleted by the next delete_old_segments.
  Result<void> advance_log_start(int64_t offset);
  // Retention (B260 to B263). Answers the number of segments deleted.
  Result<int> delete_old_segments(WallTime now);
  // Removes files whose delay has passed.
  void remove_deleted_files(WallTime now);
  std::optional<WallTime> next_file_removal() const;
  // Renames the folder to NAME.<32 hex>-delete, which is the end of this log but for its files (B262). Answers the new path.
  Result<std::string> rename_for_deletion(const Uuid& unique);
  // The same to any name (-stray).
  Result<void> rename_folder(const std::string& new_directory);

  // --- compaction (log/cleaner.h)
  // `checkpoint`: of cleaner-offset-checkpoint.
  Result<CleanCandidate> clean_candidate(std::optional<int64_t> checkpoint, WallTime now);
  Result<std::unique_ptr<CleanTask>> begin_clean(const CleanCandidate& candidate, WallTime now);
  // OPERATION_NOT_ATTEMPTED when the log changed meanwhile: the task was for nothing.
  Result<CleanStats> finish_clean(CleanTask& task, WallTime now);

  void set_config(const LogConfig& config) { config_ = config; }
  const LogConfig& config() const { return config_; }
  const std::string& directory() const { return directory_; }
  uint64_t size() const;
  std::vector<SegmentInfo> segments() const;

  // --- damage
  const std::vector<DamagedRange>& damaged_ranges() const { return damaged_; }
  // The next piece, about max_bytes, that this process has neither written nor checked; nothing when all is checked (log/verify.h).
  std::optional<VerifyTask> begin_verify(uint64_t max_bytes);
  Result<void> finish_verify(VerifyTask& task);
  std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }

 private:
  friend class Recovery;
  friend class CleanTask;
  Log(io::FileSystem& files, std::string directory, const LogConfig& config);
  using SegmentMap = std::map<int64_t, std::shared_ptr<Segment>>;
  struct PendingRemoval {
    WallTime due;
    std::vector<std::string> paths;
  };

  Segment& active() const;
  int64_t end_of(SegmentMap::const_iterator segment) const;  // the next one's base, or the log's end
  SegmentMap::iterator segment_holding(int64_t offset);      // the last one that begins at or below
  void set_segment_limits();
  Result<void> usable() const;
  Result<void> assign_epoch(int32_t epoch, int64_t start_offset);
  Result<void> write_epochs();
  Result<void> write_epochs_until_flush(const LeaderEpochCache& epochs);
  Result<void> maybe_roll(size_t incoming, int64_t first_offset, int64_t last_offset, int64_t timestamp, WallTime now);
  Result<void> roll_at(int64_t base_offset, WallTime now);
  // `batches_` describes `bytes`.
  Result<AppendResult> append_batches(BytesView bytes, WallTime now);
  Result<void> take_in(const record::BatchView& batch);  // producers and transaction index, after the append
  Result<void> remove_segments(SegmentMap::iterator first, SegmentMap::iterator last, WallTime now, bool at_once);
  Result<void> write_producer_snapshot(bool sync);
  Result<void> remove_producer_snapshots(const std::function<bool(int64_t offset)>& which);
  // The batch that this one repeats, from what is known and, after a start, from the log's end (log/producer_history.cc).
  Result<std::optional<BatchMetadata>> find_duplicate(const record::BatchView& batch);
  // From the newest snapshot at or below log end and the batches behind it.
  Result<void> load_producers(WallTime now);
  // Sends are cut before damage: the position up to which [place, end) may be sent.
  Result<uint64_t> sendable_end(SegmentMap::iterator segment, const BatchPlace& place, uint64_t end);
  Result<Bytes> load_batch(SegmentMap::iterator segment, const BatchPlace& place);
  std::unexpected<Error> damaged(const DamagedRange& range, int64_t offset) const;
  const DamagedRange* damage_holding(int64_t offset) const;
  void add_damage(SegmentMap::const_iterator segment, const BadBytes& bad);
  void notice(Notice::Level level, std::string text) { notices_.push_back({level, std::move(text)}); }
  std::string path(std::string_view name) const { return io::join(directory_, name); }

  io::FileSystem& files_;
  std::string directory_;
  LogConfig config_;
  SegmentMap segments_;
  LeaderEpochCache leader_epochs_;
  ProducerStates producers_;
  int64_t log_start_offset_ = 0;
  int64_t log_end_offset_ = 0;
  int64_t high_watermark_ = 0;
  int64_t recovery_point_ = 0;
  int64_t last_flush_ms_ = 0;
  std::vector<DamagedRange> damaged_;
  std::vector<Notice> notices_;
  std::deque<PendingRemoval> removals_;
  std::vector<BatchPlace> batches_;                         // of the append at hand
  std::vector<std::shared_ptr<io::File>> unsynced_snapshots_;
  std::set<int64_t> unverifiable_;                          // segments whose check came to nothing
  std::optional<Error> failed_;
  bool directory_dirty_ = false;                            // names were made since the last sync of the folder
  bool unchanged_since_clean_stop_ = false;  // no batch came or went: all that a close writes is on disk already
  bool epochs_dirty_ = false;     // the epochs' file was written since the last flush began
  uint64_t truncations_ = 0;                                // a flush that began before one proves nothing
};

}  // namespace castellan::log
