// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Activation, features, producer ids, quotas, SCRAM, and what the front door itself promises.

#include "controller/controller.h"

#include <gtest/gtest.h>

#include "controller/activation.h"
#include "controller/testing.h"
#include "wire/api.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/allocate_producer_ids_response.h"
#include "wire/messages/alter_client_quotas_request.h"
#include "wire/messages/alter_client_quotas_response.h"
#include "wire/messages/alter_user_scram_credentials_request.h"
#include "wire/messages/alter_user_scram_credentials_response.h"
#include "wire/messages/create_acls_request.h"
#include "wire/messages/create_acls_response.h"
#include "wire/messages/create_delegation_token_request.h"
#include "wire/messages/create_delegation_token_response.h"
#include "wire/messages/unregister_broker_request.h"
#include "wire/messages/unregister_broker_response.h"
#include "wire/messages/update_features_request.h"
#include "wire/messages/update_features_response.h"

namespace castellan::controller {
namespace {

int16_t code(ErrorCode error) { return number(error); }

TEST(Activation, AnEmptyLogGetsTheBootstrapRecordsInATransaction) {
  TestCluster cluster{image::FeatureLevels{}};
  const auto bootstrap = bootstrap_records({{"metadata.version", 33}, {"group.version", 1}, {"kraft.version", 1}, {"share.version", 0},
                                            {"eligible.leader.replicas.version", 1}});
  EXPECT_EQ(bootstrap.size(), 3u) << "none at level 0, kraft.version never";
  cluster.take(*cluster.controller.activate(cluster.context(), false, bootstrap));
  EXPECT_EQ(names(cluster.last.records), (Names{"BeginTransactionRecord", "FeatureLevelRecord", "FeatureLevelRecord", "FeatureLevelRecord", "ConfigRecord",
                                                "EndTransactionRecord"}));
  EXPECT_FALSE(cluster.last.atomic);
  EXPECT_EQ(cluster.image.features.metadata_version->level(), 33);
  EXPECT_EQ(cluster.image.configs.of_cluster().at("min.insync.replicas"), "1");
  EXPECT_TRUE(cluster.controller.activate(cluster.context(), false, bootstrap)->records.empty()) << "a log that is not empty";
}

TEST(Activation, OldVersionsHaveNoTransaction) {
  TestCluster cluster{image::FeatureLevels{}};
  cluster.take(*cluster.controller.activate(cluster.context(), false, bootstrap_records({{"metadata.version", 7}})));
  EXPECT_EQ(names(cluster.last.records), (Names{"FeatureLevelRecord"}));
  EXPECT_TRUE(cluster.last.atomic);
}

TEST(Activation, NoBootstrapMeansTheLatestProductionLevel) {
  TestCluster cluster{image::FeatureLevels{}};
  cluster.take(*cluster.controller.activate(cluster.context(), false, {}));
  EXPECT_EQ(cluster.image.features.metadata_version, image::MetadataVersion::latest_production());
}

TEST(Activation, AnOpenTransactionIsAborted) {
  TestCluster empty{image::FeatureLevels{}};
  const auto again = empty.controller.activate(empty.context(), true, bootstrap_records({{"metadata.version", 13}}));
  EXPECT_EQ(names(again->records), (Names{"AbortTransactionRecord", "BeginTransactionRecord", "FeatureLevelRecord", "EndTransactionRecord"}));
  EXPECT_FALSE(empty.controller.activate(empty.context(), true, bootstrap_records({{"metadata.version", 12}})));
  TestCluster running;
  EXPECT_EQ(names(running.controller.activate(running.context(), true, {})->records), (Names{"AbortTransactionRecord"}));
  TestCluster old({{"metadata.version", 12}});
  EXPECT_FALSE(old.controller.activate(old.context(), true, {}));
}

TEST(ProducerIds, ComeInBlocksOfAThousand) {
  TestCluster cluster;
  cluster.add_broker(1);
  wire::AllocateProducerIdsRequest request;
  request.broker_id = 1;
  request.broker_epoch = cluster.image.cluster.broker(NodeId{1})->epoch.value;
  for (const int64_t first : {0, 1000, 2000}) {
    const auto response = cluster.call<wire::AllocateProducerIdsResponse>(request);
    EXPECT_EQ(response.producer_id_start, first);
    EXPECT_EQ(response.producer_id_len, 1000);
  }
  request.broker_epoch = 0;
  EXPECT_EQ(cluster.call<wire::AllocateProducerIdsResponse>(request).error_code, code(ErrorCode::STALE_BROKER_EPOCH));
  request.broker_epoch = cluster.image.cluster.broker(NodeId{1})->epoch.value;
  cluster.image.next_producer_id = INT64_MAX - 10;
  EXPECT_EQ(cluster.call<wire::AllocateProducerIdsResponse>(request).error_code, code(ErrorCode::UNKNOWN_SERVER_ERROR));
}

struct Features : TestCluster {
  using TestCluster::TestCluster;

