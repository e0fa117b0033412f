// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "io/file.h"

#include <cerrno>
#include <system_error>

namespace castellan::io {

Error storage_error(std::string_view action, std::string_view path, int error_number) {
  return {ErrorCode::KAFKA_STORAGE_ERROR, fmt::format("cannot {} {}: {}", action, path, std::generic_category().message(error_number))};
}

namespace {

// The reason is the message's end; both implementations make their errors above.
bool has_reason(const Error& error, int error_number) {
  return error.code == ErrorCode::KAFKA_STORAGE_ERROR && error.message.ends_with(": " + std::generic_category().message(error_number));
}

}  // namespace

bool is_not_found(const Error& error) { return has_reason(error, ENOENT); }
bool is_no_space(const Error& error) { return has_reason(error, ENOSPC) || has_reason(error, EDQUOT); }

Result<void> File::write_at(uint64_t position, std::span<const BytesView> pieces) {
  for (const BytesView piece : pieces) {
    TRY_VOID(write_at(position, piece));
    position += piece.size();
  }
  return {};
}

Result<Bytes> FileSystem::read_file(const std::string& path, uint64_t limit) const {
  // Opening to read changes nothing, whatever the signature says.
  TRY(const auto file, const_cast<FileSystem*>(this)->open(path, OpenMode::read_only));
  TRY(const uint64_t size, file->size());
  if (size > limit) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} has {} bytes, more than the {} that such a file may have", path, size, limit);
  Bytes content(size);
  TRY(const size_t count, file->read_at(0, content));
  content.resize(count);
  return content;
}

Result<void> FileSystem::replace_file(const std::string& path, BytesView content, std::string_view temporary_suffix, bool sync) {
  const std::string temporary = path + std::string(temporary_suffix);
  {
    TRY(const auto file, open(temporary, OpenMode::create));
    TRY_VOID(file->truncate(0));
    TRY_VOID(file->write_at(0, content));
    if (sync) TRY_VOID(file->sync());
  }
  TRY_VOID(rename(temporary, path));
  return sync ? sync_directory(parent(path)) : Result<void>{};
}

std::string join(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  return path += name;
}

std::string parent(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace castellan::io
