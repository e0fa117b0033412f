// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One node's metadata half on one thread, with a clock and a disk of its own: for tests here and for the simulator. The seed decides
// how long each piece of work takes, so the same seed gives the same run.

#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/prng.h"
#include "io/memory/memory_file_system.h"
#include "quorum/metadata_node.h"

namespace castellan::quorum {

// Executors and a clock on one thread. Work of one lane is done in order; lanes run as if beside each other.
class World final : public io::Clock {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  struct Delays {
    Duration first{};
    Duration last{};
  };
  class Lane final : public Executor {
   public:
    Lane(World& world, Delays delays) : world_(world), delays_(delays) {}
    void post(std::function<void()> work) override;
    // Woken at its deadlines. The lane's work stops with it: nothing may refer to a loop that is gone.
    void attach(Loop* loop) { loop_ = loop; }

   private:
    friend class World;
    World& world_;
    Delays delays_;
    Loop* loop_ = nullptr;
    MonotonicTime last_due_;
    std::vector<std::pair<MonotonicTime, std::function<void()>>> work_;
    size_t next_ = 0;
  };

  MonotonicTime monotonic() const override { return now_; }
  WallTime wall() const override { return {1'700'000'000'000 + now_.nanoseconds / 1'000'000}; }

  Lane& lane(Delays delays);
  // What is posted there is forgotten: a power cut, or the end of a node.
  void drop(std::span<Lane* const> lanes);
  // Runs `work` when that time has passed.
  void after(Duration delay, std::function<void()> work);
  Prng& random() { return random_; }

  // The next piece of work, or the next deadline, whichever comes first; false when nothing will ever happen, or not by `until`.
  bool run_one(MonotonicTime until = MonotonicTime::never());
  // True once `done` holds; false when `patience` has passed.
  bool run_until(const std::function<bool()>& done, Duration patience = std::chrono::minutes(1));
  void run_for(Duration time);

 private:
  Prng random_;
  MonotonicTime now_;
  int still_ = 0;  // steps since time went on
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::multimap<MonotonicTime, std::function<void()>> timers_;
};

// A formatted directory in memory, and a node on it that can be started, killed and started again.
class TestNode {
 public:
  struct Setup {
    std::string extra_properties;  // more lines of server.properties
    bool static_voters = false;    // kraft.version 0
    int id = 1;
    std::vector<int> voters = {1};
    io::Channel* channel = nullptr;
  };
  TestNode(World& world, io::MemoryFileSystem& files, Setup setup);
  ~TestNode();

  // What the storage tool does.
  void format();
  Result<void> start();
  // Power cut. What was not synced is lost, or in part when `random` is given.
  void kill(Prng* random = nullptr);
  // Clean stop; true when it came to an end.
  bool stop();

  MetadataNode& node() { return *node_; }
  World& world() { return world_; }
  bool running() const { return node_ != nullptr; }
  bool run_until_active() { return world_.run_until([&] { return node_->view().active; }); }
  // Sends a request and runs until its answer is there.
  Result<Bytes> call(int16_t api_key, int16_t version, Bytes body);

  // Node N answers on nodeN:9093.
  static std::string host_of(int id) { return "node" + std::to_string(id); }
  static DirectoryId directory_of(int id) { return DirectoryId{Uuid{0x1234'4000, 0x8000'0000'0000'0000 + static_cast<uint64_t>(id)}}; }
  int id() const { return setup_.id; }
  // Counts starts: what belongs to an earlier life of the node is told by it.
  int life() const { return life_; }

  const std::string directory = "/metadata";
  const std::string folder = "/metadata/__cluster_metadata-0";
  const std::string cluster_id = "cluster-cluster-cluste";
  const DirectoryId directory_id;
  std::vector<std::string> lines;     // what it told the operator, warnings and errors
  std::vector<std::string> fatal;

 private:
  World& world_;
  io::MemoryFileSystem& files_;
  Setup setup_;
  void drop_lanes();

  config::ServerConfigPtr config_;
  std::vector<World::Lane*> lanes_;
  std::unique_ptr<MetadataNode> node_;
  int life_ = 0;
};

}  // namespace castellan::quorum