  wire::UpdateFeaturesResponse update(const std::string& name, int16_t level, int8_t type = 1, bool dry = false, int16_t version = 1) {
    wire::UpdateFeaturesRequest request;
    request.validate_only = dry;
    auto& each = request.feature_updates.emplace_back();
    each.feature = name;
    each.max_version_level = level;
    each.upgrade_type = type;
    return call<wire::UpdateFeaturesResponse>(request, version);
  }
};

TEST(UpdateFeatures, GoUpAndDown) {
  Features cluster({{"metadata.version", 31}});
  EXPECT_EQ(cluster.update("metadata.version", 32, 1, true).error_code, 0);
  EXPECT_TRUE(cluster.last.records.empty());
  const auto up = cluster.update("metadata.version", 32);
  EXPECT_EQ(up.error_code, 0);
  ASSERT_EQ(up.results.size(), 1u);
  EXPECT_EQ(cluster.image.features.metadata_version->level(), 32);
  EXPECT_TRUE(cluster.update("metadata.version", 33, 1, false, 2).results.empty());
  const auto lossy = cluster.update("metadata.version", 32, 2);
  EXPECT_EQ(lossy.error_code, code(ErrorCode::INVALID_UPDATE_VERSION));
  EXPECT_EQ(*lossy.error_message, "Unsupported metadata.version downgrade from 33 to 32. Refusing to perform the requested downgrade because it might delete metadata information.");
  EXPECT_EQ(cluster.update("group.version", 1).error_code, 0);
  EXPECT_EQ(cluster.update("group.version", 0).error_code, code(ErrorCode::INVALID_UPDATE_VERSION)) << "needs a downgrade type";
  EXPECT_EQ(cluster.update("group.version", 0, 2).error_code, 0);
  EXPECT_EQ(cluster.image.features.level("group.version"), 0);
  Features quiet({{"metadata.version", 31}});
  EXPECT_EQ(quiet.update("metadata.version", 30, 2).error_code, 0) << "nothing changed in the records between them";
}

TEST(UpdateFeatures, RefusalsHaveTheCodeAndNothingIsWritten) {
  Features cluster({{"metadata.version", 22}});
  const auto refused = [&](const std::string& name, int16_t level, int8_t type = 1) {
    const auto response = cluster.update(name, level, type);
    EXPECT_TRUE(cluster.last.records.empty());
    EXPECT_TRUE(response.results.empty());
    return response.error_code;
  };
  for (const auto& [name, level, type] : std::vector<std::tuple<std::string, int16_t, int8_t>>{{"metadata.version", 34, 1}, {"metadata.version", 6, 3},
           {"group.version", -1, 2}, {"group.version", 2, 1}, {"no.such.feature", 1, 1}, {"group.version", 1, 2}, {"group.version", 1, 0}, {"group.version", 1, 9},
           {"eligible.leader.replicas.version", 1, 1}, {"kraft.version", 0, 2}}) {
    EXPECT_EQ(refused(name, level, type), code(ErrorCode::INVALID_UPDATE_VERSION)) << name << " " << level;
  }
  auto old_broker = TestCluster::registration_of(1);
  for (auto& feature : old_broker.features) {
    if (feature.name == "group.version") feature.max_supported_version = 0;
  }
  cluster.register_broker(old_broker);
  EXPECT_EQ(refused("group.version", 1), code(ErrorCode::INVALID_UPDATE_VERSION)) << "broker 1 has not got it";
  cluster.voters = {NodeId{100}, NodeId{101}};
  EXPECT_EQ(refused("streams.version", 1), code(ErrorCode::INVALID_UPDATE_VERSION)) << "voter 101 has not registered";
}

TEST(UpdateFeatures, EligibleLeaderReplicasTakeMinInsyncReplicasToTheCluster) {
  Features cluster;
  wire::ConfigRecord own;
  own.resource_type = 4;
  own.resource_name = "1";
  own.name = "min.insync.replicas";
  own.value = "2";
  cluster.apply({.version = 0, .message = own});
  EXPECT_EQ(cluster.update("eligible.leader.replicas.version", 1).error_code, 0);
  EXPECT_EQ(names(cluster.last.records), (Names{"ConfigRecord", "ConfigRecord", "FeatureLevelRecord"}));
  EXPECT_EQ(cluster.image.configs.of_cluster().at("min.insync.replicas"), "1");
  EXPECT_TRUE(cluster.image.configs.of_broker(NodeId{1}).empty());
}

TEST(UpdateFeatures, KraftVersionIsTheQuorumsToChange) {
  Features cluster;
  cluster.kraft_version = 0;
  EXPECT_EQ(cluster.update("kraft.version", 1).error_code, code(ErrorCode::INVALID_UPDATE_VERSION)) << "no quorum offers it";
  EXPECT_EQ(cluster.update("kraft.version", 0).error_code, 0);
  EXPECT_EQ(names(cluster.last.records), (Names{"NoOpRecord"}));
}

struct Quotas : TestCluster {
  int16_t set(std::vector<std::pair<std::string, std::optional<std::string>>> entity, const std::string& key, double value, bool remove = false) {
    wire::AlterClientQuotasRequest request;
    auto& entry = request.entries.emplace_back();
    for (auto& [type, name] : entity) {
      auto& part = entry.entity.emplace_back();
      part.entity_type = type;
      part.entity_name = name;
    }
    auto& op = entry.ops.emplace_back();
    op.key = key;
    op.value = value;
    op.remove = remove;
    return call<wire::AlterClientQuotasResponse>(request).entries.at(0).error_code;
  }
};

TEST(ClientQuotas, AreSetChangedAndRemoved) {
  Quotas cluster;
  EXPECT_EQ(cluster.set({{"user", "a"}, {"client-id", std::nullopt}}, "producer_byte_rate", 1000), 0);
  EXPECT_EQ(cluster.set({{"user", "a"}, {"client-id", std::nullopt}}, "producer_byte_rate", 1000), 0);
  EXPECT_TRUE(cluster.last.records.empty());
  EXPECT_EQ(cluster.set({{"ip", "127.0.0.1"}}, "connection_creation_rate", 5), 0);
  EXPECT_EQ(cluster.set({{"user", "a"}}, "request_percentage", 12.5), 0);
  EXPECT_EQ(cluster.set({{"user", "a"}}, "request_percentage", 0, true), 0);
  EXPECT_EQ(cluster.set({{"user", "a"}}, "request_percentage", 0, true), 0);
  EXPECT_TRUE(cluster.last.records.empty());
  EXPECT_EQ(cluster.image.client_quotas.size(), 2u);
}

TEST(ClientQuotas, RefusalsAreInvalidRequests) {
  Quotas cluster;
  const int16_t invalid = code(ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(cluster.set({}, "producer_byte_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"planet", "x"}}, "producer_byte_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"user", ""}}, "producer_byte_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"user", "a"}, {"ip", "::1"}}, "producer_byte_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"ip", "not an ip"}}, "connection_creation_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"ip", "::1"}}, "producer_byte_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"user", "a"}}, "no_such_rate", 1), invalid);
  EXPECT_EQ(cluster.set({{"user", "a"}}, "producer_byte_rate", 0), invalid);
  EXPECT_EQ(cluster.set({{"user", "a"}}, "producer_byte_rate", 1.5), invalid);
  EXPECT_EQ(cluster.set({{"ip", "::1"}}, "connection_creation_rate", 3e9), invalid);
  EXPECT_TRUE(cluster.image.client_quotas.empty());
}

