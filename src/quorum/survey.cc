// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/survey.h"

#include <algorithm>
#include <charconv>

#include "log/leader_epochs.h"
#include "log/metadata_snapshot.h"
#include "log/quorum_state_file.h"
#include "log/segment_scan.h"
#include "quorum/acknowledged.h"
#include "quorum/metadata_directory.h"
#include "raft/control_records.h"
#include "wire/messages/quorum_state_data.h"

namespace castellan::quorum {
namespace {

constexpr std::string_view segment_suffix = ".log";
constexpr size_t segment_digits = 20;

std::optional<int64_t> base_offset_of(std::string_view name) {
  if (name.size() != segment_digits + segment_suffix.size() || !name.ends_with(segment_suffix)) return std::nullopt;
  int64_t offset = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + segment_digits, offset);
  if (error != std::errc() || end != name.data() + segment_digits) return std::nullopt;
  return offset;
}

class Surveying {
 public:
  Surveying(io::FileSystem& files, std::string directory) : files_(files) { found_.directory = std::move(directory); }

  Result<Survey> run() {
    TRY_VOID(read_identity());
    TRY_VOID(read_snapshots());
    TRY_VOID(read_log());
    TRY_VOID(read_promises());
    return std::move(found_);
  }

 private:
  void saw(Epoch epoch) { found_.highest_epoch = std::max(found_.highest_epoch, epoch); }

  Result<void> read_identity() {
    TRY(const auto meta, log::read_meta_properties(files_, found_.directory));
    if (!meta) return fail(ErrorCode::INVALID_CONFIG, "{}: no {}: not the metadata log directory of a node", found_.directory, log::meta_properties_name);
    found_.meta = *meta;
    found_.folder = io::join(found_.directory, metadata_folder_name);
    if (!files_.is_directory(found_.folder)) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{}: the metadata log's folder is missing", found_.folder);
    return {};
  }

  void take(const raft::ControlRecords& control) {
    if (control.kraft_version) found_.kraft_version = *control.kraft_version;
    if (control.voters) found_.voters = *control.voters;
  }

  // The newest whole one counts; its control records are in force where the log has none later.
  Result<void> read_snapshots() {
    TRY(auto ids, log::list_snapshots(files_, found_.folder));
    for (const auto& id : ids) saw(Epoch{id.epoch});
    for (; !ids.empty(); ids.pop_back()) {
      const auto id = ids.back();
      const auto whole = [&]() -> Result<void> {
        TRY(const auto reader, log::SnapshotReader::open(files_, found_.folder, id));
        return reader->check();
      }();
      if (whole) break;
      if (whole.error().code == ErrorCode::KAFKA_STORAGE_ERROR) return whole;
      found_.remarks.push_back(fmt::format("{}: damaged ({})", log::snapshot_path(found_.folder, id), whole.error().message));
    }
    if (ids.empty()) return {};
    const auto id = ids.back();
    found_.snapshot = {Offset{id.end_offset}, Epoch{id.epoch}};
    found_.end = *found_.snapshot;
    TRY(const auto reader, log::SnapshotReader::open(files_, found_.folder, id));
    TRY(const auto header, reader->next());
    if (header && header->is_control()) {
      TRY(const auto control, raft::decode_control_batch(*header));
      take(control);
    }
    return {};
  }

  Result<void> read_log() {
    TRY(const auto entries, files_.list(found_.folder));
    std::vector<int64_t> bases;
    for (const auto& entry : entries) {
      if (const auto base = base_offset_of(entry.name); base && !entry.is_directory) bases.push_back(*base);
    }
    std::ranges::sort(bases);
    const int64_t covered = found_.snapshot ? found_.snapshot->offset.value : 0;
    if (bases.empty()) {
      found_.start = Offset{covered};
      return read_epochs();
    }
    found_.start = Offset{bases.front()};
    if (bases.front() > covered) found_.damage.push_back(fmt::format("{}: the log begins at offset {}, and no whole snapshot ends there or later", found_.folder, bases.front()));
    int64_t next = bases.front();
    for (size_t i = 0; i < bases.size(); ++i) {
      const bool last = i + 1 == bases.size();
      if (bases[i] != next && bases[i] > covered) {
        found_.damage.push_back(fmt::format("{}: offsets {} to {} are missing", found_.folder, next, bases[i] - 1));
      }
      TRY(next, read_segment(bases[i], last, covered));
    }
    return read_epochs();
  }

