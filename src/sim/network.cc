// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/network.h"

#include <algorithm>

#include "raft/rpc.h"
#include "raft/text.h"
#include "wire/api.h"
#include "wire/api_key.h"
#include "wire/codec.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::sim {
namespace {

using std::chrono::microseconds;

// What the server's listener answers; the quorum looks at the range of kraft.version.
Bytes api_versions(int16_t version) {
  wire::ApiVersionsResponse response;
  for (const wire::ApiInfo& api : wire::all_apis()) {
    response.api_keys.push_back({.api_key = static_cast<int16_t>(api.key), .min_version = api.valid.first, .max_version = api.valid.last});
  }
  response.supported_features.push_back({.name = "kraft.version", .min_version = 0, .max_version = 1});
  return *wire::encode_to_bytes(response, version);
}

std::string text_of(int16_t key, int16_t version, const Bytes& request) {
  if (!raft::is_quorum_api(key)) return fmt::format("API {}", key);
  const auto decoded = raft::decode_request(key, version, request);
  return decoded ? raft::to_text(*decoded) : decoded.error().message;
}

std::string text_of_answer(int16_t key, int16_t version, const Result<Bytes>& answer) {
  if (!answer) return std::string(error_name(answer.error().code));
  if (!raft::is_quorum_api(key)) return fmt::format("API {}, {} bytes", key, answer->size());
  const auto decoded = raft::decode_response(key, version, *answer);
  return decoded ? raft::to_text(*decoded) : decoded.error().message;
}

}  // namespace

struct Network::Call {
  int from = 0;
  int from_life = 0;
  int to = 0;
  int to_life = -1;  // that it arrived in
  quorum::MetadataRequest request;
  std::function<void(const Result<Bytes>&)> left;
  Callback done;
};

class Network::Port final : public io::Channel {
 public:
  Port(Network& network, int id) : network_(network), id_(id) {}
  void send(const io::Endpoint& to, int16_t key, int16_t version, Bytes body, Duration timeout, Callback done) override {
    network_.send(id_, network_.find(to.host), {.api_key = key, .api_version = version, .body = std::move(body), .listener = "CONTROLLER"}, timeout,
                  nullptr, std::move(done));
  }

 private:
  Network& network_;
  int id_;
};

Network::Network(Schedule& schedule, Prng& random, const Trace& trace) : schedule_(schedule), random_(random), trace_(trace) {}
Network::~Network() = default;

io::Channel& Network::channel(int id) {
  auto& port = ports_[id];
  if (!port) port = std::make_unique<Port>(*this, id);
  return *port;
}

int Network::find(const std::string& name) const {
  for (const auto& [id, host] : hosts_) {
    if (name_of(id) == name) return id;
  }
  return 0;
}

bool Network::lost(int from, int to) { return random_.chance(weather.loss) || cuts_.contains({from, to}); }

Duration Network::delay() {
  if (random_.chance(weather.slow)) return Duration(random_.between(0, weather.slowest.count()));
  return microseconds(random_.between(50, 600));
}

void Network::request(int client, int to, quorum::MetadataRequest request, Duration timeout, std::function<void(const Result<Bytes>&)> left, Callback done) {
  send(client, to, std::move(request), timeout, std::move(left), std::move(done));
}

void Network::send(int from, int to, quorum::MetadataRequest request, Duration timeout, std::function<void(const Result<Bytes>&)> left, Callback done) {
  ++messages_;
  auto call = std::make_shared<Call>();
  call->from = from;
  call->from_life = from > 0 ? hosts_.at(from)->life() : 0;
  call->to = to;
  call->left = std::move(left);
  call->done = std::move(done);
  schedule_.after(timeout, [this, call] { finish(call, fail(ErrorCode::REQUEST_TIMED_OUT, "no answer in time")); });
  if (to == 0) return schedule_.after(delay(), [this, call] { finish(call, fail(ErrorCode::NETWORK_EXCEPTION, "the host is not known")); });
  call->request = std::move(request);
  if (witness_ && from > 0) witness_({from, to, call->request.api_key, call->request.api_version, call->request.body, nullptr});
  if (lost(from, to)) {
    if (trace_) trace_("{} -> {} lost: {}", from, to, text_of(call->request.api_key, call->request.api_version, call->request.body));
    return;
  }
  if (trace_) trace_("{} -> {}: {}", from, to, text_of(call->request.api_key, call->request.api_version, call->request.body));
  const bool twice = from > 0 && random_.chance(weather.doubled);
  schedule_.after(delay(), [this, call] { arrive(call); });
  if (twice) schedule_.after(delay(), [this, call] { arrive(call); });
  if (random_.chance(weather.reset)) schedule_.after(delay(), [this, call] { end_connection(call); });
}

