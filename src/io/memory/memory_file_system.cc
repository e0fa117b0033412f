// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "io/memory/memory_file_system.h"

#include <cerrno>

#include "base/check.h"

namespace castellan::io {

struct MemoryFileSystem::Node {
  // A change since the last sync. For a file: a truncation, or bytes at a position. For a directory: a name that now leads to
  // `node`, or, when that is null, to nothing.
  struct Change {
    bool truncation = false;
    uint64_t position = 0;
    Bytes bytes;
    std::string name;
    std::shared_ptr<Node> node;
    std::string renamed_from;  // a name of the same directory that goes in the same moment
  };

  bool directory = false;
  int64_t modified_ms = 0;
  Bytes content, durable_content;
  std::map<std::string, std::shared_ptr<Node>> names, durable_names;
  std::vector<Change> changes;

  void apply_to_durable(const Change& change, size_t bytes_kept) {
    if (directory) {
      if (change.node) durable_names[change.name] = change.node;
      else durable_names.erase(change.name);
      durable_names.erase(change.renamed_from);
    } else if (change.truncation) {
      durable_content.resize(change.position);
    } else if (bytes_kept > 0) {
      durable_content.resize(std::max<size_t>(durable_content.size(), change.position + bytes_kept));
      std::copy_n(change.bytes.begin(), bytes_kept, durable_content.begin() + static_cast<ptrdiff_t>(change.position));
    }
  }

  void sync() {
    for (const Change& change : changes) apply_to_durable(change, change.bytes.size());
    changes.clear();
  }

  void crash(Prng* random) {
    if (random && !changes.empty()) {
      const size_t kept = random->below(changes.size() + 1);
      for (size_t i = 0; i < kept; ++i) {
        const bool last = i + 1 == kept;
        apply_to_durable(changes[i], last && !changes[i].bytes.empty() ? random->below(changes[i].bytes.size() + 1) : changes[i].bytes.size());
      }
    }
    changes.clear();
    content = durable_content;
    names = durable_names;
    for (const auto& [name, node] : names) node->crash(random);
  }

  uint64_t total_size() const {
    uint64_t total = content.size();
    for (const auto& [name, node] : names) total += node->total_size();
    return total;
  }
};

class MemoryFileSystem::OpenFile final : public File {
 public:
  OpenFile(MemoryFileSystem& system, std::shared_ptr<Node> node, std::string path, bool writable)
      : system_(system), node_(std::move(node)), path_(std::move(path)), writable_(writable) {}

  Result<size_t> read_at(uint64_t position, std::span<uint8_t> buffer) const override {
    const std::lock_guard guard(system_.mutex_);
    TRY_VOID(system_.allowed(Operation::read, "read", path_));
    if (position >= node_->content.size()) return 0;
    const size_t count = std::min<size_t>(buffer.size(), node_->content.size() - position);
    std::copy_n(node_->content.begin() + static_cast<ptrdiff_t>(position), count, buffer.begin());
    return count;
  }

  using File::write_at;
  Result<void> write_at(uint64_t position, BytesView bytes) override {
    const std::lock_guard guard(system_.mutex_);
    TRY_VOID(may_change(Operation::write, "write"));
    const size_t end = std::max<size_t>(node_->content.size(), position + bytes.size());
    if (system_.used_ + (end - node_->content.size()) > system_.capacity_) return unexpected(storage_error("write", path_, ENOSPC));
    resize(end);
    std::ranges::copy(bytes, node_->content.begin() + static_cast<ptrdiff_t>(position));
    changed({.position = position, .bytes = to_bytes(bytes)});
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    const std::lock_guard guard(system_.mutex_);
    TRY_VOID(may_change(Operation::truncate, "truncate"));
    resize(size);
    changed({.truncation = true, .position = size});
    return {};
  }

  Result<void> sync() override {
    const std::lock_guard guard(system_.mutex_);
    TRY_VOID(system_.allowed(Operation::sync, "sync", path_));
    node_->sync();
    return {};
  }

