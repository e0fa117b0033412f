// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "metrics/registry.h"
#include "net/raw_client.h"

namespace castellan::net {
namespace {

using Client = RawClient;

// ApiVersions v0: a header of version 1 and no body.
Bytes frame(int32_t correlation, BytesView body = {}) {
  Bytes bytes(4 + 2 + 2 + 4 + 2 + body.size());
  store_big_endian(bytes.data(), static_cast<int32_t>(bytes.size() - 4));
  store_big_endian<int16_t>(bytes.data() + 4, 18);
  store_big_endian<int16_t>(bytes.data() + 6, 0);
  store_big_endian(bytes.data() + 8, correlation);
  store_big_endian<int16_t>(bytes.data() + 12, -1);
  std::ranges::copy(body, bytes.begin() + 14);
  return bytes;
}

// Answers with the correlation id and what `answer` gives.
class Sink : public RequestSink {
 public:
  std::function<void(Request)> handler = [](Request request) { respond(std::move(request)); };

  static void respond(Request request, size_t size = 0) {
    Bytes bytes(8 + size, 'x');
    store_big_endian(bytes.data(), static_cast<int32_t>(4 + size));
    store_big_endian(bytes.data() + 4, request.start().correlation_id);
    request.respond(wire::OutputChain(std::move(bytes)));
  }
  void on_request(Request request) override { handler(std::move(request)); }
  void on_closed(const ConnectionInfo&) override { ++closed; }
  std::atomic<int> closed{0};
};

class ListenerTest : public testing::Test {
 protected:
  void open(ListenerOptions options = {}) {
    options.name = "PLAINTEXT";
    options.host = "127.0.0.1";
    auto opened = Listener::open(reactor_, options, sink_);
    ASSERT_TRUE(opened) << opened.error().message;
    listener_ = std::move(*opened);
    listener_->start();
    thread_ = std::thread([this] { reactor_.run(); });
  }
  // Runs on the reactor's thread and waits for it.
  void in_loop(std::function<void()> task) {
    std::promise<void> done;
    reactor_.post([&] { task(), done.set_value(); });
    done.get_future().wait();
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    in_loop([&] { listener_->close(); });
    reactor_.stop();
    thread_.join();
  }

