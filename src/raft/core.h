// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The quorum protocol of one replica as a state machine (KIP-595, KIP-630, KIP-853, KIP-996): inputs in, an ordered list of
// actions out. It knows no clock, thread, file or socket, and of the log only its summary.
//
//   Core core(config, recovered, now);
//   core.step(now, Proposal{...});
//   for (Action& action : core.take_actions()) perform(action);
//   sleep until core.next_deadline(), then core.step(now, Tick{});
//
// What must hold (invariants.h checks it after every step of every test):
// - The leader counts its own log for the high watermark only as far as it is synced; a follower fetches at an offset only once
//   everything before it is synced, since its fetch is the acknowledgement.
// - No message leaves before the election state it rests on is on disk.
// - One sync of the log runs at a time, and one write is made for each: proposals that come meanwhile are the next write.
//
// Errors: what a peer or a client may do wrong is an answer; what this node's own disk may do wrong stops it (Stop, or the
// shell); what this program may do wrong is a CHECK. Thread: any one.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "raft/action.h"
#include "raft/connections.h"
#include "raft/control_records.h"
#include "raft/history.h"
#include "raft/input.h"
#include "raft/log_summary.h"
#include "raft/roles.h"

namespace castellan::raft {

struct Config {
  std::string cluster_id;
  NodeId id = no_node;  // none: a reader without an identity
  DirectoryId directory;
  Endpoints listeners;           // own ones that may enter the voter set; none on a broker
  std::string default_listener;  // by which voters reach each other
  bool can_become_voter = false; // has the controller role
  bool auto_join = false;
  VoterSet static_voters;        // controller.quorum.voters
  std::vector<Endpoint> bootstrap_servers;
  Duration election_timeout = std::chrono::seconds(1);
  Duration fetch_timeout = std::chrono::seconds(2);
  Duration election_backoff_max = std::chrono::seconds(1);
  Duration request_timeout = std::chrono::seconds(2);
  Duration retry_backoff = std::chrono::milliseconds(20);
  Duration fetch_max_wait = std::chrono::milliseconds(500);
  // While the write before is not committed, so long may proposals wait to be written with others that come (0: not at all).
  // One commit at a time costs no latency to speak of, since the followers fetch and sync while this node syncs, and its answer
  // to a follower's acknowledgement holds the next write instead of nothing but a high watermark.
  Duration write_patience{0};
  int32_t fetch_max_bytes = 1 << 20;
  int32_t fetch_snapshot_max_bytes = 1 << 20;
  uint64_t seed = 0;
};

// What the shell found on disk.
struct Recovered {
  std::optional<ElectionState> election;  // quorum-state; none when there is no such file
  LogSummary log;
  // Control records of the latest snapshot (at its last offset; -1 for the bootstrap snapshot) and of the log.
  History<VoterSet> voters;
  History<int16_t> kraft_version;
  // How far this replica once acknowledged. While the log ends before it the replica does not vote.
  std::optional<LogPosition> acknowledged;
};

class Core {
 public:
  Core(Config config, Recovered recovered, Now now);

  void step(Now now, Input input);
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  // When to step with a Tick if nothing else happens before.
  MonotonicTime next_deadline() const;

  const Config& config() const { return config_; }
  const Role& role() const { return role_; }
  Epoch epoch() const { return epoch_; }
  std::optional<NodeId> leader() const;
  bool is_leader() const { return std::holds_alternative<Leader>(role_); }
  bool is_voter() const { return config_.id.value >= 0 && voters().contains(self()); }
  ReplicaKey self() const { return {config_.id, config_.directory}; }
  const LogSummary& log() const { return log_; }
  std::optional<Offset> high_watermark() const { return high_watermark_; }
  // False while this replica lacks what it once acknowledged: what it has now says nothing about that.
  bool has_what_it_acknowledged() const { return !acknowledged_; }
  // The latest, committed or not.
  const VoterSet& voters() const;
  int16_t kraft_version() const;
  ElectionState election_state() const;
  // Whether that is on disk. While it is not, nothing that rests on it has left this node.
  bool election_saved() const { return election_save_running_ == 0; }
  // Where the next proposal must begin.
  Offset next_offset() const;
  size_t waiting_bytes() const { return waiting_bytes_; }

  // Whether a snapshot with this id may be made of what is committed: the error says why not.
  Result<void> may_snapshot(SnapshotId id) const;
  // What a snapshot that ends at `end` says in its control records.
  ControlRecords snapshot_control_records(Offset end) const;
  // Whether the log before `start` may be deleted: a snapshot covers it and it is committed.
  bool may_clean_to(Offset start) const;

