// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Produce (B107 to B113): each partition's batch is checked where it lies in the request's frame, patched and written to
// the log; the answer waits for the in-sync replicas when acks=all asks for it.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/metrics.h"
#include "broker/names.h"
#include "broker/partitions.h"
#include "record/batch.h"
#include "wire/messages/produce_request.h"
#include "wire/messages/produce_response.h"

namespace castellan::broker {

namespace {

using Response = wire::ProduceResponse;
using PartitionResponse = Response::PartitionProduceResponse;

// What became of one partition's records.
struct Outcome {
  size_t topic = 0;            // position in the answer
  PartitionResponse response;
  Partition* partition = nullptr;  // good only while the request is handled: a partition may go while it waits
  PartitionId id;
  int64_t required_offset = -1;    // acks=all: the high watermark must pass it
};

void refuse(PartitionResponse& response, ErrorCode error, std::optional<std::string> message = std::nullopt) {
  response.error_code = static_cast<int16_t>(error);
  response.base_offset = -1;
  response.error_message = std::move(message);
}

// Transactional records need a coordinator that this node does not have yet; an error that no client retries.
constexpr std::string_view no_transactions = "This node does not support transactions yet.";

bool is_transactional(BytesView records) {
  return records.size() >= record::batch_header_size && records[record::header::magic] == record::current_magic &&
         record::BatchView(records).is_transactional();
}

// What ProduceRequest itself demands of a partition's records before a partition is looked at (B109).
ErrorCode check_shape(const wire::Records& records, int16_t version, std::string& message) {
  const auto bad = [&](std::string text) {
    message = std::move(text);
    return ErrorCode::INVALID_RECORD;
  };
  if (records.is_null || records.view.empty()) return bad(fmt::format("Produce requests with version {} must have a record batch", version));
  size_t position = 0;
  int count = 0;
  while (records.view.size() - position >= record::batch_prefix_size + 5) {
    const auto rest = records.view.subspan(position);
    const auto length = load_big_endian<int32_t>(rest.data() + record::header::length);
    const auto magic = static_cast<int8_t>(rest[record::header::magic]);
    if (length < 14 || magic < 0 || magic > record::current_magic) {
      message = fmt::format("a batch of length {} and magic {}", length, magic);
      return ErrorCode::CORRUPT_MESSAGE;
    }
    const size_t size = record::batch_prefix_size + static_cast<size_t>(length);
    if (size > rest.size()) break;
    if (++count == 1) {
      if (magic != record::current_magic) {
        return bad(fmt::format("Produce requests with version {} are only allowed to contain record batches with magic version 2", version));
      }
      if (size >= record::batch_header_size && version < 7 && record::BatchView(rest).codec_number() == 4) {
        message = "Produce requests with version below 7 are not allowed to use ZStandard compression";
        return ErrorCode::UNSUPPORTED_COMPRESSION_TYPE;
      }
    } else {
      return bad(fmt::format("Produce requests with version {} are only allowed to contain exactly one record batch per partition", version));
    }
    position += size;
  }
  if (count == 0) return bad(fmt::format("Produce requests with version {} must have at least one record batch per partition", version));
  return ErrorCode::NONE;
}

// Kafka tells the log start with errors that the log's checks found, but not with these.
bool hides_log_start(ErrorCode error) {
  switch (error) {
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::MESSAGE_TOO_LARGE:
    case ErrorCode::RECORD_LIST_TOO_LARGE:
    case ErrorCode::CORRUPT_MESSAGE:
    case ErrorCode::KAFKA_STORAGE_ERROR:
      return true;
    default:
      return false;
  }
}

class WaitingProduce : public Waiting {
 public:
  WaitingProduce(Broker& broker, RequestPtr request, Response response, std::vector<Outcome> outcomes)
      : broker_(broker), request_(std::move(request)), response_(std::move(response)), outcomes_(std::move(outcomes)) {}

