// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Binds a listening socket: an empty host is every interface, IPv4 and IPv6; a port in use is an error that names it.
// Internal to net/.

#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "base/result.h"

namespace castellan::net {

struct BindOptions {
  std::string name;  // of the listener, for errors
  std::string host;
  uint16_t port = 0;
  int backlog = 50;
  int receive_buffer_bytes = -1;  // -1: the system's
};

Result<void> bind_acceptor(boost::asio::ip::tcp::acceptor& acceptor, boost::asio::io_context& io, const BindOptions& options);

}  // namespace castellan::net