TEST(Scram, CredentialsAreMadeAndDeleted) {
  TestCluster cluster;
  wire::AlterUserScramCredentialsRequest request;
  auto& upsert = request.upsertions.emplace_back();
  upsert.name = "alice";
  upsert.mechanism = 1;
  upsert.iterations = 4096;
  upsert.salt = {1, 2};
  upsert.salted_password = Bytes(32, 3);
  const auto code_of = [&](const wire::AlterUserScramCredentialsRequest& r) { return cluster.call<wire::AlterUserScramCredentialsResponse>(r).results.at(0).error_code; };
  EXPECT_EQ(code_of(request), 0);
  EXPECT_EQ(cluster.image.scram.find(image::ScramUser{1, "alice"})->stored_key.size(), 32u);
  wire::AlterUserScramCredentialsRequest bad = request;
  bad.upsertions[0].iterations = 4095;
  EXPECT_EQ(code_of(bad), code(ErrorCode::UNACCEPTABLE_CREDENTIAL));
  bad.upsertions[0].iterations = 16385;
  EXPECT_EQ(code_of(bad), code(ErrorCode::UNACCEPTABLE_CREDENTIAL));
  bad = request;
  bad.upsertions[0].mechanism = 3;
  EXPECT_EQ(code_of(bad), code(ErrorCode::UNSUPPORTED_SASL_MECHANISM));
  bad = request;
  bad.upsertions[0].name = "";
  EXPECT_EQ(code_of(bad), code(ErrorCode::UNACCEPTABLE_CREDENTIAL));
  bad = request;
  bad.deletions.emplace_back().name = "alice";
  bad.deletions.back().mechanism = 1;
  EXPECT_EQ(code_of(bad), code(ErrorCode::DUPLICATE_RESOURCE));
  EXPECT_TRUE(cluster.last.records.empty());
  bad.upsertions.clear();
  EXPECT_EQ(code_of(bad), 0);
  EXPECT_EQ(code_of(bad), code(ErrorCode::RESOURCE_NOT_FOUND));
  TestCluster old({{"metadata.version", 10}});
  EXPECT_EQ(old.call<wire::AlterUserScramCredentialsResponse>(request).results.at(0).error_code, code(ErrorCode::UNSUPPORTED_VERSION));
}

