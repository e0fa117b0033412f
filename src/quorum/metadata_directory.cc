// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/metadata_directory.h"

#include <algorithm>

#include "base/planted_fault.h"
#include "log/metadata_snapshot.h"
#include "log/partition_metadata.h"
#include "log/quorum_state_file.h"
#include "quorum/acknowledged.h"
#include "quorum/copy_file.h"
#include "raft/control_records.h"
#include "record/reader.h"
#include "wire/messages/quorum_state_data.h"

namespace castellan::quorum {
namespace {

using log::Notice;
using raft::LogPosition;

log::SnapshotId file_id(raft::SnapshotId id) { return {id.offset.value, id.epoch.value}; }
raft::SnapshotId core_id(log::SnapshotId id) { return {Offset{id.end_offset}, Epoch{id.epoch}}; }

class Opening {
 public:
  Opening(io::FileSystem& files, const DirectoryOptions& options) : files_(files), options_(options) {}

  Result<MetadataDirectory> run() {
    TRY_VOID(find_folder());
    TRY_VOID(find_snapshots());
    TRY_VOID(open_log());
    TRY_VOID(read_control_records());
    TRY_VOID(check_damage());
    TRY_VOID(read_promises());
    TRY_VOID(read_bootstrap_records());
    return std::move(result_);
  }

 private:
  void notice(Notice::Level level, std::string text) { result_.notices.push_back({level, std::move(text)}); }
  std::string legacy_bootstrap_path() const { return io::join(options_.directory, "bootstrap.checkpoint"); }

  const raft::VoterSet& voters() const {
    const auto last = result_.recovered.voters.last();
    return last ? last->value : options_.static_voters;
  }
  bool is_only_voter() const { return options_.self.id.value >= 0 && voters().is_only_voter(options_.self); }

  Result<void> find_folder() {
    result_.folder = io::join(options_.directory, metadata_folder_name);
    if (files_.is_directory(result_.folder)) return write_topic_id();
    // The storage tool makes the folder on a controller; one from before Kafka 4.0 wrote bootstrap.checkpoint beside it instead.
    if (options_.is_controller && !files_.exists(legacy_bootstrap_path())) {
      if (options_.knows_others) {
        notice(Notice::Level::warning, fmt::format("{}: the metadata log's folder is missing from a formatted directory. It is made anew, to be filled by the "
                                                   "quorum's leader; until then this node does not vote",
                                                   result_.folder));
        return make_folder();
      }
      return fail(ErrorCode::KAFKA_STORAGE_ERROR,
                  "{}: the metadata log's folder is missing from a formatted directory. Bring it back from a backup; only a cluster whose metadata "
                  "may be lost can be formatted anew",
                  result_.folder);
    }
    return make_folder();
  }

  Result<void> make_folder() {
    TRY_VOID(files_.make_directories(result_.folder));
    TRY_VOID(files_.sync_directory(options_.directory));
    return write_topic_id();
  }

  // The storage tool does not write partition.metadata; Kafka expects it before the first record.
  Result<void> write_topic_id() {
    if (files_.exists(io::join(result_.folder, log::partition_metadata_name))) return {};
    return log::write_partition_metadata(files_, result_.folder, metadata_topic_id);
  }

  // Newest first; damaged ones are put aside.
  Result<void> find_snapshots() {
    TRY(auto ids, log::list_snapshots(files_, result_.folder, true));
    while (!ids.empty()) {
      const auto id = ids.back();
      TRY(const bool whole, check_snapshot(id));
      if (whole) break;
      ids.pop_back();
    }
    for (const auto id : ids) result_.recovered.log.snapshots.insert(core_id(id));
    if (!ids.empty()) result_.snapshot = core_id(ids.back());
    return {};
  }

  Result<bool> check_snapshot(log::SnapshotId id) {
    const std::string path = log::snapshot_path(result_.folder, id);
    auto reader = log::SnapshotReader::open(files_, result_.folder, id);
    auto checked = reader ? (*reader)->check() : Result<void>(unexpected(reader.error()));
    if (checked) return true;
    if (checked.error().code == ErrorCode::KAFKA_STORAGE_ERROR) return unexpected(checked.error());
    damaged_snapshots_.push_back({core_id(id), path, checked.error().message});
    return false;
  }

  Result<void> open_log() {
    auto opened = log::Log::open(files_, result_.folder, options_.log, {.on_damage = log::OnDamage::keep, .now = options_.now});
    if (!opened) return unexpected(opened.error());
    result_.log = std::move(*opened);
    for (Notice& line : result_.log->take_notices()) result_.notices.push_back(std::move(line));
    log::Log& log = *result_.log;

    const Offset start{log.log_start_offset()};
    const Offset covered = result_.snapshot ? result_.snapshot->offset : Offset{0};
    if (start > covered) {
      if (!damaged_snapshots_.empty()) return refuse_damaged_snapshot(fmt::format("and the log begins at offset {}", start));
      return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: the log begins at offset {}, and there is no snapshot that ends there or later. Bring the .checkpoint files back",
                  result_.folder, start);
    }
    take_summary();
    if (!damaged_snapshots_.empty()) TRY_VOID(put_damaged_snapshots_aside());

