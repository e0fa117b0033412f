// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// When the metadata loop writes a snapshot of the image, and how. Every node writes its own; two nodes at the same offset write the
// same bytes, so times come from the log, not from a clock.

#include "base/planted_fault.h"
#include "image/snapshot.h"
#include "quorum/metadata_loop.h"
#include "raft/control_records.h"
#include "record/builder.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/voters_record.h"

namespace castellan::quorum {
namespace {

constexpr int32_t records_per_batch = 1024;
constexpr size_t batch_bytes_max = 4 << 20;

Result<void> write_image(io::FileSystem& files, const std::string& folder, log::SnapshotId id, const image::Image& image, const raft::ControlRecords& control,
                         std::vector<std::string>& losses) {
  TRY(const auto writer, log::SnapshotWriter::create(files, folder, id));
  const int64_t time = image.last_timestamp.milliseconds;
  wire::KRaftVersionRecord version{.kraft_version = control.kraft_version.value_or(0)};
  wire::VotersRecord voters;
  if (control.voters) voters = raft::voters_to_wire(*control.voters);
  TRY_VOID(writer->append(log::snapshot_header_batch(id, time, control.kraft_version ? &version : nullptr, control.voters ? &voters : nullptr, time)));

  int64_t offset = 1 + (control.kraft_version ? 1 : 0) + (control.voters ? 1 : 0);
  const auto new_builder = [&] { return std::make_unique<record::BatchBuilder>(record::BatchOptions{.base_offset = offset, .leader_epoch = id.epoch}); };
  auto builder = new_builder();
  Result<void> written;
  const auto flush = [&] {
    if (builder->empty() || !written) return;
    offset += builder->records_count();
    written = writer->append(builder->finish());
    builder = new_builder();
  };
  losses = image::snapshot_records(image, [&](const image::MetadataRecord& record) {
    builder->append(time, std::nullopt, image::encode_metadata_record(record));
    if (builder->records_count() >= records_per_batch || builder->size() >= batch_bytes_max) flush();
  });
  flush();
  if (!written) return written;
  TRY_VOID(writer->append(log::snapshot_footer_batch(id, offset, time)));
  return writer->freeze();
}

}  // namespace

void MetadataLoop::maybe_snapshot() {
  if (snapshotting_ || failed_ || bytes_since_snapshot_ == 0 || committed_replay_->in_transaction() || committed_replay_->stable().empty()) return;
  const auto bytes_max = static_cast<uint64_t>(config_->values.integer("metadata.log.max.record.bytes.between.snapshots"));
  const auto interval = config_->milliseconds("metadata.log.max.snapshot.interval.ms");
  const bool by_time = interval.count() > 0 && now().monotonic - last_snapshot_ >= interval;
  if (bytes_since_snapshot_ < bytes_max && !by_time) return;
  snapshotting_ = true;
  last_snapshot_ = now().monotonic;
  bytes_since_snapshot_ = 0;
  snapshot_image_ = publisher_.latest();
  raft::SnapshotId id{next_, last_epoch_};
  if (planted(Fault::snapshot_of_wrong_epoch)) id.epoch = view().epoch;
  if (planted(Fault::snapshot_inside_a_batch)) id.offset = id.offset - 1;
  if (planted(Fault::snapshot_of_the_tip) && !steps_.empty()) {
    const std::shared_ptr<const image::Replay> replay = steps_.back().replay;
    snapshot_image_ = ImagePtr(replay, &replay->stable());
    id = {steps_.back().end, steps_.back().epoch};
  }
  raft_.post_snapshot_wanted(id);
}

void MetadataLoop::on_snapshot_refused(raft::SnapshotId id, const std::string& reason) {
  snapshotting_ = false;
  snapshot_image_.reset();
  print_(0, fmt::format("no metadata snapshot {}: {}", id, reason));
}

void MetadataLoop::on_snapshot_allowed(raft::SnapshotId id, const raft::ControlRecords& control) { write_snapshot(id, control); }

void MetadataLoop::write_snapshot(raft::SnapshotId id, const raft::ControlRecords& control) {
  const MonotonicTime begun = now().monotonic;
  surroundings_.workers.post([this, id, control, begun, image = std::exchange(snapshot_image_, nullptr)]() mutable {
    std::vector<std::string> losses;
    auto written = write_image(surroundings_.files, raft_.folder(), {id.offset.value, id.epoch.value}, *image, control, losses);
    // The image goes back to be freed where freeing it holds up nobody else.
    surroundings_.metadata.post([this, id, begun, image = std::move(image), losses = std::move(losses), written = std::move(written)] {
      snapshotting_ = false;
      if (!written) return fail_node(written.error().message);
      for (const std::string& loss : losses) print_(2, fmt::format("metadata snapshot {}: {}", id, loss));
      print_(1, fmt::format("metadata snapshot {} written in {} ms", id, (now().monotonic - begun).count() / 1'000'000));
      raft_.post_snapshot_written(id);
    });
  });
}

}  // namespace castellan::quorum
