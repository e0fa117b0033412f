// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/tcp_channel.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <list>
#include <map>

#include "net/frame_buffer.h"
#include "net/reactor_core.h"
#include "wire/header.h"

namespace castellan::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

// Above anything that a node sends: a snapshot's piece or a fetch is a few MiB at most.
constexpr uint32_t response_bytes_max = 256 << 20;

struct Call {
  const wire::ApiInfo* api = nullptr;
  int16_t version = 0;
  int32_t correlation_id = 0;
  Bytes frame;
  Clock::time_point deadline;
  io::Channel::Callback done;
  bool fresh = false;
};
using CallPtr = std::unique_ptr<Call>;

}  // namespace

class Link;
using LinkPtr = std::shared_ptr<Link>;

// What is known of one endpoint.
struct Peer {
  io::Endpoint endpoint;
  std::vector<tcp::endpoint> addresses;  // as last resolved; empty: not yet
  std::list<LinkPtr> links;
  std::deque<CallPtr> waiting;
  bool lost_connection = false;  // one has ended since the last success: the next attempt tells whether the node is gone
};

struct TcpChannel::Core : std::enable_shared_from_this<TcpChannel::Core> {
  Core(Reactor& reactor, TcpChannelOptions options) : io(reactor.core().io), options(std::move(options)) {}

  void send(const io::Endpoint& to, CallPtr call);
  void pump(Peer& peer);
  void finish(CallPtr call, Result<Bytes> answer);
  // For what fails within send, whose caller does not expect to be called back before it returns.
  void finish_later(CallPtr call, Error error);
  void close();
  void keep_only(const io::Endpoint* to);

  asio::io_context& io;
  TcpChannelOptions options;
  std::map<io::Endpoint, std::unique_ptr<Peer>> peers;
  int32_t last_correlation_id = 0;
  bool closed = false;
};

// One connection. Held by its peer and by its pending operations.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<TcpChannel::Core> channel, Peer& peer) : channel_(std::move(channel)), peer_(peer), socket_(channel_->io), timer_(channel_->io) {}

  bool idle() const { return state_ == State::idle; }
  // Connects, and then sends `call`.
  void open(CallPtr call);
  // Connects to see whether the node is there; `call` has failed already and learns what is found.
  void check(CallPtr call);
  void start(CallPtr call);
  void end(const Error& error);

 private:
  enum class State { connecting, checking, idle, busy, closed };

  void resolve();
  void connect();
  void connected();
  enum class Failure { other, refused, timed_out };
  void connect_failed(const std::string& why, Failure failure);
  void arm(Clock::time_point due);
  void wait_for_timer();
  void on_time();
  void write();
  void read();
  void on_read(size_t bytes);
  void on_end(const error_code& error);
  std::string name() const { return fmt::format("{}:{}", peer_.endpoint.host, peer_.endpoint.port); }

  std::shared_ptr<TcpChannel::Core> channel_;
  Peer& peer_;  // lives as long as the channel
  tcp::socket socket_;
  asio::steady_timer timer_;
  Clock::time_point due_ = Clock::time_point::max();  // when on_time is called
  bool waiting_ = false;                              // for the timer, which may ring before due_
  State state_ = State::connecting;
  bool suspicious_ = false;  // connecting after another connection has ended
  CallPtr call_;
  Bytes out_;             // on its way while writing_
  bool writing_ = false;
  Buffer in_;
};

void Link::open(CallPtr call) {
  call_ = std::move(call);
  suspicious_ = std::exchange(peer_.lost_connection, false);
  arm(suspicious_ ? std::min(call_->deadline, Clock::now() + channel_->options.lost_after) : call_->deadline);
  resolve();
}

void Link::check(CallPtr call) {
  call_ = std::move(call);
  state_ = State::checking;
  suspicious_ = true;
  arm(Clock::now() + channel_->options.lost_after);
  resolve();
}

void Link::resolve() {
  if (!peer_.addresses.empty()) return connect();
  error_code error;
  if (const auto address = asio::ip::make_address(peer_.endpoint.host, error); !error) {
    peer_.addresses = {tcp::endpoint(address, peer_.endpoint.port)};
    return connect();
  }
  auto resolver = std::make_shared<tcp::resolver>(channel_->io);
  resolver->async_resolve(peer_.endpoint.host, std::to_string(peer_.endpoint.port),
                          [self = shared_from_this(), resolver](const error_code& failed, const tcp::resolver::results_type& found) {
                            if (self->state_ == State::closed) return;
                            if (failed) return self->connect_failed(failed.message(), Failure::other);
                            for (const auto& entry : found) self->peer_.addresses.push_back(entry.endpoint());
                            self->connect();
                          });
}

