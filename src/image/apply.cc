// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/apply.h"

#include <algorithm>

#include "config/alter.h"
#include "config/table.h"

namespace castellan::image {

Result<void> apply(Image& image, const MetadataRecord& record, Offset offset) {
  auto applied = std::visit([&](const auto& message) { return records::apply(image, message, offset); }, record.message);
  if (!applied) return fail(applied.error().code, "{} at offset {}: {}", record_name(record), offset, applied.error().message);
  image.last_offset = offset;
  return {};
}

Result<void> Replay::apply(const MetadataRecord& record, Offset offset) {
  if (std::holds_alternative<wire::BeginTransactionRecord>(record.message)) {
    if (in_transaction()) {
      return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "BeginTransactionRecord at offset {}: the transaction that began at {} is still open", offset,
                  transaction_start_);
    }
    before_transaction_ = tip_;
    transaction_start_ = offset;
  } else if (std::holds_alternative<wire::EndTransactionRecord>(record.message)) {
    if (!in_transaction()) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "EndTransactionRecord at offset {}: no transaction is open", offset);
    before_transaction_.reset();
  } else if (std::holds_alternative<wire::AbortTransactionRecord>(record.message)) {
    if (!in_transaction()) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "AbortTransactionRecord at offset {}: no transaction is open", offset);
    Image reverted = std::move(*before_transaction_);
    reverted.last_epoch = tip_.last_epoch;
    reverted.last_timestamp = tip_.last_timestamp;
    tip_ = std::move(reverted);
    before_transaction_.reset();
  }
  return image::apply(tip_, record, offset);
}

void Replay::set_provenance(Epoch epoch, WallTime timestamp) {
  tip_.last_epoch = epoch;
  tip_.last_timestamp = timestamp;
}

namespace records {

namespace {

// Settings that this program does not know are left out, but for brokers, whose plugins may have their own (C380).
bool config_known(int8_t type, std::string_view name) {
  switch (static_cast<config::ResourceType>(type)) {
    case config::ResourceType::TOPIC: return config::find_key(config::Scope::topic, name) != nullptr;
    case config::ResourceType::GROUP: return config::find_key(config::Scope::group, name) != nullptr;
    case config::ResourceType::CLIENT_METRICS: return config::find_key(config::Scope::client_metrics, name) != nullptr;
    default: return true;
  }
}

}  // namespace

Result<void> apply(Image& image, const wire::ConfigRecord& record, Offset) {
  if (!config_known(record.resource_type, record.name)) return {};
  const ConfigResource resource{record.resource_type, record.resource_name};
  config::ConfigMap settings = image.configs.of(resource);
  if (record.value) settings.insert_or_assign(record.name, *record.value);
  else settings.erase(record.name);
  if (settings.empty()) image.configs.resources.erase(resource);
  else image.configs.resources.set(resource, {std::make_shared<const config::ConfigMap>(std::move(settings))});
  return {};
}

Result<void> apply(Image& image, const wire::FeatureLevelRecord& record, Offset) {
  if (record.name == metadata_version_feature) {
    TRY(image.features.metadata_version, MetadataVersion::from_level(record.feature_level));
  } else if (record.name != kraft_version_feature) {
    if (record.feature_level == 0) image.features.levels.erase(record.name);
    else image.features.levels.insert_or_assign(record.name, record.feature_level);
  }
  return {};
}

Result<void> apply(Image& image, const wire::ClientQuotaRecord& record, Offset) {
  QuotaEntity entity;
  for (const auto& part : record.entity) entity.insert_or_assign(part.entity_type, part.entity_name);
  if (!record.remove) {
    image.client_quotas[entity].insert_or_assign(record.key, record.value);
  } else if (Quotas* quotas = image.client_quotas.mutate(entity)) {
    quotas->erase(record.key);
    if (quotas->empty()) image.client_quotas.erase(entity);
  }
  return {};
}

Result<void> apply(Image& image, const wire::ProducerIdsRecord& record, Offset) {
  image.next_producer_id = record.next_producer_id;
  return {};
}

Result<void> apply(Image& image, const wire::AccessControlEntryRecord& record, Offset) {
  image.acls.set(record.id, {record.resource_type, record.resource_name, record.pattern_type, record.principal, record.host, record.operation,
                             record.permission_type});
  return {};
}

Result<void> apply(Image& image, const wire::RemoveAccessControlEntryRecord& record, Offset) {
  if (!image.acls.erase(record.id)) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "there is no ACL with id {}", record.id);
  return {};
}

Result<void> apply(Image& image, const wire::UserScramCredentialRecord& record, Offset) {
  image.scram.set({record.mechanism, record.name}, {record.salt, record.stored_key, record.server_key, record.iterations});
  return {};
}

Result<void> apply(Image& image, const wire::RemoveUserScramCredentialRecord& record, Offset) {
  if (!image.scram.erase(ScramUser{record.mechanism, record.name})) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "user {} has no credential of mechanism {}", record.name, record.mechanism);
  }
  return {};
}

Result<void> apply(Image& image, const wire::DelegationTokenRecord& record, Offset) {
  image.delegation_tokens.set(record.token_id, {.owner = record.owner,
                                                .requester = record.requester,
                                                .renewers = record.renewers,
                                                .issued = {record.issue_timestamp},
                                                .max = {record.max_timestamp},
                                                .expires = {record.expiration_timestamp}});
  return {};
}

Result<void> apply(Image& image, const wire::RemoveDelegationTokenRecord& record, Offset) {
  image.delegation_tokens.erase(record.token_id);
  return {};
}

Result<void> apply(Image&, const wire::NoOpRecord&, Offset) { return {}; }
Result<void> apply(Image&, const wire::ZkMigrationStateRecord&, Offset) { return {}; }
Result<void> apply(Image&, const wire::BeginTransactionRecord&, Offset) { return {}; }
Result<void> apply(Image&, const wire::EndTransactionRecord&, Offset) { return {}; }
Result<void> apply(Image&, const wire::AbortTransactionRecord&, Offset) { return {}; }

}  // namespace records

}  // namespace castellan::image
