// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/api_table.h"

#include "broker/broker.h"
#include "broker/handlers.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/delete_groups_request.h"
#include "wire/messages/delete_records_request.h"
#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_configs_request.h"
#include "wire/messages/describe_groups_request.h"
#include "wire/messages/describe_log_dirs_request.h"
#include "wire/messages/describe_topic_partitions_request.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/find_coordinator_request.h"
#include "wire/messages/heartbeat_request.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/init_producer_id_request.h"
#include "wire/messages/join_group_request.h"
#include "wire/messages/leave_group_request.h"
#include "wire/messages/list_config_resources_request.h"
#include "wire/messages/list_groups_request.h"
#include "wire/messages/list_offsets_request.h"
#include "wire/messages/metadata_request.h"
#include "wire/messages/offset_commit_request.h"
#include "wire/messages/offset_delete_request.h"
#include "wire/messages/offset_fetch_request.h"
#include "wire/messages/offset_for_leader_epoch_request.h"
#include "wire/messages/produce_request.h"
#include "wire/messages/sasl_authenticate_request.h"
#include "wire/messages/sasl_handshake_request.h"
#include "wire/messages/streams_group_topology_description_update_request.h"
#include "wire/messages/sync_group_request.h"

namespace castellan::broker {

namespace {

using wire::ApiKey;

// Reads the body and calls the handler; a body that cannot be read closes the connection (B11).
template <class Body, void (*handler)(Broker&, RequestPtr, Body&)>
void serve(Broker& broker, RequestPtr request) {
  Body body;
  if (request->start().version_supported) {
    wire::Reader reader(request->body());
    if (auto read = wire::decode_message(Body::info(), &body, request->version(), reader); !read) {
      return request->close(fmt::format("{} version {}: {}", request->start().api->name, request->version(), read.error().message));
    }
  }
  handler(broker, std::move(request), body);
}

// clang-format off
constexpr Api table[] = {
    {ApiKey::PRODUCE, {3, 13}, 0, serve<wire::ProduceRequest, handle_produce>},
    {ApiKey::FETCH, {4, 18}, 4, serve<wire::FetchRequest, handle_fetch>},
    {ApiKey::LIST_OFFSETS, {1, 11}, 1, serve<wire::ListOffsetsRequest, handle_list_offsets>},
    {ApiKey::METADATA, {0, 13}, 0, serve<wire::MetadataRequest, handle_metadata>},
    {ApiKey::OFFSET_COMMIT, {2, 10}, 2, serve<wire::OffsetCommitRequest, handle_offset_commit>},
    {ApiKey::OFFSET_FETCH, {1, 10}, 1, serve<wire::OffsetFetchRequest, handle_offset_fetch>},
    {ApiKey::FIND_COORDINATOR, {0, 6}, 0, serve<wire::FindCoordinatorRequest, handle_find_coordinator>},
    {ApiKey::JOIN_GROUP, {0, 9}, 0, serve<wire::JoinGroupRequest, handle_join_group>},
    {ApiKey::HEARTBEAT, {0, 4}, 0, serve<wire::HeartbeatRequest, handle_heartbeat>},
    {ApiKey::LEAVE_GROUP, {0, 5}, 0, serve<wire::LeaveGroupRequest, handle_leave_group>},
    {ApiKey::SYNC_GROUP, {0, 5}, 0, serve<wire::SyncGroupRequest, handle_sync_group>},
    {ApiKey::DESCRIBE_GROUPS, {0, 6}, 0, serve<wire::DescribeGroupsRequest, handle_describe_groups>},
    {ApiKey::LIST_GROUPS, {0, 5}, 0, serve<wire::ListGroupsRequest, handle_list_groups>},
    {ApiKey::SASL_HANDSHAKE, {0, 1}, 0, serve<wire::SaslHandshakeRequest, handle_sasl_handshake>},
    {ApiKey::API_VERSIONS, {0, 5}, 0, serve<wire::ApiVersionsRequest, handle_api_versions>},
    {ApiKey::CREATE_TOPICS, {2, 7}, 2, forward_to_controller},
    {ApiKey::DELETE_TOPICS, {1, 6}, 1, forward_to_controller},
    {ApiKey::DELETE_RECORDS, {0, 2}, 0, serve<wire::DeleteRecordsRequest, handle_delete_records>},
    {ApiKey::INIT_PRODUCER_ID, {0, 5}, 0, serve<wire::InitProducerIdRequest, handle_init_producer_id>},
    {ApiKey::OFFSET_FOR_LEADER_EPOCH, {2, 4}, 2, serve<wire::OffsetForLeaderEpochRequest, handle_offset_for_leader_epoch>},
    {ApiKey::DESCRIBE_CONFIGS, {1, 4}, 1, serve<wire::DescribeConfigsRequest, handle_describe_configs>},
    {ApiKey::ALTER_CONFIGS, {0, 2}, 0, serve<wire::AlterConfigsRequest, handle_alter_configs>},
    {ApiKey::DESCRIBE_LOG_DIRS, {1, 5}, 1, serve<wire::DescribeLogDirsRequest, handle_describe_log_dirs>},
    {ApiKey::SASL_AUTHENTICATE, {0, 2}, 0, serve<wire::SaslAuthenticateRequest, handle_sasl_authenticate>},
    {ApiKey::CREATE_PARTITIONS, {0, 3}, 0, forward_to_controller},
    {ApiKey::DELETE_GROUPS, {0, 3}, 0, serve<wire::DeleteGroupsRequest, handle_delete_groups>},
    {ApiKey::INCREMENTAL_ALTER_CONFIGS, {0, 1}, 0, serve<wire::IncrementalAlterConfigsRequest, handle_incremental_alter_configs>},
    {ApiKey::OFFSET_DELETE, {0, 0}, 0, serve<wire::OffsetDeleteRequest, handle_offset_delete>},
    {ApiKey::DESCRIBE_QUORUM, {0, 2}, 0, forward_to_controller},
    {ApiKey::UPDATE_FEATURES, {0, 2}, 0, forward_to_controller},
    {ApiKey::DESCRIBE_CLUSTER, {0, 2}, 0, serve<wire::DescribeClusterRequest, handle_describe_cluster>},
    {ApiKey::LIST_CONFIG_RESOURCES, {0, 1}, 0, serve<wire::ListConfigResourcesRequest, handle_list_config_resources>},
    {ApiKey::DESCRIBE_TOPIC_PARTITIONS, {0, 0}, 0, serve<wire::DescribeTopicPartitionsRequest, handle_describe_topic_partitions>},
    {ApiKey::ADD_RAFT_VOTER, {0, 1}, 0, forward_to_controller},
    {ApiKey::REMOVE_RAFT_VOTER, {0, 0}, 0, forward_to_controller},
    {ApiKey::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, {0, 0}, 0, serve<wire::StreamsGroupTopologyDescriptionUpdateRequest, handle_streams_group_topology_description_update>},
    {ApiKey::UNREGISTER_CONTROLLER, {0, 0}, 0, forward_to_controller},
};
// clang-format on

}  // namespace

std::span<const Api> apis() { return table; }

const Api* find_api(int16_t key) {
  const auto found = std::ranges::lower_bound(table, key, {}, [](const Api& api) { return static_cast<int16_t>(api.key); });
  return found != std::end(table) && static_cast<int16_t>(found->key) == key ? found : nullptr;
}

void forward_to_controller(Broker& broker, RequestPtr request) {
  ControllerRequest call;
  call.api_key = static_cast<int16_t>(request->start().api->key);
  call.api_version = request->version();
  const auto body = request->body();
  call.body.assign(body.begin(), body.end());
  call.principal = "User:ANONYMOUS";
  call.client_host = request->client_host();
  call.client_id = request->start().client_id;
  // Whoever may ask must be able to: the channel answers within the node's request timeout, and without a controller the
  // client's own timeout is what ends the wait in Apache Kafka; here the connection is closed and the client tries again.
  broker.surroundings().controller.call(std::move(call), [request](Result<Bytes> answer) {
    if (!answer) return request->close(fmt::format("{} could not be passed to the controller: {}", request->start().api->name, answer.error().message));
    reply_encoded(*request, *answer);
  });
}

}  // namespace castellan::broker
