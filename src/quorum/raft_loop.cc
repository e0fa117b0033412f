// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/raft_loop.h"

#include <algorithm>

#include "base/planted_fault.h"
#include "raft/rpc.h"
#include "raft/text.h"

namespace castellan::quorum {
namespace {

constexpr Duration clean_period = std::chrono::minutes(1);
constexpr Duration acknowledged_period = std::chrono::seconds(1);
constexpr Duration stop_patience = std::chrono::seconds(5);

}  // namespace

RaftLoop::RaftLoop(Surroundings surroundings, const Options& options, raft::Config config, MetadataDirectory directory)
    : surroundings_(surroundings),
      print_(options.print),
      fatal_(options.fatal),
      config_(options.config),
      directory_(options.directory),
      cluster_id_(options.cluster_id),
      core_config_(std::move(config)),
      folder_(std::move(directory.folder)),
      log_(std::move(directory.log)),
      recovered_(std::move(directory.recovered)),
      standby_patience_(options.standby_patience),
      acknowledged_file_(surroundings_.files, options.directory),
      acknowledged_(recovered_.acknowledged) {}

RaftLoop::~RaftLoop() = default;

void RaftLoop::post_start(QuorumListener* listener) {
  surroundings_.raft.post([this, listener] {
    listener_ = listener;
    next_clean_ = now().monotonic + clean_period;
    next_acknowledged_ = now().monotonic + acknowledged_period;
    core_ = std::make_unique<raft::Core>(core_config_, std::move(recovered_), now());
    perform_actions();
  });
}

void RaftLoop::post_request(MetadataRequest request, MetadataNode::Reply reply) {
  surroundings_.raft.post([this, request = std::move(request), reply = std::move(reply)]() mutable {
    if (!core_ || shut_down_ || failed_) return reply(fail(ErrorCode::NOT_LEADER_OR_FOLLOWER, "the quorum's replica is not running"));
    auto body = raft::decode_request(request.api_key, request.api_version, request.body);
    if (!body) return reply(unexpected(body.error()));
    const uint64_t token = ++last_token_;
    callers_.emplace(token, Caller{request.api_key, request.api_version, std::move(reply)});
    step(raft::Request{token, std::move(request.listener), std::move(*body)});
  });
}

void RaftLoop::post_proposal(uint64_t generation, raft::Proposal proposal) {
  surroundings_.raft.post([this, generation, proposal = std::move(proposal)]() mutable {
    if (generation == generation_) step(std::move(proposal));
  });
}

void RaftLoop::post_read_committed(Offset from) {
  surroundings_.raft.post([this, from] {
    wanted_from_ = from;
    ++reads_;
    feed_reader();
  });
}

void RaftLoop::post_resign(Epoch epoch) {
  surroundings_.raft.post([this, epoch] { step(raft::Resign{epoch}); });
}

void RaftLoop::post_upgrade_kraft_version(Epoch epoch, int16_t level, bool validate_only, std::function<void(Result<void>)> done) {
  surroundings_.raft.post([this, epoch, level, validate_only, done = std::move(done)]() mutable {
    if (!core_ || shut_down_ || failed_) return done(fail(ErrorCode::NOT_CONTROLLER, "the quorum's replica is not running"));
    const uint64_t token = ++last_token_;
    upgrades_.emplace(token, std::move(done));
    step(raft::UpgradeKRaftVersion{token, epoch, level, validate_only});
  });
}

void RaftLoop::post_snapshot_wanted(raft::SnapshotId id) {
  surroundings_.raft.post([this, id] {
    if (!core_) return;
    if (const auto allowed = core_->may_snapshot(id); !allowed) {
      tell([id, reason = allowed.error().message](QuorumListener& listener) { listener.on_snapshot_refused(id, reason); });
    } else {
      tell([id, control = core_->snapshot_control_records(id.offset)](QuorumListener& listener) { listener.on_snapshot_allowed(id, control); });
    }
  });
}

void RaftLoop::post_snapshot_written(raft::SnapshotId id) {
  surroundings_.raft.post([this, id] {
    step(raft::SnapshotWritten{id});
    clean();
  });
}

void RaftLoop::post_stop(std::function<void()> done) {
  surroundings_.raft.post([this, done = std::move(done)]() mutable {
    if (failed_) return done();
    stopped_ = std::move(done);
    stop_by_ = now().monotonic + stop_patience;
    if (core_) step(raft::ShutDown{});
    maybe_finish_stop();
  });
}

void RaftLoop::tell(std::function<void(QuorumListener&)> news) {
  surroundings_.metadata.post([listener = listener_, news = std::move(news)] { news(*listener); });
}

MonotonicTime RaftLoop::next_deadline() const {
  if (!core_ || failed_ || shut_down_) return MonotonicTime::never();
  MonotonicTime next = std::min(core_->next_deadline(), next_clean_);
  // When the time to resign is over only the disk is waited for, and that tells by itself.
  if (stopped_) next = std::min(next, surroundings_.clock.monotonic() < stop_by_ ? stop_by_ : stop_by_ + stop_patience);
  if (committed_untold_) next = std::min(next, next_committed_news_);
  // Only while there is something to remember: an idle node does nothing.
  if (!acknowledged_ || core_->log().synced_end != acknowledged_->offset) next = std::min(next, next_acknowledged_);
  return next;
}

void RaftLoop::wake() {
  if (!core_ || failed_) return;
  const MonotonicTime time = now().monotonic;
  if (time >= next_clean_) clean();
  if (time >= next_committed_news_) tell_committed();
  if (time >= next_acknowledged_) remember_acknowledged();
  if (time >= core_->next_deadline()) step(raft::Tick{});
  maybe_finish_stop();
}

void RaftLoop::step(raft::Input input) {
  if (!core_ || failed_ || shut_down_) return;
  core_->step(now(), std::move(input));
  perform_actions();
}

void RaftLoop::perform_actions() {
  // Performing an action may step the core again (an answer that comes at once), so lists are taken until there is none.
  for (auto actions = core_->take_actions(); !actions.empty(); actions = core_->take_actions()) {
    for (raft::Action& action : actions) {
      if (failed_) return;
      perform(action);
    }
  }
  tell_standing();
  maybe_finish_stop();
}

void RaftLoop::tell_standing() {
  if (!core_config_.can_become_voter || failed_) return;
  const VoterStanding standing = standing_in(core_->voters(), core_->self());
  if (standing == standing_) return;
  const std::string text = standing_text(std::exchange(standing_, standing), standing, core_->voters(), core_->self());
  if (!text.empty()) print(2, text);
}

// True when the action is kept until its SaveElection or Sync is done.
bool RaftLoop::wait_for(int64_t after, raft::Action& action) {
  if (after == 0 || !running_.contains(after)) return false;
  after_[after].push_back(std::move(action));
  return true;
}

void RaftLoop::perform(raft::Action& action) {
  struct Visitor {
    RaftLoop& loop;
    raft::Action& action;
    void operator()(raft::SaveElection& in) { loop.save_election(in); }
    void operator()(raft::Append& in) { loop.append(in); }
    void operator()(raft::Sync& in) { loop.sync(in); }
    void operator()(raft::Truncate& in) {
      if (auto cut = loop.log_->truncate_to(in.end.value); !cut) return loop.fail_node(cut.error().message);
      bool hole = false;
      while (!loop.tail_.empty() && loop.tail_.back().end > in.end && !planted(Fault::truncated_tail_served)) {
        hole |= loop.tail_.back().base < in.end;
        loop.tail_bytes_ -= loop.tail_.back().batches->size();
        loop.tail_.pop_back();
      }
      // A piece that was cut in its midst is gone whole: what comes next would not join what was before it.
      if (hole) loop.forget_tail();
      // What was acknowledged no longer holds: the record is lowered before anything else is promised.
      if (loop.acknowledged_ && in.end < loop.acknowledged_->offset) loop.remember_acknowledged();
      loop.print(1, fmt::format("metadata log cut to offset {}: the leader's log goes another way from there", in.end));
    }
    void operator()(raft::RestartLog& in) {
      if (auto done = loop.log_->truncate_fully_and_start_at(in.snapshot.offset.value); !done) return loop.fail_node(done.error().message);
      loop.forget_tail();
      loop.print(1, fmt::format("metadata log goes on from the leader's snapshot {}", in.snapshot));
    }
    void operator()(raft::Send& in) {
      if (!loop.wait_for(in.after, action)) loop.send(in);
    }
    void operator()(raft::Reply& in) {
      if (!loop.wait_for(in.after, action)) loop.reply(in.token, in.body);
    }
    void operator()(raft::ReplyWithRecords& in) {
      if (!loop.wait_for(in.after, action)) loop.reply_with_records(in);
    }
    void operator()(raft::ReplyWithSnapshot& in) {
      if (!loop.wait_for(in.after, action)) loop.reply_with_snapshot(in);
    }
    void operator()(raft::StoreSnapshotChunk& in) { loop.store_snapshot_chunk(in); }
    void operator()(raft::DropSnapshotDownload&) { loop.download_.reset(); }
    void operator()(raft::Committed& in) {
      loop.committed(in.end);
    }
    void operator()(raft::LeaderChanged& in) { loop.leader_changed(in); }
    void operator()(raft::OwnRecords& in) {
      ++loop.generation_;
      loop.tell([in, generation = loop.generation_](QuorumListener& listener) {
        listener.on_control_records(in.base, in.end, generation, in.kraft_version, in.voters);
      });
    }
    void operator()(raft::ProposalRejected& in) {
      // The metadata loop hears of what happened by other news: a lost leadership, or control records in the way.
      loop.print(0, raft::to_text(raft::Action(in)));
    }
    void operator()(raft::KRaftVersionAnswer& in) {
      auto asked = loop.upgrades_.extract(in.token);
      if (asked.empty()) return;
      asked.mapped()(in.error == ErrorCode::NONE ? Result<void>() : Result<void>(unexpected(Error{in.error, in.message})));
    }
    void operator()(raft::Stop& in) { loop.fail_node(in.reason); }
    void operator()(raft::ShutDownDone&) { loop.stop_by_ = loop.now().monotonic; }
  };
  std::visit(Visitor{*this, action}, action);
}

void RaftLoop::committed(Offset end) {
  committed_ = end;
  log_->set_high_watermark(end.value);
  committed_untold_ = true;
  if (core_->is_leader() || standby_patience_ == Duration::zero() || now().monotonic >= next_committed_news_) tell_committed();
}

void RaftLoop::tell_committed() {
  if (!std::exchange(committed_untold_, false)) return;
  if (standby_patience_ != Duration::zero()) next_committed_news_ = now().monotonic + standby_patience_;
  tell([end = committed_](QuorumListener& listener) { listener.on_committed(end); });
  feed_reader();
}

void RaftLoop::leader_changed(const raft::LeaderChanged& action) {
  tell_committed();
  QuorumListener::LeaderNews news{.epoch = action.epoch,
                                  .leader = action.leader,
                                  .leader_endpoint = {},
                                  .is_self = action.is_self,
                                  .epoch_end = action.epoch_end,
                                  .generation = generation_,
                                  .kraft_version = core_->kraft_version(),
                                  .voters = {}};
  for (const auto& [id, voter] : core_->voters()) news.voters.push_back(id);
  // The leader's own word comes before the voter set's, which a new observer does not have yet.
  if (const auto* follower = std::get_if<raft::Follower>(&core_->role())) {
    const auto found = follower->leader.endpoints.find(core_config_.default_listener);
    if (found != follower->leader.endpoints.end()) news.leader_endpoint = found->second;
  }
  if (action.leader && !news.leader_endpoint) news.leader_endpoint = core_->voters().endpoint(*action.leader, core_config_.default_listener);
  if (action.is_self) {
    print(1, fmt::format("node {} leads the quorum in epoch {}", core_config_.id, action.epoch));
  } else if (action.leader) {
    print(1, fmt::format("node {} leads the quorum in epoch {}", *action.leader, action.epoch));
  } else {
    print(0, fmt::format("epoch {} has no leader yet", action.epoch));
  }
  tell([news](QuorumListener& listener) { listener.on_leader(news); });
}

void RaftLoop::send(raft::Send& action) {
  if (!surroundings_.channel) {
    return answer_later(action.request_id, ErrorCode::NETWORK_EXCEPTION);
  }
  // The newest versions, in the order of RequestBody.
  constexpr std::array<int16_t, 10> newest{2, 1, 1, 18, 1, 2, 1, 0, 0, 4};
  const int16_t key = raft::api_key_of(action.body);
  const raft::Endpoint peer = action.address;
  if (peer_versions_.must_ask(peer) && !action.fresh_connection) return ask_versions(std::move(action));
  const auto version = peer_versions_.version(peer, key, newest[action.body.index()]);
  // A version that cannot say it is as good as none (a pre-vote before version 2).
  auto body = version ? raft::encode_request(action.body, *version) : Result<Bytes>(fail(ErrorCode::UNSUPPORTED_VERSION, "API {} is not there", key));
  if (!body) {
    CHECK(version != newest[action.body.index()], "{}: {}", raft::to_text(action.body), body.error().message);
    return answer_later(action.request_id, ErrorCode::UNSUPPORTED_VERSION);
  }
  const bool fetches = std::holds_alternative<raft::FetchRequest>(action.body) || std::holds_alternative<raft::FetchSnapshotRequest>(action.body);
  auto done = [this, id = action.request_id, key, version = *version, to = action.to, peer, fetches](Result<Bytes> answer) {
    if (answer) {
      auto response = raft::decode_response(key, version, *answer);
      if (response) return step(raft::Response{id, std::move(*response)});
      print(2, fmt::format("an answer of node {} cannot be read: {}", to, response.error().message));
      return step(raft::Response{id, raft::NoResponse{}});
    }
    peer_versions_.note_failure(peer, answer.error().code);
    // Told first: what this replica does about a leader that is gone comes before the next fetch from somebody else.
    if (fetches && answer.error().code == ErrorCode::BROKER_NOT_AVAILABLE) step(raft::PeerLost{to});
    step(raft::Response{id, raft::NoResponse{answer.error().code}});
  };
  const io::Endpoint address{action.address.host, action.address.port};
  if (action.fresh_connection) {
    surroundings_.channel->probe(address, key, *version, std::move(*body), action.timeout, std::move(done));
  } else {
    surroundings_.channel->send(address, key, *version, std::move(*body), action.timeout, std::move(done));
  }
}

// Never from inside the core's own step.
void RaftLoop::answer_later(uint64_t request_id, ErrorCode error) {
  surroundings_.raft.post([this, request_id, error] { step(raft::Response{request_id, raft::NoResponse{error}}); });
}

// Which versions the peer knows, and then `action`. What goes wrong with the question goes wrong with the request.
void RaftLoop::ask_versions(raft::Send action) {
  auto body = raft::encode_request(raft::ApiVersionsRequest{}, api_versions_version);
  CHECK(body.has_value(), "{}", body ? "" : body.error().message);
  const io::Endpoint address{action.address.host, action.address.port};
  const int16_t key = raft::api_key_of(raft::ApiVersionsRequest{});
  surroundings_.channel->send(address, key, api_versions_version, std::move(*body), action.timeout, [this, action](Result<Bytes> answer) mutable {
    const auto learned = answer ? peer_versions_.learn(action.address, *answer) : Result<void>(unexpected(answer.error()));
    if (learned) return send(action);
    const ErrorCode error = answer ? ErrorCode::NETWORK_EXCEPTION : answer.error().code;
    const bool fetches = std::holds_alternative<raft::FetchRequest>(action.body) || std::holds_alternative<raft::FetchSnapshotRequest>(action.body);
    if (fetches && error == ErrorCode::BROKER_NOT_AVAILABLE) step(raft::PeerLost{action.to});
    step(raft::Response{action.request_id, raft::NoResponse{error}});
  });
}

void RaftLoop::reply(uint64_t token, const raft::ResponseBody& body) {
  auto caller = callers_.extract(token);
  if (caller.empty()) return;
  const Caller& to = caller.mapped();
  to.reply(raft::encode_response(to.api_key, to.api_version, body));
}

void RaftLoop::maybe_finish_stop() {
  if (!stopped_ || shut_down_ || failed_) return;
  const MonotonicTime time = now().monotonic;
  const bool patience_over = time >= stop_by_ + stop_patience;
  // What was written is synced first, unless the disk hangs.
  if (time < stop_by_ || ((!running_.empty() || writing_acknowledged_) && !patience_over)) return;
  shut_down_ = true;
  if (auto closed = log_->close(); !closed) print(3, closed.error().message);
  for (auto& [token, caller] : std::exchange(callers_, {})) caller.reply(fail(ErrorCode::NOT_LEADER_OR_FOLLOWER, "the node is stopping"));
  std::exchange(stopped_, nullptr)();
}

void RaftLoop::fail_node(const std::string& reason) {
  if (std::exchange(failed_, true)) return;
  print(3, reason);
  fatal_(reason);
  if (stopped_) std::exchange(stopped_, nullptr)();
}

}  // namespace castellan::quorum
