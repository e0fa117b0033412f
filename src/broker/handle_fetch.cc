// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Fetch (B114 to B126, B305 to B313): answers with what is there, or waits until there is enough, something is wrong, or the
// client's time is over.

#include "broker/broker.h"
#include "broker/cold_reads.h"
#include "broker/fetch.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/metrics.h"
#include "broker/partitions.h"
#include "partition/fetch_session.h"
#include "wire/messages/fetch_request.h"

namespace castellan::broker {

namespace {

using Response = wire::FetchResponse;

class WaitingFetch : public Waiting {
 public:
  WaitingFetch(Broker& broker, RequestPtr request, partition::FetchContext context, std::vector<FetchTarget> targets, FetchLimits limits, int64_t min_bytes)
      : broker_(broker), request_(std::move(request)), context_(std::move(context)), targets_(std::move(targets)), limits_(limits), min_bytes_(min_bytes) {}

  bool try_complete() override {
    if (warming_) return false;
    auto result = read_targets(broker_, targets_, limits_);
    if (result.bytes < min_bytes_ && !result.at_once && !targets_.empty()) return false;
    return finish_or_warm(std::move(result));
  }
  // An answer that is just being read from disk comes when it is there.
  void expire() override {
    expired_ = true;
    if (!warming_) finish_or_warm(read_targets(broker_, targets_, limits_));
  }

  void watch_all() {
    for (const auto& target : targets_) {
      if (const auto found = broker_.partitions().find(target.topic, target.index); found.partition) watch(found.partition->waiting);
    }
  }

 private:
  // False when records are cold: a worker reads them, and then it is tried again.
  bool finish_or_warm(FetchResult result) {
    if (result.cold.empty()) {
      finish(std::move(result));
      return true;
    }
    warming_ = true;
    broker_.readers().run([cold = std::move(result.cold), self = std::static_pointer_cast<WaitingFetch>(shared_from_this()), &loop = broker_.loop()]() mutable {
      for (const auto& data : cold) warm(*data.file, data.position, data.length);
      cold.clear();
      // Moved, so that the last owner is on the loop.
      loop.post([self = std::move(self)] { self->on_warm(); });
    });
    return false;
  }

  void on_warm() {
    warming_ = false;
    limits_.may_block = true;  // once: what the kernel has dropped again meanwhile is waited for
    if (expired_) finish(read_targets(broker_, targets_, limits_));
    else look();
    limits_.may_block = false;
  }

  void finish(FetchResult result) {
    broker_.metrics().fetch_requests.add(result.partitions.size());
    broker_.metrics().bytes_out.add(static_cast<uint64_t>(result.bytes));
    uint64_t failed = 0;
    for (const auto& data : result.partitions) failed += data.error_code != 0;
    if (failed > 0) broker_.metrics().failed_fetch_requests.add(failed);
    std::vector<partition::FetchResult> told;
    told.reserve(result.partitions.size());
    for (const auto& data : result.partitions) {
      told.push_back({.error = static_cast<ErrorCode>(data.error_code),
                      .high_watermark = data.high_watermark,
                      .log_start_offset = data.log_start_offset,
                      .has_records = data.records.size() > 0,
                      .has_preferred_replica = data.preferred_read_replica >= 0,
                      .has_diverging_epoch = data.diverging_epoch.epoch >= 0});
    }
    const auto outcome = broker_.fetch_sessions().finish(broker_.now().monotonic, context_, told);
    Response response;
    response.error_code = static_cast<int16_t>(outcome.error);
    response.session_id = outcome.session_id;
    for (size_t i = 0; outcome.error == ErrorCode::NONE && i < targets_.size(); ++i) {
      if (!outcome.include[i]) continue;
      const auto& key = context_.partitions[i].key;
      if (response.responses.empty() || response.responses.back().topic != key.topic || response.responses.back().topic_id != key.topic_id) {
        auto& topic = response.responses.emplace_back();
        topic.topic = key.topic;
        topic.topic_id = key.topic_id;
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
        // The client has just talked to this node: it needs no address of it.
        if (!endpoint || leader == broker_.node_id() || !named.insert(leader.value).second) continue;
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
  partition::FetchContext context_;
  std::vector<FetchTarget> targets_;
  FetchLimits limits_;
  int64_t min_bytes_;
  bool warming_ = false;
  bool expired_ = false;
};

// The partitions to read by name; a name that the id does not lead to (any more) stays empty.
std::vector<FetchTarget> targets_of(Broker& broker, const partition::FetchContext& context) {
  std::vector<FetchTarget> targets;
  targets.reserve(context.partitions.size());
  for (const auto& asked : context.partitions) {
    auto& target = targets.emplace_back();
    target.topic_id = TopicId{asked.key.topic_id};
    target.index = asked.key.partition;
    target.offset = asked.fetch_offset;
    target.max_bytes = asked.max_bytes;
    target.leader_epoch = asked.current_leader_epoch;
    target.last_fetched_epoch = asked.last_fetched_epoch;
    if (!context.uses_topic_ids) {
      target.topic = asked.key.topic;
    } else if (const auto* known = broker.image().topics.topic(target.topic_id)) {
      target.topic = known->name;
    } else if (context.kind == partition::FetchContext::Kind::INCREMENTAL && broker.partitions().was_deleted(target.topic_id)) {
      target.unknown_is = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;  // the session knew its name
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
  auto context = broker.fetch_sessions().open(broker.now().monotonic, version, body);
  if (context.error != ErrorCode::NONE) return refuse(context.error);
  FetchLimits limits;
  limits.version = version;
  limits.replica_id = version >= 15 ? body.replica_state.replica_id : body.replica_id;
  limits.read_committed = body.isolation_level == 1;
  limits.max_bytes = std::min<int64_t>(body.max_bytes, broker.server().values.integer("fetch.max.bytes"));
  auto targets = targets_of(broker, context);
  auto waiting = std::make_shared<WaitingFetch>(broker, std::move(request), std::move(context), std::move(targets), limits, body.min_bytes);
  waiting->look();
  if (waiting->done()) return;
  if (body.max_wait_ms <= 0) return waiting->expire();
  waiting->watch_all();
  waiting->start(broker.deadlines(), broker.now().monotonic + std::chrono::milliseconds(body.max_wait_ms));
}

}  // namespace castellan::broker
