// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/producer_ids.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/lifecycle.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/allocate_producer_ids_response.h"

namespace castellan::broker {

namespace {
// Of a block: below this the next one is asked for.
constexpr double prefetch_part = 0.1;
constexpr size_t waiting_most = 100'000;
}  // namespace

void ProducerIds::next(Callback done) {
  if (waiting_.size() >= waiting_most) return done(fail(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, "too many wait for a producer id"));
  waiting_.push_back(std::move(done));
  serve();
}

void ProducerIds::serve() {
  while (!waiting_.empty()) {
    if (current_.next == current_.end) current_ = std::exchange(following_, {});
    if (current_.next == current_.end) break;
    auto done = std::move(waiting_.front());
    waiting_.pop_front();
    done(current_.next++);
  }
  if (following_.next == following_.end && (current_.end - current_.next) <= static_cast<int64_t>(1000 * prefetch_part)) ask();
}

void ProducerIds::ask() {
  if (asking_) return;
  asking_ = true;
  wire::AllocateProducerIdsRequest body;
  body.broker_id = broker_.node_id().value;
  body.broker_epoch = broker_.lifecycle().broker_epoch();
  auto encoded = wire::encode_to_bytes(body, 0);
  CHECK(encoded.has_value(), "{}", encoded.error().message);
  broker_.surroundings().controller.call({.api_key = wire::AllocateProducerIdsRequest::info().key, .api_version = 0, .body = std::move(*encoded),
                                          .principal = {}, .client_host = {}, .client_id = {}},
                                         [this](Result<Bytes> answer) { on_answer(std::move(answer)); });
}

void ProducerIds::on_answer(Result<Bytes> answer) {
  asking_ = false;
  std::string reason;
  if (!answer) {
    reason = answer.error().message;
  } else if (auto response = wire::decode_exactly<wire::AllocateProducerIdsResponse>(0, *answer, wire::DecodeMode::LENIENT); !response) {
    reason = response.error().message;
  } else if (response->error_code != 0) {
    reason = error_name(static_cast<ErrorCode>(response->error_code));
  } else {
    following_ = {response->producer_id_start, response->producer_id_start + response->producer_id_len};
    return serve();
  }
  spdlog::warn("no producer ids from the controller: {}", reason);
  // Those who wait are told to come again; the next of them asks anew.
  auto waiting = std::exchange(waiting_, {});
  for (auto& done : waiting) done(fail(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, "no producer ids from the controller: {}", reason));
}

}  // namespace castellan::broker