  // Where the segment ends.
  Result<int64_t> read_segment(int64_t base, bool last, int64_t covered) {
    const std::string path = io::join(found_.folder, fmt::format("{:020}{}", base, segment_suffix));
    if (last) found_.active_segment = path;
    TRY(const auto file, files_.open(path, io::OpenMode::read_only));
    TRY(const uint64_t size, file->size());
    log::SegmentScanner scanner(*file, 0, size, base, base, INT64_MAX, log::ScanDepth::checksums);
    for (;;) {
      TRY(const auto batch, scanner.next());
      if (!batch) break;
      const Offset end{batch->next_offset()};
      const Epoch epoch{batch->leader_epoch()};
      saw(epoch);
      if (end.value <= covered) continue;  // the snapshot says it
      found_.end = std::max(found_.end, {end, epoch});
      if (!batch->is_control()) continue;
      TRY(const auto control, raft::decode_control_batch(*batch));
      take(control);
    }
    for (const log::BadBytes& bad : scanner.bad()) {
      const std::string what = fmt::format("{}: bytes {} to {} are damaged ({})", path, bad.position, bad.end, bad.reason);
      if (last && !bad.good_follows) {
        found_.remarks.push_back(fmt::format("{}: a torn last write of {} bytes, to be cut", path, bad.end - bad.position));
      } else if (bad.good_follows && bad.resumed_offset <= covered) {
        found_.remarks.push_back(what + "; a snapshot covers it");
      } else {
        found_.damage.push_back(what);
      }
    }
    return scanner.next_offset();
  }

  Result<void> read_epochs() {
    // A leader's epoch may begin there without a record. A file that cannot be read is made anew from the log.
    const auto epochs = log::LeaderEpochCache::read(files_, io::join(found_.folder, "leader-epoch-checkpoint"));
    if (epochs && epochs->latest()) saw(Epoch{epochs->latest()->epoch});
    if (!epochs && epochs.error().code == ErrorCode::KAFKA_STORAGE_ERROR && !io::is_not_found(epochs.error())) return unexpected(epochs.error());
    return {};
  }

  Result<void> read_promises() {
    TRY(const auto state, log::read_quorum_state(files_, found_.folder));
    if (state) {
      const auto& data = *state->data;
      found_.election = raft::ElectionState{.epoch = Epoch{std::max(data.leader_epoch, 0)}, .leader = NodeId{data.leader_id}, .voted = {}};
      if (data.voted_id >= 0) found_.election->voted = raft::ReplicaKey{NodeId{data.voted_id}, DirectoryId{data.voted_directory_id}};
      saw(found_.election->epoch);
    }
    AcknowledgedFile file(files_, found_.directory);
    const auto acknowledged = file.read();
    if (!acknowledged) {
      if (acknowledged.error().code != ErrorCode::CORRUPT_MESSAGE) return unexpected(acknowledged.error());
      found_.remarks.push_back(acknowledged.error().message);
    } else if (*acknowledged && (*acknowledged)->cluster_id == found_.meta.cluster_id && (*acknowledged)->directory.value == found_.meta.directory_id) {
      found_.acknowledged = (*acknowledged)->position;
      saw(found_.acknowledged->epoch);
    }
    return {};
  }

  io::FileSystem& files_;
  Survey found_;
};

}  // namespace

Result<Survey> survey_directory(io::FileSystem& files, const std::string& directory) { return Surveying(files, directory).run(); }

}  // namespace castellan::quorum
