// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A load generator for small requests: each connection has one request in flight, of one 100-byte record.
//
//   bench_load produce --port P --topic T --requests N [--connections C] [--acks -1|0|1] [--rate R]
//   bench_load fetch   --port P --topic T --requests N [--connections C] [--rate R]
//
// Without a rate the next request leaves when the answer is there. With one (requests per second over all connections) it
// leaves at its own time, and latency counts from that time, so that a stall is paid by all that had to wait for it.
// Prints one line of JSON: seconds, requests, latency in microseconds. Any error answer ends it with exit code 1.
// It speaks Produce 3 and Fetch 4 (no tagged fields) and never looks into what it fetches beyond its size.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace {

using castellan::Bytes;
using castellan::load_big_endian;
using castellan::store_big_endian;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench_load: {}\n", message);
  std::exit(1);
}

class Encoder {
 public:
  template <class T>
  Encoder& number(T value) {
    bytes.resize(bytes.size() + sizeof(T));
    store_big_endian(bytes.data() + bytes.size() - sizeof(T), value);
    return *this;
  }
  Encoder& raw(castellan::BytesView view) {
    bytes.insert(bytes.end(), view.begin(), view.end());
    return *this;
  }
  Encoder& text(std::string_view value) { return number(static_cast<int16_t>(value.size())).raw(castellan::as_bytes(value)); }
  Encoder& byte(uint8_t value) {
    bytes.push_back(value);
    return *this;
  }
  Bytes bytes;
};

// One batch (magic 2) of one record: a key of one byte, a value of 100.
Bytes one_record_batch() {
  std::string value(100, 'v');
  Encoder record;
  record.byte(0).byte(0).byte(0).byte(2).byte('k');  // attributes, timestamp delta, offset delta, key (zigzag lengths)
  record.byte(0xC8).byte(0x01).raw(castellan::as_bytes(value)).byte(0);  // 100 as a zigzag varint, no headers
  int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  Encoder tail;
  tail.number<int16_t>(0).number<int32_t>(0).number(now).number(now).number<int64_t>(-1).number<int16_t>(-1).number<int32_t>(-1).number<int32_t>(1);
  auto size = static_cast<uint32_t>(record.bytes.size() * 2);
  tail.byte(static_cast<uint8_t>(size & 0x7F) | 0x80).byte(static_cast<uint8_t>(size >> 7)).raw(record.bytes);
  Encoder batch;
  batch.number<int64_t>(0).number(static_cast<int32_t>(tail.bytes.size() + 9)).number<int32_t>(-1).byte(2);
  batch.number(castellan::crc32c(tail.bytes)).raw(tail.bytes);
  return batch.bytes;
}

Bytes frame(int16_t key, int16_t version, const Bytes& body) {
  Encoder out;
  out.number(static_cast<int32_t>(body.size() + 18)).number(key).number(version).number<int32_t>(7).text("bench-lo").raw(body);
  return out.bytes;
}

Bytes produce_request(const std::string& topic, int16_t acks) {
  Bytes batch = one_record_batch();
  Encoder body;
  body.number<int16_t>(-1).number(acks).number<int32_t>(10000).number<int32_t>(1).text(topic);
  body.number<int32_t>(1).number<int32_t>(0).number(static_cast<int32_t>(batch.size())).raw(batch);
  return frame(0, 3, body.bytes);
}

Bytes fetch_request(const std::string& topic) {
  Encoder body;
  body.number<int32_t>(-1).number<int32_t>(500).number<int32_t>(1).number<int32_t>(200).byte(0);
  body.number<int32_t>(1).text(topic).number<int32_t>(1).number<int32_t>(0).number<int64_t>(0).number<int32_t>(200);
  return frame(1, 4, body.bytes);
}

