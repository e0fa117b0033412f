// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Each state of a group, each request, each kind of member that may send it: what is answered (B559). The columns of
// members are: new (no id), known, unknown, pending (was given an id), static (known, with its instance), fenced (the
// instance under another id), stale (known, with an old generation).

#include "group/harness.h"

namespace castellan::group {
namespace {

using testing::Harness;

enum class Who { NEW, KNOWN, UNKNOWN, PENDING, STATIC, FENCED, STALE };
constexpr Who everybody[] = {Who::NEW, Who::KNOWN, Who::UNKNOWN, Who::PENDING, Who::STATIC, Who::FENCED, Who::STALE};

// "-" waits; else the number of the error.
std::string outcome(bool answered, int16_t error) { return answered ? std::to_string(error) : "-"; }

// A group with a dynamic member (the leader), a static one and a pending one, in the state that is named.
struct Table {
  Harness h{Harness::without_delay()};
  std::string known, fixed, pending;
  int32_t generation = 0;

  explicit Table(const std::string& state) {
    if (state == "absent") return;
    const auto first = h.begin_join("g");
    known = first.member;
    generation = h.reply<wire::JoinGroupResponse>(first.token).generation_id;
    if (state == "Empty") {
      h.sync("g", known, generation, {});
      h.leave("g", known);
      ++generation;
      pending = h.reply<wire::JoinGroupResponse>(h.send(h.join_request("g"), 9)).member_id;
      return;
    }
    const Token second = h.send(h.join_request("g", "", "inst"), 9);
    h.send(h.join_request("g", known), 9);
    fixed = h.reply<wire::JoinGroupResponse>(second).member_id;
    generation = h.reply<wire::JoinGroupResponse>(second).generation_id;
    if (state != "CompletingRebalance") {
      h.sync("g", fixed, generation, {}, "inst");
      h.sync("g", known, generation, {{known, "K"}, {fixed, "F"}});
    }
    pending = h.reply<wire::JoinGroupResponse>(h.send(h.join_request("g"), 9)).member_id;
    if (state == "PreparingRebalance") h.begin_join("g");
    EXPECT_EQ(h.describe("g").group_state, state);
  }

  std::string member(Who who) const {
    switch (who) {
      case Who::NEW: return "";
      case Who::KNOWN:
      case Who::STALE: return known.empty() ? "someone" : known;
      case Who::UNKNOWN: return "nobody";
      case Who::PENDING: return pending.empty() ? "someone" : pending;
      case Who::STATIC: return fixed.empty() ? "someone" : fixed;
      case Who::FENCED: return "other";
    }
    return "";
  }
  static std::optional<std::string> instance(Who who) {
    return who == Who::STATIC || who == Who::FENCED ? std::optional<std::string>("inst") : std::nullopt;
  }
  int32_t generation_of(Who who) const { return who == Who::STALE ? generation - 1 : generation; }

  std::string join(Who who) {
    const Token token = h.send(h.join_request("g", member(who), instance(who)), 9);
    return outcome(h.is_answered(token), h.is_answered(token) ? h.reply<wire::JoinGroupResponse>(token).error_code : int16_t(0));
  }
  std::string sync(Who who) {
    const Token token = h.sync("g", member(who), generation_of(who), {}, instance(who));
    return outcome(h.is_answered(token), h.is_answered(token) ? h.reply<wire::SyncGroupResponse>(token).error_code : int16_t(0));
  }
  std::string heartbeat(Who who) {
    return std::to_string(static_cast<int16_t>(h.heartbeat("g", member(who), generation_of(who), instance(who))));
  }
  std::string leave(Who who) { return std::to_string(h.leave("g", member(who), instance(who)).members.at(0).error_code); }
  std::string commit(Who who) {
    auto request = Harness::commit_request("g", member(who), who == Who::NEW ? -1 : generation_of(who), 5);
    request.group_instance_id = instance(who);
    const auto response = h.reply<wire::OffsetCommitResponse>(h.send(request, 9));
    return std::to_string(response.topics.at(0).partitions.at(0).error_code);
  }
};

struct Row {
  const char* state;
  std::string (Table::*request)(Who);
  const char* name;
  const char* expected;  // a word for each of `everybody`
};

constexpr Row rows[] = {
    // state, request                                        new known unknown pending static fenced stale
    {"absent", &Table::join, "join", "79 25 25 25 25 25 25"},
    {"absent", &Table::sync, "sync", "25 25 25 25 25 25 25"},
    {"absent", &Table::heartbeat, "heartbeat", "25 25 25 25 25 25 25"},
    {"absent", &Table::leave, "leave", "25 25 25 25 25 25 25"},
    {"absent", &Table::commit, "commit", "0 69 69 69 69 69 0"},
    {"Empty", &Table::join, "join", "79 25 25 0 25 25 25"},
    {"Empty", &Table::sync, "sync", "25 25 25 25 25 25 25"},
    {"Empty", &Table::heartbeat, "heartbeat", "25 25 25 25 25 25 25"},
    {"Empty", &Table::leave, "leave", "25 25 25 0 25 25 25"},
    {"Empty", &Table::commit, "commit", "0 25 25 25 25 25 25"},
    {"PreparingRebalance", &Table::join, "join", "79 - 25 - - 82 -"},
    {"PreparingRebalance", &Table::sync, "sync", "25 27 25 25 27 82 22"},
    {"PreparingRebalance", &Table::heartbeat, "heartbeat", "25 27 25 25 27 82 22"},
    {"PreparingRebalance", &Table::leave, "leave", "25 0 25 0 0 82 0"},
    {"PreparingRebalance", &Table::commit, "commit", "25 0 25 25 0 82 22"},
    {"CompletingRebalance", &Table::join, "join", "79 0 25 - 0 82 0"},
    {"CompletingRebalance", &Table::sync, "sync", "25 0 25 25 - 82 22"},
    {"CompletingRebalance", &Table::heartbeat, "heartbeat", "25 0 25 25 0 82 22"},
    {"CompletingRebalance", &Table::leave, "leave", "25 0 25 0 0 82 0"},
    {"CompletingRebalance", &Table::commit, "commit", "25 27 25 25 27 82 22"},
    {"Stable", &Table::join, "join", "79 - 25 - 0 82 -"},
    {"Stable", &Table::sync, "sync", "25 0 25 25 0 82 22"},
    {"Stable", &Table::heartbeat, "heartbeat", "25 0 25 25 0 82 22"},
    {"Stable", &Table::leave, "leave", "25 0 25 0 0 82 0"},
    {"Stable", &Table::commit, "commit", "25 0 25 25 0 82 22"},
};

TEST(StateTable, EachRequestInEachStateFromEachMember) {
  for (const Row& row : rows) {
    std::string got;
    for (const Who who : everybody) {
      Table table(row.state);
      got += (got.empty() ? "" : " ") + (table.*row.request)(who);
    }
    EXPECT_EQ(got, row.expected) << row.state << ", " << row.name;
  }
}

}  // namespace
}  // namespace castellan::group
