// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The handlers of the broker's listener, one file (handle_*.cc) for each family. A handler gets the decoded body, which
// it may take apart, and answers the request with reply(), now or later.

#pragma once

#include "broker/request.h"

namespace castellan::wire {
struct AlterConfigsRequest;
struct ApiVersionsRequest;
struct DeleteGroupsRequest;
struct DeleteRecordsRequest;
struct DescribeClusterRequest;
struct DescribeConfigsRequest;
struct DescribeGroupsRequest;
struct DescribeLogDirsRequest;
struct DescribeTopicPartitionsRequest;
struct FetchRequest;
struct FindCoordinatorRequest;
struct HeartbeatRequest;
struct IncrementalAlterConfigsRequest;
struct InitProducerIdRequest;
struct JoinGroupRequest;
struct LeaveGroupRequest;
struct ListConfigResourcesRequest;
struct ListGroupsRequest;
struct ListOffsetsRequest;
struct MetadataRequest;
struct OffsetCommitRequest;
struct OffsetDeleteRequest;
struct OffsetFetchRequest;
struct OffsetForLeaderEpochRequest;
struct ProduceRequest;
struct SaslAuthenticateRequest;
struct SaslHandshakeRequest;
struct StreamsGroupTopologyDescriptionUpdateRequest;
struct SyncGroupRequest;
}  // namespace castellan::wire

namespace castellan::broker {

class Broker;

void handle_alter_configs(Broker&, RequestPtr, wire::AlterConfigsRequest&);
void handle_api_versions(Broker&, RequestPtr, wire::ApiVersionsRequest&);
void handle_delete_groups(Broker&, RequestPtr, wire::DeleteGroupsRequest&);
void handle_delete_records(Broker&, RequestPtr, wire::DeleteRecordsRequest&);
void handle_describe_cluster(Broker&, RequestPtr, wire::DescribeClusterRequest&);
void handle_describe_configs(Broker&, RequestPtr, wire::DescribeConfigsRequest&);
void handle_describe_groups(Broker&, RequestPtr, wire::DescribeGroupsRequest&);
void handle_describe_log_dirs(Broker&, RequestPtr, wire::DescribeLogDirsRequest&);
void handle_describe_topic_partitions(Broker&, RequestPtr, wire::DescribeTopicPartitionsRequest&);
void handle_fetch(Broker&, RequestPtr, wire::FetchRequest&);
void handle_find_coordinator(Broker&, RequestPtr, wire::FindCoordinatorRequest&);
void handle_heartbeat(Broker&, RequestPtr, wire::HeartbeatRequest&);
void handle_incremental_alter_configs(Broker&, RequestPtr, wire::IncrementalAlterConfigsRequest&);
void handle_init_producer_id(Broker&, RequestPtr, wire::InitProducerIdRequest&);
void handle_join_group(Broker&, RequestPtr, wire::JoinGroupRequest&);
void handle_leave_group(Broker&, RequestPtr, wire::LeaveGroupRequest&);
void handle_list_config_resources(Broker&, RequestPtr, wire::ListConfigResourcesRequest&);
void handle_list_groups(Broker&, RequestPtr, wire::ListGroupsRequest&);
void handle_list_offsets(Broker&, RequestPtr, wire::ListOffsetsRequest&);
void handle_metadata(Broker&, RequestPtr, wire::MetadataRequest&);
void handle_offset_commit(Broker&, RequestPtr, wire::OffsetCommitRequest&);
void handle_offset_delete(Broker&, RequestPtr, wire::OffsetDeleteRequest&);
void handle_offset_fetch(Broker&, RequestPtr, wire::OffsetFetchRequest&);
void handle_offset_for_leader_epoch(Broker&, RequestPtr, wire::OffsetForLeaderEpochRequest&);
void handle_produce(Broker&, RequestPtr, wire::ProduceRequest&);
void handle_sasl_authenticate(Broker&, RequestPtr, wire::SaslAuthenticateRequest&);
void handle_sasl_handshake(Broker&, RequestPtr, wire::SaslHandshakeRequest&);
void handle_streams_group_topology_description_update(Broker&, RequestPtr, wire::StreamsGroupTopologyDescriptionUpdateRequest&);
void handle_sync_group(Broker&, RequestPtr, wire::SyncGroupRequest&);

// CreateTopics, DeleteTopics and the like: the body goes to the active controller as it came.
void forward_to_controller(Broker&, RequestPtr);

}  // namespace castellan::broker
