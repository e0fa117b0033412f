// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/core.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/planted_fault.h"

namespace castellan::raft {

Core::Core(Config config, Recovered recovered, Now now)
    : config_(std::move(config)),
      random_(config_.seed),
      now_(now),
      log_(std::move(recovered.log)),
      voters_(std::move(recovered.voters)),
      kraft_version_(std::move(recovered.kraft_version)),
      acknowledged_(recovered.acknowledged),
      blank_(log_.last() == LogPosition{}) {
  CHECK(!config_.directory.value.is_zero(), "a replica needs a directory id");
  last_news_ = now.monotonic;
  become_initial(recovered);
  if (planted(Fault::restart_takes_log_for_committed)) publish_high_watermark(log_.end);
  poll();
}

void Core::step(Now now, Input input) {
  now_ = now;
  if (lost_leader_ && now_.monotonic >= lost_leader_until_) {
    not_replaced_ = lost_leader_->first;
    lost_leader_.reset();
  }
  struct Visitor {
    Core& core;
    void operator()(Request& in) { core.on_request(in); }
    void operator()(Response& in) { core.on_response(in); }
    void operator()(Proposal& in) { core.on_proposal(in); }
    void operator()(Synced& in) { core.on_synced(in.id); }
    void operator()(SnapshotStored& in) { core.on_snapshot_stored(in); }
    void operator()(SnapshotWritten& in) {
      core.log_.snapshots.insert(in.id);
      core.voters_.forget_before(in.id.offset - 1);
      core.kraft_version_.forget_before(in.id.offset - 1);
    }
    void operator()(LogCleaned& in) {
      CHECK(core.may_clean_to(in.start), "the log was cleaned to {}", in.start);
      core.log_.advance_start(in.start);
    }
    void operator()(PeerLost& in) { core.on_peer_lost(in.node); }
    void operator()(Resign& in) {
      auto* leader = std::get_if<Leader>(&core.role_);
      if (leader && in.epoch == core.epoch_) leader->resign_requested = true;
    }
    void operator()(UpgradeKRaftVersion& in) { core.on_upgrade_kraft_version(in); }
    void operator()(ShutDown&) { core.shutting_down_ = true; }
    void operator()(Tick&) {}
  };
  std::visit(Visitor{*this}, input);
  if (acknowledged_ && may_vote()) acknowledged_.reset();  // caught up: from here on its own log is its memory
  poll();
}

std::optional<NodeId> Core::leader() const {
  struct Visitor {
    const Core& core;
    std::optional<NodeId> operator()(const Unattached& role) const { return role.leader; }
    std::optional<NodeId> operator()(const Follower& role) const { return role.leader.id; }
    std::optional<NodeId> operator()(const Prospective& role) const {
      return role.leader ? std::optional(role.leader->id) : std::nullopt;
    }
    std::optional<NodeId> operator()(const Candidate&) const { return std::nullopt; }
    std::optional<NodeId> operator()(const Leader&) const { return core.config_.id; }
    std::optional<NodeId> operator()(const Resigned&) const { return core.config_.id; }
  };
  return std::visit(Visitor{*this}, role_);
}

const VoterSet& Core::voters() const {
  auto last = voters_.last();
  if (planted(Fault::voter_change_after_commit)) {
    if (const auto committed = voters_.at(published_ - 1)) last.emplace(*committed);
  }
  return last ? last->value : config_.static_voters;
}

int16_t Core::kraft_version() const {
  const auto last = kraft_version_.last();
  return last ? last->value : int16_t{0};
}

ElectionState Core::election_state() const {
  struct Visitor {
    const Core& core;
    ElectionState operator()(const Unattached& role) const { return {core.epoch_, role.leader.value_or(no_node), role.voted}; }
    ElectionState operator()(const Follower& role) const { return {core.epoch_, role.leader.id, role.voted}; }
    ElectionState operator()(const Prospective& role) const {
      return {core.epoch_, role.leader ? role.leader->id : no_node, role.voted};
    }
    ElectionState operator()(const Candidate&) const { return {core.epoch_, no_node, core.self()}; }
    ElectionState operator()(const Leader&) const { return {core.epoch_, core.config_.id, std::nullopt}; }
    ElectionState operator()(const Resigned&) const { return {core.epoch_, core.config_.id, std::nullopt}; }
  };
  return std::visit(Visitor{*this}, role_);
}

bool Core::is_up_to_date(LogPosition candidate) const {
  if (planted(Fault::vote_for_shorter_log)) return true;
  if (planted(Fault::vote_by_offset_alone)) return candidate.offset >= log_.end;
  return candidate >= log_.last();
}

int64_t Core::election_saved_after() const { return planted(Fault::answer_before_saved) ? 0 : election_save_running_; }

Offset Core::next_offset() const { return waiting_.empty() ? log_.end : waiting_.back().end; }

Result<void> Core::may_snapshot(SnapshotId id) const {
  if ((!high_watermark_ || id.offset > *high_watermark_) && !planted(Fault::snapshot_of_the_tip)) {
    return fail(ErrorCode::INVALID_REQUEST, "snapshot {}: its end is above the high watermark {}", id,
                high_watermark_ ? high_watermark_->value : -1);
  }
  if (id.offset < log_.start) return fail(ErrorCode::INVALID_REQUEST, "snapshot {}: its end is before the log's start {}", id, log_.start);
  if (log_.snapshots.contains(id)) return fail(ErrorCode::INVALID_REQUEST, "snapshot {}: there already", id);
  const LogPosition end = log_.end_of(id.epoch);
  if ((end.epoch != id.epoch || end.offset < id.offset) && !planted(Fault::snapshot_of_wrong_epoch)) {
    return fail(ErrorCode::INVALID_REQUEST, "snapshot {}: epoch {} ends at {} in the log", id, end.epoch, end.offset);
  }
  return {};
}

ControlRecords Core::snapshot_control_records(Offset end) const {
  ControlRecords records;
  const auto version = kraft_version_.at(end - 1);
  if (!version || version->value < 1) return records;
  records.kraft_version = version->value;
  if (const auto voters = voters_.at(end - 1)) records.voters = voters->value;
  return records;
}

bool Core::may_clean_to(Offset start) const {
  if (planted(Fault::cleaned_beyond_snapshot)) return true;
  return start >= log_.start && high_watermark_ && start <= *high_watermark_ && start <= log_.synced_end &&
         std::ranges::any_of(log_.snapshots, [&](const SnapshotId& id) { return id.offset >= start; });
}

Duration Core::random_election_timeout() {
  const auto timeout = config_.election_timeout.count();
  return Duration(timeout <= 0 ? 0 : timeout + static_cast<int64_t>(random_.below(static_cast<uint64_t>(timeout))));
}

void Core::reply(uint64_t token, ResponseBody body) { actions_.push_back(Reply{token, std::move(body), election_saved_after()}); }

Endpoints Core::leader_endpoints() const {
  if (const auto* follower = std::get_if<Follower>(&role_)) return follower->leader.endpoints;
  if (const auto* prospective = std::get_if<Prospective>(&role_)) return prospective->leader ? prospective->leader->endpoints : Endpoints{};
  const bool own = is_leader() || std::holds_alternative<Resigned>(role_);
  return own ? config_.listeners : Endpoints{};
}

ResponseHead Core::response_head(const std::string& listener, ErrorCode error) const {
  ResponseHead head{.error = error, .epoch = epoch_, .leader = leader().value_or(no_node)};
  const Endpoints endpoints = leader_endpoints();
  if (const auto found = endpoints.find(listener); found != endpoints.end()) head.leader_endpoint = {head.leader, found->second};
  return head;
}

ErrorCode Core::head_error(const RequestHead& head) const {
  if (head.cluster_id && *head.cluster_id != config_.cluster_id) return ErrorCode::INCONSISTENT_CLUSTER_ID;
  return head.target == Target::metadata_partition ? ErrorCode::NONE : ErrorCode::INVALID_REQUEST;
}

ErrorCode Core::leader_request_error(std::optional<Epoch> epoch) const {
  if (epoch && *epoch < epoch_) return ErrorCode::FENCED_LEADER_EPOCH;
  if (epoch && *epoch > epoch_) return ErrorCode::UNKNOWN_LEADER_EPOCH;
  if (!is_leader()) return ErrorCode::NOT_LEADER_OR_FOLLOWER;
  if (shutting_down_) return ErrorCode::BROKER_NOT_AVAILABLE;
  return ErrorCode::NONE;
}

bool Core::is_own_voter_key(ReplicaKey key) const {
  if (key.id.value < 0) return true;
  return key.id == config_.id && (!key.has_directory() || key.directory == config_.directory);
}

std::optional<Endpoint> Core::address_of(NodeId voter) const { return voters().endpoint(voter, config_.default_listener); }

uint64_t Core::send(NodeId peer, Endpoint address, RequestBody body, bool fresh_connection) {
  const uint64_t id = ++last_request_id_;
  connections_.sent(peer, id, now_.monotonic + config_.request_timeout);
  asked_[peer] = address;
  actions_.push_back(Send{.request_id = id,
                          .to = peer,
                          .address = std::move(address),
                          .body = std::move(body),
                          .timeout = config_.request_timeout,
                          .fresh_connection = fresh_connection,
                          .after = election_saved_after()});
  return id;
}

void Core::on_request(Request& request) {
  const uint64_t token = request.token;
  struct Visitor {
    Core& core;
    uint64_t token;
    const std::string& listener;
    void operator()(const VoteRequest& in) { core.on_vote(token, listener, in); }
    void operator()(const BeginQuorumEpochRequest& in) { core.on_begin_quorum_epoch(token, listener, in); }
    void operator()(const EndQuorumEpochRequest& in) { core.on_end_quorum_epoch(token, listener, in); }
    void operator()(const FetchRequest& in) { core.on_fetch(token, listener, in); }
    void operator()(const FetchSnapshotRequest& in) { core.on_fetch_snapshot(token, listener, in); }
    void operator()(const DescribeQuorumRequest& in) { core.on_describe_quorum(token, in); }
    void operator()(const AddVoterRequest& in) { core.on_add_voter(token, in); }
    void operator()(const RemoveVoterRequest& in) { core.on_remove_voter(token, in); }
    void operator()(const UpdateVoterRequest& in) { core.on_update_voter(token, listener, in); }
    // The server answers it: it knows all its APIs.
    void operator()(const ApiVersionsRequest&) { core.reply(token, NoResponse{ErrorCode::UNSUPPORTED_VERSION}); }
  };
  std::visit(Visitor{*this, token, request.listener}, request.body);
}

}  // namespace castellan::raft
