// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/schedule.h"

#include <algorithm>

namespace castellan::sim {

void Schedule::push(MonotonicTime time, Kind kind, uint32_t slot, uint32_t generation) {
  heap_.push_back({std::max(time, now_).nanoseconds, ++sequence_, slot, generation, kind});
  std::push_heap(heap_.begin(), heap_.end());
}

void Schedule::after(Duration delay, Work work) {
  uint32_t slot = static_cast<uint32_t>(timers_.size());
  if (free_timers_.empty()) {
    timers_.push_back(std::move(work));
  } else {
    slot = free_timers_.back();
    free_timers_.pop_back();
    timers_[slot] = std::move(work);
  }
  push(now_ + delay, Kind::timer, slot, 0);
}

std::unique_ptr<Schedule::Lane> Schedule::lane(Delays delays, Prng& random) {
  const auto slot = static_cast<uint32_t>(slots_.size());
  std::unique_ptr<Lane> lane(new Lane(*this, delays, random, slot));
  slots_.push_back({lane.get(), 0});
  return lane;
}

bool Schedule::run_one(MonotonicTime until) {
  for (;;) {
    if (heap_.empty() || heap_.front().time > until.nanoseconds) {
      if (until != MonotonicTime::never()) now_ = std::max(now_, until);
      return false;
    }
    const Event event = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    Lane* lane = nullptr;
    if (event.kind != Kind::timer) {
      lane = slots_[event.slot].lane;
      if (!lane || (event.kind == Kind::wake && event.generation != lane->wake_generation_)) continue;
      if (lane->held_until_.nanoseconds > event.time) {
        push(lane->held_until_, event.kind, event.slot, event.generation);
        continue;
      }
    }
    at_this_moment_ = event.time > now_.nanoseconds ? 0 : at_this_moment_ + 1;
    now_ = {std::max(event.time, now_.nanoseconds)};
    ++events_;
    last_lane_ = lane;
    if (event.kind == Kind::timer) {
      const Work work = std::move(timers_[event.slot]);
      timers_[event.slot] = nullptr;
      free_timers_.push_back(event.slot);
      work();
    } else if (event.kind == Kind::work) {
      lane->run_next();
    } else {
      lane->wake_at_ = MonotonicTime::never();
      ++lane->wake_generation_;
      lane->loop_->wake();
      lane->plan_wake();
    }
    return true;
  }
}

Schedule::Lane::~Lane() { schedule_.slots_[slot_].lane = nullptr; }

void Schedule::Lane::post(std::function<void()> work) {
  const auto range = (delays_.last - delays_.first).count();
  const auto delay = delays_.first + Duration(range > 0 ? static_cast<int64_t>(random_.below(static_cast<uint64_t>(range))) : 0);
  last_due_ = std::max(last_due_, schedule_.now_ + delay);
  work_.push_back(std::move(work));
  schedule_.push(last_due_, Kind::work, slot_, 0);
}

void Schedule::Lane::attach(quorum::Loop* loop, const SkewedClock* clock) {
  loop_ = loop;
  clock_ = clock;
  plan_wake();
}

void Schedule::Lane::run_next() {
  const Work work = std::move(work_.front());
  work_.pop_front();
  ++done_;
  work();
  plan_wake();
}

// Only work on the lane changes when its loop wants to be woken.
void Schedule::Lane::plan_wake() {
  if (!loop_) return;
  const MonotonicTime next = clock_->world_time(loop_->next_deadline());
  if (next == wake_at_) return;
  wake_at_ = next;
  ++wake_generation_;
  if (next != MonotonicTime::never()) schedule_.push(next, Kind::wake, slot_, wake_generation_);
}

}  // namespace castellan::sim