    // A download that a crash cut off from its truncation.
    const auto snapshot = result_.snapshot;
    const bool finish = !planted(Fault::download_not_finished);
    if (finish && snapshot && *snapshot > result_.recovered.log.last() && *snapshot != raft::bootstrap_snapshot) {
      if (log.log_end_offset() > log.log_start_offset()) {
        notice(Notice::Level::info, fmt::format("{}: the log ends at {}, snapshot {} goes on from there: the log begins anew at its end", result_.folder,
                                                result_.recovered.log.last(), *snapshot));
      }
      TRY_VOID(log.truncate_fully_and_start_at(snapshot->offset.value));
      take_summary();
    }
    return {};
  }

  void take_summary() {
    raft::LogSummary& summary = result_.recovered.log;
    summary.start = Offset{result_.log->log_start_offset()};
    summary.end = summary.synced_end = Offset{result_.log->log_end_offset()};
    summary.epochs.clear();
    for (const auto& entry : result_.log->leader_epochs().entries()) summary.epochs.assign(Epoch{entry.epoch}, Offset{entry.start_offset});
    std::erase_if(summary.snapshots, [&](const raft::SnapshotId& id) { return id.offset < summary.start; });
  }

  Result<void> refuse_damaged_snapshot(const std::string& why) {
    const DamagedSnapshot& newest = damaged_snapshots_.front();
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: the snapshot is damaged ({}), {}. Bring the file back from a backup or from another controller", newest.path,
                newest.reason, why);
  }

  // The log from an older snapshot on says everything that the damaged one did.
  Result<void> put_damaged_snapshots_aside() {
    for (const DamagedSnapshot& damaged : damaged_snapshots_) {
      if (result_.recovered.log.end < damaged.id.offset) return refuse_damaged_snapshot(fmt::format("and the log ends at offset {}", result_.recovered.log.end));
      const bool log_says_nothing = damaged.id == raft::bootstrap_snapshot && result_.recovered.log.end.value == 0;
      if (log_says_nothing) return refuse_damaged_snapshot("and the log is empty");
      TRY_VOID(files_.rename(damaged.path, damaged.path + ".damaged"));
      notice(Notice::Level::warning, fmt::format("{}: damaged ({}); kept as .damaged, the log and what is older are used instead", damaged.path, damaged.reason));
    }
    return files_.sync_directory(result_.folder);
  }

  Result<void> read_control_records() {
    raft::Recovered& recovered = result_.recovered;
    Offset offset = recovered.log.start;
    if (result_.snapshot) {
      TRY(auto reader, log::SnapshotReader::open(files_, result_.folder, file_id(*result_.snapshot)));
      TRY(const auto batch, reader->next());
      if (batch && batch->is_control()) {
        TRY(const auto control, raft::decode_control_batch(*batch));
        const Offset at = result_.snapshot->offset - 1;
        if (control.kraft_version) recovered.kraft_version.add(at, *control.kraft_version);
        if (control.voters) recovered.voters.add(at, *control.voters);
      }
      offset = std::max(offset, result_.snapshot->offset);
    }
    while (offset < recovered.log.end) {
      auto data = result_.log->read(offset.value, 4 << 20, recovered.log.end.value, true);
      if (!data && data.error().code == ErrorCode::CORRUPT_MESSAGE) break;  // damage: check_damage decides
      if (!data) return unexpected(data.error());
      TRY(const Bytes bytes, data->load());
      const Offset before = offset;
      const auto scanned = raft::scan_batches(bytes, [&](const raft::BatchSummary& batch) {
        offset = batch.end;
        if (!batch.control) return true;
        if (batch.control->kraft_version) recovered.kraft_version.add(*batch.control->kraft_version_offset, *batch.control->kraft_version);
        if (batch.control->voters) recovered.voters.add(*batch.control->voters_offset, *batch.control->voters);
        return true;
      });
      if (!scanned) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: offset {}: {}", result_.folder, offset, scanned.error().message);
      if (offset == before) break;  // cut by damage
    }
    return {};
  }

