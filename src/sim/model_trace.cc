// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/model_trace.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"

namespace castellan::sim {
namespace {

std::set<NodeId> ids_of(const raft::VoterSet& voters) {
  std::set<NodeId> ids;
  for (const auto& [id, voter] : voters) ids.insert(id);
  return ids;
}

// Where the record ends that brought the voters that are in force at the end of the log.
Offset end_of_change(const raft::Core& core) {
  Offset end = core.log().end;
  while (end > core.log().start) {
    const auto before = core.snapshot_control_records(end - 1).voters;
    if (!before || ids_of(*before) != ids_of(core.voters())) break;
    end = end - 1;
  }
  return end;
}

std::string set_of(const std::set<NodeId>& ids) {
  std::string text;
  for (const NodeId id : ids) text += fmt::format("{}{}", text.empty() ? "" : ", ", id.value);
  return "{" + text + "}";
}

}  // namespace

ModelState model_state_of(const raft::Core& core) {
  const raft::ElectionState election = core.election_state();
  ModelState state{.epoch = core.epoch(), .leads = core.is_leader()};
  if (election.voted) state.voted = election.voted->id;
  if (election.leader == core.config().id) state.voted = core.config().id;
  if (std::holds_alternative<raft::Follower>(core.role())) state.follows = election.leader;
  state.start = core.log().start;
  state.end = core.log().end;
  state.synced_end = core.log().synced_end;
  state.high_watermark = core.high_watermark().value_or(Offset{0});
  state.epochs = core.log().epochs.entries();
  state.voters = ids_of(core.voters());
  return state;
}

void ModelTrace::look(NodeId node, int life, const raft::Core& core) {
  if (!core.config().can_become_voter || !core.election_saved()) return;
  ModelState state = model_state_of(core);
  const auto last = last_.find(node);
  const bool known = last != last_.end();
  const bool restarted = known && last->second.life != life;
  if (known && !restarted && last->second.state == state) return;
  Line line{.node = node, .restarted = restarted, .state = state, .change_end = {}};
  if (known && state.leads && last->second.state.voters != state.voters) line.change_end = end_of_change(core);
  lines_.push_back(std::move(line));
  last_.insert_or_assign(node, Last{life, std::move(state)});
}

bool ModelTrace::write(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return false;
  const std::string text = module();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

std::string ModelTrace::module() const {
  std::set<Offset> ends{Offset{0}};
  std::set<NodeId> servers, first_voters;
  for (const Line& line : lines_) {
    const ModelState& state = line.state;
    ends.insert({state.start, state.end, state.synced_end, state.high_watermark, line.change_end});
    for (const auto& entry : state.epochs) ends.insert(entry.start);
    servers.insert(line.node);
    servers.insert(state.voters.begin(), state.voters.end());
    if (first_voters.empty()) first_voters = state.voters;  // those that join later begin without
  }
  const std::vector<Offset> sorted(ends.begin(), ends.end());
  const auto number_of = [&](Offset offset) { return std::ranges::lower_bound(sorted, offset) - sorted.begin(); };
  const auto epochs_of = [&](const ModelState& state) {
    std::string text;
    auto entry = state.epochs.begin();
    Epoch epoch;  // 0: of a record that the log does not have any more
    for (int64_t i = 0; i < number_of(state.end); ++i) {
      for (; entry != state.epochs.end() && entry->start <= sorted[static_cast<size_t>(i)]; ++entry) epoch = entry->epoch;
      text += fmt::format("{}{}", i == 0 ? "" : ", ", sorted[static_cast<size_t>(i)] < state.start ? Epoch{0} : epoch);
    }
    return "<<" + text + ">>";
  };

  CHECK(!lines_.empty(), "a trace without a line");
  std::string text = "------------------------------ MODULE TraceData ------------------------------\nEXTENDS Integers\n";
  text += fmt::format("TraceServers == {}\nTraceInitial == {}\nTrace == <<\n", set_of(servers), set_of(first_voters));
  for (const Line& line : lines_) {
    const ModelState& state = line.state;
    text += fmt::format("  [node |-> {}, restarted |-> {}, epoch |-> {}, voted |-> {}, leads |-> {}, follows |-> {}, epochs |-> {}, synced |-> {}, hw |-> {}, voters |-> {}, change |-> {}]{}\n",
                        line.node, line.restarted ? "TRUE" : "FALSE", state.epoch, state.voted, state.leads ? "TRUE" : "FALSE", state.follows, epochs_of(state),
                        number_of(state.synced_end), number_of(state.high_watermark), set_of(state.voters), number_of(line.change_end),
                        &line == &lines_.back() ? "" : ",");
  }
  return text + ">>\n=============================================================================\n";
}

}  // namespace castellan::sim
