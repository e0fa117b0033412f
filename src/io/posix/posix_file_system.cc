// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "io/posix/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "base/check.h"

namespace castellan::io {
namespace {

std::unexpected<Error> failed(std::string_view action, const std::string& path, int error_number = errno) {
  return unexpected(storage_error(action, path, error_number));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<Descriptor> open_descriptor(const std::string& path, int flags) {
  int fd;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return failed("open", path);
  return Descriptor(fd);
}

class PosixFile final : public File {
 public:
  PosixFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<size_t> read_at(uint64_t position, std::span<uint8_t> buffer) const override {
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t count = ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, static_cast<off_t>(position + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failed("read", path_);
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  }

  Result<void> write_at(uint64_t position, BytesView bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failed("write", path_);
      bytes = bytes.subspan(static_cast<size_t>(count));
      position += static_cast<size_t>(count);
    }
    return {};
  }

  Result<void> write_at(uint64_t position, std::span<const BytesView> pieces) override {
    constexpr size_t most = 64;
    size_t skip = 0;  // of the first piece, already written
    while (!pieces.empty()) {
      if (pieces.front().size() == skip) {
        pieces = pieces.subspan(1);
        skip = 0;
        continue;
      }
      iovec vectors[most];
      const size_t count = std::min(pieces.size(), most);
      for (size_t i = 0; i < count; ++i) {
        const BytesView piece = i == 0 ? pieces[0].subspan(skip) : pieces[i];
        vectors[i] = {const_cast<uint8_t*>(piece.data()), piece.size()};
      }
      const ssize_t written = ::pwritev(fd_.get(), vectors, static_cast<int>(count), static_cast<off_t>(position));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed("write", path_);
      position += static_cast<size_t>(written);
      size_t left = static_cast<size_t>(written) + skip;
      while (!pieces.empty() && left >= pieces.front().size()) {
        left -= pieces.front().size();
        pieces = pieces.subspan(1);
      }
      skip = left;
    }
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return failed("truncate", path_);
    return {};
  }

  Result<void> sync() override {
    if (::fdatasync(fd_.get()) != 0) return failed("sync", path_);
    return {};
  }

  Result<uint64_t> size() const override {
    struct stat status;
    if (::fstat(fd_.get(), &status) != 0) return failed("stat", path_);
    return static_cast<uint64_t>(status.st_size);
  }

  int native_handle() const override { return fd_.get(); }
  const std::string& path() const override { return path_; }

 private:
  Descriptor fd_;
  std::string path_;
};

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    int flags = O_RDWR;
    switch (mode) {
      case OpenMode::read_only: flags = O_RDONLY; break;
      case OpenMode::read_write: break;
      case OpenMode::create: flags |= O_CREAT; break;
      case OpenMode::create_new: flags |= O_CREAT | O_EXCL; break;
    }
    TRY(auto fd, open_descriptor(path, flags));
    return std::make_unique<PosixFile>(std::move(fd), path);
  }

  bool exists(const std::string& path) const override { return ::access(path.c_str(), F_OK) == 0; }

  bool is_directory(const std::string& path) const override {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  }

  Result<std::vector<DirectoryEntry>> list(const std::string& path) const override {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) return failed("list", path);
    std::vector<DirectoryEntry> entries;
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      const bool certain = entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK;
      entries.push_back({name, certain ? entry->d_type == DT_DIR : is_directory(join(path, name))});
      errno = 0;
    }
    if (errno != 0) return failed("list", path);
    std::ranges::sort(entries);
    return entries;
  }

  Result<void> make_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!error && !is_directory(path)) error = std::make_error_code(std::errc::not_a_directory);
    if (error) return failed("make the directory", path, error.value());
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path);
    return {};
  }

  Result<void> remove_all(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) return failed("remove", path, error.value());
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename to " + to + " the file", from);
    return {};
  }

  Result<void> sync_directory(const std::string& path) override {
    TRY(const auto fd, open_descriptor(path, O_RDONLY | O_DIRECTORY));
    if (::fsync(fd.get()) != 0) return failed("sync", path);
    return {};
  }

  Result<int64_t> modified_ms(const std::string& path) const override {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return failed("stat", path);
    return int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  }

  Result<void> set_modified_ms(const std::string& path, int64_t milliseconds) override {
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    const timespec times[2] = {time, time};
    if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) return failed("set the time of", path);
    return {};
  }

  Result<DiskSpace> disk_space(const std::string& path) const override {
    struct statvfs status;
    if (::statvfs(path.c_str(), &status) != 0) return failed("stat the file system of", path);
    return DiskSpace{status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize};
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    TRY(auto fd, open_descriptor(path, O_RDWR | O_CREAT));
    struct flock whole_file{};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    if (::fcntl(fd.get(), F_OFD_SETLK, &whole_file) != 0) {
      if (errno == EAGAIN || errno == EACCES)
        return fail(ErrorCode::KAFKA_STORAGE_ERROR, "cannot lock {}: another process has it; is a server running on this directory already?", path);
      return failed("lock", path);
    }
    // Somebody may have removed or replaced the file between open and lock: then this lock guards nothing.
    struct stat ours, there;
    if (::fstat(fd.get(), &ours) != 0 || ::stat(path.c_str(), &there) != 0) return failed("stat", path);
    if (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev)
      return fail(ErrorCode::KAFKA_STORAGE_ERROR, "cannot lock {}: the file was replaced meanwhile", path);
    return std::make_unique<PosixLock>(std::move(fd));
  }
};

class SystemClock final : public Clock {
 public:
  MonotonicTime monotonic() const override {
    timespec time;
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return {int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
  }
  WallTime wall() const override {
    timespec time;
    ::clock_gettime(CLOCK_REALTIME, &time);
    return {int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000};
  }
};

class SystemEntropy final : public Entropy {
 public:
  uint64_t next() override {
    uint64_t value = 0;
    CHECK(::getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
  }
};

}  // namespace

std::unique_ptr<FileSystem> make_posix_file_system() { return std::make_unique<PosixFileSystem>(); }
std::unique_ptr<Clock> make_system_clock() { return std::make_unique<SystemClock>(); }
std::unique_ptr<Entropy> make_system_entropy() { return std::make_unique<SystemEntropy>(); }

}  // namespace castellan::io
