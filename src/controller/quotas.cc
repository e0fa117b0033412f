// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/quotas.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "wire/messages/alter_client_quotas_request.h"
#include "wire/messages/alter_client_quotas_response.h"

namespace castellan::controller {

namespace {

using Entry = wire::AlterClientQuotasRequest::EntryData;

struct QuotaKey {
  std::string_view name;
  double max;     // of the type that Kafka keeps it in; 0: any number
  bool for_ip;
};

constexpr QuotaKey quota_keys[] = {
    {"producer_byte_rate", 9223372036854775807.0, false}, {"consumer_byte_rate", 9223372036854775807.0, false}, {"request_percentage", 0, false},
    {"controller_mutation_rate", 0, false},               {"connection_creation_rate", 2147483647.0, true},
};

// Letters that a host name or an address may have; nothing is looked up here.
bool could_be_host(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == ':' || c == '_' || c == '%' || c == '[' || c == ']';
  });
}

Result<void> check_entity(const image::QuotaEntity& entity) {
  if (entity.empty()) return fail(ErrorCode::INVALID_REQUEST, "Invalid empty client quota entity");
  for (const auto& [type, name] : entity) {
    if (type != "user" && type != "client-id" && type != "ip") return fail(ErrorCode::INVALID_REQUEST, "Unhandled client quota entity type: {}", type);
    if (name && name->empty()) return fail(ErrorCode::INVALID_REQUEST, "Empty {} not supported", type);
  }
  const auto ip = entity.find("ip");
  if (ip == entity.end()) return {};
  if (entity.size() > 1) return fail(ErrorCode::INVALID_REQUEST, "Invalid quota entity combination, IP entity should not be combined with User or ClientId");
  if (ip->second && !could_be_host(*ip->second)) return fail(ErrorCode::INVALID_REQUEST, "{} is not a valid IP or resolvable host.", *ip->second);
  return {};
}

Result<void> check_value(const image::QuotaEntity& entity, const std::string& name, double value) {
  const auto* key = std::ranges::find_if(quota_keys, [&](const QuotaKey& each) { return each.name == name && each.for_ip == entity.contains("ip"); });
  if (key == std::end(quota_keys)) return fail(ErrorCode::INVALID_REQUEST, "Invalid configuration key {}", name);
  if (!(value > 0)) return fail(ErrorCode::INVALID_REQUEST, "Quota {} must be greater than 0", name);
  if (key->max == 0) return {};
  if (value > key->max) return fail(ErrorCode::INVALID_REQUEST, "Proposed value for {} is too large for {}.", name, key->for_ip ? "an INT" : "a LONG");
  if (std::abs(std::fmod(value, 1.0)) > 1e-6) return fail(ErrorCode::INVALID_REQUEST, "{} cannot be a fractional value.", name);
  return {};
}

Result<MetadataRecords> alter_entity(const Context& context, const image::QuotaEntity& entity, const Entry& entry) {
  TRY_VOID(check_entity(entity));
  const image::Quotas* found = context.image.client_quotas.find(entity);
  static const image::Quotas none;
  const image::Quotas& current = found == nullptr ? none : *found;
  MetadataRecords records;
  std::set<std::string_view> seen;
  for (const auto& op : entry.ops) {
    if (!seen.insert(op.key).second) return fail(ErrorCode::INVALID_REQUEST, "Duplicate quota key {} not updating quota for this entity", op.key);
    const auto now = current.find(op.key);
    if (!op.remove) {
      TRY_VOID(check_value(entity, op.key, op.value));
      if (now != current.end() && now->second == op.value) continue;
    } else if (now == current.end()) {
      continue;
    }
    wire::ClientQuotaRecord record;
    for (const auto& [type, name] : entity) {
      auto& part = record.entity.emplace_back();
      part.entity_type = type;
      part.entity_name = name;
    }
    record.key = op.key;
    record.value = op.remove ? 0 : op.value;
    record.remove = op.remove;
    add(records, std::move(record));
  }
  return records;
}

}  // namespace

ControllerResult alter_client_quotas(const Context& context, const wire::AlterClientQuotasRequest& request) {
  ControllerResult result{.atomic = true};
  wire::AlterClientQuotasResponse response;
  // An entity that comes twice gets one answer: that of the first entry is replaced by the refusal, its records stay.
  std::map<image::QuotaEntity, size_t> answered;
  for (const Entry& entry : request.entries) {
    image::QuotaEntity entity;
    for (const auto& part : entry.entity) entity.insert_or_assign(part.entity_type, part.entity_name);
    const auto [place, first] = answered.emplace(entity, response.entries.size());
    Result<MetadataRecords> records = first ? alter_entity(context, entity, entry) : fail(ErrorCode::INVALID_REQUEST, "Ignoring duplicate entity");
    if (first) {
      auto& added = response.entries.emplace_back();
      for (const auto& [type, name] : entity) {
        auto& part = added.entity.emplace_back();
        part.entity_type = type;
        part.entity_name = name;
      }
    }
    take_part(result, std::move(records), response.entries[place->second]);
  }
  if (request.validate_only) result.records.clear();
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller
