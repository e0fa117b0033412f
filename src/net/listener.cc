// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/listener.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>

#include "net/bind.h"
#include "net/connection.h"
#include "net/reactor_core.h"

namespace castellan::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Unique in the process: it is part of what logs and fetch sessions call a connection.
uint64_t next_number() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

}  // namespace

Listener::Core::Core(Reactor& reactor, ListenerOptions options, RequestSink& sink)
    : reactor(reactor),
      options(std::move(options)),
      sink(sink),
      acceptor(reactor.core().io),
      idle_timer(reactor.core().io),
      retry_timer(reactor.core().io) {
  if (this->options.metrics) metrics = std::make_unique<ListenerMetrics>(*this->options.metrics, this->options.name);
}

MonotonicTime Listener::Core::now() const {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

void Listener::Core::complain(const std::string& line) {
  if (auto admitted = complaints.admit(now(), line); !admitted.empty()) spdlog::warn("{}", admitted);
}

void Listener::Core::accept() {
  if (!accepting || accept_pending || !acceptor.is_open() || connections.size() >= options.limits.all || !rate_allows()) return;
  accept_pending = true;
  acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
    self->accept_pending = false;
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      self->admit(std::move(socket));
      self->accept();
      return;
    }
    // Out of descriptors or memory: others go on, and a moment later there may be room again.
    self->complain(fmt::format("listener {}: cannot accept a connection: {}", self->options.name, error.message()));
    self->retry_timer.expires_after(std::chrono::milliseconds(100));
    self->retry_timer.async_wait([self](const error_code& stopped) {
      if (!stopped) self->accept();
    });
  });
}

bool Listener::Core::rate_allows() {
  const auto rate = static_cast<double>(options.limits.per_second);
  if (options.limits.per_second >= INT32_MAX) return true;
  const MonotonicTime time = now();
  // Credit for a second at most, and for one connection at least.
  connection_credit = std::min(std::max(rate, 1.0), connection_credit + rate * std::chrono::duration<double>(time - credit_filled).count());
  credit_filled = time;
  if (connection_credit >= 1) {
    connection_credit -= 1;
    return true;
  }
  if (rate > 0) {
    retry_timer.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>((1 - connection_credit) / rate)));
    retry_timer.async_wait([self = shared_from_this()](const error_code& stopped) {
      if (!stopped) self->accept();
    });
  }
  return false;
}

void Listener::Core::admit(tcp::socket socket) {
  error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (error) return;  // gone already
  const auto local = socket.local_endpoint(error);
  if (error) return;
  const auto host = [](asio::ip::address address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
      address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    return address.to_string();
  };
  ConnectionInfo info{.number = next_number(),
                      .listener = options.name,
                      .remote_host = host(remote.address()),
                      .remote_port = remote.port(),
                      .local_host = host(local.address()),
                      .local_port = local.port(),
                      .text = {}};
  info.text = fmt::format("{}:{}-{}:{}-{}", info.local_host, info.local_port, info.remote_host, info.remote_port, info.number);
  const auto own_limit = options.limits.of_address.find(info.remote_host);
  const size_t limit = own_limit == options.limits.of_address.end() ? options.limits.of_one_address
                                                                    : static_cast<size_t>(std::max<int64_t>(own_limit->second, 0));
  if (size_t& count = per_address[info.remote_host]; count >= limit) {
    complain(fmt::format("listener {}: {} has {} connections, the most that max.connections.per.ip allows; closed {}", options.name,
                         info.remote_host, count, info.text));
    if (count == 0) per_address.erase(info.remote_host);
    if (metrics) metrics->refused.add();
    return;
  } else {
    ++count;
  }
  socket.non_blocking(true, error);
  socket.set_option(tcp::no_delay(true), error);
  socket.set_option(asio::socket_base::keep_alive(true), error);
  if (options.send_buffer_bytes > 0) socket.set_option(tcp::socket::send_buffer_size(options.send_buffer_bytes), error);
  auto connection = std::make_shared<Connection>(shared_from_this(), std::move(socket), std::move(info));
  connection->last_active_ = now();
  connections.push_back(connection);
  connection->place_ = std::prev(connections.end());
  if (metrics) {
    metrics->accepted.add();
    metrics->connections.set(static_cast<double>(connections.size()));
  }
  arm_idle_timer();
  connection->start();
}

