// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "partition/fetch_session.h"

#include "base/check.h"
#include "wire/messages/fetch_request.h"

namespace castellan::partition {

namespace {

constexpr int16_t version_uses_topic_ids = 13;
constexpr int32_t no_session = 0;
constexpr int32_t epoch_initial = 0;  // asks for a new session
constexpr int32_t epoch_final = -1;   // asks for none

int32_t next_epoch(int32_t epoch) { return epoch == INT32_MAX ? 1 : epoch + 1; }

}  // namespace

class FetchSession {
 public:
  // What the reader was told last of a partition: an answer leaves out what has not changed.
  struct Cached {
    FetchPartition asked;
    int64_t high_watermark = -1;
    int64_t log_start_offset = -1;
  };

  int32_t id = 0;
  bool is_follower = false;
  bool uses_topic_ids = false;
  int32_t epoch = 1;  // that the next request must have
  MonotonicTime created;
  MonotonicTime last_used;
  size_t counted_size = 0;  // as the cache has it in its books

  void ask(const FetchPartition& partition) {
    const auto [place, is_new] = places_.try_emplace(partition.key);
    if (is_new) place->second = order_.insert(order_.end(), Cached{partition});
    else place->second->asked = partition;
  }

  void forget(const FetchKey& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    order_.erase(place->second);
    places_.erase(place);
  }

  Cached* find(const FetchKey& key) {
    const auto place = places_.find(key);
    return place == places_.end() ? nullptr : &*place->second;
  }

  // Who got data waits behind the others next time: a small answer must not be filled by the same partitions for ever.
  void move_to_end(const FetchKey& key) { order_.splice(order_.end(), order_, places_.at(key)); }

  size_t size() const { return order_.size(); }
  const std::list<Cached>& order() const { return order_; }

 private:
  std::list<Cached> order_;
  std::map<FetchKey, std::list<Cached>::iterator> places_;
};

namespace {

// Remembers what is told; true when the answer must name the partition.
bool must_tell(FetchSession::Cached& cached, const FetchResult& result) {
  const bool told = result.has_records || result.has_preferred_replica || result.has_diverging_epoch || result.error != ErrorCode::NONE ||
                    cached.high_watermark != result.high_watermark || cached.log_start_offset != result.log_start_offset;
  cached.high_watermark = result.high_watermark;
  cached.log_start_offset = result.log_start_offset;
  // An error is told again and again, and the first good answer after it too.
  if (result.error != ErrorCode::NONE) cached.high_watermark = -1;
  return told;
}

std::vector<FetchPartition> partitions_of(const wire::FetchRequest& request, bool uses_topic_ids) {
  std::vector<FetchPartition> result;
  std::map<FetchKey, size_t> seen;
  for (const auto& topic : request.topics) {
    for (const auto& asked : topic.partitions) {
      FetchPartition partition;
      if (uses_topic_ids) partition.key.topic_id = topic.topic_id;
      else partition.key.topic = topic.topic;
      partition.key.partition = asked.partition;
      partition.fetch_offset = asked.fetch_offset;
      partition.max_bytes = asked.partition_max_bytes;
      partition.current_leader_epoch = asked.current_leader_epoch;
      partition.last_fetched_epoch = asked.last_fetched_epoch;
      partition.log_start_offset = asked.log_start_offset;
      partition.replica_directory_id = asked.replica_directory_id;
      partition.high_watermark = asked.high_watermark;
      const auto [place, is_new] = seen.try_emplace(partition.key, result.size());
      if (is_new) result.push_back(std::move(partition));
      else result[place->second] = std::move(partition);  // named twice: the last one counts
    }
  }
  return result;
}

}  // namespace

FetchContext FetchSessions::open(MonotonicTime now, int16_t version, const wire::FetchRequest& request) {
  FetchContext context;
  context.uses_topic_ids = version >= version_uses_topic_ids;
  context.is_follower = (version < 15 ? request.replica_id : request.replica_state.replica_id) >= 0;
  const int32_t id = request.session_id;
  const int32_t epoch = request.session_epoch;

  if (epoch == epoch_initial || epoch == epoch_final) {
    if (const auto old = by_id_.find(id); old != by_id_.end()) remove(*old->second);
    context.kind = epoch == epoch_initial ? FetchContext::Kind::NEW_SESSION : FetchContext::Kind::ONE_SHOT;
    context.partitions = partitions_of(request, context.uses_topic_ids);
    return context;
  }

  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    context.error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    return context;
  }
  const std::shared_ptr<FetchSession> session = found->second;
  if (session->epoch != epoch) context.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
  else if (session->uses_topic_ids != context.uses_topic_ids) context.error = ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR;
  if (context.error != ErrorCode::NONE) return context;