  bool try_complete() override {
    for (auto& outcome : outcomes_) {
      if (outcome.required_offset < 0) continue;
      Partition* partition = broker_.partitions().hosted(outcome.id);
      if (!partition || partition->check_leader(-1) != ErrorCode::NONE) {
        refuse(outcome.response, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        outcome.required_offset = -1;
      } else if (partition->high_watermark() >= outcome.required_offset) {
        if (partition->under_min_isr()) refuse(outcome.response, ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND);
        outcome.required_offset = -1;
      } else {
        return false;
      }
    }
    finish();
    return true;
  }

  void expire() override {
    for (auto& outcome : outcomes_) {
      if (outcome.required_offset >= 0) refuse(outcome.response, ErrorCode::REQUEST_TIMED_OUT);
    }
    finish();
  }

  void watch_all() {
    for (auto& outcome : outcomes_) {
      if (outcome.required_offset >= 0) watch(outcome.partition->waiting);
    }
  }

 private:
  void finish() {
    for (auto& outcome : outcomes_) response_.responses[outcome.topic].partition_responses.push_back(std::move(outcome.response));
    reply(*request_, response_);
  }

  Broker& broker_;
  RequestPtr request_;
  Response response_;
  std::vector<Outcome> outcomes_;
};

void append(Broker& broker, Request& request, int16_t acks, wire::Records& records, Outcome& outcome) {
  Partition& partition = *outcome.partition;
  PartitionResponse& response = outcome.response;
  if (partition.is_internal() && request.start().client_id != "__admin_client") {
    return refuse(response, ErrorCode::INVALID_TOPIC_EXCEPTION, fmt::format("Cannot append to internal topic {}", partition.topic()));
  }
  if (const auto error = partition.check_leader(-1); error != ErrorCode::NONE) {
    if (error == ErrorCode::NOT_LEADER_OR_FOLLOWER && request.version() >= 10) {
      response.current_leader.leader_id = partition.leader().value;
      response.current_leader.leader_epoch = partition.leader_epoch();
    }
    return refuse(response, error);
  }
  if (acks == -1 && partition.under_min_isr()) {
    response.log_start_offset = partition.log()->log_start_offset();
    return refuse(response, ErrorCode::NOT_ENOUGH_REPLICAS,
                  fmt::format("The size of the current ISR of {} is below min.insync.replicas", partition.name()));
  }
  const Now now = broker.now();
  // The frame is this request's own memory: the batch is patched where it lies.
  const std::span<uint8_t> bytes(const_cast<uint8_t*>(records.view.data()), records.view.size());
  auto checked = record::validate_produce(bytes, partition.rules(), now.wall);
  if (!checked) {
    const auto& failure = checked.error();
    for (const auto& bad : failure.record_errors) {
      auto& error = response.record_errors.emplace_back();
      error.batch_index = bad.batch_index;
      error.batch_index_error_message = bad.message;
    }
    if (!hides_log_start(failure.error.code)) response.log_start_offset = partition.log()->log_start_offset();
    return refuse(response, failure.error.code, failure.error.message);
  }
  const auto sealed = broker.partitions().seal(partition);
  auto appended = sealed ? partition.log()->append_as_leader(checked->batch, partition.leader_epoch(), now.wall) : unexpected(sealed.error());
  if (!appended) {
    const auto error = appended.error();
    if (!hides_log_start(error.code)) response.log_start_offset = partition.log()->log_start_offset();
    refuse(response, error.code, error.message);
    if (error.code == ErrorCode::KAFKA_STORAGE_ERROR) broker.partitions().on_storage_error(partition, error);
    return;
  }
  response.base_offset = appended->first_offset;
  response.log_append_time_ms = appended->duplicate ? appended->max_timestamp : checked->log_append_time;
  response.log_start_offset = partition.log()->log_start_offset();
  if (acks == -1) outcome.required_offset = appended->last_offset + 1;
  if (appended->duplicate) return;
  broker.metrics().messages_in.add(static_cast<uint64_t>(appended->last_offset - appended->first_offset + 1));
  broker.metrics().bytes_in.add(static_cast<uint64_t>(appended->bytes));
  if (partition.log()->flush_due(now.wall)) {  // flush.messages, flush.ms: acknowledged is synced then
    if (auto flushed = partition.log()->flush(); !flushed) {
      refuse(response, flushed.error().code, flushed.error().message);
      return broker.partitions().on_storage_error(partition, flushed.error());
    }
  }
  partition.after_append();
}

// Leaders that the answer names, with their addresses, so that a client goes there at once (KIP-951).
void name_leaders(Broker& broker, Request& request, Response& response) {
  if (request.version() < 10) return;
  const MetadataView view{broker.image(), request.listener()};
  std::set<int32_t> named;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partition_responses) {
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

}  // namespace

void handle_produce(Broker& broker, RequestPtr request, wire::ProduceRequest& body) {
  const int16_t version = request->version();
  const bool acks_good = body.acks >= -1 && body.acks <= 1;
  bool transactional = body.transactional_id.has_value();
  for (const auto& topic : body.topic_data) {
    for (const auto& data : topic.partition_data) transactional |= is_transactional(data.records.view);
  }

  Response response;
  std::vector<Outcome> outcomes;
  std::map<PartitionId, size_t> positions;  // a partition that comes twice: the later records count
  std::vector<wire::Records*> records;
  for (auto& topic : body.topic_data) {
    if (topic.partition_data.empty()) continue;
    size_t place = 0;
    while (place < response.responses.size() &&
           (response.responses[place].name != topic.name || response.responses[place].topic_id != topic.topic_id)) {
      ++place;
    }
    if (place == response.responses.size()) {
      auto& added = response.responses.emplace_back();
      added.name = topic.name;
      added.topic_id = topic.topic_id;
    }
    for (auto& data : topic.partition_data) {
      Outcome outcome{.topic = place, .response = {}, .partition = nullptr, .id = {}, .required_offset = -1};
      outcome.response.index = data.index;
      outcome.response.log_append_time_ms = -1;
      if (transactional) {
        refuse(outcome.response, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, std::string(no_transactions));
      } else {
        const auto found = version >= 13 ? broker.partitions().find(TopicId{topic.topic_id}, data.index)
                                         : broker.partitions().find(topic.name, data.index);
        std::string message;
        outcome.partition = found.partition;
        if (!found.partition) {
          refuse(outcome.response, found.error);
        } else if (const auto error = check_shape(data.records, version, message); error != ErrorCode::NONE) {
          refuse(outcome.response, error, std::move(message));
          outcome.partition = nullptr;
        } else if (!acks_good) {
          refuse(outcome.response, ErrorCode::INVALID_REQUIRED_ACKS);
          outcome.partition = nullptr;
        }
      }
      if (outcome.partition) {
        outcome.id = outcome.partition->id();
        const auto [position, fresh] = positions.emplace(outcome.partition->id(), outcomes.size());
        if (!fresh) {
          records[position->second] = &data.records;
          continue;
        }
      }
      records.push_back(&data.records);
      outcomes.push_back(std::move(outcome));
    }
  }
  bool waits = false;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    auto& outcome = outcomes[i];
    if (!outcome.partition) continue;
    append(broker, *request, body.acks, *records[i], outcome);
    if (outcome.required_offset >= 0 && outcome.partition->log() && outcome.partition->high_watermark() >= outcome.required_offset) {
      outcome.required_offset = -1;
    }
    waits |= outcome.required_offset >= 0;
  }
  broker.metrics().produce_requests.add(outcomes.size());
  const auto failed = std::ranges::count_if(outcomes, [](const Outcome& outcome) { return outcome.response.error_code != 0; });
  if (failed > 0) broker.metrics().failed_produce_requests.add(static_cast<uint64_t>(failed));

  if (body.acks == 0) {
    for (const auto& outcome : outcomes) {
      if (outcome.response.error_code == 0) continue;
      return request->close(fmt::format("a produce without acknowledgement failed: {} on {}-{}",
                                        error_name(static_cast<ErrorCode>(outcome.response.error_code)),
                                        response.responses[outcome.topic].name, outcome.response.index));
    }
    return request->send_nothing();
  }
  if (waits) {
    auto waiting = std::make_shared<WaitingProduce>(broker, request, std::move(response), std::move(outcomes));
    waiting->watch_all();
    waiting->start(broker.deadlines(), broker.now().monotonic + std::chrono::milliseconds(std::max(body.timeout_ms, 0)));
    return waiting->look();
  }
  for (auto& outcome : outcomes) response.responses[outcome.topic].partition_responses.push_back(std::move(outcome.response));
  name_leaders(broker, *request, response);
  reply(*request, response);
}

}  // namespace castellan::broker
