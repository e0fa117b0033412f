// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The records that make an image from nothing: what a metadata snapshot holds between its header and footer. The order
// is Kafka's (features, brokers, controllers, topics, configs, quotas, producer ids, ACLs, SCRAM, tokens), and within each
// the order of keys, so that two nodes write the same bytes for the same image.
//
//   snapshot_records(image, [&](const MetadataRecord& record) { writer.append(encode_metadata_record(record)); });
//
// Records are written in the versions of the image's metadata.version. What that version cannot say is left out and
// named in `losses`: with a log that this program wrote there is nothing.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "image/image.h"
#include "image/metadata_record.h"

namespace castellan::image {

using RecordSink = std::function<void(const MetadataRecord&)>;

// Answers the losses, one line each.
std::vector<std::string> snapshot_records(const Image& image, const RecordSink& sink);

// The PartitionRecord of a partition, as CreateTopics writes it too.
MetadataRecord partition_record(const PartitionKey& key, const PartitionState& state, MetadataVersion version, bool elr_enabled);
MetadataRecord broker_record(const BrokerRegistration& broker, MetadataVersion version);
MetadataRecord controller_record(const ControllerRegistration& controller);

}  // namespace castellan::image
