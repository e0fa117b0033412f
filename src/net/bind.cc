// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/bind.h"

#include <boost/asio/ip/v6_only.hpp>
#include <vector>

namespace castellan::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Result<void> bind_acceptor(tcp::acceptor& acceptor, asio::io_context& io, const BindOptions& options) {
  const auto refuse = [&](const char* what, const error_code& error) {
    return fail(ErrorCode::NETWORK_EXCEPTION, "listener {}: cannot {} {}:{}: {}", options.name, what,
                options.host.empty() ? "*" : options.host, options.port, error.message());
  };
  error_code error;
  std::vector<tcp::endpoint> candidates;
  if (options.host.empty()) {
    candidates = {tcp::endpoint(tcp::v6(), options.port), tcp::endpoint(tcp::v4(), options.port)};
  } else {
    tcp::resolver resolver(io);
    for (const auto& entry : resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error)) {
      candidates.push_back(entry.endpoint());
    }
    if (error) return refuse("resolve", error);
  }
  for (const auto& endpoint : candidates) {
    acceptor.close();
    acceptor.open(endpoint.protocol(), error);
    if (error) continue;  // a machine without IPv6
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (options.host.empty() && endpoint.protocol() == tcp::v6()) acceptor.set_option(asio::ip::v6_only(false), error);
    if (options.receive_buffer_bytes > 0) {
      acceptor.set_option(tcp::acceptor::receive_buffer_size(options.receive_buffer_bytes), error);
    }
    acceptor.bind(endpoint, error);
    if (error == asio::error::address_in_use || error == asio::error::access_denied) return refuse("bind", error);
    if (error) continue;
    acceptor.listen(options.backlog, error);
    if (error) return refuse("listen on", error);
    acceptor.non_blocking(true, error);
    return {};
  }
  return refuse("bind", error);
}

}  // namespace castellan::net
