// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/clients.h"

#include <algorithm>

#include "image/metadata_version.h"
#include "wire/codec.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/allocate_producer_ids_response.h"
#include "wire/messages/alter_client_quotas_request.h"
#include "wire/messages/alter_client_quotas_response.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_heartbeat_response.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/delete_topics_response.h"

namespace castellan::sim {
namespace {

constexpr int topics = 6;

template <class Message>
Bytes encoded(const Message& message, int16_t version) {
  return *wire::encode_to_bytes(message, version);
}

bool is(int16_t code, ErrorCode error) { return code == static_cast<int16_t>(error); }

}  // namespace

struct Clients::Client {
  int id = -1;
  int asks = 1;  // which node
  int32_t broker = 0;
  Uuid incarnation;
  std::optional<int64_t> broker_epoch;
  std::optional<int64_t> registration_asked_at;
  bool unfenced = false;
  bool waits = false;
  int done = 0;
};

Clients::Clients(World& world, uint64_t seed) : world_(world), random_(seed ^ 0x3c6ef372fe94f82bull) {
  for (int i = 1; i <= world.plan.clients; ++i) {
    auto client = std::make_unique<Client>();
    client->id = -i;
    client->broker = 100 + i;
    client->incarnation = random_.uuid();
    clients_.push_back(std::move(client));
  }
}

Clients::~Clients() = default;

void Clients::begin(int requests, Duration time) {
  end_ = world_.schedule.now() + time;
  gap_ = time * static_cast<int>(clients_.size()) / std::max(requests, 1);
  for (auto& client : clients_) {
    client->done = 0;
    if (!client->waits) next(*client);
  }
}

int Clients::done_by_the_slowest() const {
  int least = INT32_MAX;
  for (const auto& client : clients_) least = std::min(least, client->done);
  return least;
}

void Clients::next(Client& client) {
  client.waits = true;
  // Some come at once after another, most after a while.
  const Duration gap = random_.chance(0.3) ? Duration(random_.between(1000, 100'000)) : Duration(random_.between(0, 2 * gap_.count()));
  if (world_.schedule.now() + gap > end_) {
    client.waits = false;
    return;
  }
  world_.schedule.after(gap, [this, &client] { ask(client); });
}

void Clients::ask(Client& client) {
  if (!client.broker_epoch) return register_broker(client);
  if (!client.unfenced) return heartbeat(client);
  switch (random_.below(10)) {
    case 0: case 1: case 2: case 3: return create_topic(client);
    case 4: case 5: return delete_topic(client);
    case 6: case 7: return set_quota(client);
    case 8:
      // Now and then a broker that was started anew.
      if (world_.plan.short_sessions && random_.chance(0.2)) {
        client.incarnation = random_.uuid();
        client.broker_epoch.reset();
        client.registration_asked_at.reset();
        client.unfenced = false;
        return register_broker(client);
      }
      return allocate_ids(client);
    default: return heartbeat(client);
  }
}

// `check` looks at an answer as it leaves the node, and says whether it was "done".
void Clients::send(Client& client, int16_t key, int16_t version, Bytes body, std::function<bool(const Bytes&, int)> check) {
  auto done = std::make_shared<bool>(false);
  const auto left = [this, check = std::move(check), to = client.asks, done](const Result<Bytes>& answer) {
    if (answer) *done = check(*answer, to);
  };
  world_.network.request(client.id, client.asks, {.api_key = key, .api_version = version, .body = std::move(body), .listener = "CONTROLLER"},
                         std::chrono::milliseconds(world_.plan.fetch_timeout_ms), left, [this, &client, done](const Result<Bytes>& answer) {
                           if (answer) {
                             ++answered_;
                             client.done += *done;
                           } else {
                             // Somebody else, most of the time the right one.
                             Node* leader = random_.chance(0.7) ? world_.leader() : nullptr;
                             const auto controllers = static_cast<uint64_t>(world_.plan.voters + world_.plan.spares);
                             client.asks = leader ? leader->id() : static_cast<int>(random_.below(controllers)) + 1;
                           }
                           next(client);
                         });
}

void Clients::register_broker(Client& client) {
  wire::BrokerRegistrationRequest request;
  request.broker_id = client.broker;
  request.cluster_id = Node::cluster_id;
  request.incarnation_id = client.incarnation;
  request.listeners.push_back({.name = "PLAINTEXT", .host = "broker", .port = static_cast<uint16_t>(9000 + client.broker)});
  for (const auto& [name, range] : image::supported_features(false)) {
    request.features.push_back({.name = name, .min_supported_version = range.min, .max_supported_version = range.max});
  }
  request.log_dirs = {Uuid{0x7777'4000, 0x8000'0000'0000'0000 + static_cast<uint64_t>(client.broker)}};
  // Asked again under the same incarnation it may answer what was decided for the first time.
  if (!client.registration_asked_at) client.registration_asked_at = world_.committed.end();
  send(client, 62, 4, encoded(request, 4), [this, &client](const Bytes& body, int) {
    const auto response = wire::decode_exactly<wire::BrokerRegistrationResponse>(4, body);
    if (!response || response->error_code != 0) return false;
    world_.replies.broker_registered(client.broker, response->broker_epoch, *client.registration_asked_at);
    client.broker_epoch = response->broker_epoch;
    return true;
  });
}

void Clients::heartbeat(Client& client) {
  wire::BrokerHeartbeatRequest request;
  request.broker_id = client.broker;
  request.broker_epoch = *client.broker_epoch;
  request.current_metadata_offset = std::max(world_.committed.end() - 1, *client.broker_epoch);
  send(client, 63, 1, encoded(request, 1), [&client](const Bytes& body, int) {
    const auto response = wire::decode_exactly<wire::BrokerHeartbeatResponse>(1, body);
    if (!response || response->error_code != 0) return false;
    client.unfenced = !response->is_fenced;
    return true;
  });
}

void Clients::create_topic(Client& client) {
  const std::string name = "topic-" + std::to_string(random_.below(topics));
  wire::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = static_cast<int32_t>(random_.between(1, 3));
  topic.replication_factor = 1;
  send(client, 19, 7, encoded(request, 7), [this, name, asked_at = world_.committed.end()](const Bytes& body, int node) {
    const auto response = wire::decode_exactly<wire::CreateTopicsResponse>(7, body);
    if (!response || response->topics.size() != 1) {
      world_.report.violate(Replies::name, "CreateTopics: no answer that can be read");
      return false;
    }
    const int16_t code = response->topics[0].error_code;
    if (code == 0) world_.replies.topic_created(name, TopicId{response->topics[0].topic_id}, asked_at);
    if (is(code, ErrorCode::TOPIC_ALREADY_EXISTS)) world_.replies.topic_exists(name, world_.leads_from(node));
    if (is(code, ErrorCode::UNKNOWN_SERVER_ERROR)) world_.report.violate(Replies::name, "CreateTopics: {}", response->topics[0].error_message.value_or(""));
    return code == 0 || is(code, ErrorCode::TOPIC_ALREADY_EXISTS);
  });
}

void Clients::delete_topic(Client& client) {
  const std::string name = "topic-" + std::to_string(random_.below(topics));
  wire::DeleteTopicsRequest request;
  request.topics.emplace_back().name = name;
  send(client, 20, 6, encoded(request, 6), [this, name, asked_at = world_.committed.end()](const Bytes& body, int node) {
    const auto response = wire::decode_exactly<wire::DeleteTopicsResponse>(6, body);
    if (!response || response->responses.size() != 1) {
      world_.report.violate(Replies::name, "DeleteTopics: no answer that can be read");
      return false;
    }
    const int16_t code = response->responses[0].error_code;
    if (code == 0) world_.replies.topic_deleted(name, asked_at);
    if (is(code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)) world_.replies.topic_unknown(name, world_.leads_from(node));
    if (is(code, ErrorCode::UNKNOWN_SERVER_ERROR)) world_.report.violate(Replies::name, "DeleteTopics: {}", response->responses[0].error_message.value_or(""));
    return code == 0 || is(code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  });
}

void Clients::set_quota(Client& client) {
  const std::string user = "user-" + std::to_string(random_.below(4));
  const int64_t value = ++values_;
  wire::AlterClientQuotasRequest request;
  auto& entry = request.entries.emplace_back();
  auto& entity = entry.entity.emplace_back();
  entity.entity_type = "user";
  entity.entity_name = user;
  auto& operation = entry.ops.emplace_back();
  operation.key = "consumer_byte_rate";
  operation.value = static_cast<double>(value);
  send(client, 49, 1, encoded(request, 1), [this, user, value, asked_at = world_.committed.end()](const Bytes& body, int) {
    const auto response = wire::decode_exactly<wire::AlterClientQuotasResponse>(1, body);
    if (!response || response->entries.size() != 1 || response->entries[0].error_code != 0) return false;
    world_.replies.quota_set(user, value, asked_at);
    return true;
  });
}

void Clients::allocate_ids(Client& client) {
  wire::AllocateProducerIdsRequest request;
  request.broker_id = client.broker;
  request.broker_epoch = *client.broker_epoch;
  send(client, 67, 0, encoded(request, 0), [this, asked_at = world_.committed.end()](const Bytes& body, int) {
    const auto response = wire::decode_exactly<wire::AllocateProducerIdsResponse>(0, body);
    if (!response || response->error_code != 0) return false;
    world_.replies.producer_ids(response->producer_id_start, response->producer_id_len, asked_at);
    return true;
  });
}

}  // namespace castellan::sim
