// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The first records of a new leader. On an empty log it writes the bootstrap records, in a metadata transaction where the
// version has those (KIP-868), so that a crash half-way leaves nothing half-made; a transaction that an earlier leader left
// open it aborts.

#pragma once

#include "controller/context.h"

namespace castellan::controller {

// `bootstrap`: the records that the directory was formatted with; when there are none, the latest production level.
// `open_transaction`: a BeginTransactionRecord has no end yet.
// Errors: UNSUPPORTED_VERSION for an open transaction at a metadata.version that has none.
Result<ControllerResult> activation_records(const Context& context, bool open_transaction, MetadataRecords bootstrap);

// What a directory is formatted with at these levels (tools.md ST-39): metadata.version first, the others by name, none at
// level 0, kraft.version never.
MetadataRecords bootstrap_records(const image::FeatureLevels& levels);

}  // namespace castellan::controller
