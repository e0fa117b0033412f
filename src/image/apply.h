// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What each metadata record does to the image. Everyone who follows the metadata log calls this one function: the active
// controller on what it is about to append, standby controllers, brokers, snapshot loading, the tools.
//
// `offset` is the record's offset in the log, or the last offset that a snapshot stands for.
// Errors: UNKNOWN_SERVER_ERROR for a record that does not fit the image (a partition of a topic that is not there, an
// unknown metadata.version). The log is then broken or newer than this program; the image must not be used any more.

#pragma once

#include "base/ids.h"
#include "base/result.h"
#include "image/image.h"
#include "image/metadata_record.h"

namespace castellan::image {

Result<void> apply(Image& image, const MetadataRecord& record, Offset offset);

// The change that a PartitionChangeRecord makes: fields that are there replace, a leader raises the leader epoch, and the
// partition epoch goes up by one in any case.
PartitionState merge(PartitionState partition, const wire::PartitionChangeRecord& change);

// Follows a log with metadata transactions (KIP-868): what stands between BeginTransactionRecord and EndTransactionRecord
// becomes visible at the end or, after AbortTransactionRecord, never.
//
//   Replay replay;
//   TRY_VOID(replay.apply(record, offset));
//   publish(replay.stable());
class Replay {
 public:
  Replay() = default;
  explicit Replay(Image image) : tip_(std::move(image)) {}

  Result<void> apply(const MetadataRecord& record, Offset offset);
  // With what an open transaction has done so far.
  const Image& tip() const { return tip_; }
  // Without it.
  const Image& stable() const { return before_transaction_ ? *before_transaction_ : tip_; }
  bool in_transaction() const { return before_transaction_.has_value(); }
  // The offset of the open transaction's BeginTransactionRecord.
  Offset transaction_start() const { return transaction_start_; }
  // Where the batch that was just applied comes from; goes into the image.
  void set_provenance(Epoch epoch, WallTime timestamp);

 private:
  Image tip_;
  std::optional<Image> before_transaction_;
  Offset transaction_start_{-1};
};

// Every record type's own function. Each changes one part of the image.
namespace records {
Result<void> apply(Image&, const wire::RegisterBrokerRecord&, Offset);
Result<void> apply(Image&, const wire::UnregisterBrokerRecord&, Offset);
Result<void> apply(Image&, const wire::FenceBrokerRecord&, Offset);
Result<void> apply(Image&, const wire::UnfenceBrokerRecord&, Offset);
Result<void> apply(Image&, const wire::BrokerRegistrationChangeRecord&, Offset);
Result<void> apply(Image&, const wire::RegisterControllerRecord&, Offset);
Result<void> apply(Image&, const wire::UnregisterControllerRecord&, Offset);
Result<void> apply(Image&, const wire::TopicRecord&, Offset);
Result<void> apply(Image&, const wire::PartitionRecord&, Offset);
Result<void> apply(Image&, const wire::PartitionChangeRecord&, Offset);
Result<void> apply(Image&, const wire::RemoveTopicRecord&, Offset);
Result<void> apply(Image&, const wire::ClearElrRecord&, Offset);
Result<void> apply(Image&, const wire::ConfigRecord&, Offset);
Result<void> apply(Image&, const wire::FeatureLevelRecord&, Offset);
Result<void> apply(Image&, const wire::ClientQuotaRecord&, Offset);
Result<void> apply(Image&, const wire::ProducerIdsRecord&, Offset);
Result<void> apply(Image&, const wire::AccessControlEntryRecord&, Offset);
Result<void> apply(Image&, const wire::RemoveAccessControlEntryRecord&, Offset);
Result<void> apply(Image&, const wire::UserScramCredentialRecord&, Offset);
Result<void> apply(Image&, const wire::RemoveUserScramCredentialRecord&, Offset);
Result<void> apply(Image&, const wire::DelegationTokenRecord&, Offset);
Result<void> apply(Image&, const wire::RemoveDelegationTokenRecord&, Offset);
// These leave the image as it is; Replay gives the transactions their meaning.
Result<void> apply(Image&, const wire::NoOpRecord&, Offset);
Result<void> apply(Image&, const wire::ZkMigrationStateRecord&, Offset);
Result<void> apply(Image&, const wire::BeginTransactionRecord&, Offset);
Result<void> apply(Image&, const wire::EndTransactionRecord&, Offset);
Result<void> apply(Image&, const wire::AbortTransactionRecord&, Offset);
}  // namespace records

}  // namespace castellan::image
