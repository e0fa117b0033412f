// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/send_queue.h"

#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"

namespace castellan::net {

namespace {
constexpr size_t pieces_at_once = 64;

// A small range of a file costs less to copy than a sendfile of its own, before and after which memory must be sent: one record
// fetched goes out in one sendmsg. The sum bounds what one answer may copy.
constexpr size_t copied_range_at_most = 16 * 1024;
constexpr size_t copied_in_all_at_most = 256 * 1024;
}

void SendQueue::load(wire::OutputChain chain) {
  CHECK(next_ == parts_.size(), "an answer is still on its way");
  chain_ = std::move(chain);
  parts_ = chain_.parts();
  next_ = done_in_part_ = 0;
  copy_small_ranges();
}

void SendQueue::copy_small_ranges() {
  const auto small = [](const auto& part) { return part.file && part.file->length <= copied_range_at_most; };
  size_t total = 0;
  for (const auto& part : parts_) total += small(part) ? part.file->length : 0;
  if (total == 0 || total > copied_in_all_at_most) return;
  copied_.resize(total);
  size_t used = 0;
  for (auto& part : parts_) {
    if (!small(part)) continue;
    const std::span<uint8_t> room(copied_.data() + used, part.file->length);
    // What cannot be read whole stays a range of the file: sending it says what is wrong.
    const ssize_t got = ::pread(part.file->fd, room.data(), room.size(), static_cast<off_t>(part.file->position));
    if (got != static_cast<ssize_t>(room.size())) continue;
    part = {.memory = room, .file = nullptr};
    used += room.size();
  }
}

void SendQueue::clear() {
  chain_ = {};
  copied_ = {};
  parts_.clear();
  next_ = done_in_part_ = 0;
}

SendQueue::Outcome SendQueue::flush(int socket) {
  while (next_ < parts_.size()) {
    if (const Outcome outcome = parts_[next_].file ? send_file(socket) : send_memory(socket); outcome != Outcome::done) return outcome;
  }
  clear();
  return Outcome::done;
}

SendQueue::Outcome SendQueue::send_memory(int socket) {
  iovec pieces[pieces_at_once];
  size_t count = 0;
  const auto add = [&](const uint8_t* data, size_t size) { pieces[count++] = {const_cast<uint8_t*>(data), size}; };
  size_t part = next_;
  for (; part < parts_.size() && count < pieces_at_once && !parts_[part].file; ++part) {
    const size_t skip = part == next_ ? done_in_part_ : 0;
    add(parts_[part].memory.data() + skip, parts_[part].memory.size() - skip);
  }
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = count;
  const int flags = MSG_NOSIGNAL | (part < parts_.size() ? MSG_MORE : 0);
  const ssize_t sent = ::sendmsg(socket, &message, flags);
  if (sent < 0) {
    if (errno == EINTR) return Outcome::done;
    return errno == EAGAIN ? Outcome::would_block : Outcome::peer_lost;
  }
  advance(static_cast<size_t>(sent));
  return Outcome::done;
}

SendQueue::Outcome SendQueue::send_file(int socket) {
  const wire::FileSlice& slice = *parts_[next_].file;
  off_t position = static_cast<off_t>(slice.position + done_in_part_);
  const ssize_t sent = ::sendfile(socket, slice.fd, &position, slice.length - done_in_part_);
  if (sent < 0) {
    if (errno == EINTR) return Outcome::done;
    if (errno == EAGAIN) return Outcome::would_block;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN || errno == ETIMEDOUT) return Outcome::peer_lost;
    error_ = fmt::format("sendfile of {} bytes at {}: {}", slice.length, slice.position, std::strerror(errno));
    return Outcome::source_failed;
  }
  if (sent == 0) {
    error_ = fmt::format("a file ends before position {}", position);
    return Outcome::source_failed;
  }
  advance(static_cast<size_t>(sent));
  return Outcome::done;
}

void SendQueue::advance(size_t bytes) {
  while (bytes > 0) {
    const auto& part = parts_[next_];
    const size_t left = (part.file ? part.file->length : part.memory.size()) - done_in_part_;
    if (bytes < left) {
      done_in_part_ += bytes;
      return;
    }
    bytes -= left;
    ++next_;
    done_in_part_ = 0;
  }
}

}  // namespace castellan::net
