// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/reactor_executor.h"

#include <gtest/gtest.h>

#include <thread>

#include "io/posix/posix_file_system.h"

namespace castellan::node {
namespace {

// Wants to be woken once, at a time that work sets; what happened is kept in order.
class OneAlarm final : public quorum::Loop {
 public:
  MonotonicTime next_deadline() const override { return due; }
  void wake() override {
    happened.push_back("woken");
    due = MonotonicTime::never();
    if (on_wake) on_wake();
  }

  MonotonicTime due = MonotonicTime::never();
  std::vector<std::string> happened;
  std::function<void()> on_wake;
};

struct ReactorExecutorTest : testing::Test {
  ReactorExecutorTest() { executor.drive(&loop); }
  void run() {
    std::thread thread([this] { reactor.run(); });
    thread.join();
  }

  std::unique_ptr<io::Clock> clock = io::make_system_clock();
  net::Reactor reactor;
  ReactorExecutor executor{reactor, *clock};
  OneAlarm loop;
};

TEST_F(ReactorExecutorTest, work_runs_in_the_order_of_the_posts_and_never_inside_one) {
  executor.post([&] {
    executor.post([&] {
      loop.happened.push_back("third");
      reactor.stop();
    });
    loop.happened.push_back("first");
  });
  executor.post([&] { loop.happened.push_back("second"); });
  run();
  EXPECT_EQ(loop.happened, (std::vector<std::string>{"first", "second", "third"}));
}

TEST_F(ReactorExecutorTest, the_loop_is_woken_at_the_deadline_that_work_set) {
  loop.on_wake = [&] { reactor.stop(); };
  executor.post([&] {
    loop.due = clock->monotonic() + std::chrono::milliseconds(5);
    loop.happened.push_back("set");
  });
  run();
  EXPECT_EQ(loop.happened, (std::vector<std::string>{"set", "woken"}));
}

TEST_F(ReactorExecutorTest, a_deadline_that_has_passed_does_not_wait_behind_more_work) {
  executor.post([&] { loop.due = MonotonicTime{1}; });
  executor.post([&] {
    loop.happened.push_back("later work");
    reactor.stop();
  });
  run();
  EXPECT_EQ(loop.happened, (std::vector<std::string>{"woken", "later work"}));
}

}  // namespace
}  // namespace castellan::node
