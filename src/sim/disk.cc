// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/disk.h"

namespace castellan::sim {

// A .log file of the metadata log.
class Disk::SegmentFile final : public io::File {
 public:
  SegmentFile(LogMirror& log, std::unique_ptr<io::File> file) : log_(log), file_(std::move(file)), base_(std::stoll(io::base_name(file_->path()))) {}

  Result<size_t> read_at(uint64_t position, std::span<uint8_t> buffer) const override { return file_->read_at(position, buffer); }
  using File::write_at;
  Result<void> write_at(uint64_t position, BytesView bytes) override {
    TRY_VOID(file_->write_at(position, bytes));
    log_.wrote(bytes);
    return {};
  }
  Result<void> truncate(uint64_t size) override { return file_->truncate(size); }
  Result<void> sync() override {
    TRY_VOID(file_->sync());
    log_.synced(base_);
    return {};
  }
  Result<uint64_t> size() const override { return file_->size(); }
  const std::string& path() const override { return file_->path(); }

 private:
  LogMirror& log_;
  std::unique_ptr<io::File> file_;
  const int64_t base_;
};

Result<std::unique_ptr<io::File>> Disk::open(const std::string& path, io::OpenMode mode) {
  TRY(auto file, memory_.open(path, mode));
  if (!path.ends_with(".log")) return file;
  return std::make_unique<SegmentFile>(log_, std::move(file));
}

Result<void> Disk::rename(const std::string& from, const std::string& to) {
  TRY_VOID(memory_.rename(from, to));
  if (renamed_) renamed_(to);
  return {};
}

void Disk::crash(Prng* random, const std::string& folder) {
  memory_.crash(random);
  log_.reload(memory_, folder);
}

}  // namespace castellan::sim
