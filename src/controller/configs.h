// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// IncrementalAlterConfigs and AlterConfigs. What a key may hold is the config library's business; here are the rules that
// need the cluster: who exists, ELR's hold on min.insync.replicas (KIP-966), cordoned directories (KIP-1066).
//
// What a broker checks before it forwards (a broker's settings are checked by that broker, loggers are its own) is the
// broker's; see config::validate_broker_settings.

#pragma once

#include "config/alter.h"
#include "controller/context.h"

namespace castellan::wire {
struct AlterConfigsRequest;
struct IncrementalAlterConfigsRequest;
}  // namespace castellan::wire

namespace castellan::controller {

ControllerResult incremental_alter_configs(const Context& context, const wire::IncrementalAlterConfigsRequest& request);
ControllerResult alter_configs(const Context& context, const wire::AlterConfigsRequest& request);

// The rules that span more than the value: INVALID_CONFIG.
Result<void> check_change_allowed(const Context& context, const config::Resource& resource, const config::ConfigMap& before, const config::ConfigMap& after);

// A ConfigRecord for each difference, and for each key in `touched` of a broker, changed or not: a broker reads key stores
// again when it sees one (KAFKA-14136). With ELR, a ClearElrRecord after each change of min.insync.replicas.
void append_config_records(const Context& context, const config::Resource& resource, const config::ConfigMap& before, const config::ConfigMap& after,
                           MetadataRecords& records, const std::vector<std::string>& touched = {});

}  // namespace castellan::controller
