// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/mutation_quota.h"

#include <gtest/gtest.h>

namespace castellan::controller {
namespace {

using std::chrono::seconds;

class MutationQuotaTest : public ::testing::Test {
 protected:
  void set(std::optional<std::optional<std::string>> user, std::optional<std::optional<std::string>> client, double rate) {
    image::QuotaEntity entity;
    if (user) entity.emplace("user", *user);
    if (client) entity.emplace("client-id", *client);
    image.client_quotas.set(entity, image::Quotas{{"controller_mutation_rate", rate}});
  }
  MutationQuota open(std::string_view principal, std::string_view client, bool strict = true) { return quotas.open(image, principal, client, strict, now); }
  // How many partitions can be charged one by one.
  int room(std::string_view principal, std::string_view client) {
    auto quota = open(principal, client);
    int charged = 0;
    while (charged < 10'000 && quota.charge(1)) ++charged;
    return charged;
  }

  image::Image image;
  MutationQuotas quotas{10, 1};
  MonotonicTime now{1'000'000'000'000};
};

TEST_F(MutationQuotaTest, without_a_quota_nothing_is_limited) {
  EXPECT_EQ(room("User:alice", "app"), 10'000);
  set(std::nullopt, "other", 1);
  EXPECT_EQ(room("User:alice", "app"), 10'000);
}

TEST_F(MutationQuotaTest, a_strict_request_is_refused_once_the_credit_is_overdrawn_and_told_how_long) {
  set("alice", std::nullopt, 2);  // 20 at once
  auto quota = open("User:alice", "app");
  EXPECT_TRUE(quota.charge(30)) << "the credit may be overdrawn once";
  EXPECT_EQ(quota.throttle_ms(), 0);
  const auto refused = quota.charge(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  EXPECT_EQ(quota.throttle_ms(), 5000);
  now = now + seconds(4);
  EXPECT_FALSE(open("User:alice", "app").charge(1));
  now = now + seconds(1);
  EXPECT_TRUE(open("User:alice", "app").charge(1));
}

TEST_F(MutationQuotaTest, an_older_request_is_served_and_told_to_wait) {
  set("alice", std::nullopt, 2);
  auto quota = open("User:alice", "app", false);
  EXPECT_TRUE(quota.charge(30));
  EXPECT_TRUE(quota.charge(10));
  EXPECT_EQ(quota.throttle_ms(), 10'000);
}

TEST_F(MutationQuotaTest, the_most_specific_limit_holds) {
  set(std::nullopt, std::optional<std::string>{}, 1);
  EXPECT_EQ(room("User:a", "x"), 11);
  set(std::nullopt, "x", 2);
  EXPECT_EQ(room("User:b", "x"), 0) << "another user, the same client id: the same bucket";
  EXPECT_EQ(room("User:b", "y"), 11);
  set(std::optional<std::string>{}, std::nullopt, 3);
  EXPECT_EQ(room("User:c", "x"), 31);
  set("d", std::nullopt, 4);
  EXPECT_EQ(room("User:d", "x"), 41);
  set("d", std::optional<std::string>{}, 5);
  EXPECT_EQ(room("User:d", "y"), 51);
  set("d", "z", 6);
  EXPECT_EQ(room("User:d", "z"), 61);
}

TEST_F(MutationQuotaTest, users_under_a_default_have_a_bucket_each) {
  set(std::optional<std::string>{}, std::nullopt, 1);
  EXPECT_EQ(room("User:a", "x"), 11);
  EXPECT_EQ(room("User:a", "y"), 0);
  EXPECT_EQ(room("User:b", "x"), 11);
}

}  // namespace
}  // namespace castellan::controller
