// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The group coordinator of one partition of __consumer_offsets: a state machine. Requests, timer ticks and what became of
// the log go in; records to append and answers come out, in order.
//
//   Shard shard(configuration, seed);
//   shard.load(record, offset, ...);  ...  shard.finish_loading(now);
//   shard.step(now, Request{...});
//   for (auto& action : shard.take_actions()) perform(action);      // Append -> step(now, Appended{id, base_offset})
//   sleep until shard.next_deadline(), then shard.step(now, Tick{})
//
// Records are gathered into batches: one is handed out at a time, what comes meanwhile becomes the next (a commit waits
// for one append, not for a linger timer). An answer that promises something waits until the high watermark has passed
// its records; a failed append takes the memory back to where it was and answers with the error (B322, B324). An answer
// without records waits for the records before it, so that nobody is told what could still be taken back.
//
// Single thread; no clock, no log, no randomness but the seed. Errors go to the client in the answer.

#pragma once

#include <deque>
#include <span>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "group/configuration.h"
#include "group/messages.h"
#include "group/record.h"
#include "group/state.h"
#include "group/timers.h"

namespace castellan::group {

// --- inputs

// The append with that id was written at `base_offset`, or it failed and nothing of it is in the log.
struct Appended {
  uint64_t id = 0;
  Result<int64_t> base_offset;
};

// The high watermark: records below it are committed.
struct CommittedUpTo {
  int64_t offset = 0;
};

struct DeletedTopic {
  std::string name;
  Uuid id;
};

struct TopicsDeleted {
  std::vector<DeletedTopic> topics;
};

struct Tick {};

using Input = std::variant<Request, Appended, CommittedUpTo, TopicsDeleted, Tick>;

// --- actions

// Append these records as one batch and step with Appended. The next one comes only after that.
struct Append {
  uint64_t id = 0;
  std::vector<Record> records;
};

struct Reply {
  Token token = 0;
  ResponseBody response;
};

using Action = std::variant<Append, Reply>;

class Shard {
 public:
  Shard(const Configuration& configuration, uint64_t seed) : configuration_(configuration), prng_(seed) {}

  // Loading, in log order, before the first step. An unknown type of record is skipped, as Apache Kafka does; an error
  // (a record that cannot be read) says that this partition must not be served.
  struct LoadedRecord {
    int64_t offset = 0;
    int64_t producer_id = -1;  // -1: not transactional
    BytesView key;
    std::optional<BytesView> value;
  };
  Result<void> load(const LoadedRecord& record, WallTime now);
  // A control batch of a transaction.
  void load_marker(int64_t producer_id, bool commit);
  void finish_loading(Now now);

  void step(Now now, Input input);
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  // When to step with Tick at the latest.
  MonotonicTime next_deadline() const;

  // This node no longer leads the partition: everything that waits is answered NOT_COORDINATOR. The shard is over then.
  void resign();

  void set_configuration(const Configuration& configuration) { configuration_ = configuration; }
  const State& state() const { return state_; }
  size_t waiting_batches() const { return batches_.size(); }

 private:
  // What is done when a batch is committed, or has failed.
  struct SendReply {
    Token token;
    int16_t version;
    ResponseBody response;
  };
  struct StoreAssignment {  // the leader's SyncGroup
    GroupPointer group;
    int32_t generation;
    std::map<std::string, Bytes> assignments;
  };
  struct ReplaceStaticMember {  // a JoinGroup that takes a static member over without a rebalance
    GroupPointer group;
    ClassicMember before;
    std::string new_id;
    std::optional<std::string> leader_before;
    Waiting waiting;
  };
  using Outcome = std::variant<SendReply, StoreAssignment, ReplaceStaticMember>;
  struct PendingOutcome {
    Outcome outcome;
    MonotonicTime deadline;
    bool done = false;
  };

  struct Batch {
    uint64_t id = 0;
    enum class Stage { GATHERING, HANDED_OUT, WRITTEN } stage = Stage::GATHERING;
    std::vector<Record> records;  // of GATHERING; handed out with the Append
    size_t record_count = 0;
    size_t size = 0;
    int64_t end_offset = -1;  // of WRITTEN
    Journal journal;
    std::vector<PendingOutcome> outcomes;
  };

  // The records of one request and the journal of what they change: written as a whole, or not.
  struct Operation {
    std::vector<Record> records;
    Journal journal;
  };

