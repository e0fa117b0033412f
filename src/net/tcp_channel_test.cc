// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/tcp_channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "net/listener.h"

namespace castellan::net {
namespace {

using namespace std::chrono_literals;

// ApiVersions v0 has a plain header and an empty body: enough to carry a question.
constexpr int16_t api_versions = 18;

class Sink : public RequestSink {
 public:
  std::function<void(Request)> handler = [](Request request) { respond(std::move(request), "yes"); };

  static void respond(Request request, std::string_view text) {
    Bytes bytes(8 + text.size());
    store_big_endian(bytes.data(), static_cast<int32_t>(4 + text.size()));
    store_big_endian(bytes.data() + 4, request.start().correlation_id);
    std::ranges::copy(text, bytes.begin() + 8);
    request.respond(wire::OutputChain(std::move(bytes)));
  }
  void on_request(Request request) override {
    last = request.info();
    handler(std::move(request));
  }
  ConnectionInfo last;
};

class TcpChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    listen(0);
    channel_ = std::make_unique<TcpChannel>(reactor_, TcpChannelOptions{.client_id = "test", .post = [](auto work) { work(); }, .connections_max = 2});
    thread_ = std::thread([this] { reactor_.run(); });
  }
  void listen(uint16_t port) {
    auto opened = Listener::open(reactor_, {.name = "CONTROLLER", .host = "127.0.0.1", .port = port}, sink_);
    ASSERT_TRUE(opened) << opened.error().message;
    listener_ = std::move(*opened);
    listener_->start();
    endpoint_ = {"127.0.0.1", listener_->port()};
  }
  void in_loop(std::function<void()> task) {
    std::promise<void> done;
    reactor_.post([&] { task(), done.set_value(); });
    done.get_future().wait();
  }
  void TearDown() override {
    in_loop([&] {
      waiting_.clear();
      channel_->close();
      if (listener_) listener_->close();
    });
    reactor_.stop();
    thread_.join();
  }
  std::future<Result<Bytes>> ask(Duration timeout = 10s, bool probe = false) {
    auto answer = std::make_shared<std::promise<Result<Bytes>>>();
    auto future = answer->get_future();
    auto done = [answer](Result<Bytes> body) { answer->set_value(std::move(body)); };
    if (probe) channel_->probe(endpoint_, api_versions, 0, {}, timeout, done);
    else channel_->send(endpoint_, api_versions, 0, {}, timeout, done);
    return future;
  }
  static std::string text(const Result<Bytes>& answer) { return answer ? std::string(as_text(*answer)) : std::string(error_name(answer.error().code)); }

  Reactor reactor_;
  Sink sink_;
  std::vector<std::shared_ptr<Request>> waiting_;
  std::unique_ptr<Listener> listener_;
  io::Endpoint endpoint_;
  std::unique_ptr<TcpChannel> channel_;
  std::thread thread_;
};

TEST_F(TcpChannelTest, a_request_is_answered_and_the_connection_is_kept) {
  EXPECT_EQ(text(ask().get()), "yes");
  const auto first = sink_.last.number;
  EXPECT_EQ(text(ask().get()), "yes");
  EXPECT_EQ(sink_.last.number, first);
  EXPECT_EQ(text(ask(10s, true).get()), "yes");
  EXPECT_NE(sink_.last.number, first);
}

TEST_F(TcpChannelTest, a_question_does_not_wait_behind_one_that_waits_for_data) {
  sink_.handler = [&](Request request) { waiting_.push_back(std::make_shared<Request>(std::move(request))); };
  auto parked = ask();
  while (true) {
    bool there = false;
    in_loop([&] { there = !waiting_.empty(); });
    if (there) break;
  }
  in_loop([&] { sink_.handler = [](Request request) { Sink::respond(std::move(request), "quick"); }; });
  EXPECT_EQ(text(ask().get()), "quick");
  in_loop([&] { Sink::respond(std::move(*waiting_[0]), "slow"); });
  EXPECT_EQ(text(parked.get()), "slow");
}

TEST_F(TcpChannelTest, a_port_where_nobody_listens_says_that_the_node_is_gone) {
  in_loop([&] { std::exchange(listener_, nullptr)->close(); });
  EXPECT_EQ(text(ask().get()), "BROKER_NOT_AVAILABLE");
}

TEST_F(TcpChannelTest, a_node_that_ends_while_it_is_asked_is_told_as_gone) {
  EXPECT_EQ(text(ask().get()), "yes");
  in_loop([&] { sink_.handler = [&](Request) { std::exchange(listener_, nullptr)->close(); }; });
  EXPECT_EQ(text(ask().get()), "BROKER_NOT_AVAILABLE");
  EXPECT_EQ(text(ask().get()), "BROKER_NOT_AVAILABLE") << "as long as it is refused";
}

TEST_F(TcpChannelTest, a_node_that_ended_between_two_questions_is_told_as_gone) {
  EXPECT_EQ(text(ask().get()), "yes");
  in_loop([&] { std::exchange(listener_, nullptr)->close(); });
  EXPECT_EQ(text(ask().get()), "BROKER_NOT_AVAILABLE");
}

TEST_F(TcpChannelTest, a_connection_that_ends_on_a_living_node_is_only_a_lost_answer) {
  sink_.handler = [](Request request) { request.close({}); };
  EXPECT_EQ(text(ask().get()), "NETWORK_EXCEPTION");
  in_loop([&] { sink_.handler = [](Request request) { Sink::respond(std::move(request), "again"); }; });
  EXPECT_EQ(text(ask().get()), "again");
}

TEST_F(TcpChannelTest, what_is_not_answered_in_time_costs_the_connection) {
  sink_.handler = [&](Request request) { waiting_.push_back(std::make_shared<Request>(std::move(request))); };
  EXPECT_EQ(text(ask(30ms).get()), "REQUEST_TIMED_OUT");
  in_loop([&] { sink_.handler = [](Request request) { Sink::respond(std::move(request), "fresh"); }; });
  EXPECT_EQ(text(ask().get()), "fresh");
}

TEST_F(TcpChannelTest, an_answer_to_another_question_costs_the_connection) {
  sink_.handler = [](Request request) {
    Bytes bytes(8);
    store_big_endian(bytes.data(), 4);
    store_big_endian(bytes.data() + 4, request.start().correlation_id + 7);
    request.respond(wire::OutputChain(std::move(bytes)));
  };
  EXPECT_EQ(text(ask().get()), "NETWORK_EXCEPTION");
}

TEST_F(TcpChannelTest, beyond_the_bound_of_connections_requests_wait_their_turn) {
  sink_.handler = [&](Request request) { waiting_.push_back(std::make_shared<Request>(std::move(request))); };
  std::vector<std::future<Result<Bytes>>> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(ask());
  for (size_t done = 0; done < 5;) {
    in_loop([&] {
      EXPECT_LE(waiting_.size(), 2u);
      for (auto& request : std::exchange(waiting_, {})) Sink::respond(std::move(*request), "turn"), ++done;
    });
  }
  for (auto& answer : answers) EXPECT_EQ(text(answer.get()), "turn");
}

TEST_F(TcpChannelTest, a_closed_channel_answers_everything_with_an_error) {
  sink_.handler = [&](Request request) { waiting_.push_back(std::make_shared<Request>(std::move(request))); };
  auto parked = ask();
  in_loop([&] { channel_->close(); });
  EXPECT_EQ(text(parked.get()), "NETWORK_EXCEPTION");
  EXPECT_EQ(text(ask().get()), "NETWORK_EXCEPTION");
}

}  // namespace
}  // namespace castellan::net