 private:
  friend class Invariants;
  friend class StateAccess;  // of the explorer

  // on_<message>.cc: requests
  void on_request(Request& request);
  void on_vote(uint64_t token, const std::string& listener, const VoteRequest& request);
  void on_begin_quorum_epoch(uint64_t token, const std::string& listener, const BeginQuorumEpochRequest& request);
  void on_end_quorum_epoch(uint64_t token, const std::string& listener, const EndQuorumEpochRequest& request);
  void on_fetch(uint64_t token, const std::string& listener, const FetchRequest& request);
  void on_fetch_snapshot(uint64_t token, const std::string& listener, const FetchSnapshotRequest& request);
  void on_describe_quorum(uint64_t token, const DescribeQuorumRequest& request);
  void on_add_voter(uint64_t token, const AddVoterRequest& request);
  void on_remove_voter(uint64_t token, const RemoveVoterRequest& request);
  void on_update_voter(uint64_t token, const std::string& listener, const UpdateVoterRequest& request);
  void on_upgrade_kraft_version(const UpgradeKRaftVersion& upgrade);

  // Responses
  void on_response(Response& response);
  bool on_response_head(NodeId from, const ResponseHead& head);
  void on_vote_response(NodeId from, const VoteResponse& response);
  void on_begin_quorum_epoch_response(NodeId from, const BeginQuorumEpochResponse& response);
  void on_end_quorum_epoch_response(NodeId from, const EndQuorumEpochResponse& response);
  void on_fetch_response(NodeId from, FetchResponse& response);
  void on_fetch_snapshot_response(NodeId from, FetchSnapshotResponse& response);
  void on_voter_change_response(NodeId from, const VoterChangeResponse& response);
  void on_api_versions_response(NodeId from, const ApiVersionsResponse& response);

  // replication.cc
  void on_proposal(Proposal& proposal);
  void propose_control(ControlRecords records);
  void write_waiting();
  MonotonicTime write_held_until() const;
  void on_synced(int64_t id);
  void start_sync();
  void advance_own_high_watermark();
  void publish_high_watermark(Offset end);
  void apply_control(Offset base, const ControlRecords& records);
  void truncate_to(Offset end);
  void on_snapshot_stored(const SnapshotStored& stored);

  // lost_leader.cc
  void on_peer_lost(NodeId node);
  void note_lost_leader(NodeId leader);
  int64_t rank_without(NodeId leader) const;
  // A few milliseconds for each voter that comes before this one, and some by chance: after a crash all see it at once.
  Duration ranked_wait();
  Duration fetch_timeout_behind(NodeId leader) const;

  // looking_around.cc
  void fetch_from_bootstrap();
  void note_silence(NodeId peer);
  void note_answer(NodeId peer);
  bool is_silent(const Endpoint& address) const;
  Duration retry_backoff() const;

  // fetches that wait at a leader
  struct ParkedFetch {
    std::string listener;
    FetchRequest request;
    MonotonicTime deadline;
    FetchResponse response_at_arrival;
  };
  // True when answered.
  bool answer_fetch(uint64_t token, const std::string& listener, const FetchRequest& request, bool may_park);
  void revisit_parked_fetches();
  void fail_parked_fetches();
  void expire_parked_fetches();

  // transitions.cc: the door and what leads to it
  void enter(Epoch epoch, Role role, bool save);
  void become_initial(const Recovered& recovered);
  void become_unattached(Epoch epoch, std::optional<NodeId> leader, std::optional<ReplicaKey> voted, MonotonicTime election_deadline);
  void become_unattached_in_higher_epoch(Epoch epoch, std::optional<NodeId> leader = std::nullopt);
  void become_follower(Epoch epoch, KnownLeader leader);
  void become_prospective();
  void become_candidate();
  void become_leader(std::vector<NodeId> granting_voters);
  void become_resigned();
  void save_election();
  void announce_leader();
  // KIP-595: what a message that names an epoch and perhaps a leader makes of this replica. False: the message contradicts
  // what is known, and was ignored.
  bool follow_message(Epoch epoch, NodeId leader, Endpoints endpoints);

  // polling.cc: what time brings
  void poll();
  void poll_unattached();
  void poll_follower();
  void poll_prospective();
  void poll_candidate();
  void poll_leader();
  void poll_resigned();
  void fetch_from(NodeId peer, Endpoint address);
  bool maybe_change_own_voter_entry();
  uint64_t send(NodeId peer, Endpoint address, RequestBody body, bool fresh_connection = false);

