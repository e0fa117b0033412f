// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/groups.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/names.h"
#include "broker/partitions.h"
#include "image/image.h"
#include "record/builder.h"
#include "record/control.h"
#include "record/reader.h"
#include "wire/messages/delete_groups_request.h"
#include "wire/messages/describe_groups_request.h"

namespace castellan::broker {

namespace {

// Of a log that is read into the coordinator at a time.
constexpr uint32_t load_slice_bytes = 1 << 20;

class Topics : public group::TopicsView {
 public:
  explicit Topics(const image::Image& image) : image_(image) {}
  std::optional<std::string> topic_name(const Uuid& id) const override {
    const auto* topic = image_.topics.topic(TopicId{id});
    return topic ? std::optional(topic->name) : std::nullopt;
  }
  Uuid topic_id(std::string_view name) const override {
    const auto* topic = image_.topics.by_name(name);
    return topic ? topic->id.value : Uuid{};
  }
  bool has_partition(std::string_view name, int32_t partition) const override { return image_.topics.partition(name, partition) != nullptr; }

 private:
  const image::Image& image_;
};

group::Configuration configuration_of(const Broker& broker) {
  const auto& values = broker.server().values;
  const auto milliseconds = [&](std::string_view key) { return std::chrono::milliseconds(values.integer(key)); };
  group::Configuration configuration;
  configuration.session_timeout_min = milliseconds("group.min.session.timeout.ms");
  configuration.session_timeout_max = milliseconds("group.max.session.timeout.ms");
  configuration.initial_rebalance_delay = milliseconds("group.initial.rebalance.delay.ms");
  configuration.group_size_max = static_cast<int32_t>(values.integer("group.max.size"));
  configuration.metadata_size_max = static_cast<int32_t>(values.integer("offset.metadata.max.bytes"));
  configuration.offsets_retention = std::chrono::minutes(values.integer("offsets.retention.minutes"));
  configuration.retention_check_interval = milliseconds("offsets.retention.check.interval.ms");
  configuration.consumer_session_timeout = milliseconds("group.consumer.session.timeout.ms");
  configuration.share_session_timeout = milliseconds("group.share.session.timeout.ms");
  configuration.streams_session_timeout = milliseconds("group.streams.session.timeout.ms");
  configuration.commit_timeout = milliseconds("offsets.commit.timeout.ms");
  configuration.offsets_partitions = static_cast<int32_t>(values.integer("offsets.topic.num.partitions"));
  if (const auto* topic = broker.image().topics.by_name(offsets_topic); topic && !topic->partitions.empty()) {
    configuration.offsets_partitions = static_cast<int32_t>(topic->partitions.size());
  }
  return configuration;
}

}  // namespace

Groups::Groups(Broker& broker) : broker_(broker) {}
Groups::~Groups() = default;

void Groups::configure() {
  if (coordinator_) {
    coordinator_->set_configuration(configuration_of(broker_));
  } else {
    coordinator_ = std::make_unique<group::Coordinator>(configuration_of(broker_), broker_.prng().next());
  }
}

void Groups::on_image(const image::Image* before, const image::Image& after) {
  configure();
  if (!before) return;
  group::TopicsDeleted deleted;
  diff(before->topics.by_id, after.topics.by_id, [&](const TopicId& id, const image::Topic* old, const image::Topic* now) {
    if (old && !now) deleted.topics.push_back({old->name, id.value});
  });
  if (!deleted.topics.empty()) step(std::move(deleted));
}

void Groups::handle(RequestPtr request, group::ApiRequestBody body) {
  group::ApiRequest input;
  input.token = ++last_token_;
  input.version = request->version();
  input.client_id = request->start().client_id;
  input.client_host = "/" + request->client_host();
  input.body = std::move(body);
  waiting_.emplace(input.token, std::move(request));
  step(std::move(input));
}

void Groups::step(group::CoordinatorInput input) {
  coordinator_->step(broker_.now(), Topics(broker_.image()), std::move(input));
  if (performing_) return;  // the loop below goes on with what this step left
  performing_ = true;
  for (auto actions = coordinator_->take_actions(); !actions.empty(); actions = coordinator_->take_actions()) {
    for (auto& action : actions) {
      if (auto* append = std::get_if<group::AppendTo>(&action)) {
        perform(*append);
        continue;
      }
      auto& answer = std::get<group::ApiReply>(action);
      auto waiting = waiting_.extract(answer.token);
      if (waiting.empty()) continue;
      std::visit([&](const auto& response) { reply(*waiting.mapped(), response); }, answer.response);
    }
  }
  performing_ = false;
  arm();
}

void Groups::perform(group::AppendTo& append) {
  const auto fail_append = [&](Error error) {
    step(group::AppendedTo{append.partition, {append.id, unexpected(std::move(error))}});
  };
  const auto found = broker_.partitions().find(offsets_topic, append.partition);
  if (!found.partition) return fail_append({ErrorCode::NOT_LEADER_OR_FOLLOWER, "the partition is gone"});
  Partition& partition = *found.partition;
  if (const auto error = partition.check_leader(-1); error != ErrorCode::NONE) return fail_append({error, partition.name()});
  if (partition.under_min_isr()) return fail_append({ErrorCode::NOT_ENOUGH_REPLICAS, partition.name()});
  const Now now = broker_.now();
  record::BatchOptions options;
  options.compression = static_cast<record::Compression>(broker_.server().values.integer("offsets.topic.compression.codec"));
  record::BatchBuilder builder(options);
  for (const auto& record : append.records) {
    builder.append(now.wall.milliseconds, BytesView(record.key),
                   record.value ? std::optional<BytesView>(BytesView(*record.value)) : std::nullopt);
  }
  Bytes batch = builder.finish();
  if (batch.size() > static_cast<size_t>(partition.config().max_message_bytes)) {
    return fail_append({ErrorCode::MESSAGE_TOO_LARGE, fmt::format("{} bytes for {}", batch.size(), partition.name())});
  }
  const auto sealed = broker_.partitions().seal(partition);
  auto appended = sealed ? partition.log()->append_as_leader(batch, partition.leader_epoch(), now.wall, log::AppendOrigin::coordinator)
                         : unexpected(sealed.error());
  if (!appended) {
    if (appended.error().code == ErrorCode::KAFKA_STORAGE_ERROR) broker_.partitions().on_storage_error(partition, appended.error());
    return fail_append(appended.error());
  }
  step(group::AppendedTo{append.partition, {append.id, appended->first_offset}});
  partition.after_append();
  step(group::CommittedIn{append.partition, partition.high_watermark()});
}

void Groups::on_leadership(Partition& partition, bool leads) {
  const int32_t index = partition.index();
  loading_.erase(index);
  if (!leads) {
    step(group::Resigned{index});
    return;
  }
  step(group::BecameLeader{index});
  if (partition.offline()) {
    step(group::LoadFailed{index});
    return;
  }
  loading_[index] = {partition.leader_epoch(), partition.log()->log_start_offset()};
  load_slice(index);
}

void Groups::load_slice(int32_t index) {
  const auto load = loading_.find(index);
  if (load == loading_.end()) return;
  auto* shard = coordinator_->loading_shard(index);
  const auto found = broker_.partitions().find(offsets_topic, index);
  if (!shard || !found.partition || found.partition->leader_epoch() != load->second.leader_epoch) return;
  auto more = load_some(*found.partition, load->second, *shard);
  if (!more) {
    spdlog::error("groups of {} are not served: {}", found.partition->name(), more.error().message);
    loading_.erase(load);
    return step(group::LoadFailed{index});
  }
  if (*more) {
    broker_.surroundings().loop.post([this, index] { load_slice(index); });
    return;
  }
  loading_.erase(load);
  step(group::LoadFinished{index});
  step(group::CommittedIn{index, found.partition->high_watermark()});
}

Result<bool> Groups::load_some(Partition& partition, Load& load, group::Shard& shard) {
  auto* log = partition.log();
  if (!log) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} is offline", partition.name());
  if (load.next_offset >= log->log_end_offset()) return false;
  const WallTime now = broker_.now().wall;
  TRY(auto data, log->read(load.next_offset, load_slice_bytes, log->log_end_offset(), true));
  TRY(const Bytes bytes, data.load());
  const int64_t before = load.next_offset;
  record::BatchScanner scanner(bytes);
  while (true) {
    TRY(auto batch, scanner.next());
    if (!batch) break;
    if (batch->next_offset() <= load.next_offset) continue;
    record::RecordReader reader(*batch);
    record::Record record;
    while (true) {
      TRY(const bool more, reader.next(record));
      if (!more) break;
      if (batch->is_control()) {
        TRY(const auto type, record::parse_control_key(record.key));
        if (type == record::ControlType::commit || type == record::ControlType::abort) {
          shard.load_marker(batch->producer_id(), type == record::ControlType::commit);
        }
        continue;
      }
      if (!record.key) continue;
      TRY_VOID(shard.load({.offset = record.offset, .producer_id = batch->is_transactional() ? batch->producer_id() : -1, .key = *record.key,
                           .value = record.value}, now));
    }
    load.next_offset = batch->next_offset();
  }
  if (load.next_offset == before) {
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} ends at {} but cannot be read from {} on", partition.name(), log->log_end_offset(), before);
  }
  return load.next_offset < log->log_end_offset();
}

