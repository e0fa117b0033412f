// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Incremental fetch sessions (KIP-227): what partitions a client or follower reads is remembered between its requests, so
// that it sends only changes and gets only what is new.
//
//   auto context = sessions.open(now, version, request);
//   if (context.error != NONE) answer with that error and no partitions
//   for (const auto& partition : context.partitions) read it (at once, or when enough has come)
//   auto outcome = sessions.finish(now, context, results);      // in the order of context.partitions
//   answer with outcome.error, outcome.session_id and the partitions whose outcome.include is true
//
// One cache for the whole broker, not one for a connection: a client may go on over another connection. Pure, one thread.
//
// Numbers (session id, session epoch): (0, -1) no session; (0, 0) make one; (id, n) go on; (id, -1) close it and read
// once; (id, 0) close it and make one. The epoch counts the requests of a session, from 1, and wraps to 1.

#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "base/prng.h"
#include "base/time.h"
#include "base/uuid.h"

namespace castellan::wire {
struct FetchRequest;
}

namespace castellan::partition {

// From version 13 on a topic is named by its id, before by its name; the other is empty.
struct FetchKey {
  Uuid topic_id;
  std::string topic;
  int32_t partition = 0;

  friend auto operator<=>(const FetchKey&, const FetchKey&) = default;
};

// One partition to read, as last asked for.
struct FetchPartition {
  FetchKey key;
  int64_t fetch_offset = 0;
  int32_t max_bytes = 0;
  int32_t current_leader_epoch = -1;
  int32_t last_fetched_epoch = -1;
  int64_t log_start_offset = -1;     // of the follower that asks
  Uuid replica_directory_id;         // of the follower that asks (v17)
  int64_t high_watermark = INT64_MAX;  // of the follower that asks (v18); the maximum says nothing
};

// What was found, as far as it decides whether an incremental answer must tell it.
struct FetchResult {
  ErrorCode error = ErrorCode::NONE;
  int64_t high_watermark = -1;
  int64_t log_start_offset = -1;
  bool has_records = false;
  bool has_preferred_replica = false;
  bool has_diverging_epoch = false;
};

class FetchSession;

struct FetchContext {
  enum class Kind { ONE_SHOT, NEW_SESSION, INCREMENTAL };

  ErrorCode error = ErrorCode::NONE;
  Kind kind = Kind::ONE_SHOT;
  bool is_follower = false;
  bool uses_topic_ids = false;
  std::vector<FetchPartition> partitions;  // in the order in which they are to be read
  std::shared_ptr<FetchSession> session;   // of INCREMENTAL; stays usable when the cache drops it meanwhile
  int32_t session_epoch = 0;               // that this request left behind
};

struct FetchOutcome {
  ErrorCode error = ErrorCode::NONE;
  int32_t session_id = 0;
  std::vector<bool> include;
};

class FetchSessions {
 public:
  // `slots` is max.incremental.fetch.session.cache.slots; `seed` makes the session ids.
  FetchSessions(size_t slots, uint64_t seed) : slots_(slots), prng_(seed) {}

  FetchContext open(MonotonicTime now, int16_t version, const wire::FetchRequest& request);
  FetchOutcome finish(MonotonicTime now, const FetchContext& context, const std::vector<FetchResult>& results);
  // The answer of a request that a quota cut off: no partitions, and the session goes on.
  FetchOutcome throttled(const FetchContext& context) const;

  size_t size() const { return by_id_.size(); }
  size_t partition_count() const { return partition_count_; }
  uint64_t evictions() const { return evictions_; }

  // A session that was not used for this long may be dropped by any other; one that is younger is safe from its equals.
  static constexpr Duration eviction_age = std::chrono::seconds(120);

 private:
  // The first to go: consumers before followers, small before large.
  struct EvictionKey {
    bool is_follower = false;
    size_t size = 0;
    int32_t id = 0;
    friend auto operator<=>(const EvictionKey&, const EvictionKey&) = default;
  };

  int32_t create(MonotonicTime now, const FetchContext& context, const std::vector<FetchResult>& results);
  bool make_room(MonotonicTime now, const EvictionKey& newcomer);
  void touch(MonotonicTime now, FetchSession& session);
  void remove(const FetchSession& session);
  void forget_places(const FetchSession& session);
  static EvictionKey eviction_key(const FetchSession& session);

  size_t slots_;
  Prng prng_;
  std::map<int32_t, std::shared_ptr<FetchSession>> by_id_;
  std::set<std::pair<MonotonicTime, int32_t>> by_last_used_;
  std::set<EvictionKey> evictable_by_all_;        // old enough for anybody
  std::set<EvictionKey> evictable_by_followers_;  // and consumers' of any age
  size_t partition_count_ = 0;
  uint64_t evictions_ = 0;
};

}  // namespace castellan::partition