  Result<uint64_t> size() const override {
    const std::lock_guard guard(system_.mutex_);
    return node_->content.size();
  }
  const std::string& path() const override { return path_; }

 private:
  Result<void> may_change(Operation operation, std::string_view action) const {
    if (!writable_) return unexpected(storage_error(action, path_, EBADF));
    return system_.allowed(operation, action, path_);
  }
  void resize(size_t size) {
    system_.used_ += size - node_->content.size();
    node_->content.resize(size);
  }
  void changed(Node::Change change) {
    node_->changes.push_back(std::move(change));
    node_->modified_ms = system_.now_ms_;
  }

  MemoryFileSystem& system_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const bool writable_;
};

class MemoryFileSystem::Lock final : public FileLock {
 public:
  Lock(MemoryFileSystem& system, std::string path) : system_(system), path_(std::move(path)) {}
  ~Lock() override {
    const std::lock_guard guard(system_.mutex_);
    system_.locked_.erase(path_);
  }

 private:
  MemoryFileSystem& system_;
  const std::string path_;
};

MemoryFileSystem::MemoryFileSystem() : root_(std::make_shared<Node>()) { root_->directory = true; }
MemoryFileSystem::~MemoryFileSystem() = default;

void MemoryFileSystem::fail_when(Hook hook) {
  const std::lock_guard guard(mutex_);
  hook_ = std::move(hook);
}

void MemoryFileSystem::set_capacity(uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  capacity_ = bytes;
}

void MemoryFileSystem::set_time(int64_t milliseconds) {
  const std::lock_guard guard(mutex_);
  now_ms_ = milliseconds;
}

void MemoryFileSystem::crash(Prng* random) {
  const std::lock_guard guard(mutex_);
  root_->crash(random);
  used_ = root_->total_size();
  locked_.clear();
}

Result<void> MemoryFileSystem::allowed(Operation operation, std::string_view action, const std::string& path) const {
  if (!hook_) return {};
  if (const auto error_number = hook_(operation, path)) return unexpected(storage_error(action, path, *error_number));
  return {};
}

std::shared_ptr<MemoryFileSystem::Node> MemoryFileSystem::find(std::string_view path) const {
  std::shared_ptr<Node> node = root_;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    const auto found = node->names.find(name);
    if (found == node->names.end()) return nullptr;
    node = found->second;
  }
  return node;
}

Result<std::shared_ptr<MemoryFileSystem::Node>> MemoryFileSystem::directory_of(std::string_view action, const std::string& path) const {
  auto node = find(parent(path));
  if (!node) return unexpected(storage_error(action, path, ENOENT));
  if (!node->directory) return unexpected(storage_error(action, path, ENOTDIR));
  return node;
}

void MemoryFileSystem::link(Node& directory, const std::string& name, std::shared_ptr<Node> node) {
  if (node) directory.names[name] = node;
  else directory.names.erase(name);
  directory.changes.push_back({.name = name, .node = std::move(node)});
}

Result<std::unique_ptr<File>> MemoryFileSystem::open(const std::string& path, OpenMode mode) {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::open, "open", path));
  auto node = find(path);
  if (node && node->directory && mode != OpenMode::create_new) return unexpected(storage_error("open", path, EISDIR));
  if (node && mode == OpenMode::create_new) return unexpected(storage_error("open", path, EEXIST));
  if (!node) {
    if (mode == OpenMode::read_only || mode == OpenMode::read_write) return unexpected(storage_error("open", path, ENOENT));
    TRY(const auto directory, directory_of("open", path));
    node = std::make_shared<Node>();
    node->modified_ms = now_ms_;
    link(*directory, base_name(path), node);
  }
  return std::make_unique<OpenFile>(*this, std::move(node), path, mode != OpenMode::read_only);
}

bool MemoryFileSystem::exists(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  return find(path) != nullptr;
}

