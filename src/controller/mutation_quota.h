// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The quota on topic changes (KIP-599): how many partitions per second a client may create or delete, from the quota
// controller_mutation_rate of its user and client id. A bucket of credit per client: it fills at the rate, up to what the
// rate gives in controller.quota.window.num windows, and may be overdrawn once. A strict request is refused while the credit
// is below zero (THROTTLING_QUOTA_EXCEEDED); older versions of the requests are served and told how long to wait.
//
//   MutationQuota quota = quotas.open(image, "User:alice", "app", true, now);
//   TRY_VOID(quota.charge(partitions));            // for each topic, before its records
//   response.throttle_time_ms = quota.throttle_ms();
//
// Soft state of the active controller: it is gone with its leadership. Pure; one thread.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "image/image.h"

namespace castellan::controller {

struct MutationBucket {
  double credit = 0;
  MonotonicTime filled;
};

// One request's view of its client's bucket.
class MutationQuota {
 public:
  MutationQuota() = default;  // without a limit
  MutationQuota(MutationBucket& bucket, double rate, bool strict) : bucket_(&bucket), rate_(rate), strict_(strict) {}

  Result<void> charge(size_t partitions);
  int32_t throttle_ms() const { return throttle_ms_; }

 private:
  void note_throttle();

  MutationBucket* bucket_ = nullptr;
  double rate_ = 0;
  bool strict_ = false;
  int32_t throttle_ms_ = 0;
};

class MutationQuotas {
 public:
  MutationQuotas(int64_t windows, int64_t window_seconds) : burst_seconds_(static_cast<double>(windows * window_seconds)) {}

  // The result refers to this until the next call.
  MutationQuota open(const image::Image& image, std::string_view principal, std::string_view client_id, bool strict, MonotonicTime now);
  void clear() { buckets_.clear(); }

 private:
  void forget_full(MonotonicTime now);

  double burst_seconds_;
  // User and client id, either empty where the limit does not tell them apart.
  std::map<std::pair<std::string, std::string>, MutationBucket> buckets_;
};

}  // namespace castellan::controller