void Network::arrive(const CallPtr& call) {
  if (!call->done) return;
  Host& host = *hosts_.at(call->to);
  if (!host.running()) return end_connection(call);
  call->to_life = host.life();
  const auto key = static_cast<wire::ApiKey>(call->request.api_key);
  if (key == wire::ApiKey::FETCH || key == wire::ApiKey::FETCH_SNAPSHOT || key == wire::ApiKey::UPDATE_RAFT_VOTER) fetches_[{call->from, call->to}] = schedule_.now();
  auto& open = open_[call->to];
  if (open.size() > 64) std::erase_if(open, [](const CallPtr& other) { return !other->done; });
  open.push_back(call);
  if (call->request.api_key == static_cast<int16_t>(wire::ApiKey::API_VERSIONS)) return answer(call, api_versions(call->request.api_version));
  host.deliver(call->request, [this, call](Result<Bytes> body) { answer(call, std::move(body)); });
}

void Network::answer(const CallPtr& call, Result<Bytes> body) {
  ++messages_;
  if (call->left) std::exchange (call->left, nullptr)(body);
  const auto& request = call->request;
  if (witness_ && body && call->from > 0) witness_({call->from, call->to, request.api_key, request.api_version, request.body, &*body});
  if (lost(call->to, call->from)) {
    if (trace_) trace_("{} -> {} lost: {}", call->to, call->from, text_of_answer(request.api_key, request.api_version, body));
    return;
  }
  if (trace_) trace_("{} -> {}: {}", call->to, call->from, text_of_answer(request.api_key, request.api_version, body));
  connected_[{call->from, call->to}] = {call->from_life, call->to_life};
  schedule_.after(delay(), [this, call, body = std::move(body)]() mutable { finish(call, std::move(body)); });
}

// One answer, whatever comes first; none at all once the process that asked has died.
void Network::finish(const CallPtr& call, Result<Bytes> body) {
  if (!call->done) return;
  Callback done = std::exchange(call->done, nullptr);
  if (call->from < 0) return done(std::move(body));
  Host& host = *hosts_.at(call->from);
  if (!host.running() || host.life() != call->from_life) return;
  host.tell([done = std::move(done), body = std::move(body)]() mutable { done(std::move(body)); });
}

// The connection is refused, or was closed. When one was there before and a new one is refused, the process is gone.
void Network::end_connection(const CallPtr& call) {
  if (!call->done || lost(call->to, call->from)) return;
  const auto talked = connected_.find({call->from, call->to});
  const bool was_there = call->to_life >= 0 || (talked != connected_.end() && talked->second.first == call->from_life);
  if (talked != connected_.end()) connected_.erase(talked);
  schedule_.after(delay(), [this, call, was_there] {
    if (!call->done) return;
    const bool refused = !hosts_.at(call->to)->running();
    if (was_there && refused) finish(call, fail(ErrorCode::BROKER_NOT_AVAILABLE, "the process is gone"));
    else finish(call, fail(ErrorCode::NETWORK_EXCEPTION, "the connection has ended"));
  });
}

MonotonicTime Network::last_fetch(int from, int to) const {
  const auto found = fetches_.find({from, to});
  return found == fetches_.end() ? MonotonicTime{} : found->second;
}

void Network::gone(int id) {
  for (const CallPtr& call : std::exchange(open_[id], {})) end_connection(call);
}

}  // namespace castellan::sim