void Link::connect() {
  asio::async_connect(socket_, peer_.addresses, [self = shared_from_this()](const error_code& error, const tcp::endpoint&) {
    if (self->state_ == State::closed) return;
    if (error) return self->connect_failed(error.message(), error == asio::error::connection_refused ? Failure::refused : Failure::other);
    self->connected();
  });
}

void Link::connected() {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  due_ = Clock::time_point::max();
  const bool was_checking = state_ == State::checking;
  state_ = State::idle;
  read();
  auto call = std::move(call_);
  if (!was_checking) return start(std::move(call));
  channel_->finish(std::move(call), fail(ErrorCode::NETWORK_EXCEPTION, "the connection to {} has ended", name()));
  channel_->pump(peer_);
}

void Link::connect_failed(const std::string& why, Failure failure) {
  peer_.addresses.clear();  // the node may have moved
  const bool gone = suspicious_ || failure == Failure::refused;
  const auto code = gone ? ErrorCode::BROKER_NOT_AVAILABLE : failure == Failure::timed_out ? ErrorCode::REQUEST_TIMED_OUT : ErrorCode::NETWORK_EXCEPTION;
  end({code, fmt::format("cannot connect to {}: {}", name(), why)});
}

// The timer is touched only for a deadline earlier than the one it waits for. One request after another moves the deadline on
// and on; the timer rings once in a while, finds that it is too early, and waits for the rest.
void Link::arm(Clock::time_point due) {
  due_ = due;
  if (waiting_ && timer_.expiry() <= due) return;
  wait_for_timer();
}

void Link::wait_for_timer() {
  waiting_ = true;
  timer_.expires_at(due_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->state_ == State::closed) return;  // armed for an earlier time, or not wanted any more
    self->waiting_ = false;
    if (self->due_ == Clock::time_point::max()) return;
    if (self->due_ > Clock::now()) return self->wait_for_timer();
    self->due_ = Clock::time_point::max();
    self->on_time();
  });
}

void Link::on_time() {
  switch (state_) {
    case State::connecting:
    case State::checking:
      return connect_failed("no answer in time", Failure::timed_out);
    case State::busy:
      return end({ErrorCode::REQUEST_TIMED_OUT, fmt::format("{} was not answered by {} in time", call_->api->name, name())});
    case State::idle:
    case State::closed:
      return;
  }
}

void Link::start(CallPtr call) {
  state_ = State::busy;
  call_ = std::move(call);
  arm(call_->deadline);
  write();
}

void Link::write() {
  out_ = std::move(call_->frame);
  writing_ = true;
  asio::async_write(socket_, asio::buffer(out_), [self = shared_from_this()](const error_code& error, size_t) {
    self->writing_ = false;
    if (error && self->state_ != State::closed) self->on_end(error);
  });
}

void Link::read() {
  make_room_for_frame(in_);
  const auto room = in_.room();
  socket_.async_read_some(asio::buffer(room.data(), room.size()), [self = shared_from_this()](const error_code& error, size_t bytes) {
    if (self->state_ == State::closed) return;
    if (error) return self->on_end(error);
    self->on_read(bytes);
  });
}

void Link::on_read(size_t bytes) {
  in_.set_size(in_.size() + bytes);
  const auto strange = [&](std::string_view what) { end({ErrorCode::NETWORK_EXCEPTION, fmt::format("{} sent {}", name(), what)}); };
  if (state_ != State::busy || writing_) return strange("an answer to nothing");
  if (in_.size() < frame_length_bytes) return read();
  const auto length = load_big_endian<uint32_t>(in_.data());
  if (length > response_bytes_max) return strange(fmt::format("a response of {} bytes", length));
  if (in_.size() < frame_length_bytes + length) return read();
  wire::Reader reader(BytesView(in_.data(), frame_length_bytes + length).subspan(frame_length_bytes));
  const auto correlation_id = wire::read_response_header(*call_->api, call_->version, reader);
  if (!correlation_id || *correlation_id != call_->correlation_id || in_.size() > frame_length_bytes + length) return strange("what is not the answer");
  Bytes body(reader.rest().begin(), reader.rest().end());
  // Large answers are rare: their memory is not kept.
  if (in_.capacity() > frame_growth_bytes) in_ = Buffer();
  in_.set_size(0);
  due_ = Clock::time_point::max();
  state_ = State::idle;
  channel_->finish(std::move(call_), std::move(body));
  read();
  channel_->pump(peer_);
}

// The other side ended the connection, or the network did.
void Link::on_end(const error_code& error) {
  const bool was_busy = state_ == State::busy;
  auto call = was_busy ? std::move(call_) : nullptr;
  peer_.lost_connection = !was_busy;
  auto self = shared_from_this();
  end({ErrorCode::NETWORK_EXCEPTION, fmt::format("the connection to {} has ended: {}", name(), error.message())});
  if (!call || channel_->closed) return;
  auto check = std::make_shared<Link>(channel_, peer_);
  peer_.links.push_back(check);
  check->check(std::move(call));
}

