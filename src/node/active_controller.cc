// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/active_controller.h"

#include "node/envelope.h"
#include "wire/messages/describe_quorum_request.h"
#include "wire/messages/describe_quorum_response.h"

namespace castellan::node {

namespace {

constexpr std::chrono::milliseconds retry_delay{25};
// An image that does not come holds back an answer so long only: Kafka's brokers do not wait at all.
constexpr std::chrono::milliseconds image_patience{500};
constexpr int16_t describe_quorum_version = 2;

wire::DescribeQuorumRequest describe_quorum() {
  wire::DescribeQuorumRequest request;
  auto& topic = request.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  topic.partitions.emplace_back();
  return request;
}

// Nothing when the node does not lead.
std::optional<Offset> high_watermark_in(BytesView body) {
  const auto response = wire::decode_exactly<wire::DescribeQuorumResponse>(describe_quorum_version, body, wire::DecodeMode::LENIENT);
  if (!response || response->error_code != 0 || response->topics.size() != 1 || response->topics[0].partitions.size() != 1) return std::nullopt;
  const auto& partition = response->topics[0].partitions[0];
  return partition.error_code == 0 ? std::optional(Offset{partition.high_watermark}) : std::nullopt;
}

bool is_temporary(ErrorCode code) {
  return code == ErrorCode::NOT_CONTROLLER || code == ErrorCode::NETWORK_EXCEPTION || code == ErrorCode::BROKER_NOT_AVAILABLE ||
         code == ErrorCode::REQUEST_TIMED_OUT;
}

}  // namespace

void ActiveController::call(broker::ControllerRequest request, Callback done) {
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->done = std::move(done);
  call->give_up = clock_.monotonic() + (call->of_client() ? limits_.client_patience : Duration::zero());
  attempt(std::move(call));
}

void ActiveController::attempt(CallPtr call) {
  const auto view = node_.view();
  if (view.active || view.is_leader) return ask_local(std::move(call));
  if (view.leader_endpoint) return ask_remote(std::move(call), {view.leader_endpoint->host, view.leader_endpoint->port});
  // Never from inside call.
  reactor_.post([this, call = std::move(call)]() mutable { on_answer(std::move(call), fail(ErrorCode::NOT_CONTROLLER, "no active controller is known")); });
}

void ActiveController::ask_local(CallPtr call) {
  quorum::MetadataRequest request{.api_key = call->request.api_key,
                                  .api_version = call->request.api_version,
                                  .body = call->request.body,
                                  .listener = {},
                                  .principal = call->request.principal,
                                  .client_host = call->request.client_host,
                                  .client_id = call->request.client_id,
                                  .forwarded = call->of_client()};
  node_.handle(std::move(request), [this, call = std::move(call)](Result<Bytes> body) mutable {
    reactor_.post([this, call = std::move(call), body = std::move(body)]() mutable { on_answer(std::move(call), std::move(body)); });
  });
}

void ActiveController::ask_remote(CallPtr call, const io::Endpoint& leader) {
  const auto& request = call->request;
  if (!call->of_client()) {
    channel_.send(leader, request.api_key, request.api_version, request.body, limits_.own_timeout,
                  [this, call](Result<Bytes> body) mutable { on_answer(std::move(call), std::move(body)); });
    return;
  }
  const auto left = std::max<Duration>(call->give_up - clock_.monotonic(), retry_delay);
  channel_.send(leader, wire::EnvelopeRequest::info().key, envelope_version, wrap(request), left, [this, call, leader](Result<Bytes> body) mutable {
    auto answer = body ? unwrap_answer(call->request, *body) : std::move(body);
    if (answer) return wait_for_image(std::move(call), std::move(*answer), leader);
    on_answer(std::move(call), std::move(answer));
  });
}

void ActiveController::wait_for_image(CallPtr call, Bytes body, const io::Endpoint& leader) {
  auto question = wire::encode_to_bytes(describe_quorum(), describe_quorum_version);
  CHECK(question.has_value(), "{}", question ? "" : question.error().message);
  channel_.send(leader, wire::DescribeQuorumRequest::info().key, describe_quorum_version, std::move(*question), image_patience,
                [this, call = std::move(call), body = std::move(body)](const Result<Bytes>& answer) mutable {
                  const auto committed = answer ? high_watermark_in(*answer) : std::nullopt;
                  if (!committed || *committed - 1 <= image_last_) return on_answer(std::move(call), std::move(body));
                  answered_.push_back({std::move(call), std::move(body), *committed - 1, clock_.monotonic() + image_patience});
                  reactor_.arm(answered_.back().give_up);
                });
}

void ActiveController::on_answer(CallPtr call, Result<Bytes> body) {
  const auto now = clock_.monotonic();
  if (body || !is_temporary(body.error().code) || now >= call->give_up) {
    if (!body && call->of_client() && is_temporary(body.error().code)) body = fail(ErrorCode::REQUEST_TIMED_OUT, "no active controller: {}", body.error().message);
    return call->done(std::move(body));
  }
  again_.emplace_back(now + retry_delay, std::move(call));
  reactor_.arm(again_.back().first);
}

void ActiveController::on_view(const quorum::QuorumView& view) {
  if (!view.active && !view.leader_endpoint) return;
  // What waits on a connection to an earlier leader, which may be silent for long, is tried again with this one (P70).
  if (view.leader_endpoint && !view.is_leader) channel_.keep_only({view.leader_endpoint->host, view.leader_endpoint->port});
  reactor_.post([this] { attempt_all(); });
}

void ActiveController::attempt_all() {
  for (auto& [due, call] : std::exchange(again_, {})) attempt(std::move(call));
}

void ActiveController::on_image(Offset last) {
  image_last_ = last;
  for (auto& answered : std::exchange(answered_, {})) {
    if (answered.needs <= last) on_answer(std::move(answered.call), std::move(answered.body));
    else answered_.push_back(std::move(answered));
  }
}

void ActiveController::tick(MonotonicTime now) {
  for (auto& [due, call] : std::exchange(again_, {})) {
    if (due <= now) attempt(std::move(call));
    else again_.emplace_back(due, std::move(call));
  }
  for (auto& answered : std::exchange(answered_, {})) {
    if (answered.give_up <= now) on_answer(std::move(answered.call), std::move(answered.body));
    else answered_.push_back(std::move(answered));
  }
}

MonotonicTime ActiveController::next_deadline() const {
  auto first = MonotonicTime::never();
  for (const auto& [due, call] : again_) first = std::min(first, due);
  for (const auto& answered : answered_) first = std::min(first, answered.give_up);
  return first;
}

}  // namespace castellan::node