  Reactor reactor_;
  Sink sink_;
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

int32_t correlation(BytesView response) { return response.size() < 4 ? -1 : load_big_endian<int32_t>(response.data()); }

TEST_F(ListenerTest, answers_pipelined_requests_in_order) {
  open();
  Client client(listener_->port());
  Bytes all;
  for (int i = 0; i < 100; ++i) std::ranges::copy(frame(i), std::back_inserter(all));
  client.send(all);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(correlation(client.response()), i);
}

TEST_F(ListenerTest, puts_a_frame_together_that_comes_byte_by_byte) {
  open();
  Client client(listener_->port());
  for (const uint8_t byte : frame(7)) client.send({&byte, 1});
  EXPECT_EQ(correlation(client.response()), 7);
}

TEST_F(ListenerTest, takes_a_large_frame_and_the_small_one_behind_it) {
  open();
  size_t body_size = 0;
  sink_.handler = [&](Request request) {
    body_size = std::max(body_size, request.body().size());
    Sink::respond(std::move(request));
  };
  Client client(listener_->port());
  Bytes all = frame(1, Bytes(3'000'000, 'b'));
  std::ranges::copy(frame(2), std::back_inserter(all));
  std::thread writer([&] { client.send(all); });
  EXPECT_EQ(correlation(client.response()), 1);
  EXPECT_EQ(correlation(client.response()), 2);
  writer.join();
  EXPECT_EQ(body_size, 3'000'000u);
}

TEST_F(ListenerTest, does_not_read_the_next_request_before_the_answer) {
  open();
  std::vector<int32_t> seen;
  std::optional<Request> waiting;
  sink_.handler = [&](Request request) {
    seen.push_back(request.start().correlation_id);
    if (!waiting) {
      waiting.emplace(std::move(request));
    } else {
      Sink::respond(std::move(request));
    }
  };
  Client client(listener_->port());
  Bytes two = frame(1);
  std::ranges::copy(frame(2), std::back_inserter(two));
  client.send(two);
  Client other(listener_->port());  // served meanwhile, and proof that the loop had time for the first
  for (bool there = false; !there;) in_loop([&] { there = waiting.has_value(); });
  other.send(frame(3));
  EXPECT_EQ(correlation(other.response()), 3);
  in_loop([&] {
    EXPECT_EQ(seen, (std::vector<int32_t>{1, 3}));
    Sink::respond(std::move(*waiting));
  });
  EXPECT_EQ(correlation(client.response()), 1);
  EXPECT_EQ(correlation(client.response()), 2);
  waiting.reset();
}

TEST_F(ListenerTest, closes_on_a_length_that_cannot_be_and_serves_others) {
  ListenerOptions options;
  options.max_request_bytes = 1000;
  open(options);
  Client good(listener_->port());
  for (const int32_t length : {-1, INT32_MIN, INT32_MAX, 1001}) {
    Client bad(listener_->port());
    uint8_t bytes[4];
    store_big_endian(bytes, length);
    bad.send(bytes);
    EXPECT_TRUE(bad.closed_by_peer()) << length;
  }
  good.send(frame(1));
  EXPECT_EQ(correlation(good.response()), 1);
}

TEST_F(ListenerTest, closes_on_a_header_that_is_cut) {
  open();
  for (const size_t size : {0u, 1u, 7u, 9u}) {
    Client client(listener_->port());
    Bytes bytes = frame(1);
    bytes.resize(4 + size);
    store_big_endian(bytes.data(), static_cast<int32_t>(size));
    client.send(bytes);
    EXPECT_TRUE(client.closed_by_peer()) << size;
  }
}

TEST_F(ListenerTest, answers_a_client_that_has_half_closed) {
  open();
  Client client(listener_->port());
  client.send(frame(5));
  client.half_close();
  EXPECT_EQ(correlation(client.response()), 5);
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(ListenerTest, no_answer_leaves_the_connection_to_the_next_request) {
  open();
  sink_.handler = [&](Request request) {
    if (request.start().correlation_id == 1) {
      request.respond_nothing();
    } else {
      Sink::respond(std::move(request));
    }
  };
  Client client(listener_->port());
  Bytes two = frame(1);
  std::ranges::copy(frame(2), std::back_inserter(two));
  client.send(two);
  EXPECT_EQ(correlation(client.response()), 2);
}

TEST_F(ListenerTest, a_request_dropped_without_an_answer_closes_its_connection) {
  open();
  sink_.handler = [&](Request) {};
  Client client(listener_->port());
  client.send(frame(1));
  EXPECT_TRUE(client.closed_by_peer());
  in_loop([] {});
  EXPECT_EQ(sink_.closed, 1);
}

TEST_F(ListenerTest, writes_memory_and_file_ranges_in_order_to_a_slow_reader) {
  char path[] = "/tmp/listener_test_XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  const Bytes content(5'000'000, 'f');
  ASSERT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  open();
  sink_.handler = [&](Request request) {
    Bytes own(14, 'o');
    store_big_endian(own.data(), 4'100'010);
    store_big_endian(own.data() + 4, request.start().correlation_id);
    std::vector<wire::OutputChain::Insertion> insertions(2);
    insertions[0].position = 12;
    insertions[0].file = {.owner = nullptr, .fd = fd, .position = 1, .length = 4'000'000};
    insertions[1].position = 12;
    insertions[1].memory = BytesView(content).first(100'000);
    request.respond(wire::OutputChain(std::move(own), std::move(insertions)));
  };
  Client client(listener_->port());
  client.send(frame(9));
  const Bytes response = client.response();
  ASSERT_EQ(response.size(), 4'100'010u);
  EXPECT_EQ(correlation(response), 9);
  EXPECT_EQ(as_text(BytesView(response).subspan(4, 5)), "oooof");
  EXPECT_EQ(as_text(BytesView(response).last(3)), "foo");
  ::close(fd);
}

TEST_F(ListenerTest, small_file_ranges_come_in_their_places) {
  char path[] = "/tmp/listener_test_XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  ASSERT_EQ(::write(fd, "0123456789", 10), 10);
  open();
  sink_.handler = [&](Request request) {
    Bytes own(11, 'o');
    store_big_endian(own.data(), 4 + 3 + 2 + 5);
    store_big_endian(own.data() + 4, request.start().correlation_id);
    std::vector<wire::OutputChain::Insertion> insertions(2);
    insertions[0].position = 9;
    insertions[0].file = {.owner = nullptr, .fd = fd, .position = 3, .length = 2};
    insertions[1].position = 11;
    insertions[1].file = {.owner = nullptr, .fd = fd, .position = 5, .length = 5};
    request.respond(wire::OutputChain(std::move(own), std::move(insertions)));
  };
  Client client(listener_->port());
  for (int32_t number = 1; number <= 2; ++number) {
    client.send(frame(number));
    const Bytes response = client.response();
    EXPECT_EQ(correlation(response), number);
    EXPECT_EQ(as_text(BytesView(response).subspan(4)), "o34oo56789");
  }
  ::close(fd);
}

TEST_F(ListenerTest, a_file_that_ends_early_closes_the_connection) {
  char path[] = "/tmp/listener_test_XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  open();
  sink_.handler = [&](Request request) {
    std::vector<wire::OutputChain::Insertion> insertions(1);
    insertions[0].position = 8;
    insertions[0].file = {.owner = nullptr, .fd = fd, .position = 0, .length = 10};
    request.respond(wire::OutputChain(Bytes(8), std::move(insertions)));
  };
  Client client(listener_->port());
  client.send(frame(9));
  EXPECT_EQ(client.receive(18).size(), 8u);
  ::close(fd);
}

TEST_F(ListenerTest, a_port_in_use_is_refused_with_its_name) {
  open();
  Sink sink;
  Reactor reactor;
  auto second = Listener::open(reactor, {.name = "OTHER", .host = "127.0.0.1", .port = listener_->port()}, sink);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("OTHER"), std::string::npos);
  EXPECT_NE(second.error().message.find(std::to_string(listener_->port())), std::string::npos);
}

TEST_F(ListenerTest, closes_what_is_above_the_limit_for_one_address) {
  ListenerOptions options;
  options.limits.of_one_address = 2;
  open(options);
  Client a(listener_->port());
  Client b(listener_->port());
  a.send(frame(1)), b.send(frame(1));
  a.response(), b.response();
  Client c(listener_->port());
  EXPECT_TRUE(c.closed_by_peer());
}

TEST_F(ListenerTest, an_address_may_have_a_limit_of_its_own) {
  ListenerOptions options;
  options.limits.of_address["127.0.0.1"] = 0;
  open(options);
  Client client(listener_->port());
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(ListenerTest, leaves_connections_above_the_limit_waiting_until_one_ends) {
  ListenerOptions options;
  options.limits.all = 1;
  open(options);
  auto first = std::make_unique<Client>(listener_->port());
  first->send(frame(1));
  first->response();
  Client second(listener_->port());
  second.send(frame(2));
  in_loop([&] { EXPECT_EQ(listener_->connections(), 1u); });
  first.reset();
  EXPECT_EQ(correlation(second.response()), 2);
}

TEST_F(ListenerTest, closes_a_silent_connection_but_not_one_that_waits_for_its_answer) {
  ListenerOptions options;
  options.idle_limit = std::chrono::milliseconds(50);
  open(options);
  std::optional<Request> waiting;
  sink_.handler = [&](Request request) { waiting.emplace(std::move(request)); };
  Client busy(listener_->port());
  busy.send(frame(4));
  Client silent(listener_->port());
  EXPECT_TRUE(silent.closed_by_peer());
  in_loop([&] { Sink::respond(std::move(*waiting)); });
  EXPECT_EQ(correlation(busy.response()), 4);
  waiting.reset();
}

TEST(Reactor, rings_at_the_earliest_deadline_armed) {
  Reactor reactor;
  int rings = 0;
  reactor.on_alarm([&] {
    ++rings;
    reactor.stop();
  });
  const MonotonicTime now{std::chrono::steady_clock::now().time_since_epoch().count()};
  reactor.arm(now + std::chrono::hours(1));
  reactor.arm(now + std::chrono::milliseconds(1));
  reactor.run();
  EXPECT_EQ(rings, 1);
}

TEST_F(ListenerTest, connections_bytes_and_requests_are_counted_by_api) {
  metrics::Registry registry;
  open({.metrics = &registry});
  {
    Client client(listener_->port());
    client.send(frame(1));
    EXPECT_EQ(client.response().size(), 4u);
    client.send(frame(2));
    EXPECT_EQ(client.response().size(), 4u);
    in_loop([] {});  // what was answered is counted
    const auto page = registry.text();
    const auto has = [&](const char* line) { EXPECT_NE(page.find(line), std::string::npos) << line << " in\n" << page; };
    has("kafka_server_socket_server_metrics_connection_count{listener=\"PLAINTEXT\"} 1\n");
    has("kafka_server_socket_server_metrics_incoming_byte_total{listener=\"PLAINTEXT\"} 28\n");
    has("kafka_server_socket_server_metrics_outgoing_byte_total{listener=\"PLAINTEXT\"} 16\n");
    has("kafka_network_requestmetrics_requests_total{request=\"ApiVersions\",listener=\"PLAINTEXT\"} 2\n");
    has("kafka_network_requestmetrics_totaltimems_count{request=\"ApiVersions\",listener=\"PLAINTEXT\"} 2\n");
  }
  Client stranger(listener_->port());
  stranger.send(as_bytes("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(stranger.closed_by_peer());
  in_loop([] {});
  EXPECT_NE(registry.text().find("castellan_connections_refused_total{listener=\"PLAINTEXT\"} 1\n"), std::string::npos);
  // The registry goes before the listener does.
  TearDown();
}

TEST_F(ListenerTest, limits_may_change_while_it_runs) {
  open();
  Client first(listener_->port());
  first.send(frame(1));
  ASSERT_EQ(first.response().size(), 4u);
  in_loop([&] { listener_->set_limits({.of_one_address = 1}); });
  Client second(listener_->port());
  EXPECT_TRUE(second.closed_by_peer());
  first.send(frame(2));
  EXPECT_EQ(first.response().size(), 4u) << "who is there stays";
  in_loop([&] { listener_->set_limits({}); });
  Client third(listener_->port());
  third.send(frame(3));
  EXPECT_EQ(third.response().size(), 4u);
}

TEST_F(ListenerTest, connections_that_come_too_fast_wait_and_are_served_in_the_end) {
  ListenerOptions options;
  options.limits.per_second = 50;
  open(options);
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 60; ++i) {
    Client client(listener_->port());
    client.send(frame(i));
    ASSERT_EQ(client.response().size(), 4u);
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(150));
}

class DrainTest : public ListenerTest {
 protected:
  std::future<void> drain(Duration patience = std::chrono::seconds(10)) {
    auto done = std::make_shared<std::promise<void>>();
    reactor_.post([this, patience, done] { listener_->drain(patience, [done] { done->set_value(); }); });
    return done->get_future();
  }
};

TEST_F(DrainTest, an_answer_on_its_way_arrives_whole_though_more_was_sent) {
  constexpr size_t size = 4 << 20;
  sink_.handler = [](Request request) { Sink::respond(std::move(request), size); };
  open();
  Client client(listener_->port());
  client.send(frame(1));
  client.send(frame(2));
  client.send(frame(3));
  EXPECT_EQ(client.receive(8).size(), 8u);  // the answer is on its way
  auto drained = drain();
  EXPECT_EQ(client.receive(size).size(), size);
  EXPECT_TRUE(client.closed_by_peer());
  client.half_close();
  drained.wait();
  in_loop([&] { EXPECT_EQ(listener_->connections(), 0u); });
}

TEST_F(DrainTest, who_waits_for_an_answer_or_says_nothing_is_let_go) {
  std::vector<Request> kept;
  sink_.handler = [&](Request request) { kept.push_back(std::move(request)); };
  open();
  Client silent(listener_->port());
  Client waiting(listener_->port());
  waiting.send(frame(1));
  in_loop([&] {});
  while (true) {
    bool there = false;
    in_loop([&] { there = !kept.empty(); });
    if (there) break;
  }
  auto drained = drain();
  EXPECT_TRUE(silent.closed_by_peer());
  EXPECT_TRUE(waiting.closed_by_peer());
  in_loop([&] { Sink::respond(std::move(kept[0])); });  // too late, and harmless
  silent.half_close();
  waiting.half_close();
  drained.wait();
  in_loop([&] { kept.clear(); });
}

TEST_F(DrainTest, who_does_not_close_is_closed) {
  open();
  Client client(listener_->port());
  client.send(frame(1));
  EXPECT_EQ(client.response().size(), 4u);
  drain(std::chrono::milliseconds(30)).wait();
  in_loop([&] { EXPECT_EQ(listener_->connections(), 0u); });
}

TEST_F(DrainTest, with_nobody_there_it_is_done_at_once) {
  open();
  drain().wait();
}

}  // namespace
}  // namespace castellan::net
