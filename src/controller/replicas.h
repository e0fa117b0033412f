// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What it does to partitions when a broker comes, goes, or loses a directory: ISR members leave, leaders move.
//
// The order of records matters to brokers (C927): who is fenced loses its partitions first and is fenced last, who is
// unfenced is unfenced first and gets leaderships then.

#pragma once

#include <span>

#include "controller/partition_change.h"

namespace castellan::controller {

struct BrokerGoing {
  NodeId removed = no_node;           // leaves ISRs, leads nothing
  NodeId added = no_node;             // counts as active although it is still marked fenced
  NodeId unclean_shutdown = no_node;  // leaves ISRs and ELRs: its disk may lack what it had acknowledged
};

// The rules for changing one partition, as things stand.
PartitionRules rules_for(const Context& context, const image::Topic& topic, const PartitionState& partition);

// Where a new replica on `broker` goes: its only directory, or for the broker to say (C263).
DirectoryId default_directory(const Context& context, NodeId broker);

// PartitionChangeRecords for these partitions.
void append_leader_and_isr_changes(const Context& context, std::span<const PartitionKey> partitions, const BrokerGoing& going, MetadataRecords& records);

std::vector<PartitionKey> partitions_with_isr_member(const Context& context, NodeId broker);
std::vector<PartitionKey> partitions_with_elr_member(const Context& context, NodeId broker);
std::vector<PartitionKey> partitions_in_directory(const Context& context, NodeId broker, DirectoryId directory);
bool leads_something(const Context& context, NodeId broker);

void append_broker_fenced(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records);
void append_broker_unfenced(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records);
void append_broker_in_controlled_shutdown(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records);
// A new incarnation takes over: what the old one was part of.
void append_broker_restarted(const Context& context, NodeId broker, bool clean, MetadataRecords& records);
void append_broker_unregistered(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records);
void append_directories_offline(const Context& context, const image::BrokerRegistration& broker, const std::vector<Uuid>& offline, MetadataRecords& records);

}  // namespace castellan::controller
