// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// For tests: the client's end of a connection as plain bytes. Blocks for ten seconds at most.

#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"

namespace castellan::net {

// A blocking client that speaks raw bytes.
class RawClient {
 public:
  explicit RawClient(uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(fd_); }

  bool connected() const { return connected_; }
  void send(BytesView bytes) { ASSERT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size())); }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  // Exactly `size` bytes, fewer when the other side ended.
  Bytes receive(size_t size) {
    Bytes bytes(size);
    size_t have = 0;
    while (have < size) {
      const ssize_t got = ::recv(fd_, bytes.data() + have, size - have, 0);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  bool closed_by_peer() { return receive(1).empty(); }
  // The next response without its length.
  Bytes response() {
    const Bytes length = receive(4);
    return length.size() < 4 ? Bytes{} : receive(load_big_endian<uint32_t>(length.data()));
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace castellan::net
