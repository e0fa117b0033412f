// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// An error for a request as a whole, in the shape of its response: most have a place for it at the top, others only one for
// each thing that they were asked for.

#include <cstring>

#include "controller/controller.h"
#include "controller/elections.h"
#include "wire/api.h"
#include "wire/messages/alter_client_quotas_request.h"
#include "wire/messages/alter_client_quotas_response.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/alter_configs_response.h"
#include "wire/messages/alter_user_scram_credentials_request.h"
#include "wire/messages/alter_user_scram_credentials_response.h"
#include "wire/messages/create_acls_request.h"
#include "wire/messages/create_acls_response.h"
#include "wire/messages/create_partitions_request.h"
#include "wire/messages/create_partitions_response.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"
#include "wire/messages/delete_acls_request.h"
#include "wire/messages/delete_acls_response.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/delete_topics_response.h"
#include "wire/messages/elect_leaders_request.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/incremental_alter_configs_response.h"

namespace castellan::controller {

namespace {

template <class Out>
void put(Out& out, const Error& error) {
  out.error_code = number(error.code);
  out.error_message = error.message;
}

template <class Response, class Request>
Reply for_resources(const Request& request, const Error& error) {
  Response response;
  for (const auto& each : request.resources) {
    auto& out = response.responses.emplace_back();
    put(out, error);
    out.resource_type = each.resource_type;
    out.resource_name = each.resource_name;
  }
  return Reply::of(std::move(response));
}

Reply for_topics(const wire::CreateTopicsRequest& request, const Error& error) {
  wire::CreateTopicsResponse response;
  for (const auto& each : request.topics) {
    auto& out = response.topics.emplace_back();
    put(out, error);
    out.name = each.name;
  }
  return Reply::of(std::move(response));
}

Reply for_topics(const wire::DeleteTopicsRequest& request, const Error& error) {
  wire::DeleteTopicsResponse response;
  for (const auto& each : request.topics) {
    auto& out = response.responses.emplace_back();
    put(out, error);
    out.name = each.name;
    out.topic_id = each.topic_id;
  }
  for (const auto& name : request.topic_names) {
    auto& out = response.responses.emplace_back();
    put(out, error);
    out.name = name;
  }
  return Reply::of(std::move(response));
}

Reply for_topics(const wire::CreatePartitionsRequest& request, const Error& error) {
  wire::CreatePartitionsResponse response;
  for (const auto& each : request.topics) {
    auto& out = response.results.emplace_back();
    put(out, error);
    out.name = each.name;
  }
  return Reply::of(std::move(response));
}

Reply for_entities(const wire::AlterClientQuotasRequest& request, const Error& error) {
  wire::AlterClientQuotasResponse response;
  for (const auto& each : request.entries) {
    auto& out = response.entries.emplace_back();
    put(out, error);
    for (const auto& part : each.entity) {
      auto& entity = out.entity.emplace_back();
      entity.entity_type = part.entity_type;
      entity.entity_name = part.entity_name;
    }
  }
  return Reply::of(std::move(response));
}

Reply for_users(const wire::AlterUserScramCredentialsRequest& request, const Error& error) {
  wire::AlterUserScramCredentialsResponse response;
  const auto answer = [&](const std::string& user) {
    auto& out = response.results.emplace_back();
    put(out, error);
    out.user = user;
  };
  for (const auto& each : request.deletions) answer(each.name);
  for (const auto& each : request.upsertions) answer(each.name);
  return Reply::of(std::move(response));
}

// The errorCode and errorMessage at the top of the response, by its table.
Reply at_top(const Request& request, const Error& error) {
  const wire::ApiInfo* api = wire::find_api(request.api);
  CHECK(api != nullptr);
  Reply reply{api->response, api->response->create()};
  auto* object = static_cast<std::byte*>(reply.message.get());
  for (const wire::FieldInfo& field : api->response->root->fields) {
    if (field.kind == wire::FieldKind::INT16 && (field.name == "errorCode" || field.name == "ErrorCode")) {
      const int16_t code = number(error.code);
      std::memcpy(object + field.offset, &code, sizeof(code));
    } else if (field.optional != nullptr && field.kind == wire::FieldKind::STRING && (field.name == "errorMessage" || field.name == "ErrorMessage")) {
      *static_cast<std::string*>(field.optional->emplace(object + field.offset)) = error.message;
    }
  }
  return reply;
}

}  // namespace

Reply error_reply(const Request& request, const Error& error) {
  switch (request.api) {
    case wire::ApiKey::CREATE_TOPICS: return for_topics(request.as<wire::CreateTopicsRequest>(), error);
    case wire::ApiKey::DELETE_TOPICS: return for_topics(request.as<wire::DeleteTopicsRequest>(), error);
    case wire::ApiKey::CREATE_PARTITIONS: return for_topics(request.as<wire::CreatePartitionsRequest>(), error);
    case wire::ApiKey::ALTER_CONFIGS: return for_resources<wire::AlterConfigsResponse>(request.as<wire::AlterConfigsRequest>(), error);
    case wire::ApiKey::INCREMENTAL_ALTER_CONFIGS:
      return for_resources<wire::IncrementalAlterConfigsResponse>(request.as<wire::IncrementalAlterConfigsRequest>(), error);
    case wire::ApiKey::ALTER_CLIENT_QUOTAS: return for_entities(request.as<wire::AlterClientQuotasRequest>(), error);
    case wire::ApiKey::ALTER_USER_SCRAM_CREDENTIALS: return for_users(request.as<wire::AlterUserScramCredentialsRequest>(), error);
    case wire::ApiKey::CREATE_ACLS: {
      wire::CreateAclsResponse response;
      for (size_t i = 0; i < request.as<wire::CreateAclsRequest>().creations.size(); ++i) put(response.results.emplace_back(), error);
      return Reply::of(std::move(response));
    }
    case wire::ApiKey::DELETE_ACLS: {
      wire::DeleteAclsResponse response;
      for (size_t i = 0; i < request.as<wire::DeleteAclsRequest>().filters.size(); ++i) put(response.filter_results.emplace_back(), error);
      return Reply::of(std::move(response));
    }
    case wire::ApiKey::ELECT_LEADERS: return elections_refused(request.as<wire::ElectLeadersRequest>(), request.version, error);
    default: return at_top(request, error);
  }
}

}  // namespace castellan::controller