  // voter_change.cc
  struct VoterChange {
    enum class Kind { add, remove, update, upgrade } kind = Kind::add;
    uint64_t token = 0;
    std::string listener;
    Voter voter;
    bool answered = false;
    bool ack_when_committed = true;
    std::optional<Offset> offset;  // of its Voters record, once appended
    uint64_t probe = 0;
    MonotonicTime deadline;
  };
  std::optional<Error> voter_change_obstacle(const RequestHead& head) const;
  // The latest voter set, when it is in the log and committed: only then may the next one be made.
  const VoterSet* settled_voters() const;
  std::string voter_change_under_way() const;
  void probe_voter(VoterChange change);
  void finish_voter_change(ErrorCode error, std::string message);
  void answer_voter_change(VoterChange& change, ErrorCode error, std::string message);
  void check_voter_change();

  void reply(uint64_t token, ResponseBody body);
  ResponseHead response_head(const std::string& listener, ErrorCode error = ErrorCode::NONE) const;
  // Checks shared by requests to a leader: the first error, or NONE.
  ErrorCode leader_request_error(std::optional<Epoch> epoch) const;
  // Cluster id, then the partition: top-level error, or NONE.
  ErrorCode head_error(const RequestHead& head) const;
  RequestHead own_head() const { return {.cluster_id = config_.cluster_id, .target = Target::metadata_partition}; }
  bool is_own_voter_key(ReplicaKey key) const;
  Endpoints leader_endpoints() const;
  std::optional<Endpoint> address_of(NodeId voter) const;
  bool is_up_to_date(LogPosition candidate) const;
  bool may_vote() const { return has_what_was_promised() && (!blank_ || log_.end.value == 0); }
  bool has_what_was_promised() const { return !acknowledged_ || log_.last() >= *acknowledged_; }
  // A blank replica helps the first leader of a new cluster, and a log that is not behind any other voter's: whatever a majority with this
  // replica in it once committed, one of the others has.
  bool may_vote_for(LogPosition candidate) const;
  // Would be a candidate when its time comes.
  bool stands() const { return is_voter() && may_vote() && !shutting_down_; }
  Duration random_election_timeout();
  int64_t election_saved_after() const;
  void stop(std::string reason) { actions_.push_back(Stop{std::move(reason)}); }

  Config config_;
  Prng random_;
  Now now_;
  std::vector<Action> actions_;

  Epoch epoch_;
  Role role_;
  LogSummary log_;
  History<VoterSet> voters_;
  History<int16_t> kraft_version_;
  std::optional<LogPosition> acknowledged_;
  // Began with an empty log and has not caught up with a leader yet: a new cluster, or a directory that was formatted anew under
  // the same id, whose log may have been the one that a majority rested on.
  bool blank_ = false;
  std::map<NodeId, LogPosition> heard_ends_;  // while blank: of the other voters' logs, as they say when they ask for votes
  std::optional<Offset> high_watermark_;
  Offset published_{-1};  // by Committed
  Connections connections_;
  std::optional<std::pair<Epoch, std::optional<NodeId>>> announced_;
  // The leader of this epoch whose connection ended: elections go fast until there is a leader again (design, "Crash failover").
  std::optional<std::pair<Epoch, NodeId>> lost_leader_;
  MonotonicTime lost_leader_until_;
  std::optional<Epoch> not_replaced_;  // its leader was taken for lost, and nobody followed it in time
  MonotonicTime last_news_;                         // of an epoch, of a leader, or by it
  std::map<NodeId, Endpoint> asked_;                // where each peer was last asked
  std::map<Endpoint, MonotonicTime> silent_until_;  // addresses that did not answer in time
  bool shutting_down_ = false;
  bool shut_down_done_ = false;
  size_t next_bootstrap_server_ = 0;

  int64_t last_id_ = 0;                // of SaveElection and Sync
  int64_t election_save_running_ = 0;  // the last SaveElection while it is not on disk, else 0
  struct RunningSync {
    int64_t id = 0;
    Offset end;  // what it makes durable; truncation lowers it
    MonotonicTime started;
  };
  std::optional<RunningSync> sync_running_;
  MonotonicTime last_write_;  // while leading

  struct Waiting {
    Offset base;
    Offset end;
    Bytes batch;
    std::optional<ControlRecords> control;
  };
  std::deque<Waiting> waiting_;  // leader: what the next write will hold
  size_t waiting_bytes_ = 0;
  std::map<uint64_t, ParkedFetch> parked_fetches_;
  std::optional<VoterChange> voter_change_;
  uint64_t last_request_id_ = 0;
};

}  // namespace castellan::raft
