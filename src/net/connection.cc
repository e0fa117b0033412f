// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/connection.h"

#include <spdlog/spdlog.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "base/bytes.h"
#include "base/check.h"
#include "net/frame_buffer.h"
#include "net/greeting.h"
#include "net/reactor_core.h"

namespace castellan::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
// So many requests of one connection in a row, then the others' turn.
constexpr int requests_in_a_row = 16;
}  // namespace

Connection::Connection(std::shared_ptr<Listener::Core> listener, asio::ip::tcp::socket socket, ConnectionInfo info)
    : listener_(std::move(listener)), socket_(std::move(socket)), info_(std::move(info)) {}

void Connection::start() { read(); }

void Connection::read() {
  make_room_for_frame(in_);
  const auto room = in_.room();
  read_pending_ = true;
  socket_.async_read_some(asio::buffer(room.data(), room.size()), [self = shared_from_this()](const error_code& error, size_t bytes) {
    self->read_pending_ = false;
    if (self->state_ == State::closed) return;
    if (error) return self->close({});
    if (self->state_ == State::lingering) return self->read_off();
    self->on_read(bytes);
  });
}

void Connection::read_off() {
  in_.set_size(0);
  in_.reserve(first_read_bytes);
  read();
}

void Connection::linger() {
  if (state_ == State::closed || state_ == State::lingering) return;
  if (state_ == State::writing) {
    linger_when_written_ = true;
    return;
  }
  state_ = State::lingering;
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (!read_pending_) read_off();
}

void Connection::on_read(size_t bytes) {
  in_.set_size(in_.size() + bytes);
  listener_->touch(*this);
  serve();
}

bool Connection::frame_complete() {
  if (in_.size() < frame_length_bytes) return false;
  const auto length = load_big_endian<int32_t>(in_.data());
  if (length < 0 || static_cast<uint32_t>(length) > listener_->options.max_request_bytes) {
    close(describe_bad_length(BytesView(in_.data(), in_.size()), length, listener_->options.max_request_bytes));
    return false;
  }
  return in_.size() >= frame_length_bytes + static_cast<size_t>(length);
}

void Connection::hand_over() {
  const size_t end = frame_length_bytes + load_big_endian<uint32_t>(in_.data());
  Buffer frame = std::exchange(in_, Buffer());
  if (frame.size() > end) {
    in_.reserve(std::max(first_read_bytes, frame.size() - end));
    std::memcpy(in_.data(), frame.data() + end, frame.size() - end);
    in_.set_size(frame.size() - end);
    frame.set_size(end);
  }
  wire::Reader reader(BytesView(frame.data(), end).subspan(frame_length_bytes));
  auto start = wire::read_request_header(reader);
  if (!start) return close(start.error().message);
  state_ = State::working;
  api_ = start->api;
  received_ = last_active_;
  answer_bytes_ = 0;
  if (listener_->metrics) listener_->metrics->bytes_in.add(end);
  listener_->sink.on_request(Request(shared_from_this(), std::move(frame), std::move(*start), frame_length_bytes + reader.position()));
}

void Connection::serve() {
  if (serving_) return;
  serving_ = true;
  auto self = shared_from_this();
  int turn = 0;
  while (state_ == State::reading && frame_complete()) {
    if (turn++ == requests_in_a_row) {
      serving_ = false;
      asio::post(listener_->reactor.core().io, [self] { self->serve(); });
      return;
    }
    hand_over();
  }
  serving_ = false;
  if (state_ == State::reading) read();
}

void Connection::respond(wire::OutputChain response) {
  if (state_ == State::closed || state_ == State::lingering) return;
  CHECK(state_ == State::working, "{}: an answer without a request", info_.text);
  answer_bytes_ = response.size();
  out_.load(std::move(response));
  state_ = State::writing;
  write();
}

void Connection::respond_nothing() {
  if (state_ == State::closed || state_ == State::lingering) return;
  CHECK(state_ == State::working, "{}: an answer without a request", info_.text);
  written();
}

void Connection::write() {
  switch (out_.flush(socket_.native_handle())) {
    case SendQueue::Outcome::done:
      return written();
    case SendQueue::Outcome::would_block:
      socket_.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this()](const error_code& error) {
        if (self->state_ == State::closed) return;
        if (error) return self->close({});
        self->listener_->touch(*self);
        self->write();
      });
      return;
    case SendQueue::Outcome::peer_lost:
      return close({});
    case SendQueue::Outcome::source_failed:
      return close(fmt::format("the answer could not be read from disk: {}", out_.error()));
  }
}

void Connection::written() {
  if (listener_->metrics) {
    listener_->metrics->bytes_out.add(answer_bytes_);
    listener_->metrics->answered(*api_, listener_->now() - received_);
  }
  state_ = State::reading;
  if (linger_when_written_) return linger();
  serve();
}

void Connection::abandoned() {
  if (state_ != State::working) return;
  if (listener_->draining) return linger();
  close("its request was dropped without an answer");
}

void Connection::close(const std::string& reason) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  if (!reason.empty() && listener_->metrics) listener_->metrics->refused.add();
  if (!reason.empty()) listener_->complain(fmt::format("closed {} of listener {}: {}", info_.text, info_.listener, reason));
  auto self = shared_from_this();  // the list may hold the last pointer
  listener_->remove(*this);
  error_code ignored;
  socket_.close(ignored);
  out_.clear();
  listener_->sink.on_closed(info_);
}

Request::Request(std::shared_ptr<Connection> connection, Buffer frame, wire::RequestStart start, size_t body_start)
    : connection_(std::move(connection)),
      frame_(std::move(frame)),
      start_(std::move(start)),
      body_start_(body_start),
      received_(connection_->last_active()) {}

Request::~Request() {
  if (connection_) connection_->abandoned();
}

const ConnectionInfo& Request::info() const { return connection_->info(); }

void Request::respond(wire::OutputChain response) {
  CHECK(connection_, "a request was answered twice");
  std::exchange(connection_, nullptr)->respond(std::move(response));
}

void Request::respond_nothing() {
  CHECK(connection_, "a request was answered twice");
  std::exchange(connection_, nullptr)->respond_nothing();
}

void Request::close(const std::string& reason) {
  CHECK(connection_, "a request was answered twice");
  std::exchange(connection_, nullptr)->close(reason);
}

}  // namespace castellan::net
