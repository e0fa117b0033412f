// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/network.h"

#include "wire/api_key.h"
#include "wire/codec.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::sim {
namespace {

// What the server's listener answers; the quorum looks at the range of kraft.version.
Bytes api_versions(int16_t version) {
  wire::ApiVersionsResponse response;
  response.supported_features.push_back({.name = "kraft.version", .min_version = 0, .max_version = 1});
  return *wire::encode_to_bytes(response, version);
}

}  // namespace

class Network::Port final : public io::Channel {
 public:
  Port(Network& network, int id) : network_(network), id_(id) {}
  void send(const io::Endpoint& to, int16_t key, int16_t version, Bytes body, Duration timeout, Callback done) override {
    network_.send(id_, to, key, version, std::move(body), timeout, std::move(done));
  }

 private:
  Network& network_;
  int id_;
};

Network::Network(quorum::World& world) : world_(world) {}
Network::~Network() = default;

io::Channel& Network::channel(int id) {
  auto& port = ports_[id];
  if (!port) port = std::make_unique<Port>(*this, id);
  return *port;
}

void Network::isolate(int id) {
  for (const auto& [other, node] : nodes_) {
    if (other == id) continue;
    cut(id, other);
    cut(other, id);
  }
}

Duration Network::delay() { return std::chrono::microseconds(world_.random().between(50, 600)); }

void Network::send(int from, const io::Endpoint& to, int16_t key, int16_t version, Bytes body, Duration timeout, Callback done) {
  // One answer, whatever comes first; none at all once the node that asked has died.
  const int life = nodes_.at(from)->life();
  auto once = std::make_shared<Callback>(std::move(done));
  const auto finish = [this, from, life, once](Result<Bytes> answer) {
    if (!*once || !nodes_.at(from)->running() || nodes_.at(from)->life() != life) return;
    std::exchange (*once, nullptr)(std::move(answer));
  };
  world_.after(timeout, [finish] { finish(fail(ErrorCode::REQUEST_TIMED_OUT, "no answer in time")); });

  int target = 0;
  for (const auto& [id, node] : nodes_) {
    if (quorum::TestNode::host_of(id) == to.host) target = id;
  }
  if (target == 0) return world_.after(delay(), [finish, host = to.host] { finish(fail(ErrorCode::NETWORK_EXCEPTION, "{} is not known", host)); });
  if (lost(from, target)) return;
  world_.after(delay(), [this, from, target, key, version, body = std::move(body), finish]() mutable {
    quorum::TestNode& node = *nodes_.at(target);
    const auto refuse = [this, from, target, finish] {
      if (!lost(target, from)) world_.after(delay(), [finish] { finish(fail(ErrorCode::BROKER_NOT_AVAILABLE, "the node is down")); });
    };
    if (!node.running()) return refuse();
    // The connection of a request that a crash leaves without an answer ends with the process.
    const int target_life = node.life();
    auto answered = std::make_shared<bool>(false);
    const auto watch = [this, target, target_life, answered, refuse](const auto& again) -> void {
      if (*answered) return;
      if (!nodes_.at(target)->running() || nodes_.at(target)->life() != target_life) return refuse();
      world_.after(std::chrono::milliseconds(1), [again] { again(again); });
    };
    watch(watch);
    const auto reply = [this, from, target, answered, finish](Result<Bytes> answer) {
      *answered = true;
      if (lost(target, from)) return;
      world_.after(delay(), [finish, answer = std::move(answer)]() mutable { finish(std::move(answer)); });
    };
    if (key == static_cast<int16_t>(wire::ApiKey::API_VERSIONS)) return reply(api_versions(version));
    node.node().handle({.api_key = key, .api_version = version, .body = std::move(body), .listener = "CONTROLLER"}, reply);
  });
}

}  // namespace castellan::sim
