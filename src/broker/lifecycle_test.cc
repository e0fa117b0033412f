// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/lifecycle.h"

#include <gtest/gtest.h>

#include "broker/partitions.h"
#include "broker/test_broker.h"

namespace castellan::broker {
namespace {

int count(const TestBroker& test, int16_t api_key) {
  return static_cast<int>(std::ranges::count(test.controller.requests, api_key, &ControllerRequest::api_key));
}

const int16_t registration = wire::BrokerRegistrationRequest::info().key;
const int16_t heartbeat = wire::BrokerHeartbeatRequest::info().key;

template <class Response>
Result<Bytes> encoded(const Response& response, const ControllerRequest& request) {
  return wire::encode_to_bytes(response, request.api_version);
}

TEST(Lifecycle, a_refused_registration_is_tried_again_until_its_time_is_over) {
  TestBroker test(config::ConfigMap{{"initial.broker.registration.timeout.ms", "5000"}});
  test.controller.on_call = [&](const ControllerRequest& request) {
    return encoded(wire::BrokerRegistrationResponse{.error_code = static_cast<int16_t>(ErrorCode::DUPLICATE_BROKER_REGISTRATION)}, request);
  };
  TestBroker::must(test.broker->open_directories());
  test.broker->start([] {}, [&](std::string reason) { test.failure = reason; });
  test.loop.run();
  for (int i = 0; i < 30; ++i) test.pass(std::chrono::milliseconds(200));
  EXPECT_GT(count(test, registration), 4);
  EXPECT_NE(test.failure.find("DUPLICATE_BROKER_REGISTRATION"), std::string::npos);
  EXPECT_EQ(count(test, heartbeat), 0);
}

TEST(Lifecycle, says_what_is_missing_until_it_is_unfenced) {
  TestBroker test;
  EXPECT_EQ(test.broker->not_ready_because(), "the broker has not started yet");
  bool refuses = true;
  const auto good = test.controller.on_call;
  test.controller.on_call = [&](const ControllerRequest& request) -> Result<Bytes> {
    if (!refuses) return good(request);
    return encoded(wire::BrokerRegistrationResponse{.error_code = static_cast<int16_t>(ErrorCode::DUPLICATE_BROKER_REGISTRATION)}, request);
  };
  TestBroker::must(test.broker->open_directories());
  test.broker->start([] {}, [](std::string) {});
  test.loop.run();
  EXPECT_EQ(test.broker->not_ready_because(), "the broker is not registered with the controller: DUPLICATE_BROKER_REGISTRATION");
  refuses = false;
  test.pass(std::chrono::seconds(1));
  EXPECT_NE(test.broker->not_ready_because().find("which does not have its registration"), std::string::npos);
  test.start_after_registration();
  EXPECT_EQ(test.broker->not_ready_because(), "");
  test.broker->begin_shutdown([] {});
  test.loop.run();
  EXPECT_EQ(test.broker->not_ready_because(), "the broker has stopped");
}

TEST(Lifecycle, registers_its_directories_features_and_a_clean_stop_before) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  {
    TestBroker test({}, disk);
    test.start();
    test.broker->begin_shutdown([] {});
    test.loop.run();
  }
  TestBroker test({}, disk);
  test.start();
  auto request = wire::decode_exactly<wire::BrokerRegistrationRequest>(4, test.controller.requests.front().body);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->log_dirs, std::vector<Uuid>{test_directory});
  EXPECT_EQ(request->previous_broker_epoch, 10);
  EXPECT_EQ(std::ranges::count(request->features, "metadata.version", &wire::BrokerRegistrationRequest::Feature::name), 1);
}

TEST(Lifecycle, a_stop_that_was_not_clean_tells_no_epoch) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  {
    TestBroker test({}, disk);
    test.start();
  }
  TestBroker test({}, disk);
  test.start();
  EXPECT_EQ(wire::decode_exactly<wire::BrokerRegistrationRequest>(4, test.controller.requests.front().body)->previous_broker_epoch, -1);
}

TEST(Lifecycle, a_controller_that_does_not_know_the_epoch_gets_a_new_registration) {
  TestBroker test;
  test.start();
  ASSERT_TRUE(test.ready);
  const auto usual = test.controller.on_call;
  test.controller.on_call = [&](const ControllerRequest& request) -> Result<Bytes> {
    if (request.api_key != heartbeat) return usual(request);
    test.controller.on_call = usual;
    return encoded(wire::BrokerHeartbeatResponse{.error_code = static_cast<int16_t>(ErrorCode::STALE_BROKER_EPOCH)}, request);
  };
  test.pass(std::chrono::seconds(2));
  EXPECT_EQ(count(test, registration), 2);
}

TEST(Lifecycle, heartbeats_come_at_their_interval_and_no_more_often) {
  TestBroker test;
  test.start();
  const int before = count(test, heartbeat);
  for (int i = 0; i < 20; ++i) test.pass(std::chrono::milliseconds(500));
  EXPECT_EQ(count(test, heartbeat) - before, 5);
}

TEST(Lifecycle, a_broker_that_leaves_serves_until_the_controller_lets_it_go) {
  TestBroker test;
  test.start();
  const auto usual = test.controller.on_call;
  test.controller.on_call = [&](const ControllerRequest& request) -> Result<Bytes> {
    return request.api_key == heartbeat ? encoded(wire::BrokerHeartbeatResponse{.is_caught_up = true, .is_fenced = false}, request) : usual(request);
  };
  bool done = false;
  test.broker->begin_shutdown([&] { done = true; });
  test.loop.run();
  EXPECT_FALSE(done);
  test.controller.on_call = usual;
  test.pass(std::chrono::milliseconds(50));
  EXPECT_TRUE(done);
  EXPECT_TRUE(test.files->exists("/data/.kafka_cleanshutdown"));
}

TEST(Lifecycle, a_broker_whose_controller_is_silent_leaves_all_the_same) {
  TestBroker test;
  test.start();
  test.controller.on_call = [](const ControllerRequest&) -> Result<Bytes> { return fail(ErrorCode::NETWORK_EXCEPTION, "gone"); };
  bool done = false;
  test.broker->begin_shutdown([&] { done = true; });
  for (int i = 0; i < 100 && !done; ++i) test.pass(std::chrono::milliseconds(100));
  EXPECT_TRUE(done);
}

TEST(Lifecycle, a_directory_that_fails_is_told_to_the_controller_at_once) {
  TestBroker test(config::ConfigMap{{"log.dirs", "/data,/other"}});
  TestBroker::must(log::write_meta_properties(*test.files, "/other", {.version = 1, .cluster_id = "cluster", .node_id = 1, .directory_id = Uuid{9, 0x8000000000000009}}, test.clock.wall()));
  test.start();
  const int before = count(test, heartbeat);
  auto* other = test.broker->partitions().directories().by_path("/other");
  test.broker->partitions().fail_directory(*other, "it burns");
  test.loop.run();
  ASSERT_EQ(count(test, heartbeat), before + 1);
  auto beat = wire::decode_exactly<wire::BrokerHeartbeatRequest>(test.controller.requests.back().api_version, test.controller.requests.back().body);
  EXPECT_EQ(beat->offline_log_dirs, (std::vector<Uuid>{Uuid{9, 0x8000000000000009}}));
  EXPECT_EQ(test.failure, "");
}

}  // namespace
}  // namespace castellan::broker
