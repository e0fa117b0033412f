// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// FetchSnapshot (KIP-630): a replica whose position the leader's log no longer has copies the leader's newest snapshot.

#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {

void Core::on_fetch_snapshot(uint64_t token, const std::string& listener, const FetchSnapshotRequest& request) {
  FetchSnapshotResponse response;
  if (request.head.cluster_id && *request.head.cluster_id != config_.cluster_id) {
    response.head.error_top = ErrorCode::INCONSISTENT_CLUSTER_ID;
    return reply(token, response);
  }
  if (request.head.target == Target::malformed) {
    response.head.error_top = ErrorCode::INVALID_REQUEST;
    return reply(token, response);
  }
  if (request.head.target == Target::other) {
    response.head.error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    response.topic = request.topic;
    response.partition = request.partition;
    return reply(token, response);
  }
  ErrorCode error = leader_request_error(request.epoch);
  const bool own_id = request.replica.id == config_.id && config_.id.value >= 0 &&
                      (!request.replica.has_directory() || request.replica == self());
  if (error == ErrorCode::NONE && own_id) error = ErrorCode::INVALID_REQUEST;
  if (error == ErrorCode::NONE && (request.snapshot == bootstrap_snapshot || !log_.snapshots.contains(request.snapshot))) {
    error = ErrorCode::SNAPSHOT_NOT_FOUND;
  }
  if (error == ErrorCode::NONE && request.position < 0) error = ErrorCode::POSITION_OUT_OF_RANGE;
  response.head = response_head(listener, error);
  if (error != ErrorCode::NONE) return reply(token, response);
  response.snapshot = request.snapshot;
  response.position = request.position;
  if (request.replica.id.value >= 0) std::get<Leader>(role_).progress.heard_from(request.replica, now_.monotonic);
  actions_.push_back(ReplyWithSnapshot{token, std::move(response), request.position, request.max_bytes, election_saved_after()});
}

void Core::on_fetch_snapshot_response(NodeId from, FetchSnapshotResponse& response) {
  auto* follower = std::get_if<Follower>(&role_);
  if (!follower || !follower->download) return;
  auto& download = *follower->download;
  const auto fetched = [&] {
    follower->fetch_deadline = now_.monotonic + config_.fetch_timeout;
    follower->has_fetched = true;
  };
  const bool gone = response.head.error == ErrorCode::SNAPSHOT_NOT_FOUND || response.snapshot.offset.value < 0 || response.snapshot.epoch.value < 0;
  if (gone) {
    actions_.push_back(DropSnapshotDownload{download.id});
    follower->download.reset();
    return fetched();
  }
  const bool fits = response.head.error == ErrorCode::NONE && response.snapshot == download.id && response.position == download.position &&
                    !response.bytes.empty() && response.position + static_cast<int64_t>(response.bytes.size()) <= response.size;
  if (!fits) {
    connections_.back_off(from, now_.monotonic + retry_backoff());
    return;
  }
  fetched();
  download.position += static_cast<int64_t>(response.bytes.size());
  download.storing = download.position == response.size;
  actions_.push_back(StoreSnapshotChunk{download.id, response.position, std::move(response.bytes), download.storing});
}

void Core::on_snapshot_stored(const SnapshotStored& stored) {
  auto* follower = std::get_if<Follower>(&role_);
  if (!follower || !follower->download || follower->download->id != stored.id) {
    // Followed somebody else meanwhile. It is a committed snapshot all the same, and is kept if the log reaches it.
    if (stored.id.offset <= log_.end) log_.snapshots.insert(stored.id);
    return;
  }
  follower->download.reset();
  follower->fetch_deadline = now_.monotonic + config_.fetch_timeout;
  if (stored.id <= log_.last()) {
    log_.snapshots.insert(stored.id);
    return;
  }
  log_.restart_at(stored.id);
  if (sync_running_) sync_running_->end = Offset{0};
  actions_.push_back(RestartLog{stored.id});
  voters_.clear();
  kraft_version_.clear();
  if (stored.kraft_version) kraft_version_.add(stored.id.offset - 1, *stored.kraft_version);
  if (stored.voters && !planted(Fault::snapshot_without_voters)) voters_.add(stored.id.offset - 1, *stored.voters);
  publish_high_watermark(stored.id.offset);
}

}  // namespace castellan::raft
