// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/table.h"

#include <gtest/gtest.h>

#include <set>

#include "config/synonyms.h"

namespace castellan::config {
namespace {

constexpr Scope scopes[] = {Scope::broker, Scope::topic, Scope::group, Scope::client_metrics};

std::string outcome(Scope scope, std::string_view name, std::string_view text) {
  const Key* key = find_key(scope, name);
  if (!key) return "no such key";
  auto value = parse_value(*key, text);
  return value ? value_text(*value).value_or("null") : value.error().message;
}
std::string broker(std::string_view name, std::string_view text) { return outcome(Scope::broker, name, text); }
std::string topic(std::string_view name, std::string_view text) { return outcome(Scope::topic, name, text); }

TEST(Table, every_key_stands_once_and_says_what_it_is_for) {
  for (Scope scope : scopes) {
    std::set<std::string_view> names;
    for (const Key& key : keys_of(scope)) {
      EXPECT_TRUE(names.insert(key.name).second) << key.name;
      EXPECT_GT(key.documentation.size(), 10u) << key.name;
      EXPECT_TRUE(key.documentation.ends_with('.')) << key.name;
      EXPECT_EQ(find_key(scope, key.name), &key);
    }
  }
  EXPECT_EQ(find_key(Scope::broker, "no.such"), nullptr);
}

TEST(Table, every_default_satisfies_its_own_limit) {
  for (Scope scope : scopes) {
    for (const Key& key : keys_of(scope)) {
      if (!key.default_text) continue;
      auto value = parse_value(key, key.default_text);
      ASSERT_TRUE(value.has_value()) << value.error().message;
      EXPECT_EQ(*value, default_value(key)) << key.name;
      EXPECT_EQ(value_text(*value), key.default_text) << key.name;
    }
  }
}

TEST(Table, as_many_keys_are_described_as_apache_kafka_describes) {
  auto described = [](Scope scope) {
    auto keys = keys_of(scope);
    return std::count_if(keys.begin(), keys.end(), [](const Key& key) { return !key.internal; });
  };
  EXPECT_EQ(described(Scope::broker), 350);
  EXPECT_EQ(described(Scope::topic), 37);
  EXPECT_EQ(described(Scope::group), 21);
  EXPECT_EQ(described(Scope::client_metrics), 3);
}

TEST(Table, synonyms_name_keys_that_exist) {
  for (const Key& key : keys_of(Scope::topic)) {
    if (auto behind = broker_key_of_topic_key(key.name)) {
      EXPECT_NE(find_key(Scope::broker, *behind), nullptr) << *behind;
    }
  }
  for (const Key& key : keys_of(Scope::group)) {
    if (auto behind = broker_key_of_group_key(key.name)) {
      EXPECT_NE(find_key(Scope::broker, *behind), nullptr) << *behind;
    }
  }
  EXPECT_EQ(broker_synonyms("log.retention.hours").front(), "log.retention.ms");
  EXPECT_EQ(broker_synonyms("listener.name.internal.max.connections"), (std::vector<std::string_view>{"listener.name.internal.max.connections", "max.connections"}));
  EXPECT_EQ(broker_synonyms("node.id"), std::vector<std::string_view>{"node.id"});
}

TEST(Table, numbers_are_read_as_java_reads_them) {
  EXPECT_EQ(broker("num.io.threads", " 7 "), "7");
  EXPECT_EQ(broker("num.io.threads", "+5"), "5");
  EXPECT_EQ(broker("num.io.threads", "0x10"), "Invalid value 0x10 for configuration num.io.threads: Not a number of type INT");
  EXPECT_EQ(broker("num.io.threads", "99999999999"), "Invalid value 99999999999 for configuration num.io.threads: Not a number of type INT");
  EXPECT_EQ(broker("num.io.threads", ""), "Invalid value  for configuration num.io.threads: Not a number of type INT");
  EXPECT_EQ(broker("log.retention.bytes", "9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(broker("offsets.topic.replication.factor", "32768"), "Invalid value 32768 for configuration offsets.topic.replication.factor: Not a number of type SHORT");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "1e-1"), "0.1");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "1"), "1.0");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "half"), "Invalid value half for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE");
  EXPECT_EQ(broker("log.cleaner.io.max.bytes.per.second", "123456789"), "1.23456789E8");
}

TEST(Table, ranges_name_the_bound) {
  EXPECT_EQ(broker("num.io.threads", "0"), "Invalid value 0 for configuration num.io.threads: Value must be at least 1");
  EXPECT_EQ(broker("compression.lz4.level", "18"), "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17");
  EXPECT_EQ(topic("compression.gzip.level", "0"), "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "1.5"), "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1");
}

TEST(Table, booleans_are_true_or_false_in_any_case) {
  EXPECT_EQ(topic("preallocate", "TRUE"), "true");
  EXPECT_EQ(topic("preallocate", "1"), "Invalid value 1 for configuration preallocate: Expected value to be either true or false");
}

TEST(Table, words_have_to_be_among_those_listed) {
  EXPECT_EQ(topic("compression.type", "rar"),
            "Invalid value rar for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer");
  EXPECT_EQ(broker("group.consumer.migration.policy", "Upgrade"), "Upgrade");
  EXPECT_NE(broker("group.consumer.migration.policy", "x").find("case insensitive"), std::string::npos);
  EXPECT_EQ(topic("cleanup.policy", "burn"), "Invalid value burn for configuration cleanup.policy: String must be one of: compact, delete");
}

TEST(Table, lists_drop_repetitions_and_refuse_empty_items) {
  EXPECT_EQ(topic("cleanup.policy", "delete, compact ,delete"), "delete,compact");
  EXPECT_EQ(topic("cleanup.policy", ""), "");
  EXPECT_EQ(topic("cleanup.policy", "delete,,compact"), "Configuration 'cleanup.policy' values must not be empty.");
  EXPECT_EQ(broker("listeners", ""), "Configuration 'listeners' must not be empty. Valid values include: any non-empty value");
  EXPECT_EQ(parse_value(*find_key(Scope::broker, "listeners"), std::nullopt).error().message, "Configuration 'listeners' values must not be null.");
  EXPECT_EQ(split_list(" a ,b,"), (std::vector<std::string>{"a", "b", ""}));
}

TEST(Table, forms_with_a_grammar_of_their_own) {
  EXPECT_EQ(topic("leader.replication.throttled.replicas", "0:1,2:3"), "0:1,2:3");
  EXPECT_EQ(topic("leader.replication.throttled.replicas", "*"), "*");
  EXPECT_NE(topic("leader.replication.throttled.replicas", "0:a").find("must be the literal '*'"), std::string::npos);
  EXPECT_EQ(outcome(Scope::group, "share.auto.offset.reset", "by_duration:P1DT2H3.5S"), "by_duration:P1DT2H3.5S");
  for (std::string_view bad : {"by_duration:", "by_duration:P", "by_duration:PT", "by_duration:P1S", "by_duration:-PT1S", "by_duration:PT1S2H", "none"}) {
    EXPECT_NE(outcome(Scope::group, "share.auto.offset.reset", bad).find("The value must be either"), std::string::npos) << bad;
  }
  EXPECT_NE(broker("controller.quorum.voters", "1@h").find("{id}@{host}:{port}"), std::string::npos);
  EXPECT_NE(broker("controller.quorum.voters", "x@h:1").find("voter ID"), std::string::npos);
  EXPECT_EQ(broker("controller.quorum.voters", "1@[::1]:9093"), "1@[::1]:9093");
  EXPECT_NE(broker("controller.quorum.bootstrap.servers", "h").find("{host}:{port}"), std::string::npos);
  EXPECT_NE(broker("remote.log.storage.manager.impl.prefix", "").find("non-empty"), std::string::npos);
}

TEST(Table, limits_can_be_shown) {
  EXPECT_EQ(limit_text(*find_key(Scope::broker, "num.io.threads")), "[1,...]");
  EXPECT_EQ(limit_text(*find_key(Scope::broker, "compression.lz4.level")), "[1,...,17]");
  EXPECT_EQ(limit_text(*find_key(Scope::topic, "cleanup.policy")), "[compact, delete]");
}

}  // namespace
}  // namespace castellan::config
