// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Members that come, go, fall silent and commit at random, over a log that delays, fails and changes its leader (B571):
// no partition has two owners in one generation, every request is answered once, what was acknowledged is there, and in
// the end everybody is served. A failure prints its seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "group/shard.h"

namespace castellan::group {
namespace {

constexpr int partitions = 12;

// A consumer as a client library is one, reduced to what the coordinator sees.
struct Client {
  enum class Phase { OUT, JOINING, SYNCING, MEMBER };
  std::string name;
  std::optional<std::string> instance;
  Phase phase = Phase::OUT;
  std::string member_id;
  int32_t generation = -1;
  std::set<int> owned;
  std::optional<Token> waiting;  // its join or sync
};

struct World {
  uint64_t seed;
  Prng prng;
  Now now{{1'000'000'000'000}, {1'700'000'000'000}};
  Configuration configuration;
  std::unique_ptr<Shard> shard;
  std::vector<Record> log;     // what the leader has written
  size_t committed = 0;        // and what survives its loss
  std::optional<Append> append;
  bool calm = false;

  std::vector<Client> clients;
  std::map<Token, size_t> joins, syncs;                       // whose request
  std::map<Token, std::pair<int, int64_t>> commits;           // partition and offset
  std::set<Token> open;
  Token last_token = 0;
  std::map<std::pair<int32_t, int>, std::string> owners;      // (generation, partition) -> client
  std::map<int, int64_t> acknowledged;
  int64_t last_offset = 0;