// Where the partition's error code lies in an answer: behind the correlation id, what the version puts in front, the name and the index.
int16_t error_of(const Bytes& answer, bool produce, const std::string& topic) {
  size_t at = 4 + (produce ? 0 : 4) + 4 + 2 + topic.size() + 4 + 4;
  if (answer.size() < at + 2) fail("a short answer");
  return load_big_endian<int16_t>(answer.data() + at);
}

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
    int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  int socket() const { return socket_; }

  void send(const Bytes& request) {
    for (size_t sent = 0; sent < request.size();) {
      ssize_t n = ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) fail("the node closed the connection");
      sent += static_cast<size_t>(n);
    }
  }

  const Bytes& receive() {
    uint8_t size[4];
    take(size, sizeof size);
    answer_.resize(load_big_endian<uint32_t>(size));
    take(answer_.data(), answer_.size());
    return answer_;
  }

  Clock::time_point due;        // when the request in flight should have left
  bool in_flight = false;

 private:
  void take(uint8_t* to, size_t size) {
    while (size > 0) {
      ssize_t n = ::recv(socket_, to, size, 0);
      if (n <= 0) fail("the node closed the connection");
      to += n;
      size -= static_cast<size_t>(n);
    }
  }
  int socket_;
  Bytes answer_;
};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--connections", "1"}, {"--acks", "1"}, {"--rate", "0"}};
  if (argc < 2) fail("usage: bench_load produce|fetch --port P --topic T --requests N [--connections C] [--acks A] [--rate R]");
  for (int i = 2; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  bool produce = std::string_view(argv[1]) == "produce";
  std::string topic = options["--topic"];
  long wanted = std::atol(options["--requests"].c_str());
  double rate = std::atof(options["--rate"].c_str());
  Bytes request = produce ? produce_request(topic, static_cast<int16_t>(std::atoi(options["--acks"].c_str()))) : fetch_request(topic);

  std::vector<Connection> connections;
  for (int i = 0; i < std::atoi(options["--connections"].c_str()); i++) connections.emplace_back(std::atoi(options["--port"].c_str()));
  std::vector<pollfd> polls;
  for (auto& connection : connections) polls.push_back({connection.socket(), POLLIN, 0});

  std::vector<double> latencies;
  latencies.reserve(static_cast<size_t>(wanted));
  auto start = Clock::now();
  auto due_of = [&](long index) { return rate > 0 ? start + std::chrono::nanoseconds(static_cast<int64_t>(1e9 * static_cast<double>(index) / rate)) : Clock::now(); };
  long sent = 0;
  while (static_cast<long>(latencies.size()) < wanted) {
    int wait_ms = -1;
    for (auto& connection : connections) {
      if (connection.in_flight || sent == wanted) continue;
      connection.due = due_of(sent);
      auto now = Clock::now();
      if (connection.due > now) {  // the last millisecond is spent spinning, since poll counts in whole ones
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(connection.due - now).count();
        wait_ms = static_cast<int>(left);
        break;
      }
      connection.send(request);
      connection.in_flight = true;
      sent++;
    }
    if (::poll(polls.data(), polls.size(), wait_ms) <= 0) continue;
    for (size_t i = 0; i < connections.size(); i++) {
      if ((polls[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      const Bytes& answer = connections[i].receive();
      latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - connections[i].due).count());
      connections[i].in_flight = false;
      if (int16_t error = error_of(answer, produce, topic); error != 0) fail(fmt::format("error {} in an answer", error));
    }
  }
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(latencies.begin(), latencies.end());
  auto percentile = [&](double p) { return latencies[std::min(latencies.size() - 1, static_cast<size_t>(p * static_cast<double>(latencies.size())))]; };
  fmt::print("{{\"seconds\": {:.3f}, \"requests\": {}, \"p50_us\": {:.1f}, \"p99_us\": {:.1f}, \"p999_us\": {:.1f}, \"max_us\": {:.1f}}}\n", seconds,
             latencies.size(), percentile(0.5), percentile(0.99), percentile(0.999), latencies.back());
}
