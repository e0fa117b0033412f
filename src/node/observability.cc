// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/observability.h"

#include "broker/broker.h"
#include "config/http_address.h"
#include "node/readiness.h"

namespace castellan::node {

Result<std::unique_ptr<Observability>> Observability::open(config::ServerConfigPtr config, net::Reactor& reactor) {
  auto made = std::make_unique<Observability>();
  TRY(const auto address, config::http_address(config->values));
  if (!address) return made;
  made->host_ = address->host;
  auto* self = made.get();
  auto opened = net::HttpListener::open(reactor, {.host = address->host, .port = address->port}, [self](const std::string& path, net::HttpListener::Answer answer) {
    self->handle(path, std::move(answer));
  });
  if (!opened) return fail(opened.error().code, "castellan.http.address: {}", opened.error().message);
  made->http_ = std::move(*opened);
  return made;
}

void Observability::start(Parts parts) {
  if (!http_) return;
  parts_.emplace(std::move(parts));
  const Now now = parts_->clock.now();
  started_ = now.monotonic;
  started_wall_ = now.wall;
  parts_->registry.on_read([this](metrics::Readings& to) {
    read_process(to);
    read_metadata(to);
    read_quorum(to);
  });
  http_->start();
}

void Observability::close() {
  if (http_) http_->close();
}

std::string Observability::address() const { return http_ ? fmt::format("{}:{}", host_.empty() ? "*" : host_, http_->port()) : ""; }

void Observability::handle(const std::string& path, net::HttpListener::Answer answer) {
  if (path == "/live") return answer({.body = "live\n"});
  if (path == "/ready") return answer_ready(std::move(answer));
  if (path == "/metrics") return answer_metrics(std::move(answer));
  answer({.status = 404, .body = "/metrics, /ready and /live are served here\n"});
}

void Observability::with_broker(std::function<void(broker::Broker&)> ask, std::function<void()> done) {
  if (!parts_->broker) return done();
  parts_->broker_reactor->post([this, ask = std::move(ask), done = std::move(done)]() mutable {
    ask(*parts_->broker);
    parts_->reactor.post(std::move(done));
  });
}

void Observability::answer_ready(net::HttpListener::Answer answer) {
  auto facts = std::make_shared<ReadinessFacts>();
  facts->silence_allowed = silence_allowed(*parts_->config);
  if ((facts->stopping = stopping_)) return answer({.status = 503, .body = "not ready: the node is stopping\n"});
  with_broker([facts](broker::Broker& broker) { facts->broker_lacks = broker.not_ready_because(); },
              [this, facts, answer = std::move(answer)] {
                facts->view = parts_->metadata->view();
                facts->now = parts_->clock.now();
                const auto missing = what_is_missing(*facts);
                if (missing.empty()) return answer({.body = "ready\n"});
                std::string text;
                for (const auto& line : missing) text += fmt::format("not ready: {}\n", line);
                answer({.status = 503, .body = std::move(text)});
              });
}

void Observability::answer_metrics(net::HttpListener::Answer answer) {
  with_broker([](broker::Broker& broker) { broker.update_metrics(); },
              [this, answer = std::move(answer)] {
                parts_->metadata->report([this, answer](quorum::QuorumReport report) {
                  parts_->reactor.post([this, answer, report = std::move(report)] {
                    report_ = report;
                    answer({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = parts_->registry.text()});
                  });
                });
              });
}

}  // namespace castellan::node