  explicit World(uint64_t seed) : seed(seed), prng(seed) {
    configuration.initial_rebalance_delay = std::chrono::milliseconds(prng.chance(0.5) ? 0 : 3'000);
    configuration.group_size_max = prng.chance(0.3) ? 4 : INT32_MAX;
    const int count = static_cast<int>(prng.between(2, 6));
    for (int i = 0; i < count; ++i) {
      clients.emplace_back().name = "c" + std::to_string(i);
      if (prng.chance(0.3)) clients.back().instance = "inst-" + std::to_string(i);
    }
    start_shard();
  }

  void start_shard() {
    shard = std::make_unique<Shard>(configuration, prng.next());
    for (size_t i = 0; i < log.size(); ++i) {
      Shard::LoadedRecord loaded;
      loaded.offset = static_cast<int64_t>(i);
      loaded.key = log[i].key;
      if (log[i].value) loaded.value = *log[i].value;
      ASSERT_TRUE(shard->load(loaded, now.wall).has_value());
    }
    shard->finish_loading(now);
    step(CommittedUpTo{static_cast<int64_t>(log.size())});
  }

  void lose_leader() {
    shard->resign();
    take_actions();
    EXPECT_TRUE(open.empty()) << "seed " << seed << ": " << open.size() << " requests are forgotten";
    open.clear();
    append.reset();
    log.resize(committed);
    start_shard();
  }

  void step(Input input) {
    shard->step(now, std::move(input));
    take_actions();
  }

  void take_actions() {
    for (auto actions = shard->take_actions(); !actions.empty(); actions = shard->take_actions()) {
      for (Action& action : actions) {
        if (auto* next = std::get_if<Append>(&action)) {
          EXPECT_FALSE(append.has_value()) << "seed " << seed << ": a second append before the first is settled";
          append = std::move(*next);
        } else {
          on_reply(std::get<Reply>(action));
        }
      }
    }
  }

  Token send(RequestBody body, int16_t version, const std::string& client) {
    const Token token = ++last_token;
    open.insert(token);
    pending_client = client;
    step(Request{token, version, client, "/host", std::move(body)});
    return token;
  }
  std::string pending_client;

  // --- the clients

  void join(size_t i) {
    Client& client = clients[i];
    client.phase = Client::Phase::JOINING;
    client.owned.clear();
    wire::JoinGroupRequest request;
    request.group_id = "g";
    request.member_id = client.member_id;
    request.group_instance_id = client.instance;
    request.session_timeout_ms = 30'000;
    request.rebalance_timeout_ms = 20'000;
    request.protocol_type = "consumer";
    auto& protocol = request.protocols.emplace_back();
    protocol.name = "range";
    protocol.metadata = to_bytes("sub");
    const Token token = last_token + 1;
    joins[token] = i;
    client.waiting = token;
    send(std::move(request), static_cast<int16_t>(prng.between(3, 9)), client.name);
  }

  void sync(size_t i, const std::vector<std::string>& members) {
    Client& client = clients[i];
    client.phase = Client::Phase::SYNCING;
    wire::SyncGroupRequest request;
    request.group_id = "g";
    request.member_id = client.member_id;
    request.group_instance_id = client.instance;
    request.generation_id = client.generation;
    request.protocol_type = "consumer";
    request.protocol_name = "range";
    for (size_t m = 0; m < members.size(); ++m) {
      auto& assignment = request.assignments.emplace_back();
      assignment.member_id = members[m];
      for (int p = static_cast<int>(m); p < partitions; p += static_cast<int>(members.size())) assignment.assignment.push_back(static_cast<uint8_t>(p));
    }
    const Token token = last_token + 1;
    syncs[token] = i;
    client.waiting = token;
    send(std::move(request), 5, client.name);
  }

  void heartbeat(size_t i) {
    Client& client = clients[i];
    wire::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = client.member_id;
    request.group_instance_id = client.instance;
    request.generation_id = client.generation;
    heartbeats[last_token + 1] = i;
    send(std::move(request), 4, client.name);
  }
  std::map<Token, size_t> heartbeats;

  void leave(size_t i) {
    Client& client = clients[i];
    wire::LeaveGroupRequest request;
    request.group_id = "g";
    request.members.emplace_back().member_id = client.member_id;
    send(std::move(request), 5, client.name);
    client.member_id.clear();
    client.phase = Client::Phase::OUT;
    client.owned.clear();
    client.waiting.reset();
  }

  void commit(size_t i) {
    Client& client = clients[i];
    if (client.owned.empty()) return;
    wire::OffsetCommitRequest request;
    request.group_id = "g";
    request.member_id = client.member_id;
    request.group_instance_id = client.instance;
    request.generation_id_or_member_epoch = client.generation;
    auto& topic = request.topics.emplace_back();
    topic.name = "t";
    auto& partition = topic.partitions.emplace_back();
    partition.partition_index = *client.owned.begin();
    partition.committed_offset = ++last_offset;
    commits[last_token + 1] = {partition.partition_index, last_offset};
    send(std::move(request), 9, client.name);
  }

  void on_reply(Reply& reply) {
    EXPECT_TRUE(open.erase(reply.token)) << "seed " << seed << ": token " << reply.token << " was not asked, or is answered twice";
    if (const auto* joined = std::get_if<wire::JoinGroupResponse>(&reply.response)) on_joined(reply.token, *joined);
    if (const auto* synced = std::get_if<wire::SyncGroupResponse>(&reply.response)) on_synced(reply.token, *synced);
    if (const auto* beaten = std::get_if<wire::HeartbeatResponse>(&reply.response)) on_error(heartbeats.at(reply.token), beaten->error_code);
    if (const auto* response = std::get_if<wire::OffsetCommitResponse>(&reply.response)) {
      const auto [partition, offset] = commits.at(reply.token);
      if (response->topics.at(0).partitions.at(0).error_code == 0) acknowledged[partition] = std::max(acknowledged[partition], offset);
    }
  }

  // What a client does about an error: forget its id, or only join again.
  void on_error(size_t i, int16_t code) {
    Client& client = clients[i];
    const auto error = static_cast<ErrorCode>(code);
    if (error == ErrorCode::NONE || client.phase == Client::Phase::OUT) return;
    if (error == ErrorCode::UNKNOWN_MEMBER_ID || error == ErrorCode::ILLEGAL_GENERATION || error == ErrorCode::FENCED_INSTANCE_ID) client.member_id.clear();
    client.owned.clear();
    client.phase = Client::Phase::OUT;  // it joins again when the dice say so
  }

  void on_joined(Token token, const wire::JoinGroupResponse& joined) {
    const size_t i = joins.at(token);
    Client& client = clients[i];
    if (client.waiting != token) return;
    client.waiting.reset();
    const auto error = static_cast<ErrorCode>(joined.error_code);
    if (error == ErrorCode::MEMBER_ID_REQUIRED) {
      client.member_id = joined.member_id;
      client.phase = Client::Phase::OUT;
      return;
    }
    if (error != ErrorCode::NONE) return on_error(i, joined.error_code);
    client.member_id = joined.member_id;
    client.generation = joined.generation_id;
    client.phase = Client::Phase::SYNCING;
    to_sync[i] = {};
    if (joined.leader == joined.member_id && !joined.skip_assignment)
      for (const auto& member : joined.members) to_sync[i].push_back(member.member_id);
  }
  std::map<size_t, std::vector<std::string>> to_sync;  // who has joined and not synced yet

  void on_synced(Token token, const wire::SyncGroupResponse& synced) {
    const size_t i = syncs.at(token);
    Client& client = clients[i];
    if (client.waiting != token) return;
    client.waiting.reset();
    if (synced.error_code != 0) return on_error(i, synced.error_code);
    client.phase = Client::Phase::MEMBER;
    client.owned.clear();
    for (const uint8_t partition : synced.assignment) {
      client.owned.insert(partition);
      const auto [owner, is_new] = owners.try_emplace({client.generation, partition}, client.name);
      EXPECT_TRUE(is_new || owner->second == client.name)
          << "seed " << seed << ": partition " << int(partition) << " of generation " << client.generation << " belongs to " << owner->second << " and "
          << client.name;
    }
  }

  // --- the world

  void settle_append(bool good) {
    if (!append) return;
    Append settled = std::move(*append);
    append.reset();
    if (!good) return step(Appended{settled.id, fail(ErrorCode::NOT_ENOUGH_REPLICAS, "the dice say so")});
    const auto base = static_cast<int64_t>(log.size());
    for (Record& record : settled.records) log.push_back(std::move(record));
    step(Appended{settled.id, base});
  }

  void commit_log() {
    committed = log.size();
    step(CommittedUpTo{static_cast<int64_t>(committed)});
  }

  void pass(int64_t milliseconds) {
    now.monotonic = now.monotonic + std::chrono::milliseconds(milliseconds);
    now.wall.milliseconds += milliseconds;
    step(Tick{});
  }

  // While nothing is under way the memory says what the log says (B570).
  void compare_with_log() {
    if (append || committed != log.size() || shard->waiting_batches() != 0) return;
    Shard fresh(configuration, 1);
    for (size_t i = 0; i < log.size(); ++i) {
      Shard::LoadedRecord loaded;
      loaded.offset = static_cast<int64_t>(i);
      loaded.key = log[i].key;
      if (log[i].value) loaded.value = *log[i].value;
      ASSERT_TRUE(fresh.load(loaded, now.wall).has_value());
    }
    const auto plain = [](std::map<std::string, TopicOffsets> all) {
      for (auto& [group, topics] : all)
        for (auto& [topic, offsets] : topics)
          for (auto& [partition, value] : offsets) value.record_offset = 0;
      return all;
    };
    EXPECT_EQ(plain(shard->state().offsets().all()), plain(fresh.state().offsets().all())) << "seed " << seed;
    EXPECT_EQ(shard->state().groups().size(), fresh.state().groups().size()) << "seed " << seed;
    const auto* here = as_classic(shard->state().find("g"));
    const auto* there = as_classic(fresh.state().find("g"));
    if (!here || !there || !here->is(ClassicState::STABLE)) return;
    EXPECT_EQ(here->generation(), there->generation()) << "seed " << seed;
    EXPECT_EQ(here->leader(), there->leader()) << "seed " << seed;
    ASSERT_EQ(here->members().size(), there->members().size()) << "seed " << seed;
    for (const auto& [id, member] : here->members()) {
      const auto same = there->members().find(id);
      ASSERT_NE(same, there->members().end()) << "seed " << seed;
      EXPECT_EQ(member.assignment, same->second.assignment) << "seed " << seed;
    }
  }

  void act(size_t i) {
    Client& client = clients[i];
    if (const auto found = to_sync.find(i); found != to_sync.end()) {
      const auto members = found->second;
      to_sync.erase(found);
      if (client.phase == Client::Phase::SYNCING && !client.waiting) return sync(i, members);
    }
    if (client.phase == Client::Phase::OUT && !client.waiting) return join(i);
    if (client.phase != Client::Phase::MEMBER) return;
    if (calm || prng.chance(0.5)) return heartbeat(i);
    if (prng.chance(0.7)) return commit(i);
    if (prng.chance(0.3)) return client.instance ? void() : leave(i);
  }

  void run() {
    for (int i = 0; i < 600; ++i) {
      const auto dice = prng.below(100);
      if (dice < 60) act(prng.below(clients.size()));
      else if (dice < 75) settle_append(!prng.chance(0.1));
      else if (dice < 90) commit_log();
      else if (dice < 99) pass(prng.between(1, prng.chance(0.1) ? 40'000 : 3'000));
      else lose_leader();
      compare_with_log();
      if (::testing::Test::HasFailure()) return;
    }
    calm = true;
    for (int i = 0; i < 200; ++i) {
      for (size_t c = 0; c < clients.size(); ++c) act(c);
      settle_append(true);
      commit_log();
      pass(1'000);
    }
    compare_with_log();
  }
};

TEST(Random, NoPartitionHasTwoOwnersAndNothingAcknowledgedIsLost) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    World world(seed);
    world.run();
    if (HasFailure()) return;
    const auto* group = as_classic(world.shard->state().find("g"));
    ASSERT_NE(group, nullptr) << "seed " << seed;
    EXPECT_EQ(state_name(group->state()), "Stable") << "seed " << seed;
    std::map<int, int> owners;
    size_t members = 0;
    for (const Client& client : world.clients) {
      if (client.phase == Client::Phase::MEMBER && client.generation == group->generation()) ++members;
      else continue;
      for (const int partition : client.owned) ++owners[partition];
    }
    EXPECT_EQ(owners.size(), static_cast<size_t>(partitions)) << "seed " << seed;
    EXPECT_TRUE(std::ranges::all_of(owners, [](const auto& entry) { return entry.second == 1; })) << "seed " << seed;
    EXPECT_EQ(members, std::min(world.clients.size(), static_cast<size_t>(world.configuration.group_size_max))) << "seed " << seed;
    for (const auto& [partition, offset] : world.acknowledged) {
      const auto* kept = world.shard->state().offsets().find({"g", "t", partition});
      ASSERT_NE(kept, nullptr) << "seed " << seed;
      EXPECT_GE(kept->offset, offset) << "seed " << seed << ", partition " << partition;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace castellan::group
