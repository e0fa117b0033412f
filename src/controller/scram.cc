// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/scram.h"

#include <map>

#include "security/scram.h"
#include "wire/messages/alter_user_scram_credentials_request.h"
#include "wire/messages/alter_user_scram_credentials_response.h"

namespace castellan::controller {

namespace {

using security::ScramMechanism;

Result<void> check_user(const Context& context, const std::string& name, int8_t mechanism) {
  if (!context.metadata_version().scram_supported()) return fail(ErrorCode::UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM");
  if (name.empty()) return fail(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Username must not be empty");
  if (mechanism != static_cast<int8_t>(ScramMechanism::SCRAM_SHA_256) && mechanism != static_cast<int8_t>(ScramMechanism::SCRAM_SHA_512)) {
    return fail(ErrorCode::UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism");
  }
  return {};
}

Result<MetadataRecord> deletion(const Context& context, const wire::AlterUserScramCredentialsRequest::ScramCredentialDeletion& wanted) {
  TRY_VOID(check_user(context, wanted.name, wanted.mechanism));
  if (!context.image.scram.contains(image::ScramUser{wanted.mechanism, wanted.name})) {
    return fail(ErrorCode::RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist");
  }
  wire::RemoveUserScramCredentialRecord record;
  record.name = wanted.name;
  record.mechanism = wanted.mechanism;
  return MetadataRecord{.version = 0, .message = std::move(record)};
}

Result<MetadataRecord> upsertion(const Context& context, const wire::AlterUserScramCredentialsRequest::ScramCredentialUpsertion& wanted) {
  TRY_VOID(check_user(context, wanted.name, wanted.mechanism));
  if (wanted.iterations < security::scram_iterations_min) return fail(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Too few iterations");
  if (wanted.iterations > security::scram_iterations_max) return fail(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Too many iterations");
  security::ScramKeys keys = security::scram_keys(static_cast<ScramMechanism>(wanted.mechanism), wanted.salted_password);
  wire::UserScramCredentialRecord record;
  record.name = wanted.name;
  record.mechanism = wanted.mechanism;
  record.salt = wanted.salt;
  record.stored_key = std::move(keys.stored_key);
  record.server_key = std::move(keys.server_key);
  record.iterations = wanted.iterations;
  return MetadataRecord{.version = 0, .message = std::move(record)};
}

}  // namespace

ControllerResult alter_user_scram_credentials(const Context& context, const wire::AlterUserScramCredentialsRequest& request) {
  // A user may come once, in whatever mechanism; otherwise none of his changes is made. The first error is the one that he gets.
  std::map<std::string, Result<MetadataRecord>> users;
  const auto put = [&](const std::string& name, Result<MetadataRecord> record) {
    const auto [place, first] = users.emplace(name, std::move(record));
    if (!first && place->second) place->second = fail(ErrorCode::DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request");
  };
  for (const auto& each : request.deletions) put(each.name, deletion(context, each));
  for (const auto& each : request.upsertions) put(each.name, upsertion(context, each));

  ControllerResult result{.atomic = true};
  wire::AlterUserScramCredentialsResponse response;
  for (auto& [name, record] : users) {
    auto& out = response.results.emplace_back();
    out.user = name;
    out.error_message.reset();
    if (record && result.records.size() == records_per_request_max) record = unexpected(error_of(ErrorCode::POLICY_VIOLATION));
    if (record) {
      result.records.push_back(std::move(*record));
    } else {
      out.error_code = number(record.error().code);
      out.error_message = record.error().message;
    }
  }
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller
