// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Simulated time, and what happens in it, on one thread: timers of the world, and lanes, which stand for the threads of simulated
// processes. Two runs that post the same work in the same order run it in the same order.
//
//   Schedule schedule;
//   auto lane = schedule.lane(delays, random);   // a quorum::Executor
//   lane->attach(&loop, &clock);                 // woken at its deadlines
//   while (schedule.run_one(until)) check();
//
// A lane that is destroyed takes its work along: a power cut. One thread.

#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "quorum/executor.h"
#include "sim/clock.h"

namespace castellan::sim {

class Schedule {
 public:
  using Work = std::function<void()>;
  class Lane;

  // How long a piece of work waits before it runs; drawn for each.
  struct Delays {
    Duration first{};
    Duration last{};
  };

  MonotonicTime now() const { return now_; }
  const MonotonicTime& now_source() const { return now_; }
  void after(Duration delay, Work work);
  std::unique_ptr<Lane> lane(Delays delays, Prng& random);

  // The next thing that happens; false when nothing does by `until`, which is then the time.
  bool run_one(MonotonicTime until);
  // Whose work run_one did last; null for a timer.
  const Lane* last_lane() const { return last_lane_; }
  uint64_t events() const { return events_; }
  // Events since time last went on: a loop that asks for the same moment again and again lets it stand still.
  int at_this_moment() const { return at_this_moment_; }

 private:
  enum class Kind : uint8_t { timer, work, wake };
  struct Event {
    int64_t time;
    uint64_t sequence;
    uint32_t slot;
    uint32_t generation;
    Kind kind;
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : sequence > other.sequence; }
  };
  struct Slot {
    Lane* lane = nullptr;
    uint32_t generation = 0;
  };

  void push(MonotonicTime time, Kind kind, uint32_t slot, uint32_t generation);

  MonotonicTime now_;
  uint64_t sequence_ = 0;
  uint64_t events_ = 0;
  int at_this_moment_ = 0;
  const Lane* last_lane_ = nullptr;
  std::vector<Event> heap_;
  std::vector<Work> timers_;
  std::vector<uint32_t> free_timers_;
  std::vector<Slot> slots_;
};

class Schedule::Lane final : public quorum::Executor {
 public:
  ~Lane() override;

  void post(std::function<void()> work) override;
  void attach(quorum::Loop* loop, const SkewedClock* clock);
  // Nothing runs before `time`: a stopped process, or a disk that hangs.
  void hold_until(MonotonicTime time) { held_until_ = std::max(held_until_, time); }
  void release() { held_until_ = {}; }
  void set_delays(Delays delays) { delays_ = delays; }
  // Pieces of work done so far.
  uint64_t done() const { return done_; }

 private:
  friend class Schedule;
  Lane(Schedule& schedule, Delays delays, Prng& random, uint32_t slot) : schedule_(schedule), random_(random), delays_(delays), slot_(slot) {}
  void run_next();
  void plan_wake();

  Schedule& schedule_;
  Prng& random_;
  Delays delays_;
  const uint32_t slot_;
  quorum::Loop* loop_ = nullptr;
  const SkewedClock* clock_ = nullptr;
  MonotonicTime last_due_;
  MonotonicTime held_until_;
  MonotonicTime wake_at_ = MonotonicTime::never();
  uint32_t wake_generation_ = 0;
  uint64_t done_ = 0;
  std::deque<Work> work_;
};

}  // namespace castellan::sim
