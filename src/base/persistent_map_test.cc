// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/persistent_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/prng.h"

namespace castellan {
namespace {

using Map = PersistentMap<int, std::string>;
using Model = std::map<int, std::string>;

Model contents(const Map& map) {
  Model model;
  int last = INT32_MIN;
  for (const auto& [key, value] : map) {
    EXPECT_LT(last, key);
    last = key;
    model.emplace(key, value);
  }
  EXPECT_EQ(model.size(), map.size());
  return model;
}

struct Change {
  std::string before, after;
  friend bool operator==(const Change&, const Change&) = default;
};

std::map<int, Change> changes(const Map& before, const Map& after) {
  std::map<int, Change> all;
  diff(before, after, [&](int key, const std::string* a, const std::string* b) {
    all.emplace(key, Change{a == nullptr ? "none" : *a, b == nullptr ? "none" : *b});
  });
  return all;
}

std::map<int, Change> changes(const Model& before, const Model& after) {
  std::map<int, Change> all;
  for (const auto& [key, value] : before) {
    const auto there = after.find(key);
    if (there == after.end()) all.emplace(key, Change{value, "none"});
    else if (there->second != value) all.emplace(key, Change{value, there->second});
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) all.emplace(key, Change{"none", value});
  }
  return all;
}

TEST(PersistentMap, BehavesAsStdMapAndOldVersionsStayAsTheyWere) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    const int keys = seed % 3 == 0 ? 40 : 6000;
    Map map;
    Model model;
    std::vector<std::pair<Map, Model>> versions;
    for (int step = 0; step < 12000; ++step) {
      const int key = static_cast<int>(random.below(static_cast<uint64_t>(keys)));
      const bool shrinking = step / 3000 % 2 == 1;
      if (random.chance(shrinking ? 0.75 : 0.25)) {
        EXPECT_EQ(map.erase(key), model.erase(key) == 1);
      } else if (random.chance(0.2)) {
        std::string* value = map.mutate(key);
        EXPECT_EQ(value != nullptr, model.contains(key));
        if (value != nullptr) model[key] = *value = "changed " + std::to_string(step);
      } else {
        EXPECT_EQ(map.set(key, std::to_string(step)), model.insert_or_assign(key, std::to_string(step)).second);
      }
      if (step % 1500 == 0) versions.emplace_back(map, model);
      const int asked = static_cast<int>(random.below(static_cast<uint64_t>(keys)));
      const std::string* found = map.find(asked);
      ASSERT_EQ(found != nullptr, model.contains(asked));
      if (found != nullptr) {
        EXPECT_EQ(*found, model[asked]);
      }
      const auto bound = model.lower_bound(asked);
      const auto at = map.lower_bound(asked);
      ASSERT_EQ(at == map.end(), bound == model.end());
      if (bound != model.end()) {
        EXPECT_EQ(at->key, bound->first);
      }
    }
    EXPECT_EQ(contents(map), model);
    for (const auto& [version, expected] : versions) {
      EXPECT_EQ(contents(version), expected);
      EXPECT_EQ(changes(version, map), changes(expected, model));
      EXPECT_EQ(changes(map, version), changes(model, expected));
      EXPECT_EQ(version == map, expected == model);
    }
  }
}

TEST(PersistentMap, DifferenceOfEqualMapsThatShareNothingIsEmpty) {
  Map up, down;
  for (int i = 0; i < 3000; ++i) up.set(i, std::to_string(i));
  for (int i = 2999; i >= 0; --i) down.set(i, std::to_string(i));
  EXPECT_TRUE(changes(up, down).empty());
  EXPECT_EQ(up, down);
  EXPECT_FALSE(up.same_version(down));
}

struct Counted {
  int value = 0;
  static inline int comparisons = 0;
  friend bool operator==(const Counted& a, const Counted& b) {
    ++comparisons;
    return a.value == b.value;
  }
};

TEST(PersistentMap, DifferenceLooksOnlyAtWhatIsNotShared) {
  PersistentMap<int, Counted> before;
  for (int i = 0; i < 200000; ++i) before.set(i, {i});
  auto after = before;
  after.set(100000, {-1});
  after.erase(5);
  after.set(200001, {1});
  int changed = 0;
  Counted::comparisons = 0;
  diff(before, after, [&](int, const Counted*, const Counted*) { ++changed; });
  EXPECT_EQ(changed, 3);
  EXPECT_LT(Counted::comparisons, 3 * 64 + 1);
}

TEST(PersistentMap, ASoleOwnerChangesInPlace) {
  Map map;
  for (int i = 0; i < 1000; ++i) map.set(i, "x");
  const std::string* before = map.find(500);
  *map.mutate(500) = "y";
  EXPECT_EQ(map.find(500), before);
  const Map copy = map;
  *map.mutate(500) = "z";
  EXPECT_NE(map.find(500), before);
  EXPECT_EQ(*copy.find(500), "y");
}

TEST(PersistentMap, SetsAndTextKeysWork) {
  PersistentSet<std::string> names;
  for (int i = 0; i < 500; ++i) names.set("name-" + std::to_string(i), {});
  EXPECT_TRUE(names.contains("name-77"));
  EXPECT_FALSE(names.contains(std::string_view("name-")));
  EXPECT_EQ(names.lower_bound("name-9")->key, "name-9");
  EXPECT_TRUE(names.lower_bound("z") == names.end());
  names.clear();
  EXPECT_TRUE(names.begin() == names.end());
}

TEST(PersistentMap, AnEmptiedMapStartsAnew) {
  Map map;
  EXPECT_FALSE(map.erase(1));
  for (int i = 0; i < 5000; ++i) map.set(i, "x");
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(map.erase((i * 7919) % 5000));
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.begin() == map.end());
  map.set(3, "three");
  EXPECT_EQ(*map.find(3), "three");
}

}  // namespace
}  // namespace castellan