bool MemoryFileSystem::is_directory(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  const auto node = find(path);
  return node && node->directory;
}

Result<std::vector<DirectoryEntry>> MemoryFileSystem::list(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::list, "list", path));
  const auto node = find(path);
  if (!node) return unexpected(storage_error("list", path, ENOENT));
  if (!node->directory) return unexpected(storage_error("list", path, ENOTDIR));
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : node->names) entries.push_back({name, child->directory});
  return entries;
}

Result<void> MemoryFileSystem::make_directories(const std::string& path) {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::make_directory, "make the directory", path));
  std::shared_ptr<Node> node = root_;
  for (std::string_view left = path; !left.empty();) {
    const size_t slash = left.find('/');
    const std::string name(left.substr(0, slash));
    left = slash == std::string_view::npos ? std::string_view{} : left.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    auto child = node->names.contains(name) ? node->names[name] : nullptr;
    if (!child) {
      child = std::make_shared<Node>();
      child->directory = true;
      child->modified_ms = now_ms_;
      link(*node, name, child);
    }
    if (!child->directory) return unexpected(storage_error("make the directory", path, ENOTDIR));
    node = child;
  }
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::remove, "remove", path));
  const auto node = find(path);
  if (!node) return {};
  if (node->directory && !node->names.empty()) return unexpected(storage_error("remove", path, ENOTEMPTY));
  TRY(const auto directory, directory_of("remove", path));
  used_ -= node->content.size();
  link(*directory, base_name(path), nullptr);
  return {};
}

Result<void> MemoryFileSystem::remove_all(const std::string& path) {
  if (is_directory(path)) {
    TRY(const auto entries, list(path));
    for (const DirectoryEntry& entry : entries) TRY_VOID(remove_all(join(path, entry.name)));
  }
  return remove(path);
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::rename, "rename", from));
  const auto node = find(from);
  if (!node) return unexpected(storage_error("rename", from, ENOENT));
  TRY(const auto source, directory_of("rename", from));
  TRY(const auto target, directory_of("rename", to));
  if (const auto replaced = find(to)) {
    if (replaced == node) return {};
    if (replaced->directory && !replaced->names.empty()) return unexpected(storage_error("rename", from, ENOTEMPTY));
    used_ -= replaced->content.size();
  }
  link(*target, base_name(to), node);
  if (source == target) {
    source->names.erase(base_name(from));
    target->changes.back().renamed_from = base_name(from);
  } else {
    link(*source, base_name(from), nullptr);
  }
  return {};
}

Result<void> MemoryFileSystem::sync_directory(const std::string& path) {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::sync_directory, "sync", path));
  const auto node = find(path);
  if (!node) return unexpected(storage_error("sync", path, ENOENT));
  node->sync();
  return {};
}

Result<int64_t> MemoryFileSystem::modified_ms(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  const auto node = find(path);
  if (!node) return unexpected(storage_error("stat", path, ENOENT));
  return node->modified_ms;
}

Result<void> MemoryFileSystem::set_modified_ms(const std::string& path, int64_t milliseconds) {
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::set_modified, "set the time of", path));
  const auto node = find(path);
  if (!node) return unexpected(storage_error("set the time of", path, ENOENT));
  node->modified_ms = milliseconds;
  return {};
}

Result<DiskSpace> MemoryFileSystem::disk_space(const std::string&) const {
  const std::lock_guard guard(mutex_);
  return DiskSpace{capacity_, capacity_ - std::min(capacity_, used_)};
}

Result<std::unique_ptr<FileLock>> MemoryFileSystem::lock(const std::string& path) {
  TRY(const auto file, open(path, OpenMode::create));
  const std::lock_guard guard(mutex_);
  TRY_VOID(allowed(Operation::lock, "lock", path));
  if (!locked_.insert(path).second)
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "cannot lock {}: another process has it; is a server running on this directory already?", path);
  return std::make_unique<Lock>(*this, path);
}

}  // namespace castellan::io
