// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One accepted connection: reads a frame, hands it to the sink, writes the answer, reads the next.
//
//   idle --bytes--> reading --whole frame--> working --respond--> writing --all written--> idle
//     any of them --close, end of stream, bad frame--> closed
//     any of them --linger--> lingering: what was answered gets through, nothing more is served, until the client closes
//
// While working or writing nothing is read: the client's window fills and it waits (B9). The first read of a frame takes
// at most first_read_bytes, later ones never go beyond the frame's end, so what is kept of a following frame is small.
//
// Internal to net/. Owned by shared pointers: its listener's list, its pending operations, its request.

#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <list>

#include "net/listener_core.h"
#include "net/send_queue.h"

namespace castellan::net {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Listener::Core> listener, boost::asio::ip::tcp::socket socket, ConnectionInfo info);

  void start();
  void respond(wire::OutputChain response);
  void respond_nothing();
  // `reason` empty: nothing to log (the client's own doing).
  void close(const std::string& reason);
  // Ends the stream to the client once the answer on its way is out, and reads off what it still sends: a close with unread bytes
  // would be a reset, which takes answers with it. The owner closes it when the client does not.
  void linger();
  // The request in work was dropped without an answer.
  void abandoned();

  const ConnectionInfo& info() const { return info_; }
  bool may_be_idle() const { return state_ == State::reading; }
  MonotonicTime last_active() const { return last_active_; }

 private:
  friend struct Listener::Core;
  enum class State { reading, working, writing, lingering, closed };

  void read();
  void read_off();
  void on_read(size_t bytes);
  // Hands over the frames that are there; then reads on.
  void serve();
  // True when a whole frame is there; closes when there never will be one.
  bool frame_complete();
  void hand_over();
  void write();
  void written();

  std::shared_ptr<Listener::Core> listener_;
  boost::asio::ip::tcp::socket socket_;
  ConnectionInfo info_;
  State state_ = State::reading;
  bool serving_ = false;     // serve() is on the stack: it goes on itself
  bool read_pending_ = false;
  bool linger_when_written_ = false;
  Buffer in_;                // bytes of the next frame, its length first
  SendQueue out_;
  MonotonicTime last_active_;
  // For the metrics: what is in work, and since when.
  const wire::ApiInfo* api_ = nullptr;
  MonotonicTime received_;
  size_t answer_bytes_ = 0;
  std::list<std::shared_ptr<Connection>>::iterator place_;  // in the listener's list, the longest silent first
};

}  // namespace castellan::net
