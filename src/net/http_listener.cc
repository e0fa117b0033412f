// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/http_listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <set>

#include "net/bind.h"
#include "net/reactor_core.h"

namespace castellan::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {
constexpr uint32_t head_bytes_max = 8 << 10;
}  // namespace

class HttpConnection;

struct HttpListener::Core : std::enable_shared_from_this<HttpListener::Core> {
  Core(Reactor& reactor, HttpOptions options, Handler handler)
      : options(std::move(options)), handler(std::move(handler)), acceptor(reactor.core().io), retry(reactor.core().io) {}

  void accept();

  HttpOptions options;
  Handler handler;
  tcp::acceptor acceptor;
  asio::steady_timer retry;
  std::set<std::shared_ptr<HttpConnection>> connections;
};

// One connection: reads a request, has it answered, reads the next. Owned by the listener's set and its pending operations.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<HttpListener::Core> listener, tcp::socket socket) : listener_(std::move(listener)), stream_(std::move(socket)) {}

  void read() {
    parser_.emplace();
    parser_->header_limit(head_bytes_max);
    parser_->body_limit(0);
    stream_.expires_after(listener_->options.patience);
    http::async_read(stream_, in_, *parser_, [self = shared_from_this()](const error_code& error, size_t) { self->on_read(error); });
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    listener_->connections.erase(shared_from_this());
  }

 private:
  void on_read(const error_code& error) {
    if (closed_) return;
    if (error == http::error::header_limit || error == http::error::body_limit) {
      return send({.status = 413, .body = "the request is too large\n"}, false, false);
    }
    const bool not_http = error.category() == make_error_code(http::error::bad_method).category();
    if (error && not_http && error != http::error::end_of_stream && error != http::error::partial_message) {
      return send({.status = 400, .body = "this is not an HTTP request that can be read\n"}, false, false);
    }
    if (error) return close();
    const auto& request = parser_->get();
    const bool head = request.method() == http::verb::head;
    const bool keep = request.keep_alive();
    if (!head && request.method() != http::verb::get) return send({.status = 405, .body = "GET and HEAD are served here\n"}, false, false);
    std::string path(request.target());
    path.resize(std::min(path.find('?'), path.size()));
    // The time for the answer is its own: the stream counts only while it reads or writes.
    waiting_.emplace(stream_.get_executor(), listener_->options.patience);
    waiting_->async_wait([self = shared_from_this()](const error_code& stopped) {
      if (!stopped) self->close();
    });
    const uint64_t turn = ++turn_;
    listener_->handler(path, [self = shared_from_this(), head, keep, turn](HttpAnswer answer) {
      if (self->closed_ || std::exchange(self->answered_, turn) == turn) return;
      self->waiting_.reset();
      self->send(std::move(answer), head, keep);
    });
  }

  void send(HttpAnswer answer, bool head, bool keep) {
    response_.emplace(static_cast<http::status>(answer.status), 11);
    response_->set(http::field::content_type, answer.content_type);
    response_->set(http::field::cache_control, "no-store");
    response_->keep_alive(keep);
    response_->content_length(answer.body.size());
    if (!head) response_->body() = std::move(answer.body);
    stream_.expires_after(listener_->options.patience);
    http::async_write(stream_, *response_, [self = shared_from_this(), keep](const error_code& error, size_t) {
      if (self->closed_) return;
      if (error || !keep) return self->close();
      self->read();
    });
  }

  std::shared_ptr<HttpListener::Core> listener_;
  beast::tcp_stream stream_;
  beast::flat_buffer in_{head_bytes_max + 4096};
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::optional<asio::steady_timer> waiting_;
  uint64_t turn_ = 0;
  uint64_t answered_ = 0;
  bool closed_ = false;
};

void HttpListener::Core::accept() {
  acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || !self->acceptor.is_open()) return;
    if (error) {  // out of descriptors: a moment later there may be some again
      self->retry.expires_after(std::chrono::milliseconds(100));
      self->retry.async_wait([self](const error_code& stopped) {
        if (!stopped) self->accept();
      });
      return;
    }
    if (self->connections.size() < self->options.max_connections) {
      auto connection = std::make_shared<HttpConnection>(self, std::move(socket));
      self->connections.insert(connection);
      connection->read();
    }
    self->accept();
  });
}

Result<std::unique_ptr<HttpListener>> HttpListener::open(Reactor& reactor, HttpOptions options, Handler handler) {
  auto core = std::make_shared<Core>(reactor, std::move(options), std::move(handler));
  TRY_VOID(bind_acceptor(core->acceptor, reactor.core().io, {.name = "HTTP", .host = core->options.host, .port = core->options.port, .backlog = 16, .receive_buffer_bytes = -1}));
  return std::unique_ptr<HttpListener>(new HttpListener(std::move(core)));
}

HttpListener::~HttpListener() { close(); }

void HttpListener::start() { core_->accept(); }

void HttpListener::close() {
  error_code ignored;
  core_->acceptor.close(ignored);
  core_->retry.cancel();
  while (!core_->connections.empty()) (*core_->connections.begin())->close();
}

uint16_t HttpListener::port() const {
  error_code ignored;
  return core_->acceptor.local_endpoint(ignored).port();
}

}  // namespace castellan::net
