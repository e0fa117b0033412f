// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/explorer/world.h"

#include <algorithm>

#include "base/check.h"
#include "raft/explorer/state_access.h"
#include "raft/text.h"
#include "record/builder.h"

namespace castellan::raft {
namespace {

DirectoryId directory_of(int id) { return DirectoryId{Uuid{0x4000, 0x8000'0000'0000'0000 + static_cast<uint64_t>(id)}}; }

Voter voter_of(int id) {
  return {.key = {NodeId{id}, directory_of(id)}, .endpoints = {{"C", {"n" + std::to_string(id), 1}}}, .kraft_version = kraft_versions};
}

Config config_of(int id) {
  Config config{.cluster_id = "c", .id = NodeId{id}, .directory = directory_of(id)};
  config.listeners = voter_of(id).endpoints;
  config.default_listener = "C";
  config.can_become_voter = true;
  config.fetch_max_wait = Duration(0);  // an answer that waits is an answer that is slow
  return config;
}

}  // namespace

World::World(const Bounds& bounds) : bounds_(&bounds) {
  std::vector<Voter> voters;
  for (int id = 1; id <= bounds.voters; ++id) voters.push_back(voter_of(id));
  count_ = bounds.voters + bounds.joining;
  CHECK(count_ <= max_nodes, "{} nodes", count_);
  for (int i = 0; i < count_; ++i) {
    nodes_[static_cast<size_t>(i)] = std::make_shared<ExploredNode>(config_of(i + 1), VoterSet(voters), *this);
    nodes_[static_cast<size_t>(i)]->asks_around = bounds.asks_around || i >= bounds.voters;
  }
  if (bounds.starts_led) lead();
}

// The usual course of things, until the first epoch's own records are committed everywhere.
void World::lead() {
  const auto settle = [&] {
    for (int steps = 0; steps < 200; ++steps) {
      bool disk = false;
      for (int i = 0; i < count_; ++i) {
        while (nodes_[static_cast<size_t>(i)]->has_disk_work()) {
          disk = true;
          happen({.kind = Event::Kind::disk, .node = static_cast<uint8_t>(i)});
        }
      }
      const bool equal = std::ranges::all_of(nodes_.begin(), nodes_.begin() + count_, [&](const auto& node) {
        return node->core().high_watermark() && node->core().high_watermark() == nodes_[0]->core().log().end;
      });
      if (!disk && (network_.empty() || equal)) break;
      happen({.kind = Event::Kind::deliver});
    }
  };
  happen({.kind = Event::Kind::timeout, .node = 0});
  settle();
  CHECK(nodes_[0]->core().is_leader() && nodes_[0]->core().high_watermark(), "node 1 does not lead: {}", summary_of(nodes_[0]->core()));
  timeouts_ = 0;
}

bool World::inside() const {
  if (network_.size() > static_cast<size_t>(bounds_->in_flight)) return false;
  return std::ranges::all_of(nodes_.begin(), nodes_.begin() + count_, [&](const auto& node) {
    return node->core().epoch().value <= bounds_->epochs && (node->log().empty() || !bounds_->elections_only);
  });
}

std::vector<Event> World::events() const {
  std::vector<Event> events;
  std::vector<Digest> seen;  // the same message twice is one choice
  for (size_t m = 0; m < network_.size(); ++m) {
    Digest digest = network_[m]->digest;
    digest.add(uint64_t{awaited(*network_[m])});
    if (std::ranges::find(seen, digest) != seen.end()) continue;
    seen.push_back(digest);
    const bool busy = bounds_->disk == Bounds::Disk::before_next_step && nodes_[static_cast<size_t>(index_of(network_[m]->to))]->has_disk_work();
    if (busy) continue;
    events.push_back({.kind = Event::Kind::deliver, .message = static_cast<uint16_t>(m)});
    if (losses_ < bounds_->losses) events.push_back({.kind = Event::Kind::lose, .message = static_cast<uint16_t>(m)});
  }
  for (int i = 0; i < count_; ++i) {
    const ExploredNode& node = *nodes_[static_cast<size_t>(i)];
    const auto add = [&](Event::Kind kind) { events.push_back({.kind = kind, .node = static_cast<uint8_t>(i)}); };
    if (node.has_disk_work()) {
      add(Event::Kind::disk);
      if (bounds_->disk == Bounds::Disk::before_next_step) {
        if (crashes_ < bounds_->crashes) add(Event::Kind::crash);
        continue;
      }
    }
    if (is_untouched() && i > 0) continue;
    const bool waits = node.core().is_voter() && (!std::holds_alternative<Leader>(node.core().role()) || node.core().voters().size() > 1);
    if (waits && timeouts_ < bounds_->timeouts) add(Event::Kind::timeout);
    if (node.core().is_leader()) {
      if (records_ < bounds_->records) add(Event::Kind::propose);
      if (removals_ < bounds_->removals) add(Event::Kind::remove);
      if (additions_ < bounds_->additions) add(Event::Kind::add);
    }
    if (crashes_ < bounds_->crashes) {
      add(Event::Kind::crash);
      if (node.batches_on_disk() < node.log().size()) add(Event::Kind::crash_keeping);
    }
  }
  if (bounds_->troubles_first) std::ranges::reverse(events);
  return events;
}

template <class F>
void World::change(int index, F&& f) {
  auto& slot = nodes_[static_cast<size_t>(index)];
  const std::shared_ptr<const ExploredNode> before = slot;
  slot = std::make_shared<ExploredNode>(*before);
  commits_now_.clear();
  f(*slot);
  if (bounds_->disk == Bounds::Disk::at_once) {
    while (slot->has_disk_work()) slot->finish_disk_work(*this);
  }
  after_change(index, *before);
}

void World::step(int index, Input input) {
  change(index, [&](ExploredNode& node) { node.step(std::move(input), *this); });
}

void World::happen(const Event& event) {
  const auto take = [&] {
    MessagePtr message = network_[event.message];
    network_.erase(network_.begin() + event.message);
    return message;
  };
  switch (event.kind) {
    case Event::Kind::deliver: {
      const MessagePtr message = take();
      if (message->is_answer) {
        if (nodes_[static_cast<size_t>(index_of(message->to))]->life() == message->asker_life) {
          step(index_of(message->to), Response{message->request_id, message->response});
        }
      } else {
        step(index_of(message->to), Request{ExploredNode::token_of(*message), "C", message->request});
      }
      break;
    }
    case Event::Kind::lose:
      ++losses_;
      fail_request(*take(), ErrorCode::REQUEST_TIMED_OUT);
      break;
    case Event::Kind::disk:
      change(event.node, [&](ExploredNode& node) { node.finish_disk_work(*this); });
      break;
    case Event::Kind::timeout:
      ++timeouts_;
      change(event.node, [&](ExploredNode& node) { node.expire(*this); });
      break;
    case Event::Kind::propose:
      ++records_;
      propose(event.node);
      break;
    case Event::Kind::remove: {
      ++removals_;
      const NodeId id = bounds_->removals > 1 ? NodeId{bounds_->removed.value - removals_ + 1} : bounds_->removed;
      step(event.node, Request{ExploredNode::client_token, "C", RemoveVoterRequest{.head = {.cluster_id = "c"}, .voter = voter_of(id.value).key}});
      break;
    }
    case Event::Kind::add:
      ++additions_;
      step(event.node, Request{ExploredNode::client_token, "C", AddVoterRequest{.head = {.cluster_id = "c"}, .voter = voter_of(count_)}});
      break;
    case Event::Kind::crash:
    case Event::Kind::crash_keeping:
      ++crashes_;
      crash(event.node, event.kind == Event::Kind::crash_keeping);
      break;
  }
  deliver_what_changes_nothing();
}

void World::propose(int index) {
  const Core& core = nodes_[static_cast<size_t>(index)]->core();
  const Offset base = core.next_offset();
  record::BatchBuilder builder({.base_offset = base.value, .leader_epoch = core.epoch().value});
  const std::string value = "record " + std::to_string(records_);
  builder.append(0, std::nullopt, as_bytes(value));
  step(index, Proposal{.epoch = core.epoch(), .base = base, .end = base + 1, .batch = builder.finish()});
}

void World::fail_request(const Message& message, ErrorCode error) {
  const int asker = index_of(message.asker());
  if (nodes_[static_cast<size_t>(asker)]->life() == message.asker_life) step(asker, Response{message.request_id, NoResponse{error}});
}

void World::crash(int index, bool keeps_unsynced) {
  const NodeId id = nodes_[static_cast<size_t>(index)]->id();
  // What it was asked and has not answered is refused; its answers and questions that are on their way go on.
  std::erase_if(network_, [&](const MessagePtr& message) { return message->to == id; });
  change(index, [&](ExploredNode& node) { node.crash(keeps_unsynced, *this); });
  for (int i = 0; i < count_; ++i) {
    if (i == index) continue;
    const auto request = StateAccess::awaited_from(nodes_[static_cast<size_t>(i)]->core(), id);
    if (!request) continue;
    const bool answer_comes = std::ranges::any_of(network_, [&](const MessagePtr& message) {
      return message->is_answer && message->from == id && message->request_id == *request && index_of(message->to) == i;
    });
    const bool asked_anew = std::ranges::any_of(network_, [&](const MessagePtr& message) {
      return !message->is_answer && message->to == id && message->request_id == *request && index_of(message->from) == i;
    });
    if (!answer_comes && !asked_anew) step(i, Response{*request, NoResponse{ErrorCode::NETWORK_EXCEPTION}});
  }
}

bool World::awaited(const Message& message) const {
  const ExploredNode& asker = *nodes_[static_cast<size_t>(index_of(message.asker()))];
  return asker.life() == message.asker_life && StateAccess::awaits(asker.core(), message.request_id);
}

// An answer that nobody looks at any more is as good as none, and so is a pre-vote that nobody waits for. That a voter knows of its
// leader tells the leader nothing else.
void World::deliver_what_changes_nothing() {
  std::erase_if(network_, [&](const MessagePtr& message) {
    const auto* vote = message->is_answer ? nullptr : std::get_if<VoteRequest>(&message->request);
    return (message->is_answer || (vote && vote->pre_vote)) && !awaited(*message);
  });
  for (size_t m = 0; m < network_.size(); ++m) {
    const MessagePtr message = network_[m];
    const auto* begun = message->is_answer ? std::get_if<BeginQuorumEpochResponse>(&message->response) : nullptr;
    if (!begun || begun->head.epoch != nodes_[static_cast<size_t>(index_of(message->to))]->core().epoch()) continue;
    network_.erase(network_.begin() + static_cast<ptrdiff_t>(m));
    step(index_of(message->to), Response{message->request_id, message->response});
    return deliver_what_changes_nothing();
  }
}

Digest World::digest() const {
  Digest digest;
  for (int i = 0; i < count_; ++i) digest.add(nodes_[static_cast<size_t>(i)]->digest());
  Digest messages{};
  for (const MessagePtr& message : network_) {
    Digest one = message->digest;
    one.add(uint64_t{awaited(*message)});
    messages.merge(one);
  }
  digest.add(messages);
  digest.add(static_cast<uint64_t>(records_ | losses_ << 8 | crashes_ << 16 | timeouts_ << 24));
  digest.add(static_cast<uint64_t>(removals_ | additions_ << 8));
  for (const auto& [epoch, leader] : leaders_) digest.add(static_cast<uint64_t>(epoch.value) << 32 | static_cast<uint64_t>(leader.value));
  for (const auto& [vote, candidate] : votes_) {
    digest.add(static_cast<uint64_t>(vote.first.value) << 32 | static_cast<uint64_t>(vote.second.value) << 16 | static_cast<uint64_t>(candidate.value));
  }
  if (!committed_.empty()) digest.add(committed_.back()->chain);
  return digest;
}

void World::sent(MessagePtr message) { network_.push_back(std::move(message)); }

void World::voted(NodeId node, Epoch epoch, NodeId candidate) {
  const auto [vote, is_new] = votes_.emplace(std::pair(epoch, node), candidate);
  if (vote->second != candidate) throw Violation{fmt::format("node {} votes for {} and {} in epoch {}", node, vote->second, candidate, epoch)};
}

void World::committed(NodeId node, Offset end) { commits_now_.emplace_back(index_of(node), end); }

std::string World::describe(const Event& event) const {
  const auto message = [&](std::string_view verb) {
    const Message& in = *network_[event.message];
    return fmt::format("{} {}->{} {}", verb, in.from, in.to, in.is_answer ? to_text(in.response) : to_text(in.request));
  };
  const NodeId id = nodes_[event.node]->id();
  switch (event.kind) {
    case Event::Kind::deliver: return message("deliver");
    case Event::Kind::lose: return message("lose");
    case Event::Kind::disk: return fmt::format("node {}: the disk finishes its oldest work", id);
    case Event::Kind::timeout: return fmt::format("node {}: time is over for {}", id, name_of(nodes_[event.node]->core().role()));
    case Event::Kind::propose: return fmt::format("node {}: a client's record", id);
    case Event::Kind::remove: return fmt::format("node {}: is asked to remove a voter", id);
    case Event::Kind::add: return fmt::format("node {}: is asked to add a voter", id);
    case Event::Kind::crash: return fmt::format("node {}: crashes, unsynced writes are lost", id);
    case Event::Kind::crash_keeping: return fmt::format("node {}: crashes, unsynced writes survive", id);
  }
  return {};
}

}  // namespace castellan::raft
