// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/lifecycle.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/partitions.h"
#include "image/image.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_heartbeat_response.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"

namespace castellan::broker {

namespace {

using std::chrono::milliseconds;

constexpr int16_t registration_version = 4;
// Controllers that are too old for the second one have no metadata.version that supports what it says.
constexpr int16_t heartbeat_version = 1;
constexpr int16_t heartbeat_version_with_cordoned_directories = 2;

// While the broker starts, stops or is refused, it asks again soon; an idle cluster hears of it every interval only.
constexpr milliseconds retry_first{20};
constexpr milliseconds retry_most{1000};

Duration retry_delay(int attempts) { return std::min<Duration>(retry_first * (1 << std::min(attempts, 6)), retry_most); }

template <class M>
ControllerRequest to_controller(const M& body, int16_t version) {
  auto encoded = wire::encode_to_bytes(body, version);
  CHECK(encoded.has_value(), "{}", encoded.error().message);
  return {.api_key = M::info().key, .api_version = version, .body = std::move(*encoded), .principal = {}, .client_host = {}, .client_id = {}};
}

}  // namespace

void Lifecycle::start(std::function<void()> ready, std::function<void(std::string)> failed) {
  ready_ = std::move(ready);
  failed_ = std::move(failed);
  state_ = State::registering;
  register_by_ = broker_.now().monotonic + broker_.server().milliseconds("initial.broker.registration.timeout.ms");
  register_broker();
}

void Lifecycle::again_in(Duration delay) {
  broker_.deadlines().cancel(next_);
  next_ = broker_.deadlines().add(broker_.now().monotonic + delay, [this] {
    if (state_ == State::registering) {
      register_broker();
    } else if (state_ != State::left) {
      heartbeat();
    }
  });
}

void Lifecycle::hurry() {
  if (in_flight_) {
    hurry_ = true;
  } else if (state_ != State::idle && state_ != State::registering && state_ != State::left) {
    heartbeat();
  }
}

void Lifecycle::register_broker() {
  if (in_flight_) return;
  auto& directories = broker_.partitions().directories();
  wire::BrokerRegistrationRequest request;
  request.broker_id = broker_.node_id().value;
  request.cluster_id = broker_.options().cluster_id;
  request.incarnation_id = broker_.options().incarnation.value;
  for (const auto& listener : broker_.options().advertised_listeners) {
    auto& to = request.listeners.emplace_back();
    to.name = listener.name;
    to.host = listener.host;
    to.port = listener.port;
    to.security_protocol = static_cast<int16_t>(listener.protocol);
  }
  for (const auto& feature : image::features()) {
    if (feature.name == image::metadata_version_feature) continue;
    auto& to = request.features.emplace_back();
    to.name = feature.name;
    to.min_supported_version = feature.level_min();
    to.max_supported_version = feature.latest_production;
  }
  auto& version = request.features.emplace_back();
  version.name = image::metadata_version_feature;
  version.min_supported_version = image::MetadataVersion::level_min;
  version.max_supported_version = image::MetadataVersion::level_latest_production;
  request.rack = broker_.static_server().rack;
  for (const auto& id : directories.online_ids()) request.log_dirs.push_back(id.value);
  request.previous_broker_epoch = directories.previous_broker_epoch();
  in_flight_ = true;
  broker_.surroundings().controller.call(to_controller(request, registration_version), [this](Result<Bytes> answer) { on_registered(std::move(answer)); });
}

void Lifecycle::on_registered(Result<Bytes> answer) {
  in_flight_ = false;
  std::string refusal;
  if (!answer) {
    refusal = answer.error().message;
  } else if (auto response = wire::decode_exactly<wire::BrokerRegistrationResponse>(registration_version, *answer, wire::DecodeMode::LENIENT); !response) {
    refusal = response.error().message;
  } else if (response->error_code != 0) {
    refusal = error_name(static_cast<ErrorCode>(response->error_code));
  } else {
    epoch_ = response->broker_epoch;
    attempts_ = 0;
    last_refusal_.clear();
    if (state_ == State::registering) state_ = State::catching_up;
    spdlog::info("broker {} registered with epoch {}", broker_.node_id(), epoch_);
    return heartbeat();
  }
  if (state_ != State::registering) return;
  // At a start the controller of this very node is not elected yet.
  const bool too_early = !answer && answer.error().code == ErrorCode::NOT_CONTROLLER && attempts_ < 6;
  if (!too_early && std::exchange(last_refusal_, refusal) != refusal) spdlog::warn("broker {} is not registered yet: {}", broker_.node_id(), refusal);
  if (!was_ready_ && broker_.now().monotonic > register_by_) {
    return failed_(fmt::format("broker {} could not register within initial.broker.registration.timeout.ms: {}", broker_.node_id(), refusal));
  }
  again_in(retry_delay(attempts_++));
}

void Lifecycle::heartbeat() {
  if (in_flight_) {
    hurry_ = true;
    return;
  }
  broker_.deadlines().cancel(next_);
  auto& directories = broker_.partitions().directories();
  wire::BrokerHeartbeatRequest request;
  request.broker_id = broker_.node_id().value;
  request.broker_epoch = epoch_;
  request.current_metadata_offset = broker_.image().last_offset.value;
  request.want_fence = state_ == State::catching_up;
  request.want_shut_down = state_ == State::leaving;
  for (const auto& id : directories.offline_ids()) request.offline_log_dirs.push_back(id.value);
  int16_t version = heartbeat_version;
  if (broker_.image().features.version_or_minimum().cordoned_log_dirs_supported()) {
    request.cordoned_log_dirs.emplace();
    version = heartbeat_version_with_cordoned_directories;
  }
  in_flight_ = true;
  broker_.surroundings().controller.call(to_controller(request, version), [this, version](Result<Bytes> answer) { on_heartbeat(version, std::move(answer)); });
}

void Lifecycle::on_heartbeat(int16_t version, Result<Bytes> answer) {
  in_flight_ = false;
  if (state_ == State::left) return;
  auto response = answer ? wire::decode_exactly<wire::BrokerHeartbeatResponse>(version, *answer, wire::DecodeMode::LENIENT)
                         : unexpected(answer.error());
  const auto error = response ? static_cast<ErrorCode>(response->error_code) : response.error().code;
  if (error != ErrorCode::NONE) {
    if ((error == ErrorCode::STALE_BROKER_EPOCH || error == ErrorCode::BROKER_ID_NOT_REGISTERED) && state_ != State::leaving) {
      spdlog::warn("the controller does not know broker {} with epoch {}: {}; registering anew", broker_.node_id(), epoch_, error_name(error));
      state_ = State::registering;
      attempts_ = 0;
      return register_broker();
    }
    if (state_ == State::unfencing || state_ == State::catching_up) last_refusal_ = error_name(error);
    return again_in(retry_delay(attempts_++));
  }
  attempts_ = 0;
  last_refusal_.clear();
  if (state_ == State::leaving && response->should_shut_down) return finish_leaving();
  if (state_ == State::unfencing && !response->is_fenced) {
    state_ = State::running;
    spdlog::info("broker {} is unfenced", broker_.node_id());
    if (!std::exchange(was_ready_, true)) ready_();
  }
  if (state_ == State::catching_up) return on_image();
  if (std::exchange(hurry_, false)) return heartbeat();
  again_in(state_ == State::running ? Duration(broker_.server().milliseconds("broker.heartbeat.interval.ms")) : Duration(retry_first));
}

void Lifecycle::on_image() {
  if (state_ != State::catching_up || in_flight_) return;
  const auto* self = broker_.image().cluster.broker(broker_.node_id());
  if (self && self->epoch.value == epoch_) {
    state_ = State::unfencing;
    return heartbeat();
  }
  again_in(retry_first);
}

int Lifecycle::kafka_state() const {
  switch (state_) {
    case State::idle:
      return 0;
    case State::registering:
      return 1;
    case State::catching_up:
    case State::unfencing:
      return 2;
    case State::running:
      return 3;
    case State::leaving:
      return 6;
    case State::left:
      return 7;
  }
  return 0;
}

std::string Lifecycle::not_ready_because() const {
  const auto why = [this](std::string_view text) {
    return last_refusal_.empty() ? std::string(text) : fmt::format("{}: {}", text, last_refusal_);
  };
  switch (state_) {
    case State::idle:
      return "the broker has not started yet";
    case State::registering:
      return why("the broker is not registered with the controller");
    case State::catching_up:
      return why(fmt::format("the broker has read the metadata up to offset {} only, which does not have its registration", broker_.image().last_offset));
    case State::unfencing:
      return why("the broker is fenced: the controller has not let it take part yet");
    case State::running:
      return {};
    case State::leaving:
    case State::left:
      return "the broker is stopping";
  }
  return {};
}

void Lifecycle::leave(std::function<void()> done, Duration patience) {
  left_ = std::move(done);
  if (state_ == State::idle || state_ == State::registering) return finish_leaving();  // nothing to leave
  state_ = State::leaving;
  patience_ = broker_.deadlines().add(broker_.now().monotonic + patience, [this] {
    spdlog::warn("the controller has not let broker {} go; stopping all the same", broker_.node_id());
    finish_leaving();
  });
  heartbeat();
}

void Lifecycle::finish_leaving() {
  if (state_ == State::left) return;
  state_ = State::left;
  broker_.deadlines().cancel(next_);
  broker_.deadlines().cancel(patience_);
  if (left_) std::exchange(left_, nullptr)();
}

}  // namespace castellan::broker