  Result<void> check_damage() {
    const Offset covered = result_.snapshot ? result_.snapshot->offset : Offset{0};
    const std::vector<log::DamagedRange> damaged = result_.log->damaged_ranges();  // a copy: cutting the log changes its own
    for (const log::DamagedRange& range : damaged) {
      if (range.end_offset <= covered.value) {
        notice(Notice::Level::warning, range.text() + fmt::format("; snapshot {} covers it", *result_.snapshot));
        continue;
      }
      if (voters().empty() || is_only_voter() || options_.self.id.value < 0) {
        return fail(ErrorCode::KAFKA_STORAGE_ERROR,
                    "{}. No snapshot covers it and no other voter has it, so the metadata after it cannot be trusted. Bring the file back from a backup",
                    range.text());
      }
      // Somebody else has it. What was acknowledged is remembered first, so that this log does not vote as it is then.
      const LogPosition end = result_.recovered.log.last();
      AcknowledgedFile file(files_, options_.directory);
      TRY_VOID(file.write({options_.cluster_id, options_.self.directory, end}));
      keep_aside(range);
      TRY(const bool cut, result_.log->truncate_to(std::max(range.first_offset, result_.recovered.log.start.value)));
      notice(Notice::Level::warning, range.text() + fmt::format("; {} there, to be fetched again from the leader before this node votes", cut ? "cut" : "already cut"));
      take_summary();
      result_.recovered.voters.truncate_to(result_.recovered.log.end);
      result_.recovered.kraft_version.truncate_to(result_.recovered.log.end);
      break;
    }
    return {};
  }

  // What is cut is kept for whoever wants to know what happened. The leader has the records, so a copy that fails stops nothing.
  void keep_aside(const log::DamagedRange& range) {
    for (const log::SegmentInfo& segment : result_.log->segments()) {
      if (segment.end_offset <= range.first_offset) continue;
      const std::string path = io::join(result_.folder, fmt::format("{:020}.log", segment.base_offset));
      if (const auto kept = copy_file(files_, path, path + ".damaged"); !kept) {
        notice(Notice::Level::warning, fmt::format("{}: no copy could be kept: {}", path, kept.error().message));
      } else {
        notice(Notice::Level::warning, fmt::format("{}: kept as it was as .damaged; it may be removed", path));
      }
    }
  }

  Result<void> read_promises() {
    TRY(const auto state, log::read_quorum_state(files_, result_.folder));
    if (state) {
      const wire::QuorumStateData& data = *state->data;
      raft::ElectionState election{.epoch = Epoch{std::max(data.leader_epoch, 0)}, .leader = NodeId{data.leader_id}, .voted = {}};
      if (data.voted_id >= 0) election.voted = raft::ReplicaKey{NodeId{data.voted_id}, DirectoryId{data.voted_directory_id}};
      if (election.voted && options_.self.id.value < 0) {
        return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: holds a vote, but this node has no id", io::join(result_.folder, log::quorum_state_name));
      }
      result_.recovered.election = election;
    }
    TRY(const auto acknowledged, AcknowledgedFile(files_, options_.directory).read());
    // One of another cluster or directory id lies there by mistake of whoever copied it.
    if (!acknowledged || acknowledged->cluster_id != options_.cluster_id || acknowledged->directory != options_.self.directory) return {};
    result_.recovered.acknowledged = acknowledged->position;
    const LogPosition end = result_.recovered.log.last();
    const bool alone = is_only_voter() || (voters().empty() && !options_.knows_others);
    if (end < acknowledged->position && alone) {
      return fail(ErrorCode::KAFKA_STORAGE_ERROR,
                  "{}: the metadata log ends at offset {} (epoch {}), but this node, the only voter, has acknowledged up to offset {} (epoch {}) as {} "
                  "says. Bring the log back from a backup; to go on with what is left, and lose the rest, remove that file",
                  result_.folder, end.offset, end.epoch, acknowledged->position.offset, acknowledged->position.epoch,
                  io::join(options_.directory, acknowledged_name));
    }
    return {};
  }

  Result<void> read_bootstrap_records() {
    const std::string ours = log::snapshot_path(result_.folder, log::bootstrap_snapshot);
    for (const std::string& path : {ours, legacy_bootstrap_path()}) {
      if (!result_.bootstrap_records.empty() || !files_.exists(path)) continue;
      TRY(const Bytes bytes, files_.read_file(path));
      record::BatchScanner scanner(bytes);
      for (;;) {
        TRY(const auto batch, scanner.next());
        if (!batch) break;
        if (batch->is_control()) continue;
        record::RecordReader reader(*batch);
        record::Record record;
        for (;;) {
          TRY(const bool more, reader.next(record));
          if (!more) break;
          auto decoded = image::decode_metadata_record(record.value.value_or(BytesView{}));
          if (!decoded) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: {}", path, decoded.error().message);
          result_.bootstrap_records.push_back(std::move(*decoded));
        }
      }
    }
    return {};
  }

  struct DamagedSnapshot {
    raft::SnapshotId id;
    std::string path;
    std::string reason;
  };

  io::FileSystem& files_;
  const DirectoryOptions& options_;
  MetadataDirectory result_;
  std::vector<DamagedSnapshot> damaged_snapshots_;  // newest first
};

}  // namespace

Result<MetadataDirectory> open_metadata_directory(io::FileSystem& files, const DirectoryOptions& options) { return Opening(files, options).run(); }

}  // namespace castellan::quorum
