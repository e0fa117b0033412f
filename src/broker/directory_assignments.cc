// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/directory_assignments.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/lifecycle.h"
#include "wire/messages/assign_replicas_to_dirs_request.h"
#include "wire/messages/assign_replicas_to_dirs_response.h"

namespace castellan::broker {

namespace {

using std::chrono::milliseconds;

constexpr size_t partitions_at_once = 2250;
constexpr milliseconds gather{50};
constexpr milliseconds backoff_first{100};
constexpr milliseconds backoff_most{10'000};

wire::AssignReplicasToDirsRequest request_of(const std::map<PartitionId, DirectoryId>& sent) {
  std::map<DirectoryId, std::map<TopicId, std::vector<int32_t>>> by_directory;
  for (const auto& [partition, directory] : sent) by_directory[directory][partition.topic].push_back(partition.index);
  wire::AssignReplicasToDirsRequest request;
  for (const auto& [directory, topics] : by_directory) {
    auto& to_directory = request.directories.emplace_back();
    to_directory.id = directory.value;
    for (const auto& [topic, indexes] : topics) {
      auto& to_topic = to_directory.topics.emplace_back();
      to_topic.topic_id = topic.value;
      for (const int32_t index : indexes) to_topic.partitions.emplace_back().partition_index = index;
    }
  }
  return request;
}

}  // namespace

void DirectoryAssignments::report(const PartitionId& partition, DirectoryId directory) {
  waiting_[partition] = directory;
  send_in(gather);
}

void DirectoryAssignments::send_in(milliseconds delay) {
  if (scheduled_) return;
  scheduled_ = true;
  broker_.deadlines().add(broker_.now().monotonic + delay, [this] {
    scheduled_ = false;
    send();
  });
}

void DirectoryAssignments::send() {
  if (waiting_.empty()) return;
  if (broker_.lifecycle().broker_epoch() < 0) return send_in(gather);
  std::map<PartitionId, DirectoryId> sent;
  while (!waiting_.empty() && sent.size() < partitions_at_once) sent.insert(waiting_.extract(waiting_.begin()));
  auto request = request_of(sent);
  request.broker_id = broker_.node_id().value;
  request.broker_epoch = broker_.lifecycle().broker_epoch();
  auto encoded = wire::encode_to_bytes(request, 0);
  CHECK(encoded.has_value(), "{}", encoded.error().message);
  scheduled_ = true;  // one request at a time
  broker_.surroundings().controller.call({.api_key = wire::AssignReplicasToDirsRequest::info().key, .api_version = 0, .body = std::move(*encoded),
                                          .principal = {}, .client_host = {}, .client_id = {}},
                                         [this, sent](Result<Bytes> answer) { on_answer(sent, std::move(answer)); });
}

void DirectoryAssignments::on_answer(const std::map<PartitionId, DirectoryId>& sent, Result<Bytes> answer) {
  scheduled_ = false;
  auto response = answer ? wire::decode_exactly<wire::AssignReplicasToDirsResponse>(0, *answer, wire::DecodeMode::LENIENT) : unexpected(answer.error());
  if (!response || response->error_code != 0) {
    for (const auto& [partition, directory] : sent) waiting_.emplace(partition, directory);  // what was reported since counts more
    backoff_ = std::clamp(backoff_ * 2, backoff_first, backoff_most);
    return send_in(backoff_);
  }
  backoff_ = {};
  for (const auto& directory : response->directories) {
    for (const auto& topic : directory.topics) {
      for (const auto& partition : topic.partitions) {
        const auto error = static_cast<ErrorCode>(partition.error_code);
        if (error == ErrorCode::NONE) continue;
        spdlog::warn("the controller does not take that partition {} of topic id {} lies in directory {}: {}", partition.partition_index, topic.topic_id,
                     directory.id, error_name(error));
      }
    }
  }
  if (!waiting_.empty()) send_in(gather);
}

}  // namespace castellan::broker
