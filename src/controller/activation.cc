// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/activation.h"

#include "config/alter.h"

namespace castellan::controller {

namespace {

image::FeatureLevels levels_in(const MetadataRecords& records) {
  image::FeatureLevels levels;
  for (const MetadataRecord& record : records) {
    if (const auto* feature = std::get_if<wire::FeatureLevelRecord>(&record.message)) levels.insert_or_assign(feature->name, feature->feature_level);
  }
  return levels;
}

int16_t level_of(const image::FeatureLevels& levels, std::string_view name) {
  const auto found = levels.find(name);
  return found == levels.end() ? int16_t{0} : found->second;
}

wire::AbortTransactionRecord abort_record() {
  wire::AbortTransactionRecord record;
  record.reason = "Controller failover";
  return record;
}

}  // namespace

Result<ControllerResult> activation_records(const Context& context, bool open_transaction, MetadataRecords bootstrap) {
  ControllerResult result{.atomic = true};
  if (!context.image.empty()) {
    if (!open_transaction) return result;
    if (!context.metadata_version().transactions_supported()) {
      return fail(ErrorCode::UNSUPPORTED_VERSION, "The metadata log has an open transaction, but metadata.version {} has no transactions",
                  context.metadata_version().name());
    }
    result.notes.push_back("Aborting the metadata transaction that an earlier controller left open");
    add(result.records, abort_record());
    return result;
  }

  if (bootstrap.empty()) {
    bootstrap = bootstrap_records({{std::string(image::metadata_version_feature), image::MetadataVersion::level_latest_production}});
  }
  const image::FeatureLevels levels = levels_in(bootstrap);
  TRY(const auto version, image::MetadataVersion::from_level(level_of(levels, image::metadata_version_feature)));
  const bool in_transaction = version.transactions_supported();
  if (open_transaction) {
    if (!in_transaction) {
      return fail(ErrorCode::UNSUPPORTED_VERSION, "The metadata log has a part of the bootstrap records, but metadata.version {} has no transactions",
                  version.name());
    }
    result.notes.push_back("Aborting the bootstrap transaction that was left open");
    add(result.records, abort_record());
  }
  if (in_transaction) {
    wire::BeginTransactionRecord begin;
    begin.name = "Bootstrap records";
    add(result.records, std::move(begin));
  }
  result.notes.push_back(fmt::format("The metadata log is empty: appending {} bootstrap record(s) at metadata.version {}", bootstrap.size(), version.name()));
  std::ranges::move(bootstrap, std::back_inserter(result.records));
  if (level_of(levels, image::elr_version_feature) > 0) {
    wire::ConfigRecord record;
    record.resource_type = static_cast<int8_t>(config::ResourceType::BROKER);
    record.name = "min.insync.replicas";
    record.value = std::to_string(context.settings.server->values.integer("min.insync.replicas"));
    add(result.records, std::move(record));
  }
  if (in_transaction) add(result.records, wire::EndTransactionRecord{});
  result.atomic = !in_transaction;
  return result;
}

MetadataRecords bootstrap_records(const image::FeatureLevels& levels) {
  MetadataRecords records;
  const auto put = [&](std::string_view name, int16_t level) {
    wire::FeatureLevelRecord record;
    record.name = name;
    record.feature_level = level;
    add(records, std::move(record));
  };
  put(image::metadata_version_feature, level_of(levels, image::metadata_version_feature));
  for (const auto& [name, level] : levels) {
    if (level > 0 && name != image::metadata_version_feature && name != image::kraft_version_feature) put(name, level);
  }
  return records;
}

}  // namespace castellan::controller
