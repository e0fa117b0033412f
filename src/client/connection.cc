// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "client/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "wire/header.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::client {

namespace {

constexpr int16_t api_versions_version = 3;
constexpr uint32_t response_bytes_max = 100 << 20;

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const io::Endpoint& to, std::string client_id, Deadline deadline) {
  std::unique_ptr<Connection> connection(new Connection(to, std::move(client_id)));
  TRY_VOID(connection->connect(deadline));
  TRY_VOID(connection->learn_versions(deadline));
  return connection;
}

Connection::~Connection() {
  if (socket_ >= 0) ::close(socket_);
}

Result<void> Connection::connect(Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(to_.host.c_str(), std::to_string(to_.port).c_str(), &hints, &found); error != 0) {
    return fail(ErrorCode::NETWORK_EXCEPTION, "cannot resolve {}: {}", to_.host, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* address = found; address; address = address->ai_next) {
    socket_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) continue;
    int error = ::connect(socket_, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      if (auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
      socklen_t size = sizeof error;
      ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      const int on = 1;
      ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return {};
    }
    why = std::strerror(error);
    ::close(std::exchange(socket_, -1));
  }
  return fail(ErrorCode::NETWORK_EXCEPTION, "cannot connect to {}: {}", name(), why);
}

Result<void> Connection::wait_for(short events, Deadline deadline) {
  pollfd entry{.fd = socket_, .events = events, .revents = 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, static_cast<int>(deadline.left().count()));
    if (ready > 0) return {};
    if (ready == 0) return fail(ErrorCode::REQUEST_TIMED_OUT, "no answer from {} in time", name());
    if (errno != EINTR) return fail(ErrorCode::NETWORK_EXCEPTION, "{}: {}", name(), std::strerror(errno));
  }
}

Result<void> Connection::send_all(BytesView bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      TRY_VOID(wait_for(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return fail(ErrorCode::NETWORK_EXCEPTION, "{}: {}", name(), std::strerror(errno));
    }
  }
  return {};
}

Result<Bytes> Connection::receive(size_t size, Deadline deadline) {
  Bytes bytes(size);
  size_t have = 0;
  while (have < size) {
    const ssize_t got = ::recv(socket_, bytes.data() + have, size - have, 0);
    if (got > 0) {
      have += static_cast<size_t>(got);
    } else if (got == 0) {
      return fail(ErrorCode::NETWORK_EXCEPTION, "{} closed the connection", name());
    } else if (errno == EAGAIN) {
      TRY_VOID(wait_for(POLLIN, deadline));
    } else if (errno != EINTR) {
      return fail(ErrorCode::NETWORK_EXCEPTION, "{}: {}", name(), std::strerror(errno));
    }
  }
  return bytes;
}

Result<Bytes> Connection::exchange(int16_t api_key, int16_t version, BytesView body, Deadline deadline) {
  const wire::ApiInfo& api = *wire::find_api(api_key);
  const int32_t correlation_id = ++last_correlation_id_;
  TRY(const auto frame, wire::frame_request(api, version, correlation_id, client_id_, body));
  TRY_VOID(send_all(frame, deadline));
  TRY(const auto length, receive(4, deadline));
  const auto size = load_big_endian<uint32_t>(length.data());
  if (size > response_bytes_max) return fail(ErrorCode::NETWORK_EXCEPTION, "{} sent {} bytes: this is not a Kafka listener", name(), size);
  TRY(const auto response, receive(size, deadline));
  wire::Reader reader(response);
  TRY(const auto answered, wire::read_response_header(api, version, reader));
  if (answered != correlation_id) return fail(ErrorCode::NETWORK_EXCEPTION, "{} answered another request", name());
  return Bytes(reader.rest().begin(), reader.rest().end());
}

Result<void> Connection::learn_versions(Deadline deadline) {
  wire::ApiVersionsRequest request;
  request.client_software_name = "castellan";
  request.client_software_version = "1";
  TRY(const auto body, wire::encode_to_bytes(request, api_versions_version));
  TRY(const auto answer, exchange(wire::ApiVersionsRequest::info().key, api_versions_version, body, deadline));
  wire::Reader reader(answer);
  TRY(const auto response, wire::decode_as<wire::ApiVersionsResponse>(api_versions_version, reader));
  for (const auto& api : response.api_keys) versions_[api.api_key] = {api.min_version, api.max_version};
  return {};
}

Result<void> Connection::ask_message(const wire::MessageInfo& request_info, const void* request, const wire::MessageInfo& response_info, void* response,
                                     int16_t version_min, Deadline deadline) {
  const wire::ApiInfo& api = *wire::find_api(request_info.key);
  const auto found = versions_.find(request_info.key);
  const int16_t first = found == versions_.end() ? int16_t{1} : std::max({found->second.first, api.valid.first, version_min});
  const int16_t last = found == versions_.end() ? int16_t{0} : std::min(found->second.second, api.valid.last);
  if (first > last) return fail(ErrorCode::UNSUPPORTED_VERSION, "{} does not support {} version {} or later", name(), api.name, version_min);
  wire::Writer writer;
  TRY_VOID(wire::encode_message(request_info, request, last, writer));
  TRY(const auto answer, exchange(request_info.key, last, writer.take_bytes(), deadline));
  wire::Reader reader(answer);
  return wire::decode_message(response_info, response, last, reader);
}

}  // namespace castellan::client