void Groups::arm() {
  const auto due = coordinator_->next_deadline();
  if (due == alarm_due_) return;
  broker_.deadlines().cancel(alarm_);
  alarm_due_ = due;
  if (due == MonotonicTime::never()) return;
  alarm_ = broker_.deadlines().add(due, [this] {
    alarm_due_ = MonotonicTime::never();
    step(group::Tick{});
  });
}

void handle_join_group(Broker& broker, RequestPtr request, wire::JoinGroupRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_sync_group(Broker& broker, RequestPtr request, wire::SyncGroupRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_heartbeat(Broker& broker, RequestPtr request, wire::HeartbeatRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_leave_group(Broker& broker, RequestPtr request, wire::LeaveGroupRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_offset_commit(Broker& broker, RequestPtr request, wire::OffsetCommitRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_offset_fetch(Broker& broker, RequestPtr request, wire::OffsetFetchRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_offset_delete(Broker& broker, RequestPtr request, wire::OffsetDeleteRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_describe_groups(Broker& broker, RequestPtr request, wire::DescribeGroupsRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_delete_groups(Broker& broker, RequestPtr request, wire::DeleteGroupsRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }
void handle_list_groups(Broker& broker, RequestPtr request, wire::ListGroupsRequest& body) { broker.groups().handle(std::move(request), std::move(body)); }

}  // namespace castellan::broker