void Listener::Core::touch(Connection& connection) {
  connection.last_active_ = now();
  connections.splice(connections.end(), connections, connection.place_);
}

void Listener::Core::remove(Connection& connection) {
  if (auto found = per_address.find(connection.info().remote_host); found != per_address.end() && --found->second == 0) {
    per_address.erase(found);
  }
  connections.erase(connection.place_);
  if (metrics) metrics->connections.set(static_cast<double>(connections.size()));
  check_drained();
  accept();
}

void Listener::Core::arm_idle_timer() {
  if (idle_timer_armed || connections.empty() || options.idle_limit <= Duration::zero()) return;
  idle_timer_armed = true;
  const auto due = connections.front()->last_active() + options.idle_limit;
  idle_timer.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due.nanoseconds)));
  idle_timer.async_wait([self = shared_from_this()](const error_code& error) {
    self->idle_timer_armed = false;
    if (!error) self->close_idle();
  });
}

void Listener::Core::close_idle() {
  const auto now_ = now();
  while (!connections.empty() && connections.front()->last_active() + options.idle_limit <= now_) {
    auto oldest = connections.front();
    if (oldest->may_be_idle()) {
      spdlog::debug("{}: closed after {} ms without a request", oldest->info().text,
                    std::chrono::duration_cast<std::chrono::milliseconds>(now_ - oldest->last_active()).count());
      oldest->close({});
    } else {
      touch(*oldest);  // it waits for us, not we for it
    }
  }
  arm_idle_timer();
}

Result<std::unique_ptr<Listener>> Listener::open(Reactor& reactor, ListenerOptions options, RequestSink& sink) {
  auto core = std::make_shared<Core>(reactor, std::move(options), sink);
  const auto& asked = core->options;
  TRY_VOID(bind_acceptor(core->acceptor, reactor.core().io,
                         {.name = asked.name, .host = asked.host, .port = asked.port, .backlog = asked.backlog, .receive_buffer_bytes = asked.receive_buffer_bytes}));
  return std::unique_ptr<Listener>(new Listener(std::move(core)));
}

Listener::~Listener() { close(); }

void Listener::start() {
  core_->accepting = true;
  core_->accept();
}

void Listener::stop_accepting() {
  core_->accepting = false;
  core_->draining = true;
  error_code ignored;
  core_->acceptor.close(ignored);
  core_->retry_timer.cancel();
}

void Listener::set_limits(ConnectionLimits limits) {
  core_->options.limits = std::move(limits);
  core_->retry_timer.cancel();
  core_->accept();
}

void Listener::Core::check_drained() {
  if (!draining || !connections.empty() || !on_drained) return;
  retry_timer.cancel();
  asio::post(reactor.core().io, std::exchange(on_drained, nullptr));
}

void Listener::drain(Duration patience, std::function<void()> done) {
  stop_accepting();
  core_->on_drained = std::move(done);
  for (const auto& connection : std::list(core_->connections)) connection->linger();
  core_->retry_timer.expires_after(patience);
  core_->retry_timer.async_wait([core = core_](const error_code& stopped) {
    if (stopped) return;
    while (!core->connections.empty()) {
      auto connection = core->connections.front();
      connection->close({});
    }
  });
  core_->check_drained();
}

void Listener::close() {
  stop_accepting();
  core_->idle_timer.cancel();
  while (!core_->connections.empty()) {
    auto connection = core_->connections.front();
    connection->close({});
  }
}

uint16_t Listener::port() const {
  error_code ignored;
  return core_->acceptor.local_endpoint(ignored).port();
}

size_t Listener::connections() const { return core_->connections.size(); }

}  // namespace castellan::net
