// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Fetch (B114 to B126, B305 to B313): answers with what is there, or waits until there is enough, something is wrong, or the
// client's time is over.

#include "broker/broker.h"
#include "broker/fetch.h"
#include "broker/fetch_sessions.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/partitions.h"
#include "wire/messages/fetch_request.h"

namespace castellan::broker {

namespace {

using Response = wire::FetchResponse;

class WaitingFetch : public Waiting {
 public:
  WaitingFetch(Broker& broker, RequestPtr request, std::vector<FetchTarget> targets, FetchLimits limits, int64_t min_bytes)
      : broker_(broker), request_(std::move(request)), targets_(std::move(targets)), limits_(limits), min_bytes_(min_bytes) {}

  bool try_complete() override {
    auto result = read_targets(broker_, targets_, limits_);
    if (result.bytes < min_bytes_ && !result.at_once && !targets_.empty()) return false;
    finish(std::move(result));
    return true;
  }
  void expire() override { finish(read_targets(broker_, targets_, limits_)); }

  void watch_all() {
    for (const auto& target : targets_) {
      if (const auto found = broker_.partitions().find(target.topic, target.index); found.partition) watch(found.partition->waiting);
    }
  }

 private:
  void finish(FetchResult result) {
    Response response;
    for (size_t i = 0; i < targets_.size(); ++i) {
      const auto& target = targets_[i];
      if (response.responses.empty() || response.responses.back().topic != target.topic || response.responses.back().topic_id != target.topic_id.value) {
        auto& topic = response.responses.emplace_back();
        topic.topic = target.topic;
        topic.topic_id = target.topic_id.value;
      }
      response.responses.back().partitions.push_back(std::move(result.partitions[i]));
    }
    name_leaders(response);
    reply(*request_, response);
  }

  // Leaders that the answer names, with their addresses (KIP-951).
  void name_leaders(Response& response) {
    if (limits_.version < 16) return;
    const MetadataView view{broker_.image(), request_->listener()};
    std::set<int32_t> named;
    for (const auto& topic : response.responses) {
      for (const auto& partition : topic.partitions) {
        const NodeId leader{partition.current_leader.leader_id};
        const auto* endpoint = view.endpoint(leader);
        if (!endpoint || !named.insert(leader.value).second) continue;
        auto& node = response.node_endpoints.emplace_back();
        node.node_id = leader.value;
        node.host = endpoint->host;
        node.port = endpoint->port;
        node.rack = view.image.cluster.broker(leader)->rack;
      }
    }
  }

  Broker& broker_;
  RequestPtr request_;
  std::vector<FetchTarget> targets_;
  FetchLimits limits_;
  int64_t min_bytes_;
};

std::vector<FetchTarget> targets_of(const Broker& broker, int16_t version, const wire::FetchRequest& body) {
  std::vector<FetchTarget> targets;
  std::map<std::pair<TopicId, std::pair<std::string, int32_t>>, size_t> places;
  for (const auto& topic : body.topics) {
    std::string name = topic.topic;
    if (version >= 13) {
      const auto* known = broker.image().topics.topic(TopicId{topic.topic_id});
      name = known ? known->name : "";
    }
    for (const auto& partition : topic.partitions) {
      FetchTarget target{.topic = name, .topic_id = TopicId{topic.topic_id}, .index = partition.partition, .offset = partition.fetch_offset,
                         .max_bytes = partition.partition_max_bytes, .leader_epoch = partition.current_leader_epoch,
                         .last_fetched_epoch = partition.last_fetched_epoch};
      const auto [place, fresh] = places.emplace(std::pair(target.topic_id, std::pair(name, target.index)), targets.size());
      if (fresh) {
        targets.push_back(std::move(target));
      } else {
        targets[place->second] = std::move(target);
      }
    }
  }
  return targets;
}

}  // namespace

void handle_fetch(Broker& broker, RequestPtr request, wire::FetchRequest& body) {
  const int16_t version = request->version();
  const auto refuse = [&](ErrorCode error) {
    Response response;
    response.error_code = static_cast<int16_t>(error);
    reply(*request, response);
  };
  if (body.isolation_level < 0 || body.isolation_level > 1) return refuse(ErrorCode::INVALID_REQUEST);
  if (body.session_id != 0 || body.session_epoch > 0) return refuse(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  FetchLimits limits;
  limits.version = version;
  limits.replica_id = version >= 15 ? body.replica_state.replica_id : body.replica_id;
  limits.read_committed = body.isolation_level == 1;
  limits.max_bytes = std::min<int64_t>(body.max_bytes, broker.server().values.integer("fetch.max.bytes"));
  auto waiting = std::make_shared<WaitingFetch>(broker, std::move(request), targets_of(broker, version, body), limits, body.min_bytes);
  waiting->look();
  if (waiting->done()) return;
  if (body.max_wait_ms <= 0) return waiting->expire();
  waiting->watch_all();
  waiting->start(broker.deadlines(), broker.now().monotonic + std::chrono::milliseconds(body.max_wait_ms));
}

}  // namespace castellan::broker
