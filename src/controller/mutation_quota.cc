// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/mutation_quota.h"

#include <cmath>

namespace castellan::controller {

namespace {

constexpr std::string_view quota_key = "controller_mutation_rate";
constexpr size_t buckets_max = 10'000;

struct Limit {
  double rate = 0;
  bool by_user = false;
  bool by_client = false;
};

// The first that is set, from the most specific on (B428; KIP-55).
std::optional<Limit> limit_of(const image::Image& image, const std::string& user, const std::string& client) {
  if (image.client_quotas.empty()) return std::nullopt;
  using Name = std::optional<std::string>;
  enum Part { none, exact, any };
  constexpr std::pair<Part, Part> order[] = {{exact, exact}, {exact, any}, {exact, none}, {any, exact}, {any, any}, {any, none}, {none, exact}, {none, any}};
  for (const auto& [user_part, client_part] : order) {
    image::QuotaEntity entity;
    if (user_part != none) entity.emplace("user", user_part == exact ? Name(user) : std::nullopt);
    if (client_part != none) entity.emplace("client-id", client_part == exact ? Name(client) : std::nullopt);
    const image::Quotas* quotas = image.client_quotas.find(entity);
    if (quotas == nullptr) continue;
    if (const auto found = quotas->find(quota_key); found != quotas->end()) return Limit{found->second, user_part != none, client_part != none};
  }
  return std::nullopt;
}

}  // namespace

Result<void> MutationQuota::charge(size_t partitions) {
  if (bucket_ == nullptr) return {};
  if (strict_ && bucket_->credit < 0) {
    note_throttle();
    return fail(ErrorCode::THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.");
  }
  bucket_->credit -= static_cast<double>(partitions);
  if (!strict_ && bucket_->credit < 0) note_throttle();
  return {};
}

void MutationQuota::note_throttle() {
  throttle_ms_ = static_cast<int32_t>(std::min<double>(std::round(-bucket_->credit / rate_ * 1000), INT32_MAX));
}

MutationQuota MutationQuotas::open(const image::Image& image, std::string_view principal, std::string_view client_id, bool strict, MonotonicTime now) {
  const std::string user(principal.substr(principal.find(':') == std::string_view::npos ? 0 : principal.find(':') + 1));
  const std::string client(client_id);
  const auto limit = limit_of(image, user, client);
  if (!limit) return {};
  if (buckets_.size() >= buckets_max) forget_full(now);
  const double most = limit->rate * burst_seconds_;
  const auto [found, fresh] = buckets_.try_emplace({limit->by_user ? user : "", limit->by_client ? client : ""}, MutationBucket{most, now});
  MutationBucket& bucket = found->second;
  bucket.credit = std::min(most, bucket.credit + limit->rate * std::chrono::duration<double>(now - bucket.filled).count());
  bucket.filled = now;
  return {bucket, limit->rate, strict};
}

void MutationQuotas::forget_full(MonotonicTime now) {
  // After so long without a request a bucket with any credit left is full again, as a new one is.
  std::erase_if(buckets_, [&](const auto& entry) { return entry.second.credit >= 0 && std::chrono::duration<double>(now - entry.second.filled).count() > burst_seconds_; });
}

}  // namespace castellan::controller
