// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The raft loop: owns the core and the metadata log, performs the core's actions, serves fetches from the tail that it keeps in
// memory. It never loads metadata and never waits for a disk: syncs and cold reads go to other executors and come back as work.
//
// Threads: everything but post_* runs on the raft executor; post_* may be called on any thread.

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>

#include "log/metadata_snapshot.h"
#include "quorum/acknowledged.h"
#include "quorum/metadata_directory.h"
#include "quorum/metadata_node.h"
#include "quorum/peer_versions.h"
#include "quorum/report.h"
#include "quorum/voter_standing.h"
#include "raft/core.h"

namespace castellan::quorum {

// Batches of the log as they were written; shared with whoever reads them.
using SharedBytes = std::shared_ptr<const Bytes>;

// What the metadata loop hears of the quorum. Called on the metadata executor, in the order in which it happened.
class QuorumListener {
 public:
  virtual ~QuorumListener() = default;
  struct LeaderNews {
    Epoch epoch;
    std::optional<NodeId> leader;
    std::optional<raft::Endpoint> leader_endpoint;
    bool is_self = false;
    Offset epoch_end;         // where proposals of this epoch begin
    uint64_t generation = 0;  // to be named by them
    int16_t kraft_version = 0;
    std::vector<NodeId> voters;
  };
  virtual void on_leader(const LeaderNews& news) = 0;
  virtual void on_committed(Offset end) = 0;
  // The quorum wrote records of its own at [base, end) while this node leads. Proposals made for that place, or after it, under an
  // earlier generation are dropped.
  virtual void on_control_records(Offset base, Offset end, uint64_t generation, int16_t kraft_version, std::vector<NodeId> voters) = 0;
  // What read_committed asked for: whole committed batches from the offset asked for on; or the snapshot to load instead.
  virtual void on_batches(SharedBytes batches) = 0;
  virtual void on_snapshot_needed(raft::SnapshotId id) = 0;
  // Whether a snapshot may be written, and what it says in its control records.
  virtual void on_snapshot_allowed(raft::SnapshotId id, const raft::ControlRecords& control) = 0;
  virtual void on_snapshot_refused(raft::SnapshotId id, const std::string& reason) = 0;
};

class RaftLoop final : public Loop {
 public:
  RaftLoop(Surroundings surroundings, const Options& options, raft::Config config, MetadataDirectory directory);
  ~RaftLoop() override;

  void post_start(QuorumListener* listener);
  void post_request(MetadataRequest request, MetadataNode::Reply reply);
  void post_proposal(uint64_t generation, raft::Proposal proposal);
  // The next committed batches from `from` on, once there are any; a new call replaces the one before.
  void post_read_committed(Offset from);
  void post_resign(Epoch epoch);
  // `done` is called on the raft executor, after the news of the records that it led to.
  void post_upgrade_kraft_version(Epoch epoch, int16_t level, bool validate_only, std::function<void(Result<void>)> done);
  void post_snapshot_wanted(raft::SnapshotId id);
  void post_snapshot_written(raft::SnapshotId id);
  void post_stop(std::function<void()> done);
  // `done` is called on the raft executor.
  void post_report(std::function<void(QuorumReport)> done);

  MonotonicTime next_deadline() const override;
  void wake() override;

  const std::string& folder() const { return folder_; }
  // For tests and the simulator; on the raft executor.
  const raft::Core& core() const { return *core_; }
  // The end of what it has announced as committed; -1 for nothing yet.
  Offset committed() const { return committed_; }

 private:
  struct TailPiece {
    Offset base;
    Offset end;
    SharedBytes batches;
  };
  struct Download {
    raft::SnapshotId id;
    std::unique_ptr<log::SnapshotWriter> writer;
  };

  Now now() const { return surroundings_.clock.now(); }
  void step(raft::Input input);
  void perform_actions();
  bool wait_for(int64_t after, raft::Action& action);
  void perform(raft::Action& action);
  void save_election(const raft::SaveElection& action);
  void append(raft::Append& action);
  void sync(const raft::Sync& action);
  void send(raft::Send& action);
  void ask_versions(raft::Send action);
  void answer_later(uint64_t request_id, ErrorCode error);
  void reply(uint64_t token, const raft::ResponseBody& body);
  void reply_with_records(raft::ReplyWithRecords& action);
  void reply_with_snapshot(raft::ReplyWithSnapshot& action);
  void store_snapshot_chunk(raft::StoreSnapshotChunk& action);
  void leader_changed(const raft::LeaderChanged& action);
  void committed(Offset end);
  void tell_committed();
  // Runs on the metadata executor.
  void tell(std::function<void(QuorumListener&)> news);
  void feed_reader();
  Bytes read_tail(Offset start, size_t max_bytes, Offset limit) const;
  void forget_tail() {
    tail_.clear();
    tail_bytes_ = 0;
  }
  bool tail_has(Offset start) const { return !tail_.empty() && start >= tail_.front().base && start < tail_.back().end; }
  void clean();
  void remember_acknowledged();
  void tell_standing();
  void fail_node(const std::string& reason);
  void maybe_finish_stop();
  void print(int level, const std::string& line) { print_(level, line); }

  Surroundings surroundings_;
  std::function<void(int, const std::string&)> print_;
  std::function<void(const std::string&)> fatal_;
  config::ServerConfigPtr config_;
  std::string directory_;
  std::string cluster_id_;
  raft::Config core_config_;
  std::string folder_;
  std::unique_ptr<log::Log> log_;
  raft::Recovered recovered_;  // until start
  std::unique_ptr<raft::Core> core_;
  QuorumListener* listener_ = nullptr;

  uint64_t last_token_ = 0;
  struct Caller {
    int16_t api_key = 0;
    int16_t api_version = 0;
    MetadataNode::Reply reply;
  };
  std::map<uint64_t, Caller> callers_;
  std::map<uint64_t, std::function<void(Result<void>)>> upgrades_;  // by token
  PeerVersions peer_versions_;
  std::map<int64_t, std::vector<raft::Action>> after_;  // what waits for a SaveElection or Sync
  std::set<int64_t> running_;                           // those that are not done
  std::deque<TailPiece> tail_;
  size_t tail_bytes_ = 0;
  std::optional<Offset> wanted_from_;  // by the metadata loop
  uint64_t reads_ = 0;
  Offset committed_{-1};
  Duration standby_patience_;
  bool committed_untold_ = false;  // to the metadata loop, until next_committed_news_
  MonotonicTime next_committed_news_;
  uint64_t generation_ = 0;
  std::optional<Download> download_;
  MonotonicTime next_clean_;
  MonotonicTime next_acknowledged_;
  AcknowledgedFile acknowledged_file_;  // used on the workers, by one task at a time
  std::optional<raft::LogPosition> acknowledged_;
  bool writing_acknowledged_ = false;
  bool cleaning_ = false;
  VoterStanding standing_ = VoterStanding::unknown;  // as last told
  bool failed_ = false;
  std::function<void()> stopped_;
  bool shut_down_ = false;
  MonotonicTime stop_by_ = MonotonicTime::never();
};

}  // namespace castellan::quorum