TEST(Controller, WhatItHasNotGotSaysSo) {
  TestCluster cluster;
  wire::CreateAclsRequest acls;
  acls.creations.resize(2);
  const auto response = cluster.call<wire::CreateAclsResponse>(acls);
  ASSERT_EQ(response.results.size(), 2u);
  EXPECT_EQ(response.results[1].error_code, code(ErrorCode::SECURITY_DISABLED));
  for (int16_t version = 1; version <= 3; ++version) {
    const auto token = cluster.call<wire::CreateDelegationTokenResponse>(wire::CreateDelegationTokenRequest{}, version);
    EXPECT_EQ(token.principal_name, "ANONYMOUS");
    EXPECT_EQ(token.token_requester_principal_name, version < 3 ? "" : "ANONYMOUS");
  }
  EXPECT_EQ(cluster.call<wire::CreateDelegationTokenResponse>(wire::CreateDelegationTokenRequest{}).error_code, code(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)) << "on a plain connection";
}

TEST(Controller, WithoutLeadershipOrPermissionEveryAnswerSaysSoInItsPlace) {
  TestCluster cluster;
  wire::UnregisterBrokerRequest request;
  cluster.access = [](auto, auto, auto) { return false; };
  auto response = cluster.call<wire::UnregisterBrokerResponse>(request);
  EXPECT_EQ(response.error_code, code(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
  EXPECT_EQ(response.error_message, "Cluster authorization failed.");
  cluster.controller.renounce();
  EXPECT_EQ(cluster.call<wire::UnregisterBrokerResponse>(request).error_code, code(ErrorCode::NOT_CONTROLLER));
  EXPECT_EQ(cluster.create_topic("t", 1, 1).error_code, code(ErrorCode::NOT_CONTROLLER));
  for (const wire::ApiInfo& api : wire::all_apis()) {
    if (!Controller::handles(api.key)) continue;
    for (int16_t version = api.valid.first; version <= api.valid.last; ++version) {
      const Request each{api.key, version, api.request->create()};
      const Reply reply = cluster.controller.handle(each, cluster.context()).reply;
      ASSERT_EQ(reply.info, api.response) << api.name;
      wire::Writer writer;
      EXPECT_TRUE(wire::encode_message(*reply.info, reply.message.get(), version, writer)) << api.name << " " << version;
    }
  }
}

}  // namespace
}  // namespace castellan::controller
