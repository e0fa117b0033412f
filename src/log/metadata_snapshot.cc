// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/metadata_snapshot.h"

#include <charconv>

#include "base/planted_fault.h"
#include "record/reader.h"
#include "wire/messages/snapshot_footer_record.h"
#include "wire/messages/snapshot_header_record.h"

namespace castellan::log {
namespace {

constexpr std::string_view suffix = ".checkpoint";
constexpr std::string_view part_suffix = ".checkpoint.part";
constexpr std::string_view deleted_suffix = ".checkpoint.deleted";
constexpr size_t id_size = 20 + 1 + 10;

std::optional<SnapshotId> parse_id(std::string_view name) {
  if (name.size() < id_size || name[20] != '-') return std::nullopt;
  SnapshotId id;
  const char* text = name.data();
  const auto offset = std::from_chars(text, text + 20, id.end_offset);
  const auto epoch = std::from_chars(text + 21, text + id_size, id.epoch);
  if (offset.ec != std::errc() || offset.ptr != text + 20 || epoch.ec != std::errc() || epoch.ptr != text + id_size) return std::nullopt;
  return id;
}

// Each writer has a file of its own: one that is given up must not take the next one's away.
std::string free_part_path(const io::FileSystem& files, const std::string& folder, SnapshotId id) {
  for (int number = 0;; ++number) {
    std::string path = io::join(folder, fmt::format("{}-{}{}", id.text(), number, part_suffix));
    if (!files.exists(path)) return path;
  }
}

// The type of a control batch's first or last record.
std::optional<record::ControlType> control_type(const record::BatchView& batch, bool last) {
  if (!batch.is_control()) return std::nullopt;
  record::RecordReader reader(batch);
  record::Record record;
  std::optional<record::ControlType> type;
  for (auto more = reader.next(record); more && *more; more = reader.next(record)) {
    const auto parsed = record::parse_control_key(record.key);
    type = parsed ? *parsed : record::ControlType::unknown;
    if (!last) return type;
  }
  return type;
}

}  // namespace

std::string SnapshotId::text() const { return fmt::format("{:020}-{:010}", end_offset, epoch); }

std::string snapshot_path(const std::string& folder, SnapshotId id) { return io::join(folder, id.text() + std::string(suffix)); }

Result<std::vector<SnapshotId>> list_snapshots(io::FileSystem& files, const std::string& folder, bool remove_leftovers) {
  TRY(const auto entries, files.list(folder));
  std::vector<SnapshotId> ids;
  for (const auto& entry : entries) {
    const auto id = parse_id(entry.name);
    if (!id || entry.is_directory) continue;
    if (entry.name.size() == id_size + suffix.size() && entry.name.ends_with(suffix)) {
      ids.push_back(*id);
    } else if (remove_leftovers && (entry.name.ends_with(part_suffix) || entry.name.ends_with(deleted_suffix))) {
      TRY_VOID(files.remove(io::join(folder, entry.name)));
    }
  }
  std::ranges::sort(ids);
  return ids;
}

Result<void> delete_snapshot(io::FileSystem& files, const std::string& folder, SnapshotId id) {
  const std::string deleted = io::join(folder, id.text() + std::string(deleted_suffix));
  TRY_VOID(files.rename(snapshot_path(folder, id), deleted));
  return files.remove(deleted);
}

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::create(io::FileSystem& files, std::string folder, SnapshotId id) {
  std::unique_ptr<SnapshotWriter> writer(new SnapshotWriter(files, std::move(folder), id));
  TRY(writer->file_, files.open(free_part_path(files, writer->folder_, id), io::OpenMode::create_new));
  return writer;
}

SnapshotWriter::~SnapshotWriter() {
  if (!file_) return;
  const std::string part = file_->path();
  file_.reset();
  (void)files_.remove(part);  // a leftover is removed at the next start all the same
}

Result<void> SnapshotWriter::append(BytesView bytes) {
  TRY_VOID(file_->write_at(size_, bytes));
  size_ += bytes.size();
  return {};
}

Result<void> SnapshotWriter::freeze() {
  if (!planted(Fault::snapshot_not_synced)) TRY_VOID(file_->sync());
  TRY_VOID(files_.rename(file_->path(), snapshot_path(folder_, id_)));
  file_.reset();
  if (planted(Fault::directory_not_synced)) return {};
  return files_.sync_directory(folder_);
}

Result<std::unique_ptr<SnapshotReader>> SnapshotReader::open(io::FileSystem& files, const std::string& folder, SnapshotId id) {
  auto reader = std::make_unique<SnapshotReader>();
  reader->id_ = id;
  TRY(reader->file_, files.open(snapshot_path(folder, id), io::OpenMode::read_only));
  TRY(reader->size_, reader->file_->size());
  return reader;
}

Result<std::optional<record::BatchView>> SnapshotReader::next() {
  const auto damaged = [this](std::string_view why) { return fail(ErrorCode::CORRUPT_MESSAGE, "{} is damaged at byte {}: {}", file_->path(), position_, why); };
  if (position_ == size_) {
    if (!ended_) return damaged("it ends without a footer");
    return std::nullopt;
  }
  if (ended_) return damaged("bytes follow the footer");
  uint8_t prefix[record::batch_prefix_size];
  TRY(const size_t got, file_->read_at(position_, prefix));
  if (got < sizeof prefix) return damaged("it ends inside a batch");
  const int32_t length = load_big_endian<int32_t>(prefix + record::header::length);
  if (length < 0 || static_cast<uint64_t>(length) > size_ - position_ - sizeof prefix) return damaged(fmt::format("a batch cannot have length {} here", length));
  buffer_.resize(sizeof prefix + static_cast<size_t>(length));
  TRY(const size_t count, file_->read_at(position_, buffer_));
  buffer_.resize(count);
  const auto batch = record::check_batch(buffer_);
  if (!batch) return damaged(batch.error().message);
  if (batch->base_offset() != next_offset_) return damaged(fmt::format("a batch has base offset {}, {} follows", batch->base_offset(), next_offset_));
  if (batch->leader_epoch() != id_.epoch) return damaged(fmt::format("a batch has epoch {}", batch->leader_epoch()));
  if (position_ == 0 && control_type(*batch, false) != record::ControlType::snapshot_header) return damaged("it does not begin with a header");
  ended_ = control_type(*batch, true) == record::ControlType::snapshot_footer;
  next_offset_ = batch->next_offset();
  position_ += batch->size();
  return *batch;
}

Result<void> SnapshotReader::check() {
  position_ = 0;
  next_offset_ = 0;
  ended_ = false;
  for (;;) {
    TRY(const auto batch, next());
    if (!batch) return {};
  }
}

Bytes snapshot_header_batch(SnapshotId id, int64_t last_contained_log_timestamp, const wire::KRaftVersionRecord* kraft_version,
                            const wire::VotersRecord* voters, int64_t now) {
  wire::SnapshotHeaderRecord header;
  header.last_contained_log_timestamp = last_contained_log_timestamp;
  std::vector<record::ControlRecord> records{{record::ControlType::snapshot_header, record::encode_control_value(header)}};
  if (kraft_version) records.push_back({record::ControlType::kraft_version, record::encode_control_value(*kraft_version)});
  if (voters) records.push_back({record::ControlType::kraft_voters, record::encode_control_value(*voters)});
  return record::control_batch({.base_offset = 0, .leader_epoch = id.epoch}, now, records);
}

Bytes snapshot_footer_batch(SnapshotId id, int64_t base_offset, int64_t now) {
  const record::ControlRecord footer{record::ControlType::snapshot_footer, record::encode_control_value(wire::SnapshotFooterRecord{})};
  return record::control_batch({.base_offset = base_offset, .leader_epoch = id.epoch}, now, {&footer, 1});
}

}  // namespace castellan::log