  std::vector<FetchPartition> changed = partitions_of(request, context.uses_topic_ids);
  for (const FetchPartition& partition : changed) session->ask(partition);
  for (const auto& topic : request.forgotten_topics_data) {
    for (const int32_t partition : topic.partitions) {
      FetchKey key;
      if (context.uses_topic_ids) key.topic_id = topic.topic_id;
      else key.topic = topic.topic;
      key.partition = partition;
      session->forget(key);
    }
  }
  if (session->size() == 0) {
    // Nothing is left to read: the session is over, this request is answered for itself.
    remove(*session);
    context.partitions = std::move(changed);
    return context;
  }
  touch(now, *session);
  session->epoch = next_epoch(session->epoch);
  context.kind = FetchContext::Kind::INCREMENTAL;
  context.session = session;
  context.session_epoch = session->epoch;
  context.partitions.reserve(session->size());
  for (const auto& cached : session->order()) context.partitions.push_back(cached.asked);
  return context;
}

FetchOutcome FetchSessions::finish(MonotonicTime now, const FetchContext& context, const std::vector<FetchResult>& results) {
  FetchOutcome outcome;
  outcome.error = context.error;
  if (context.error != ErrorCode::NONE) return outcome;
  CHECK(results.size() == context.partitions.size(), "{} results for {} partitions", results.size(), context.partitions.size());
  if (context.kind != FetchContext::Kind::INCREMENTAL) {
    if (context.kind == FetchContext::Kind::NEW_SESSION) outcome.session_id = create(now, context, results);
    outcome.include.assign(results.size(), true);
    return outcome;
  }
  FetchSession& session = *context.session;
  outcome.session_id = session.id;
  outcome.include.assign(results.size(), false);
  if (session.epoch != context.session_epoch) {
    // A later request of this session has come in the meantime: its client no longer waits for this one.
    outcome.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    return outcome;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const FetchKey& key = context.partitions[i].key;
    FetchSession::Cached* cached = session.find(key);
    if (!cached) continue;
    outcome.include[i] = must_tell(*cached, results[i]);
    if (results[i].has_records) session.move_to_end(key);
  }
  return outcome;
}

FetchOutcome FetchSessions::throttled(const FetchContext& context) const {
  FetchOutcome outcome;
  outcome.error = context.error;
  outcome.include.assign(context.partitions.size(), false);
  if (context.kind != FetchContext::Kind::INCREMENTAL) return outcome;
  outcome.session_id = context.session->id;
  if (context.session->epoch != context.session_epoch) outcome.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
  return outcome;
}

int32_t FetchSessions::create(MonotonicTime now, const FetchContext& context, const std::vector<FetchResult>& results) {
  if (by_id_.size() >= slots_ && !make_room(now, {context.is_follower, results.size(), 0})) return no_session;
  auto session = std::make_shared<FetchSession>();
  do {
    session->id = static_cast<int32_t>(prng_.between(1, INT32_MAX));
  } while (by_id_.contains(session->id));
  session->is_follower = context.is_follower;
  session->uses_topic_ids = context.uses_topic_ids;
  session->created = now;
  session->last_used = now;
  for (size_t i = 0; i < results.size(); ++i) {
    session->ask(context.partitions[i]);
    FetchSession::Cached& cached = *session->find(context.partitions[i].key);
    cached.high_watermark = results[i].high_watermark;
    cached.log_start_offset = results[i].log_start_offset;
  }
  by_id_[session->id] = session;
  touch(now, *session);
  return session->id;
}

bool FetchSessions::make_room(MonotonicTime now, const EvictionKey& newcomer) {
  if (by_last_used_.empty()) return false;
  const auto& [last_used, id] = *by_last_used_.begin();
  if (now - last_used > eviction_age) {
    remove(*by_id_.at(id));
    ++evictions_;
    return true;
  }
  const auto& candidates = newcomer.is_follower ? evictable_by_followers_ : evictable_by_all_;
  if (candidates.empty() || newcomer < *candidates.begin()) return false;
  remove(*by_id_.at(candidates.begin()->id));
  ++evictions_;
  return true;
}

FetchSessions::EvictionKey FetchSessions::eviction_key(const FetchSession& session) {
  return {session.is_follower, session.counted_size, session.id};
}

void FetchSessions::touch(MonotonicTime now, FetchSession& session) {
  forget_places(session);
  session.last_used = now;
  session.counted_size = session.size();
  by_last_used_.emplace(now, session.id);
  const bool is_old = now - session.created > eviction_age;
  if (!session.is_follower || is_old) evictable_by_followers_.insert(eviction_key(session));
  if (is_old) evictable_by_all_.insert(eviction_key(session));
  partition_count_ += session.counted_size;
}

void FetchSessions::remove(const FetchSession& session) {
  forget_places(session);
  by_id_.erase(session.id);  // may be the last owner: session is gone from here on
}

void FetchSessions::forget_places(const FetchSession& session) {
  if (!by_last_used_.erase({session.last_used, session.id})) return;
  evictable_by_all_.erase(eviction_key(session));
  evictable_by_followers_.erase(eviction_key(session));
  partition_count_ -= session.counted_size;
}

}  // namespace castellan::partition
