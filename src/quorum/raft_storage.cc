// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The raft loop's dealings with the disk: appends and syncs, quorum-state, snapshots, cleaning, and what was acknowledged.

#include <algorithm>

#include "base/planted_fault.h"
#include "log/quorum_state_file.h"
#include "quorum/acknowledged.h"
#include "quorum/raft_loop.h"
#include "record/control.h"
#include "record/reader.h"
#include "wire/messages/quorum_state_data.h"
#include "wire/messages/snapshot_header_record.h"

namespace castellan::quorum {
namespace {

constexpr size_t tail_limit = 8 << 20;
constexpr size_t read_chunk = 2 << 20;
constexpr Duration clean_period = std::chrono::minutes(1);
constexpr Duration acknowledged_period = std::chrono::seconds(1);

// The whole batches of `bytes` that end after `start` and by `limit`: as many as fit in max_bytes, one at least.
BytesView whole_batches(BytesView bytes, Offset start, size_t max_bytes, Offset limit) {
  record::BatchScanner scanner(bytes);
  size_t first = bytes.size(), end = bytes.size();
  bool any = false;
  for (;;) {
    const size_t position = scanner.position();
    const auto batch = scanner.next();
    CHECK(batch.has_value(), "the tail holds no batch at {}", position);
    if (!*batch) break;
    if ((*batch)->next_offset() <= start.value) continue;
    const size_t batch_end = position + (*batch)->size();
    if ((*batch)->next_offset() > limit.value || (any && batch_end - first > max_bytes)) break;
    if (!std::exchange(any, true)) first = position;
    end = batch_end;
  }
  return any ? bytes.subspan(first, end - first) : BytesView{};
}

// Of the last record that the snapshot stands for, as its header says.
std::optional<int64_t> last_contained_timestamp(const record::BatchView& header_batch) {
  record::RecordReader reader(header_batch);
  record::Record record;
  if (const auto more = reader.next(record); !more || !*more) return std::nullopt;
  const auto type = record::parse_control_key(record.key);
  if (!type || *type != record::ControlType::snapshot_header) return std::nullopt;
  wire::SnapshotHeaderRecord header;
  if (!record::decode_control_value(header, record.value.value_or(BytesView{}))) return std::nullopt;
  return header.last_contained_log_timestamp;
}

}  // namespace

void RaftLoop::save_election(const raft::SaveElection& action) {
  running_.insert(action.id);
  wire::QuorumStateData data;
  data.leader_id = action.state.leader.value;
  data.leader_epoch = action.state.epoch.value;
  data.voted_id = action.state.voted ? action.state.voted->id.value : -1;
  const int16_t version = action.kraft_version >= 1 ? 1 : 0;
  if (version >= 1) {
    if (action.state.voted) data.voted_directory_id = action.state.voted->directory.value;
  } else {
    data.current_voters.emplace();
    for (const auto& [id, voter] : core_config_.static_voters) data.current_voters->push_back({.voter_id = id.value});
  }
  surroundings_.log_sync.post([this, id = action.id, data = std::move(data), version] {
    auto written = log::write_quorum_state(surroundings_.files, folder_, data, version);
    surroundings_.raft.post([this, id, written = std::move(written)] {
      if (!written) return fail_node(written.error().message);
      running_.erase(id);
      if (auto waiting = after_.extract(id); !waiting.empty()) {
        for (raft::Action& next : waiting.mapped()) perform(next);
      }
      step(raft::Synced{id});
      maybe_finish_stop();
    });
  });
}

void RaftLoop::append(raft::Append& action) {
  const auto appended = log_->append_as_follower(action.batches, now().wall);
  if (!appended) return fail_node(fmt::format("metadata log: {}", appended.error().message));
  CHECK(appended->first_offset == action.base.value && appended->last_offset + 1 == action.end.value, "appended [{}, {}] instead of [{}, {})",
        appended->first_offset, appended->last_offset, action.base, action.end);
  CHECK(tail_.empty() || tail_.back().end == action.base, "[{}, {}) does not join the tail, which ends at {}", action.base, action.end, tail_.back().end);
  tail_bytes_ += action.batches.size();
  tail_.push_back({action.base, action.end, std::make_shared<const Bytes>(std::move(action.batches))});
  while (tail_bytes_ > tail_limit && tail_.size() > 1) {
    tail_bytes_ -= tail_.front().batches->size();
    tail_.pop_front();
  }
  if (committed_.value >= 0) feed_reader();
}

void RaftLoop::sync(const raft::Sync& action) {
  running_.insert(action.id);
  auto task = std::make_shared<log::FlushTask>(log_->begin_flush());
  surroundings_.log_sync.post([this, id = action.id, task] {
    auto synced = task->run();
    surroundings_.raft.post([this, id, task, synced = std::move(synced)] {
      // After a failed fsync the kernel may have dropped the pages: what is on disk is not known any more (fail-stop).
      if (!synced && !planted(Fault::failed_sync_ignored)) return fail_node(synced.error().message);
      if (synced) log_->finish_flush(*task);
      running_.erase(id);
      if (auto waiting = after_.extract(id); !waiting.empty()) {
        for (raft::Action& next : waiting.mapped()) perform(next);
      }
      step(raft::Synced{id});
      maybe_finish_stop();
    });
  });
}

Bytes RaftLoop::read_tail(Offset start, size_t max_bytes, Offset limit) const {
  Bytes result;
  const auto first = std::ranges::partition_point(tail_, [start](const TailPiece& piece) { return piece.end <= start; });
  for (const TailPiece& piece : std::ranges::subrange(first, tail_.end())) {
    if (!result.empty() && result.size() >= max_bytes) break;
    const size_t left = result.empty() ? max_bytes : max_bytes - result.size();
    const BytesView found = whole_batches(*piece.batches, start, left, limit);
    if (found.empty() || (!result.empty() && found.size() > left)) break;
    result.insert(result.end(), found.begin(), found.end());
    if (found.data() + found.size() != piece.batches->data() + piece.batches->size()) break;
  }
  return result;
}

void RaftLoop::reply_with_records(raft::ReplyWithRecords& action) {
  const auto max_bytes = static_cast<size_t>(std::max(action.max_bytes, 1));
  if (tail_has(action.start)) {
    if (planted(Fault::later_epoch_appended)) {
      // A slow answer: the records are read when it leaves, long after its head was made.
      struct Late {
        static void answer(RaftLoop& loop, raft::ReplyWithRecords action, size_t max_bytes, int hops) {
          loop.surroundings_.workers.post([&loop, action = std::move(action), max_bytes, hops]() mutable {
            loop.surroundings_.raft.post([&loop, action = std::move(action), max_bytes, hops]() mutable {
              if (hops > 0) return answer(loop, std::move(action), max_bytes, hops - 1);
              action.response.records = loop.read_tail(action.start, max_bytes, loop.core_->log().end);
              loop.reply(action.token, std::move(action.response));
            });
          });
        }
      };
      return Late::answer(*this, std::move(action), max_bytes, 16);
    }
    action.response.records = read_tail(action.start, max_bytes, core_->log().end);
    return reply(action.token, std::move(action.response));
  }
  auto data = log_->read(action.start.value, static_cast<uint32_t>(std::min<size_t>(max_bytes, 64 << 20)), core_->log().end.value, true);
  if (!data) {
    print(3, fmt::format("metadata log: cannot read offset {}: {}", action.start, data.error().message));
    action.response.head.error = ErrorCode::UNKNOWN_SERVER_ERROR;
    return reply(action.token, std::move(action.response));
  }
  surroundings_.workers.post([this, data = std::move(*data), action = std::move(action)]() mutable {
    auto bytes = data.load();
    surroundings_.raft.post([this, action = std::move(action), bytes = std::move(bytes)]() mutable {
      if (bytes) action.response.records = std::move(*bytes);
      else action.response.head.error = ErrorCode::UNKNOWN_SERVER_ERROR;
      reply(action.token, std::move(action.response));
    });
  });
}

void RaftLoop::reply_with_snapshot(raft::ReplyWithSnapshot& action) {
  surroundings_.workers.post([this, action = std::move(action)]() mutable {
    auto& response = action.response;
    const log::SnapshotId id{response.snapshot.offset.value, response.snapshot.epoch.value};
    const auto read = [&]() -> Result<void> {
      TRY(const auto file, surroundings_.files.open(log::snapshot_path(folder_, id), io::OpenMode::read_only));
      TRY(const uint64_t size, file->size());
      if (static_cast<uint64_t>(action.position) >= size) {
        response.head.error = ErrorCode::POSITION_OUT_OF_RANGE;
        response.snapshot = {};
        response.position = 0;
        return {};
      }
      response.size = static_cast<int64_t>(size);
      const uint64_t wanted = std::min<uint64_t>(static_cast<uint64_t>(std::max(action.max_bytes, 1)), size - static_cast<uint64_t>(action.position));
      response.bytes.resize(std::min<uint64_t>(wanted, 64 << 20));
      TRY(const size_t got, file->read_at(static_cast<uint64_t>(action.position), response.bytes));
      response.bytes.resize(got);
      return {};
    }();
    if (!read) {
      response.head.error = io::is_not_found(read.error()) ? ErrorCode::SNAPSHOT_NOT_FOUND : ErrorCode::UNKNOWN_SERVER_ERROR;
      response.bytes.clear();
    }
    surroundings_.raft.post([this, action = std::move(action)]() mutable { reply(action.token, std::move(action.response)); });
  });
}

void RaftLoop::store_snapshot_chunk(raft::StoreSnapshotChunk& action) {
  const log::SnapshotId id{action.id.offset.value, action.id.epoch.value};
  if (!download_ || download_->id != action.id || action.position == 0) {
    download_.reset();  // before the new one is made: a writer that is dropped removes its file, which may have the same name
    auto writer = log::SnapshotWriter::create(surroundings_.files, folder_, id);
    if (!writer) return fail_node(writer.error().message);
    download_ = Download{action.id, std::move(*writer)};
  }
  if (auto written = download_->writer->append(action.bytes); !written) return fail_node(written.error().message);
  if (!action.last) return;
  // From here on a new download may begin, even of the same snapshot.
  surroundings_.workers.post([this, id, writer = std::shared_ptr<log::SnapshotWriter>(std::move(download_->writer))] {
    raft::SnapshotStored stored{.id = {Offset{id.end_offset}, Epoch{id.epoch}}, .voters = {}, .kraft_version = {}};
    const auto finished = [&]() -> Result<void> {
      TRY_VOID(writer->freeze());
      TRY(const auto reader, log::SnapshotReader::open(surroundings_.files, folder_, id));
      TRY_VOID(reader->check());
      TRY(const auto again, log::SnapshotReader::open(surroundings_.files, folder_, id));
      TRY(const auto header, again->next());
      if (header && header->is_control()) {
        TRY(auto control, raft::decode_control_batch(*header));
        stored.voters = std::move(control.voters);
        stored.kraft_version = control.kraft_version;
      }
      return {};
    }();
    surroundings_.raft.post([this, stored = std::move(stored), finished = std::move(finished)]() mutable {
      if (!finished) return fail_node(finished.error().message);
      step(std::move(stored));
    });
  });
  download_.reset();
}

// Gives the metadata loop what it asked for, as soon as it is committed.
void RaftLoop::feed_reader() {
  if (!wanted_from_ || !core_) return;
  const Offset from = *wanted_from_;
  const raft::LogSummary& summary = core_->log();
  if (from < summary.start) {
    wanted_from_.reset();
    const auto snapshot = summary.latest_snapshot();
    CHECK(snapshot && snapshot->offset >= summary.start, "the log begins at {} without a snapshot", summary.start);
    return tell([id = *snapshot](QuorumListener& listener) { listener.on_snapshot_needed(id); });
  }
  const Offset limit = planted(Fault::applied_before_commit) ? summary.end : std::min(committed_, summary.end);
  if (from >= limit) return;
  wanted_from_.reset();
  if (tail_has(from)) {
    auto bytes = std::make_shared<const Bytes>(read_tail(from, read_chunk, limit));
    return tell([bytes](QuorumListener& listener) { listener.on_batches(bytes); });
  }
  auto data = log_->read(from.value, read_chunk, limit.value, true);
  if (!data) return fail_node(fmt::format("metadata log: cannot read offset {}: {}", from, data.error().message));
  surroundings_.workers.post([this, read = reads_, data = std::move(*data)] {
    auto bytes = data.load();
    surroundings_.raft.post([this, read, bytes = std::move(bytes)]() mutable {
      if (read != reads_) return;  // asked anew meanwhile
      if (!bytes) return fail_node(bytes.error().message);
      tell([shared = std::make_shared<const Bytes>(std::move(*bytes))](QuorumListener& listener) { listener.on_batches(shared); });
    });
  });
}

// metadata.max.retention.*: while log and snapshots are too large, or the oldest snapshot too old, the log before the next
// snapshot goes, and with it the oldest one. The newest stays, and so does everything after it (KIP-630).
void RaftLoop::clean() {
  next_clean_ = now().monotonic + clean_period;
  log_->remove_deleted_files(now().wall);
  if (!core_ || cleaning_ || core_->log().snapshots.size() < 2) return;
  const int64_t bytes_max = config_->values.integer("metadata.max.retention.bytes");
  const int64_t age_max = config_->values.integer("metadata.max.retention.ms");
  std::vector<raft::SnapshotId> ids(core_->log().snapshots.begin(), core_->log().snapshots.end());
  cleaning_ = true;
  // File sizes and headers are read elsewhere.
  surroundings_.workers.post([this, ids, bytes_max, age_max, log_bytes = static_cast<int64_t>(log_->size()), time = now().wall.milliseconds] {
    int64_t total = log_bytes;
    std::vector<std::pair<int64_t, int64_t>> sizes_and_times;
    for (const raft::SnapshotId id : ids) {
      int64_t size = 0, timestamp = INT64_MAX;
      if (auto reader = log::SnapshotReader::open(surroundings_.files, folder_, {id.offset.value, id.epoch.value})) {
        size = static_cast<int64_t>((*reader)->size());
        if (auto batch = (*reader)->next(); batch && *batch) timestamp = last_contained_timestamp(**batch).value_or(INT64_MAX);
      }
      sizes_and_times.emplace_back(size, timestamp);
      total += size;
    }
    size_t keep = 0;
    while (keep + 1 < ids.size()) {
      const auto [size, timestamp] = sizes_and_times[keep];
      const bool too_large = bytes_max >= 0 && total > bytes_max;
      const bool too_old = age_max >= 0 && timestamp != INT64_MAX && time - timestamp > age_max;
      if (!too_large && !too_old) break;
      total -= size;
      ++keep;
    }
    surroundings_.raft.post([this, ids, keep] {
      cleaning_ = false;
      if (keep == 0 || failed_ || shut_down_) return;
      const Offset start = planted(Fault::cleaned_beyond_snapshot) ? Offset{std::min(committed_, core_->log().synced_end)} : ids[keep].offset;
      if (!core_->may_clean_to(start)) return;
      if (auto moved = log_->advance_log_start(start.value); !moved) return fail_node(moved.error().message);
      if (auto deleted = log_->delete_old_segments(now().wall); !deleted) return fail_node(deleted.error().message);
      step(raft::LogCleaned{start});
      print(1, fmt::format("metadata log: everything before offset {} is covered by snapshots and was deleted", start));
      surroundings_.workers.post([this, old = std::vector(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(keep))] {
        for (const raft::SnapshotId id : old) {
          auto gone = log::delete_snapshot(surroundings_.files, folder_, {id.offset.value, id.epoch.value});
          if (!gone) print(2, gone.error().message);
        }
      });
    });
  });
}

void RaftLoop::remember_acknowledged() {
  next_acknowledged_ = now().monotonic + acknowledged_period;
  // A log that lacks what was acknowledged does not lower the record: it would vote after the next start.
  if (!core_ || writing_acknowledged_ || !core_->has_what_it_acknowledged()) return;
  const raft::LogSummary& summary = core_->log();
  const Offset synced = summary.synced_end;
  const Epoch epoch = synced == summary.end ? summary.last_epoch() : summary.epochs.epoch_at(synced - 1).value_or(Epoch{0});
  const raft::LogPosition position{synced, epoch};
  if (acknowledged_ == position || core_config_.id.value < 0 || synced.value == 0) return;
  writing_acknowledged_ = true;
  surroundings_.workers.post([this, position] {
    auto written = acknowledged_file_.write({cluster_id_, core_config_.directory, position});
    surroundings_.raft.post([this, position, written = std::move(written)] {
      writing_acknowledged_ = false;
      if (!written) return fail_node(written.error().message);
      acknowledged_ = position;
      maybe_finish_stop();
    });
  });
}

}  // namespace castellan::quorum