void Link::end(const Error& error) {
  if (state_ == State::closed) return;
  auto self = shared_from_this();
  state_ = State::closed;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  peer_.links.remove(self);
  if (call_) channel_->finish(std::move(call_), unexpected(error));
  channel_->pump(peer_);
}

void TcpChannel::Core::finish(CallPtr call, Result<Bytes> answer) {
  options.post([done = std::move(call->done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
}

void TcpChannel::Core::finish_later(CallPtr call, Error error) {
  asio::post(io, [self = shared_from_this(), call = std::move(call), error = std::move(error)]() mutable { self->finish(std::move(call), unexpected(std::move(error))); });
}

void TcpChannel::Core::send(const io::Endpoint& to, CallPtr call) {
  if (closed) return finish_later(std::move(call), {ErrorCode::NETWORK_EXCEPTION, "the node is stopping"});
  call->correlation_id = last_correlation_id = (last_correlation_id + 1) & INT32_MAX;
  auto frame = wire::frame_request(*call->api, call->version, call->correlation_id, options.client_id, call->frame);
  if (!frame) return finish_later(std::move(call), frame.error());
  call->frame = std::move(*frame);
  auto& peer = peers[to];
  if (!peer) {
    peer = std::make_unique<Peer>();
    peer->endpoint = to;
  }
  if (call->fresh) {
    auto link = std::make_shared<Link>(shared_from_this(), *peer);
    peer->links.push_back(link);
    return link->open(std::move(call));
  }
  peer->waiting.push_back(std::move(call));
  pump(*peer);
}

void TcpChannel::Core::pump(Peer& peer) {
  while (!peer.waiting.empty() && !closed) {
    const auto free = std::ranges::find_if(peer.links, [](const LinkPtr& link) { return link->idle(); });
    if (free == peer.links.end() && peer.links.size() >= options.connections_max) return;
    auto call = std::move(peer.waiting.front());
    peer.waiting.pop_front();
    if (call->deadline <= Clock::now()) {
      finish_later(std::move(call), {ErrorCode::REQUEST_TIMED_OUT, fmt::format("no connection to {}:{} was free in time", peer.endpoint.host, peer.endpoint.port)});
      continue;
    }
    if (free != peer.links.end()) {
      (*free)->start(std::move(call));
      continue;
    }
    auto link = std::make_shared<Link>(shared_from_this(), peer);
    peer.links.push_back(link);
    link->open(std::move(call));
  }
}

void TcpChannel::Core::keep_only(const io::Endpoint* to) {
  for (auto& [endpoint, peer] : peers) {
    if (to && endpoint == *to) continue;
    for (auto& call : std::exchange(peer->waiting, {})) finish(std::move(call), fail(ErrorCode::NETWORK_EXCEPTION, "the connection is not wanted any more"));
    for (const auto& link : std::list(peer->links)) link->end({ErrorCode::NETWORK_EXCEPTION, "the connection is not wanted any more"});
  }
}

void TcpChannel::Core::close() {
  closed = true;
  keep_only(nullptr);
}

namespace {

CallPtr make_call(int16_t api_key, int16_t api_version, Bytes body, Duration timeout, io::Channel::Callback done) {
  auto call = std::make_unique<Call>();
  call->api = wire::find_api(api_key);
  CHECK(call->api, "no API {}", api_key);
  call->version = api_version;
  call->frame = std::move(body);
  call->deadline = Clock::now() + timeout;
  call->done = std::move(done);
  return call;
}

}  // namespace

TcpChannel::TcpChannel(Reactor& reactor, TcpChannelOptions options) : core_(std::make_shared<Core>(reactor, std::move(options))) {}
TcpChannel::~TcpChannel() { close(); }

void TcpChannel::send(const io::Endpoint& to, int16_t api_key, int16_t api_version, Bytes body, Duration timeout, Callback done) {
  auto call = make_call(api_key, api_version, std::move(body), timeout, std::move(done));
  // On the reactor's own thread it is written at once; the answer is posted in any case.
  asio::dispatch(core_->io, [core = core_, to, call = std::move(call)]() mutable { core->send(to, std::move(call)); });
}

void TcpChannel::probe(const io::Endpoint& to, int16_t api_key, int16_t api_version, Bytes body, Duration timeout, Callback done) {
  auto call = make_call(api_key, api_version, std::move(body), timeout, std::move(done));
  call->fresh = true;
  asio::post(core_->io, [core = core_, to, call = std::move(call)]() mutable { core->send(to, std::move(call)); });
}

void TcpChannel::keep_only(const io::Endpoint& to) {
  asio::post(core_->io, [core = core_, to] { core->keep_only(&to); });
}

void TcpChannel::close() { core_->close(); }

}  // namespace castellan::net
