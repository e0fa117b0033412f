// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/sole_voter.h"

#include <cerrno>

#include "image/image.h"
#include "quorum/testing.h"
#include "sim/acknowledged_checker.h"
#include "sim/log_checker.h"
#include "wire/codec.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/delete_topics_response.h"

namespace castellan::sim {
namespace {

using quorum::TestNode;
using quorum::World;

template <class Message>
Bytes encoded(const Message& message, int16_t version) {
  return *wire::encode_to_bytes(message, version);
}

class SoleVoter {
 public:
  explicit SoleVoter(uint64_t seed)
      : world_(seed), random_(seed ^ 0x9e3779b97f4a7c15ull), node_(world_, files_, {.extra_properties = properties(), .static_voters = random_.chance(0.3)}) {}

  SoleVoterRun run() {
    node_.format();
    const int lives = static_cast<int>(random_.between(3, 8));
    for (int life = 0; life < lives && result_.violation.empty(); ++life) live();
    // The storm is over: what was acknowledged must be there, and work goes on.
    files_.fail_when(nullptr);
    if (result_.violation.empty()) come_up();
    if (result_.violation.empty()) work(5);
    if (result_.violation.empty() && !world_.run_until([&] { return outstanding_ == 0; })) violate("requests without an answer after the storm");
    result_.acknowledged = checker_.count();
    return result_;
  }

 private:
  std::string properties() {
    // Small enough that snapshots, cleaning and rolling segments happen within one run.
    if (random_.chance(0.5)) return "";
    return "metadata.log.max.record.bytes.between.snapshots=4000\nmetadata.max.retention.bytes=10000\nmetadata.log.segment.bytes=8388608\n";
  }

  void violate(std::string what) {
    if (result_.violation.empty()) result_.violation = std::move(what);
  }
  void check(std::optional<std::string> wrong) {
    if (wrong) violate(std::move(*wrong));
  }

  // Up until active, with everything acknowledged in the image.
  void come_up() {
    ++life_;
    outstanding_ = 0;
    node_.fatal.clear();
    const auto started = node_.start();
    if (!started) return violate("does not start: " + started.error().message);
    if (!node_.run_until_active()) return violate("does not become active" + (node_.fatal.empty() ? std::string() : ": " + node_.fatal.front()));
    check(checker_.leads(node_.node().view().epoch));
    check(checker_.check(*node_.node().image()));
    register_broker();
  }

  void register_broker() {
    wire::BrokerRegistrationRequest request;
    request.broker_id = 1;
    request.cluster_id = node_.cluster_id;
    request.incarnation_id = random_.uuid();
    request.listeners.push_back({.name = "PLAINTEXT", .host = "localhost", .port = 9092});
    for (const auto& [name, range] : image::supported_features(false)) {
      request.features.push_back({.name = name, .min_supported_version = range.min, .max_supported_version = range.max});
    }
    request.log_dirs = {node_.directory_id.value};
    const auto answer = node_.call(62, 4, encoded(request, 4));
    if (!answer) return violate("registration: " + answer.error().message);
    const auto registered = wire::decode_exactly<wire::BrokerRegistrationResponse>(4, *answer);
    if (!registered || registered->error_code != 0) return violate("registration refused");
    wire::BrokerHeartbeatRequest heartbeat;
    heartbeat.broker_id = 1;
    heartbeat.broker_epoch = registered->broker_epoch;
    heartbeat.current_metadata_offset = registered->broker_epoch;
    heartbeat.want_fence = false;
    if (!node_.call(63, 1, encoded(heartbeat, 1))) violate("heartbeat without an answer");
  }

  void create_topic() {
    const std::string name = "topic-" + std::to_string(++topics_);
    wire::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = static_cast<int32_t>(random_.between(1, 20));
    topic.replication_factor = 1;
    send(19, 7, encoded(request, 7), [this, name](const Bytes& body) {
      const auto response = wire::decode_exactly<wire::CreateTopicsResponse>(7, body);
      if (!response || response->topics.size() != 1) return violate("CreateTopics: no answer that can be read");
      if (response->topics[0].error_code == 0) checker_.created(name, TopicId{response->topics[0].topic_id});
    });
  }

  void delete_topic() {
    const std::string name = "topic-" + std::to_string(random_.between(1, std::max(topics_, 1)));
    wire::DeleteTopicsRequest request;
    request.topics.emplace_back().name = name;
    checker_.deletion_asked(name);
    send(20, 6, encoded(request, 6), [this, name](const Bytes& body) {
      const auto response = wire::decode_exactly<wire::DeleteTopicsResponse>(6, body);
      if (!response || response->responses.size() != 1) return violate("DeleteTopics: no answer that can be read");
      if (response->responses[0].error_code == 0) checker_.deleted(name);
    });
  }

  void send(int16_t key, int16_t version, Bytes body, std::function<void(const Bytes&)> on_answer) {
    ++outstanding_;
    node_.node().handle({.api_key = key, .api_version = version, .body = std::move(body), .listener = "CONTROLLER"},
                        [this, life = life_, on_answer = std::move(on_answer)](const Result<Bytes>& answer) {
                          if (life != life_) return violate("an answer out of an earlier life");
                          --outstanding_;
                          if (answer) on_answer(*answer);
                        });
  }

  void work(int64_t requests) {
    for (int64_t i = 0; i < requests && result_.violation.empty() && node_.fatal.empty(); ++i) {
      if (random_.chance(0.85)) create_topic();
      else delete_topic();
      // Some requests come alone, some while others are on their way to the disk.
      world_.run_for(std::chrono::microseconds(random_.chance(0.5) ? random_.between(0, 200) : random_.between(0, 8000)));
    }
  }

  void live() {
    come_up();
    if (!result_.violation.empty()) return;
    const bool disk_fails = random_.chance(0.15);
    if (disk_fails) {
      files_.fail_when([left = random_.between(1, 60)](io::MemoryFileSystem::Operation operation, const std::string&) mutable -> std::optional<int> {
        using Operation = io::MemoryFileSystem::Operation;
        if (operation == Operation::read || operation == Operation::open || operation == Operation::list) return std::nullopt;
        return --left < 0 ? std::optional(EIO) : std::nullopt;
      });
    }
    work(random_.between(0, 40));
    if (random_.chance(0.2)) world_.run_for(std::chrono::seconds(random_.between(1, 90)));
    if (!result_.violation.empty()) return;
    if (!node_.fatal.empty() && !disk_fails) return violate("stopped by itself: " + node_.fatal.front());

    if (!node_.fatal.empty() || disk_fails) {
      ++result_.disk_failures;
      files_.fail_when(nullptr);
      node_.kill(&random_);
      return check(check_metadata_log(files_, node_.folder, true));
    }
    if (random_.chance(0.2)) {
      ++result_.clean_stops;
      if (!node_.stop()) return violate("a clean stop that does not end");
      return check(check_metadata_log(files_, node_.folder, false));
    }
    ++result_.crashes;
    node_.kill(random_.chance(0.7) ? &random_ : nullptr);
    check(check_metadata_log(files_, node_.folder, true));
  }

  io::MemoryFileSystem files_;
  World world_;
  Prng random_;
  TestNode node_;
  AcknowledgedChecker checker_;
  SoleVoterRun result_;
  int life_ = 0;
  int outstanding_ = 0;
  int topics_ = 0;
};

}  // namespace

SoleVoterRun run_sole_voter(uint64_t seed) { return SoleVoter(seed).run(); }

}  // namespace castellan::sim