  // shard.cc: batches
  void on(Request& request);
  void on(Appended& appended);
  void on(const CommittedUpTo& committed);
  void on(const TopicsDeleted& deleted);
  void on(const Tick&) {}
  void write(Operation operation, std::optional<Outcome> outcome);
  void hand_out();
  void settle_committed();
  void fail_from(size_t first_batch, ErrorCode error);
  void expire_outcomes();
  void finish(Outcome& outcome, ErrorCode error);
  void finish_reply(SendReply& reply, ErrorCode error);
  void finish_assignment(StoreAssignment& store, ErrorCode error);
  void finish_replacement(ReplaceStaticMember& replace, ErrorCode error);
  bool is_current(const GroupPointer& group) const;
  void answer(Token token, ResponseBody response) { actions_.push_back(Reply{token, std::move(response)}); }
  // After everything that is under way now.
  void answer_in_order(Token token, int16_t version, ResponseBody response);
  CommittedView committed() const;
  void run_timers();
  int64_t wall_ms() const { return now_.wall.milliseconds; }
  void schedule(TimerKey::Kind kind, const std::string& group, const std::string& member, int64_t timeout_ms);
  void cancel(TimerKey::Kind kind, const std::string& group, const std::string& member = {});

  // on_join.cc
  void on_join(const Request& request, const wire::JoinGroupRequest& join);
  void join_classic(const Request& request, const wire::JoinGroupRequest& join);
  void join_new_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group);
  void join_known_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group);
  void add_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group, const std::string& member_id);
  void replace_static_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group,
                             const std::string& old_id, const std::string& new_id);
  bool accepts(const ClassicGroup& group, const std::string& member_id) const;
  std::string new_member_id(const Request& request, const wire::JoinGroupRequest& join);
  void answer_join(const Waiting& waiting, wire::JoinGroupResponse response);
  void refuse_join(const Waiting& waiting, const std::string& member_id, ErrorCode error);
  wire::JoinGroupResponse current_generation(ClassicGroup& group, const std::string& member_id, bool with_members);

  // rebalance.cc
  void prepare_rebalance(const GroupPointer& group);
  void rebalance_or_complete_join(const GroupPointer& group);
  void maybe_complete_join(const GroupPointer& group);
  void complete_join(const GroupPointer& group);
  void remove_member(const GroupPointer& group, const std::string& member_id);
  void fail_waiting(ClassicGroup& group, ErrorCode error);
  void propagate_assignment(ClassicGroup& group, ErrorCode error);
  void schedule_heartbeat(const ClassicGroup& group, const ClassicMember& member);
  void on_heartbeat_timeout(const std::string& group, const std::string& member);
  void on_join_timeout(const std::string& group);
  void on_sync_timeout(const std::string& group);

  // on_member.cc
  void on_sync(const Request& request, const wire::SyncGroupRequest& sync);
  void on_heartbeat(const Request& request, const wire::HeartbeatRequest& heartbeat);
  void on_leave(const Request& request, const wire::LeaveGroupRequest& leave);

  // on_offsets.cc
  void on_offset_commit(const Request& request, const wire::OffsetCommitRequest& commit);
  ErrorCode validate_commit(const Request& request, const wire::OffsetCommitRequest& commit);
  void on_offset_fetch(const Request& request, const OffsetFetch& fetch);
  void on_offset_delete(const Request& request, const wire::OffsetDeleteRequest& remove);

  // on_groups.cc
  void on_describe(const Request& request, const DescribeGroups& describe);
  void on_list(const Request& request, const wire::ListGroupsRequest& list);
  void on_delete(const Request& request, const DeleteGroups& remove);
  void remove_group(const std::string& id, Operation& operation);  // a group without members: tombstones

  // load.cc
  Result<void> load_other(RecordType type, const std::string& id, const std::string& member, const LoadedRecord& record);

  // retention.cc
  void on_retention_check();
  // A group of another protocol: its members have not been heard of, and cannot be.
  void on_other_members_timeout(const std::string& id);
  void schedule_other_members(const OtherGroup& group);

  Configuration configuration_;
  Prng prng_;
  Now now_;
  State state_;
  Timers timers_;
  // A first rebalance that waits for more members: the delay that is running, and what may still be added to it.
  struct InitialDelay {
    int64_t delay_ms = 0;
    int64_t remaining_ms = 0;
  };
  std::map<std::string, InitialDelay> initial_delays_;
  std::deque<Batch> batches_;  // oldest first: WRITTEN..., at most one HANDED_OUT, GATHERING...
  uint64_t next_append_id_ = 1;
  int64_t committed_up_to_ = 0;
  std::vector<Action> actions_;
};

}  // namespace castellan::group
