// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/http_listener.h"

#include <future>
#include <thread>

#include "net/raw_client.h"

namespace castellan::net {
namespace {

class HttpListenerTest : public ::testing::Test {
 protected:
  void open(HttpOptions options = {}) {
    options.host = "127.0.0.1";
    auto opened = HttpListener::open(reactor_, options, [this](const std::string& path, HttpListener::Answer answer) {
      if (path == "/later") return reactor_.post([answer] { answer({.body = "later\n"}); });
      if (path == "/never") return;
      answer({.status = path == "/ok" ? 200 : 404, .body = path + "\n"});
    });
    ASSERT_TRUE(opened) << opened.error().message;
    listener_ = std::move(*opened);
    listener_->start();
    thread_ = std::thread([this] { reactor_.run(); });
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    std::promise<void> closed;
    reactor_.post([&] {
      listener_->close();
      closed.set_value();
    });
    closed.get_future().wait();
    reactor_.stop();
    thread_.join();
  }
  // Everything until the other side ends the connection.
  static std::string rest(RawClient& client) {
    std::string text;
    for (Bytes one = client.receive(1); !one.empty(); one = client.receive(1)) text += static_cast<char>(one[0]);
    return text;
  }
  std::string ask(const std::string& request) {
    RawClient client(listener_->port());
    client.send(as_bytes(request));
    return rest(client);
  }

  Reactor reactor_;
  std::unique_ptr<HttpListener> listener_;
  std::thread thread_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(HttpListenerTest, AGetIsAnsweredWithStatusTypeAndBody) {
  open();
  const auto text = ask("GET /ok?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << text;
  EXPECT_HAS(text, "Content-Type: text/plain; charset=utf-8\r\n");
  EXPECT_HAS(text, "Content-Length: 4\r\n");
  EXPECT_TRUE(text.ends_with("\r\n\r\n/ok\n")) << text;
  EXPECT_HAS(ask("GET /no HTTP/1.0\r\n\r\n"), " 404 Not Found\r\n");
}

TEST_F(HttpListenerTest, AHeadHasTheLengthAndNoBody) {
  open();
  const auto text = ask("HEAD /ok HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_HAS(text, "Content-Length: 4\r\n");
  EXPECT_TRUE(text.ends_with("\r\n\r\n")) << text;
}

TEST_F(HttpListenerTest, AConnectionIsKeptForTheNextRequestAndAnAnswerMayComeLater) {
  open();
  RawClient client(listener_->port());
  client.send(as_bytes("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /ok HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  const auto text = rest(client);
  EXPECT_LT(text.find("later\n"), text.find("/ok\n")) << text;
}

TEST_F(HttpListenerTest, WhatIsNotAPlainGetIsRefusedInWords) {
  open();
  EXPECT_HAS(ask("POST /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), " 405 ");
  EXPECT_HAS(ask("GET /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789"), " 413 ");
  EXPECT_HAS(ask("\x16\x03\x01\x02 a TLS hello\r\n\r\n"), " 400 ");
  EXPECT_HAS(ask("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n"), " 4");
}

TEST_F(HttpListenerTest, AConnectionThatWaitsTooLongIsClosed) {
  open({.patience = std::chrono::milliseconds(20)});
  RawClient silent(listener_->port());
  EXPECT_TRUE(silent.closed_by_peer());
  EXPECT_EQ(ask("GET /never HTTP/1.1\r\nHost: a\r\n\r\n"), "");
}

TEST_F(HttpListenerTest, ConnectionsAboveTheLimitAreClosedAtOnceAndOthersServed) {
  open({.max_connections = 1});
  RawClient first(listener_->port());
  first.send(as_bytes("GET /ok HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_EQ(first.receive(8).size(), 8u);
  RawClient second(listener_->port());
  EXPECT_TRUE(second.closed_by_peer());
  first.send(as_bytes("GET /ok HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_HAS(rest(first), "/ok\n");
}

TEST_F(HttpListenerTest, APortInUseIsNamed) {
  open();
  auto second = HttpListener::open(reactor_, {.host = "127.0.0.1", .port = listener_->port()}, nullptr);
  ASSERT_FALSE(second);
  EXPECT_HAS(second.error().message, std::to_string(listener_->port()));
  EXPECT_HAS(second.error().message, "in use");
}

}  // namespace
}  // namespace castellan::net
