// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/metadata_loop.h"

#include <algorithm>

#include "record/reader.h"

namespace castellan::quorum {

MetadataLoop::MetadataLoop(Surroundings surroundings, const Options& options, RaftLoop& raft, std::optional<raft::SnapshotId> snapshot,
                           std::vector<image::MetadataRecord> bootstrap_records)
    : surroundings_(surroundings),
      print_(options.print),
      fatal_(options.fatal),
      config_(options.config),
      controller_listeners_(options.controller_listeners),
      raft_(raft),
      incarnation_(Prng(options.seed).uuid()),
      first_snapshot_(snapshot),
      bootstrap_records_(std::move(bootstrap_records)),
      publisher_(surroundings.metadata, [this] { release_replies(); }) {
  if (config_->is_controller) {
    controller_ = std::make_unique<controller::Controller>(
        controller::Settings{.cluster_id = options.cluster_id, .node_id = config_->node_id, .server = config_}, options.seed + 1);
  }
}

MetadataLoop::~MetadataLoop() = default;

void MetadataLoop::post_start() {
  surroundings_.metadata.post([this] {
    last_snapshot_ = now().monotonic;
    change_view([this](QuorumView& view) {
      view.leader_since = now();
      view.advanced = view.leader_since.monotonic;
    });
    if (first_snapshot_ && *first_snapshot_ != raft::bootstrap_snapshot) {
      if (auto loaded = load_snapshot(*first_snapshot_); !loaded) return fail_node(loaded.error().message);
    }
  });
}

void MetadataLoop::on_leader(const LeaderNews& news) {
  voters_ = news.voters;
  kraft_version_ = news.kraft_version;
  // News of this node's own leadership comes once; everything else means that it is over.
  renounce();
  if (news.is_self && !stopping_) leading_ = Leading{news.epoch, news.epoch_end, news.generation};
  change_view([&](QuorumView& view) {
    view.epoch = news.epoch;
    view.leader = news.leader;
    view.leader_endpoint = news.leader_endpoint;
    view.is_leader = news.is_self;
    view.kraft_version = news.kraft_version;
  });
  maybe_activate();
  request_batches();
}

void MetadataLoop::on_committed(Offset end) {
  committed_ = std::max(committed_, end);
  if (active()) commit_steps();
  else request_batches();
  note_progress();
}

void MetadataLoop::request_batches() {
  if (reading_ || active() || failed_ || next_ >= committed_) return;
  reading_ = true;
  raft_.post_read_committed(next_);
}

void MetadataLoop::on_batches(SharedBytes batches) {
  if (!std::exchange(reading_, false) || active() || failed_) return;
  apply_batches(*batches);
  if (failed_) return;
  if (next_ >= committed_) publish(std::make_shared<image::Replay>(*committed_replay_));
  maybe_activate();
  request_batches();
}

void MetadataLoop::apply_batches(BytesView bytes) {
  const auto applied = [&]() -> Result<void> {
    record::BatchScanner scanner(bytes);
    for (;;) {
      TRY(const auto batch, scanner.next());
      if (!batch) return {};
      if (batch->base_offset() < next_.value) continue;
      if (!batch->is_control()) {
        committed_replay_->set_provenance(Epoch{batch->leader_epoch()}, WallTime{batch->max_timestamp()});
        record::RecordReader reader(*batch);
        record::Record record;
        image::MetadataRecord decoded;
        for (;;) {
          TRY(const bool more, reader.next(record));
          if (!more) break;
          TRY_VOID(image::decode_metadata_record(record.value.value_or(BytesView{}), decoded));
          TRY_VOID(committed_replay_->apply(decoded, Offset{record.offset}));
        }
      }
      next_ = Offset{batch->next_offset()};
      last_epoch_ = Epoch{batch->leader_epoch()};
      bytes_since_snapshot_ += batch->size();
    }
  }();
  if (!applied) fail_node(fmt::format("metadata log, after offset {}: {}", next_, applied.error().message));
}

Result<void> MetadataLoop::load_snapshot(raft::SnapshotId id) {
  const MonotonicTime begun = now().monotonic;
  auto replay = std::make_shared<image::Replay>();
  TRY(const auto reader, log::SnapshotReader::open(surroundings_.files, raft_.folder(), {id.offset.value, id.epoch.value}));
  int64_t records = 0;
  WallTime timestamp{-1};
  for (;;) {
    TRY(const auto batch, reader->next());
    if (!batch) break;
    timestamp = WallTime{batch->max_timestamp()};
    if (batch->is_control()) continue;
    record::RecordReader in_batch(*batch);
    record::Record record;
    image::MetadataRecord decoded;
    for (;;) {
      TRY(const bool more, in_batch.next(record));
      if (!more) break;
      TRY_VOID(image::decode_metadata_record(record.value.value_or(BytesView{}), decoded));
      TRY_VOID(replay->apply(decoded, id.offset - 1));
      ++records;
    }
  }
  replay->set_provenance(id.epoch, timestamp);
  committed_replay_ = std::move(replay);
  next_ = id.offset;
  last_epoch_ = id.epoch;
  bytes_since_snapshot_ = 0;
  last_snapshot_ = now().monotonic;
  print_(1, fmt::format("metadata snapshot {} loaded: {} records in {} ms", id, records, (now().monotonic - begun).count() / 1'000'000));
  publish(std::make_shared<image::Replay>(*committed_replay_));
  return {};
}

void MetadataLoop::on_snapshot_needed(raft::SnapshotId id) {
  if (!std::exchange(reading_, false) || active() || failed_) return;
  if (auto loaded = load_snapshot(id); !loaded) return fail_node(loaded.error().message);
  maybe_activate();
  request_batches();
}

// `replay` is the committed state, and nobody changes it any more.
void MetadataLoop::publish(std::shared_ptr<const image::Replay> replay) {
  publisher_.publish(ImagePtr(replay, &replay->stable()));
  published_ = next_ - 1;
  note_progress();
  maybe_register_with_leader();
  maybe_snapshot();
}

MonotonicTime MetadataLoop::next_deadline() const {
  if (failed_ || !active()) return MonotonicTime::never();
  return controller_->next_deadline();
}

void MetadataLoop::wake() {
  if (active() && !failed_) run_controller_timers();
}

QuorumView MetadataLoop::view() const {
  const std::lock_guard lock(view_mutex_);
  return view_;
}

void MetadataLoop::on_view_changed(std::function<void(const QuorumView&)> changed) {
  surroundings_.metadata.post([this, changed = std::move(changed)]() mutable {
    view_changed_ = std::move(changed);
    if (view_changed_) view_changed_(view());
  });
}

void MetadataLoop::note_progress() {
  const std::lock_guard lock(view_mutex_);
  if (std::exchange(view_.high_watermark, committed_) != committed_) view_.advanced = now().monotonic;
  view_.applied = published_;
}

void MetadataLoop::change_view(const std::function<void(QuorumView&)>& change) {
  QuorumView before, after;
  {
    const std::lock_guard lock(view_mutex_);
    before = view_;
    change(view_);
    const Now time = now();
    if (before.leader != view_.leader) {
      view_.leader_since = time;
      ++view_.leader_changes;
    }
    after = view_;
  }
  const bool news = before.epoch != after.epoch || before.leader != after.leader || before.is_leader != after.is_leader || before.active != after.active;
  if (news && view_changed_) view_changed_(after);
}

void MetadataLoop::fail_node(const std::string& reason) {
  if (std::exchange(failed_, true)) return;
  print_(3, reason);
  renounce();
  fatal_(reason);
}

}  // namespace castellan::quorum
