// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Runs the dialogues in testdata/*.txt: an input a line, and under it what the core did. Invariants are checked after each.
// REWRITE=1 writes the answers anew; read the difference before it is committed.
//
//   > start id=1 voters=1,2,3 epoch=2 leader=1 log=1:0,2:5 end=9
//   > tick 2000            time goes on by that many milliseconds
//   > wait 2000            the same, before the core is told of it
//   > synced               all that is waiting for the disk is on it (synced 3: only that id)
//   > propose 2            as leader, a batch of two records
//   > vote from=2 epoch=3 last=9-2     requests of others: the answer names it by number
//   > answer vote granted from=2       answers the last request that was sent to 2

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "raft/invariants.h"
#include "raft/text.h"
#include "record/builder.h"

namespace castellan::raft {
namespace {

DirectoryId directory_of(int id) { return DirectoryId{Uuid{7, static_cast<uint64_t>(1000 + id)}}; }

struct Command {
  std::string name;
  std::vector<std::string> words;
  std::map<std::string, std::string> values;

  explicit Command(const std::string& line) {
    std::istringstream in(line);
    in >> name;
    for (std::string word; in >> word;) {
      const size_t at = word.find('=');
      if (at == std::string::npos) words.push_back(word);
      else values[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  bool has(const std::string& key) const { return values.contains(key); }
  bool says(const std::string& word) const { return std::ranges::find(words, word) != words.end(); }
  std::string text(const std::string& key) const { return has(key) ? values.at(key) : ""; }
  int64_t number(const std::string& key, int64_t otherwise) const { return has(key) ? std::stoll(values.at(key)) : otherwise; }
  LogPosition position(const std::string& key) const {
    const std::string value = values.at(key);
    const size_t dash = value.find('-', 1);
    return {Offset{std::stoll(value.substr(0, dash))}, Epoch{std::stoi(value.substr(dash + 1))}};
  }
  std::vector<std::string> list(const std::string& key) const {
    std::vector<std::string> items;
    std::istringstream in(text(key));
    for (std::string item; std::getline(in, item, ',');) items.push_back(item);
    return items;
  }
};

Voter voter_of(int id, bool with_directory) {
  return {.key = {NodeId{id}, with_directory ? directory_of(id) : DirectoryId{}},
          .endpoints = {{"CONTROLLER", {fmt::format("host{}", id), 9093}}},
          .kraft_version = with_directory ? kraft_versions : VersionRange{}};
}

Bytes batch_of(Offset base, Epoch epoch, int64_t records) {
  record::BatchBuilder builder({.base_offset = base.value, .leader_epoch = epoch.value});
  for (int64_t i = 0; i < records; ++i) builder.append(0, std::nullopt, as_bytes("value"));
  return builder.finish();
}

class Dialogue {
 public:
  std::string run(const std::string& line, int number) {
    const Command command(line);
    output_.clear();
    perform(command, number);
    settle();
    return output_;
  }

 private:
  Now now() const { return {{time_ms_ * 1'000'000}, {1'000'000 + time_ms_}}; }

  void perform(const Command& command, int number) {
    if (command.name == "start") return start(command);
    if (command.name == "tick") {
      time_ms_ += std::stoll(command.words.at(0));
      return step(Tick{});
    }
    if (command.name == "wait") {
      time_ms_ += std::stoll(command.words.at(0));
      return;
    }
    if (command.name == "next-deadline") {
      const auto next = core_->next_deadline();
      output_ += next == MonotonicTime::never() ? "never\n" : fmt::format("in {} ms\n", next.nanoseconds / 1'000'000 - time_ms_);
      return;
    }
    if (command.name == "summary") {
      output_ += summary_of(*core_) + "\n";
      return;
    }
    if (command.name == "synced") {
      if (!command.words.empty()) return step(Synced{std::stoll(command.words[0])});
      for (const int64_t id : std::exchange(unsynced_, {})) step(Synced{id});
      return;
    }
    if (command.name == "propose") {
      const int64_t records = std::stoll(command.words.at(0));
      const Epoch epoch{static_cast<int32_t>(command.number("epoch", core_->epoch().value))};
      const Offset base{command.number("at", core_->next_offset().value)};
      return step(Proposal{epoch, base, base + records, batch_of(base, epoch, records)});
    }
    if (command.name == "lost") return step(PeerLost{NodeId{static_cast<int32_t>(command.number("node", 0))}});
    if (command.name == "resign") return step(Resign{core_->epoch()});
    if (command.name == "upgrade") {
      return step(UpgradeKRaftVersion{static_cast<uint64_t>(number), Epoch{static_cast<int32_t>(command.number("epoch", core_->epoch().value))},
                                      static_cast<int16_t>(command.number("level", 1)), command.says("validate")});
    }
    if (command.name == "shut-down") return step(ShutDown{});
    if (command.name == "snapshot-written") return step(SnapshotWritten{command.position("id")});
    if (command.name == "snapshot-stored") return step(SnapshotStored{.id = command.position("id"), .voters = {}, .kraft_version = {}});
    if (command.name == "cleaned") return step(LogCleaned{Offset{command.number("start", 0)}});
    if (command.name == "may-snapshot") {
      const auto result = core_->may_snapshot(command.position("id"));
      output_ += result ? "yes\n" : "no: " + result.error().message + "\n";
      return;
    }
    if (command.name == "answer") return answer(command);
    request(command, number);
  }

  void start(const Command& command) {
    Config config{.cluster_id = "cluster", .id = NodeId{static_cast<int32_t>(command.number("id", 1))}};
    const int id = config.id.value;
    config.directory = directory_of(std::max(id, 0));
    config.default_listener = "CONTROLLER";
    config.listeners = {{"CONTROLLER", {fmt::format("host{}", id), static_cast<uint16_t>(command.number("port", 9093))}}};
    config.can_become_voter = !command.says("broker");
    config.bootstrap_servers = command.has("bootstrap") ? std::vector<Endpoint>{{command.text("bootstrap"), 9093}} : std::vector<Endpoint>{};
    config.write_patience = std::chrono::milliseconds(command.number("patience", 0));
    config.seed = 1;
    Recovered recovered;
    std::vector<Voter> voters;
    const bool dynamic = command.has("kraft");
    for (const auto& item : command.list("voters")) voters.push_back(voter_of(std::stoi(item), dynamic));
    if (dynamic) {
      const Offset at{command.number("kraft", -1)};
      recovered.kraft_version.add(at, 1);
      recovered.voters.add(at, VoterSet(voters));
      if (at.value < 0) recovered.log.snapshots.insert(bootstrap_snapshot);
    } else {
      config.static_voters = VoterSet(voters);
    }
    for (const auto& item : command.list("log")) {
      const size_t colon = item.find(':');
      recovered.log.epochs.assign(Epoch{std::stoi(item)}, Offset{std::stoll(item.substr(colon + 1))});
    }
    recovered.log.start = Offset{command.number("begin", 0)};
    recovered.log.end = recovered.log.synced_end = Offset{command.number("end", recovered.log.start.value)};
    if (command.has("snapshot")) recovered.log.snapshots.insert(command.position("snapshot"));
    if (command.has("epoch")) {
      recovered.election = ElectionState{.epoch = Epoch{static_cast<int32_t>(command.number("epoch", 0))},
                                         .leader = NodeId{static_cast<int32_t>(command.number("leader", -1))}};
      if (command.has("voted")) {
        const auto voted = static_cast<int32_t>(command.number("voted", 0));
        recovered.election->voted = ReplicaKey{NodeId{voted}, directory_of(voted)};
      }
    }
    if (command.has("acknowledged")) recovered.acknowledged = command.position("acknowledged");
    unsynced_.clear();
    sent_.clear();
    core_ = std::make_unique<Core>(std::move(config), std::move(recovered), now());
    invariants_ = {};
  }

  ReplicaKey key(const Command& command, const std::string& name) {
    if (!command.has(name)) return {};
    const auto id = static_cast<int32_t>(command.number(name, -1));
    return {NodeId{id}, command.says("no-directory") ? DirectoryId{} : directory_of(command.says("other-directory") ? id + 100 : id)};
  }

  void request(const Command& command, int number) {
    Request request{.token = static_cast<uint64_t>(number), .listener = "CONTROLLER", .body = DescribeQuorumRequest{}};
    RequestHead head;
    if (command.has("cluster")) head.cluster_id = command.text("cluster");
    if (command.says("malformed")) head.target = Target::malformed;
    if (command.says("other-partition")) head.target = Target::other;
    const Epoch epoch{static_cast<int32_t>(command.number("epoch", core_->epoch().value))};
    if (command.name == "vote" || command.name == "pre-vote") {
      request.body = VoteRequest{head, epoch, key(command, "from"), key(command, "to"), command.position("last"), command.name == "pre-vote"};
    } else if (command.name == "begin") {
      const NodeId leader{static_cast<int32_t>(command.number("leader", -1))};
      request.body = BeginQuorumEpochRequest{head, epoch, leader, key(command, "to"), voter_of(leader.value, true).endpoints};
    } else if (command.name == "end") {
      EndQuorumEpochRequest body{.head = head, .epoch = epoch, .leader = NodeId{static_cast<int32_t>(command.number("leader", -1))}};
      for (const auto& item : command.list("successors")) body.preferred_candidates.push_back({NodeId{std::stoi(item)}, {}});
      request.body = body;
    } else if (command.name == "fetch") {
      request.body = FetchRequest{head, epoch, key(command, "from"), command.position("at"), command.number("committed", -1),
                                  static_cast<int32_t>(command.number("wait", 0)), 1 << 20};
    } else if (command.name == "fetch-snapshot") {
      request.body = FetchSnapshotRequest{head, epoch, key(command, "from"), command.position("id"), command.number("position", 0), 1 << 20};
    } else if (command.name == "describe") {
      request.body = DescribeQuorumRequest{head.target};
    } else if (command.name == "add-voter") {
      request.body = AddVoterRequest{head, voter_of(static_cast<int>(command.number("voter", 0)), true), !command.says("no-wait")};
    } else if (command.name == "remove-voter") {
      request.body = RemoveVoterRequest{head, key(command, "voter")};
    } else if (command.name == "update-voter") {
      Voter voter = voter_of(static_cast<int>(command.number("voter", 0)), true);
      voter.endpoints["CONTROLLER"].port = 9999;
      if (command.says("only-0")) voter.kraft_version = {0, 0};
      request.body = UpdateVoterRequest{head, epoch, voter};
    } else {
      FAIL() << "unknown command " << command.name;
    }
    step(std::move(request));
  }

  void answer(const Command& command) {
    const NodeId from{static_cast<int32_t>(command.number("from", 0))};
    ASSERT_TRUE(sent_.contains(from)) << "nothing was sent to " << from.value;
    Response response{.request_id = sent_.at(from), .body = NoResponse{}};
    ResponseHead head{.error = ErrorCode::NONE,
                      .epoch = Epoch{static_cast<int32_t>(command.number("epoch", core_->epoch().value))},
                      .leader = NodeId{static_cast<int32_t>(command.number("leader", -1))}};
    if (command.has("error")) head.error = static_cast<ErrorCode>(command.number("error", 0));
    if (command.has("top")) head.error_top = static_cast<ErrorCode>(command.number("top", 0));
    if (command.says("with-endpoint")) head.leader_endpoint = LeaderEndpoint{head.leader, {fmt::format("host{}", head.leader), 9093}};
    const std::string kind = command.words.at(0);
    if (kind == "vote") {
      response.body = VoteResponse{head, command.says("granted")};
    } else if (kind == "begin") {
      response.body = BeginQuorumEpochResponse{head};
    } else if (kind == "end") {
      response.body = EndQuorumEpochResponse{head};
    } else if (kind == "fetch") {
      FetchResponse body{.head = head, .high_watermark = command.number("committed", -1)};
      if (command.has("diverging")) body.diverging = command.position("diverging");
      if (command.has("snapshot")) body.snapshot = command.position("snapshot");
      Offset base = core_->log().end;
      for (const auto& item : command.list("batches")) {  // epoch:records
        const int64_t records = std::stoll(item.substr(item.find(':') + 1));
        const Bytes batch = batch_of(base, Epoch{std::stoi(item)}, records);
        body.records.insert(body.records.end(), batch.begin(), batch.end());
        base = base + records;
      }
      if (command.says("damaged")) body.records.back() ^= 1;
      response.body = std::move(body);
    } else if (kind == "snapshot") {
      FetchSnapshotResponse body{.head = head, .snapshot = command.position("id"), .size = command.number("size", 0), .position = command.number("position", 0)};
      body.bytes.resize(static_cast<size_t>(command.number("bytes", 0)));
      response.body = std::move(body);
    } else if (kind == "api-versions") {
      response.body = ApiVersionsResponse{ErrorCode::NONE, command.says("only-0") ? VersionRange{0, 0} : kraft_versions};
    } else if (kind == "change") {
      response.body = VoterChangeResponse{head, ""};
    } else if (kind == "none") {
      response.body = NoResponse{command.says("unsupported") ? ErrorCode::UNSUPPORTED_VERSION
                                 : command.says("refused")   ? ErrorCode::BROKER_NOT_AVAILABLE
                                                             : ErrorCode::NETWORK_EXCEPTION};
    } else {
      FAIL() << "unknown answer " << kind;
    }
    step(std::move(response));
  }

  void step(Input input) {
    core_->step(now(), std::move(input));
    settle();
  }

  void settle() {
    for (const Action& action : core_->take_actions()) {
      output_ += to_text(action) + "\n";
      if (const auto* save = std::get_if<SaveElection>(&action)) unsynced_.push_back(save->id);
      if (const auto* sync = std::get_if<Sync>(&action)) unsynced_.push_back(sync->id);
      if (const auto* send = std::get_if<Send>(&action)) sent_[send->to] = send->request_id;
    }
    invariants_.check(*core_);
  }

  int64_t time_ms_ = 0;
  std::unique_ptr<Core> core_;
  Invariants invariants_;
  std::vector<int64_t> unsynced_;
  std::map<NodeId, uint64_t> sent_;
  std::string output_;
};

TEST(Dialogues, go_as_they_are_written) {
  const auto folder = std::filesystem::path(CASTELLAN_SOURCE_DIR) / "src/raft/testdata";
  int run = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path());
    Dialogue dialogue;
    std::string expected, actual;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      expected += line + "\n";
      if (line.starts_with("> ")) ++number, actual += line + "\n" + dialogue.run(line.substr(2), number);
      else if (line.empty() || line.starts_with("#")) actual += line + "\n";
    }
    ++run;
    if (std::getenv("REWRITE")) std::ofstream(entry.path()) << actual;
    else EXPECT_EQ(actual, expected);
  }
  EXPECT_GT(run, 0);
}

}  // namespace
}  // namespace castellan::raft
