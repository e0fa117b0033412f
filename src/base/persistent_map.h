// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// An ordered map whose copies are free: a B+tree with shared nodes. A copy shares everything; a change copies the path
// from the root to one leaf, and not even that where this map is the only owner of the path, so building is in place.
//
//   PersistentMap<int, std::string> before;
//   before.set(3, "three");
//   auto after = before;               // one pointer
//   after.set(4, "four");              // before does not see it
//   diff(before, after, [](int key, const std::string* old_value, const std::string* new_value) { ... });
//
// Why our own: Debian has no persistent ordered map, and the metadata image needs snapshots, order, ranges and a
// difference that skips what two versions share.
//
// Threads: different maps may be used by different threads even where they share nodes (counts are atomic, shared
// nodes never change). One map is for one thread at a time. Iterators and pointers to values are good until the map
// that gave them is changed or destroyed. Time: find, set and erase O(log n); diff O(changes x log n).

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"

namespace castellan {

template <class K, class V, class Compare = std::less<>>
class PersistentMap {
  struct Node;
  struct Leaf;
  struct Inner;

 public:
  struct Entry {
    K key;
    [[no_unique_address]] V value;
  };
  class Iterator;

  PersistentMap() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // True where both are the same version; false says nothing.
  bool same_version(const PersistentMap& other) const { return root_ == other.root_; }

  template <class Q>
  const V* find(const Q& key) const;
  template <class Q>
  bool contains(const Q& key) const { return find(key) != nullptr; }

  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }
  // The first entry whose key is not less than `key`.
  template <class Q>
  Iterator lower_bound(const Q& key) const;

  // The value to change in place, or null. The caller must not keep the pointer over another change.
  template <class Q>
  V* mutate(const Q& key);
  // The value under `key`, made with V{} when it was absent.
  V& operator[](const K& key) { return *insert(key).first; }
  // True when the key is new.
  bool set(const K& key, V value) {
    auto [slot, inserted] = insert(key);
    *slot = std::move(value);
    return inserted;
  }
  template <class Q>
  bool erase(const Q& key);
  void clear() { *this = PersistentMap(); }

  // Calls change(key, const V* in_old, const V* in_new) in key order for every key that is in one only, or whose values
  // are not equal. Subtrees that both share are skipped.
  template <class Change>
  friend void diff(const PersistentMap& old_map, const PersistentMap& new_map, Change&& change) {
    PersistentMap::diff_while(old_map, new_map, [&](const K& key, const V* a, const V* b) { change(key, a, b); return true; });
  }
  friend bool operator==(const PersistentMap& a, const PersistentMap& b) {
    if (a.size_ != b.size_) return false;
    bool equal = true;
    diff_while(a, b, [&](const K&, const V*, const V*) { return equal = false; });
    return equal;
  }

 private:
  static constexpr size_t leaf_max = sizeof(Entry) > 96 ? 16 : sizeof(Entry) > 48 ? 32 : 64;
  static constexpr size_t inner_max = 32;
  static constexpr size_t depth_max = 12;

  class Pointer {  // counts owners inside the node: half the size of a shared_ptr
   public:
    Pointer() = default;
    explicit Pointer(Node* node) : node_(node) {}  // takes over the count that a new node has
    Pointer(const Pointer& other) : node_(other.node_) {
      if (node_ != nullptr) node_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    Pointer(Pointer&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Pointer& operator=(Pointer other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Pointer() {
      if (node_ == nullptr || node_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      if (node_->is_leaf) delete static_cast<Leaf*>(node_);
      else delete static_cast<Inner*>(node_);
    }
    Node* get() const { return node_; }
    bool sole_owner() const { return node_->owners.load(std::memory_order_acquire) == 1; }
    friend bool operator==(const Pointer&, const Pointer&) = default;

   private:
    Node* node_ = nullptr;
  };

  struct Node {
    explicit Node(bool leaf) : is_leaf(leaf) {}
    std::atomic<uint32_t> owners{1};
    const bool is_leaf;
  };
  struct Leaf : Node {
    Leaf() : Node(true) {}
    Leaf(const Leaf& other) : Node(true), entries(other.entries) {}
    std::vector<Entry> entries;  // sorted, 1 to leaf_max
  };
  struct Inner : Node {
    Inner() : Node(false) {}
    Inner(const Inner& other) : Node(false), lowest(other.lowest), children(other.children) {}
    // Invariant: every key under children[i] is >= lowest[i] for i > 0, and < lowest[i + 1]; lowest[0] is not looked at.
    std::vector<K> lowest;
    std::vector<Pointer> children;  // 2 to inner_max (the root may be down to 1 for a moment)
  };

  static Leaf* leaf(const Pointer& node) { return static_cast<Leaf*>(node.get()); }
  static Inner* inner(const Pointer& node) { return static_cast<Inner*>(node.get()); }

  template <class Q>
  static size_t child_of(const Inner& node, const Q& key) {
    size_t low = 0, high = node.children.size();  // the last child whose lowest is not above key
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      if (Compare{}(key, node.lowest[middle])) high = middle;
      else low = middle;
    }
    return low;
  }
  template <class Q>
  static size_t position_in(const Leaf& node, const Q& key) {
    size_t low = 0, high = node.entries.size();
    if (high > 0 && Compare{}(node.entries[high - 1].key, key)) return high;  // loading comes in order
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (Compare{}(node.entries[middle].key, key)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  // Where a key is, or would be put: the children on the way down, and the place in the leaf. The map is not empty.
  struct Place {
    size_t children[depth_max];
    size_t depth = 0;
    const Leaf* node = nullptr;
    size_t position = 0;
    bool found = false;
  };
  template <class Q>
  Place locate(const Q& key) const;
  // The leaf at that place, this map's own with all that leads to it.
  Leaf& own_path(const Place& place);

  // Makes the node behind `node` this path's own.
  static void own(Pointer& node) {
    if (node.sole_owner()) return;
    node = Pointer(node.get()->is_leaf ? static_cast<Node*>(new Leaf(*leaf(node))) : static_cast<Node*>(new Inner(*inner(node))));
  }

  std::pair<V*, bool> insert(const K& key);
  template <class Q>
  bool erase_under(Pointer& node, const Q& key);
  static void merge_small_child(Inner& parent, size_t index);
  template <class Change>
  static void diff_while(const PersistentMap& a, const PersistentMap& b, Change&& change);

  Pointer root_;
  size_t size_ = 0;
};

// A path of (node, index) from the root to an entry. At the end the path is empty.
template <class K, class V, class Compare>
class PersistentMap<K, V, Compare>::Iterator {
 public:
  using value_type = Entry;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  const Entry& operator*() const { return entries()[path_[depth_ - 1].index]; }
  const Entry* operator->() const { return &**this; }
  Iterator& operator++() {
    skip(depth_ - 1);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.depth_ == 0; }

 private:
  friend class PersistentMap;
  struct Step {
    const Node* node;
    size_t index;
  };

  const std::vector<Entry>& entries() const { return static_cast<const Leaf*>(path_[depth_ - 1].node)->entries; }
  static size_t width(const Node* node) {
    return node->is_leaf ? static_cast<const Leaf*>(node)->entries.size() : static_cast<const Inner*>(node)->children.size();
  }
  void push(const Node* node, size_t index) {
    CHECK(depth_ < depth_max);
    path_[depth_++] = {node, index};
  }
  void descend(const Node* node) {
    while (true) {
      push(node, 0);
      if (node->is_leaf) return;
      node = static_cast<const Inner*>(node)->children[0].get();
    }
  }
  // Goes to what follows the whole of path_[level]'s current child (or entry).
  void skip(size_t level) {
    depth_ = level + 1;
    while (depth_ > 0 && ++path_[depth_ - 1].index == width(path_[depth_ - 1].node)) --depth_;
    if (depth_ > 0 && !path_[depth_ - 1].node->is_leaf) {
      const Step& top = path_[depth_ - 1];
      descend(static_cast<const Inner*>(top.node)->children[top.index].get());
    }
  }
  void skip_node(size_t level) {  // what follows the whole node at `level`
    if (level == 0) depth_ = 0;
    else skip(level - 1);
  }
  // The lowest level whose whole node begins at the current entry.
  size_t first_level_begun() const {
    size_t level = depth_;
    while (level > 0 && path_[level - 1].index == 0) --level;
    return level;
  }

  Step path_[depth_max];
  size_t depth_ = 0;
};

template <class K, class V, class Compare>
auto PersistentMap<K, V, Compare>::begin() const -> Iterator {
  Iterator it;
  if (size_ > 0) it.descend(root_.get());
  return it;
}

template <class K, class V, class Compare>
template <class Q>
auto PersistentMap<K, V, Compare>::lower_bound(const Q& key) const -> Iterator {
  Iterator it;
  if (size_ == 0) return it;
  const Node* node = root_.get();
  while (!node->is_leaf) {
    const auto& at = static_cast<const Inner&>(*node);
    const size_t index = child_of(at, key);
    it.push(node, index);
    node = at.children[index].get();
  }
  const auto& last = static_cast<const Leaf&>(*node);
  const size_t index = position_in(last, key);
  if (index < last.entries.size()) {
    it.push(node, index);
  } else {
    it.push(node, index - 1);
    ++it;
  }
  return it;
}

template <class K, class V, class Compare>
template <class Q>
auto PersistentMap<K, V, Compare>::locate(const Q& key) const -> Place {
  Place place;
  const Node* node = root_.get();
  while (!node->is_leaf) {
    const auto& at = static_cast<const Inner&>(*node);
    const size_t index = child_of(at, key);
    CHECK(place.depth < depth_max);
    place.children[place.depth++] = index;
    node = at.children[index].get();
  }
  place.node = static_cast<const Leaf*>(node);
  place.position = position_in(*place.node, key);
  place.found = place.position < place.node->entries.size() && !Compare{}(key, place.node->entries[place.position].key);
  return place;
}

template <class K, class V, class Compare>
auto PersistentMap<K, V, Compare>::own_path(const Place& place) -> Leaf& {
  Pointer* node = &root_;
  own(*node);
  for (size_t i = 0; i < place.depth; ++i) {
    node = &inner(*node)->children[place.children[i]];
    own(*node);
  }
  return *leaf(*node);
}

template <class K, class V, class Compare>
template <class Q>
const V* PersistentMap<K, V, Compare>::find(const Q& key) const {
  if (size_ == 0) return nullptr;
  const Place place = locate(key);
  return place.found ? &place.node->entries[place.position].value : nullptr;
}

template <class K, class V, class Compare>
template <class Q>
V* PersistentMap<K, V, Compare>::mutate(const Q& key) {
  if (size_ == 0) return nullptr;
  const Place place = locate(key);
  return place.found ? &own_path(place).entries[place.position].value : nullptr;
}

// Full nodes are split on the way down, so that a parent always has room for one child more. A split at the end of a
// full node that grows at its end leaves the left part full: loading in order fills every node.
template <class K, class V, class Compare>
std::pair<V*, bool> PersistentMap<K, V, Compare>::insert(const K& key) {
  if (root_.get() == nullptr) root_ = Pointer(new Leaf());
  const auto split = [&](Pointer& full) -> std::pair<K, Pointer> {
    own(full);
    if (full.get()->is_leaf) {
      auto& left = leaf(full)->entries;
      auto right = new Leaf();
      const size_t cut = Compare{}(left.back().key, key) ? left.size() - 1 : left.size() / 2;
      right->entries.assign(std::make_move_iterator(left.begin() + static_cast<std::ptrdiff_t>(cut)), std::make_move_iterator(left.end()));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(cut), left.end());
      K first = right->entries.front().key;
      return {std::move(first), Pointer(right)};
    }
    Inner& left = *inner(full);
    auto right = new Inner();
    const auto cut = static_cast<std::ptrdiff_t>(Compare{}(left.lowest.back(), key) ? left.children.size() - 2 : left.children.size() / 2);
    right->lowest.assign(left.lowest.begin() + cut, left.lowest.end());
    right->children.assign(std::make_move_iterator(left.children.begin() + cut), std::make_move_iterator(left.children.end()));
    left.lowest.erase(left.lowest.begin() + cut, left.lowest.end());
    left.children.resize(static_cast<size_t>(cut));
    K first = right->lowest.front();
    return {std::move(first), Pointer(right)};
  };
  const auto full = [](const Pointer& node) {
    return node.get()->is_leaf ? leaf(node)->entries.size() == leaf_max : inner(node)->children.size() == inner_max;
  };
  // Only a full leaf that lacks the key needs the way down with splits.
  const Place place = locate(key);
  if (place.found || place.node->entries.size() < leaf_max) {
    auto& entries = own_path(place).entries;
    const auto at = entries.begin() + static_cast<std::ptrdiff_t>(place.position);
    if (place.found) return {&at->value, false};
    ++size_;
    return {&entries.insert(at, Entry{key, V{}})->value, true};
  }
  if (full(root_)) {
    auto [first, right] = split(root_);
    auto top = new Inner();
    top->lowest = {first, first};
    top->children = {std::move(root_), std::move(right)};
    root_ = Pointer(top);
  }
  Pointer* node = &root_;
  while (true) {
    own(*node);
    if (node->get()->is_leaf) break;
    Inner& at = *inner(*node);
    size_t index = child_of(at, key);
    if (full(at.children[index])) {
      auto [first, right] = split(at.children[index]);
      if (!Compare{}(key, first)) ++index;
      const auto where = static_cast<std::ptrdiff_t>(child_of(at, first)) + 1;
      at.lowest.insert(at.lowest.begin() + where, std::move(first));
      at.children.insert(at.children.begin() + where, std::move(right));
    }
    node = &at.children[index];
  }
  auto& entries = leaf(*node)->entries;
  const size_t index = position_in(*leaf(*node), key);
  ++size_;
  return {&entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(index), Entry{key, V{}})->value, true};
}

template <class K, class V, class Compare>
template <class Q>
bool PersistentMap<K, V, Compare>::erase(const Q& key) {
  if (!contains(key)) return false;
  erase_under(root_, key);
  if (--size_ == 0) {
    root_ = Pointer();
  } else {
    while (!root_.get()->is_leaf && inner(root_)->children.size() == 1) {
      Pointer only = inner(root_)->children[0];
      root_ = std::move(only);
    }
  }
  return true;
}

template <class K, class V, class Compare>
template <class Q>
bool PersistentMap<K, V, Compare>::erase_under(Pointer& node, const Q& key) {
  own(node);
  if (node.get()->is_leaf) {
    auto& entries = leaf(node)->entries;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(position_in(*leaf(node), key)));
    return entries.size() <= leaf_max / 4;
  }
  Inner& at = *inner(node);
  const size_t index = child_of(at, key);
  if (erase_under(at.children[index], key)) merge_small_child(at, index);
  return at.children.size() <= inner_max / 4;
}

// Joins a small child with a neighbour where both fit into one node. An emptied leaf always fits.
template <class K, class V, class Compare>
void PersistentMap<K, V, Compare>::merge_small_child(Inner& parent, size_t index) {
  if (parent.children.size() < 2) return;
  const auto width = [](const Pointer& node) { return Iterator::width(node.get()); };
  const size_t limit = parent.children[index].get()->is_leaf ? leaf_max : inner_max;
  size_t left = index;  // joins left and left + 1
  if (index + 1 == parent.children.size() || (index > 0 && width(parent.children[index - 1]) < width(parent.children[index + 1]))) --left;
  if (width(parent.children[left]) + width(parent.children[left + 1]) > limit) return;
  own(parent.children[left]);
  const Pointer right = std::move(parent.children[left + 1]);
  if (right.get()->is_leaf) {
    auto& into = leaf(parent.children[left])->entries;
    into.insert(into.end(), leaf(right)->entries.begin(), leaf(right)->entries.end());
  } else {
    Inner& into = *inner(parent.children[left]);
    into.lowest.push_back(parent.lowest[left + 1]);
    into.lowest.insert(into.lowest.end(), inner(right)->lowest.begin() + 1, inner(right)->lowest.end());
    into.children.insert(into.children.end(), inner(right)->children.begin(), inner(right)->children.end());
  }
  parent.lowest.erase(parent.lowest.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  parent.children.erase(parent.children.begin() + static_cast<std::ptrdiff_t>(left) + 1);
}

// Walks both in order. Whenever both stand at the beginning of a node that they share, both leave it out.
template <class K, class V, class Compare>
template <class Change>
void PersistentMap<K, V, Compare>::diff_while(const PersistentMap& a, const PersistentMap& b, Change&& change) {
  Iterator left = a.begin(), right = b.begin();
  const auto skip_shared = [&] {
    for (size_t i = left.first_level_begun(); i < left.depth_; ++i) {
      for (size_t j = right.first_level_begun(); j < right.depth_; ++j) {
        if (left.path_[i].node != right.path_[j].node) continue;
        left.skip_node(i);
        right.skip_node(j);
        return true;
      }
    }
    return false;
  };
  while (left.depth_ > 0 || right.depth_ > 0) {
    if (left.depth_ > 0 && right.depth_ > 0) {
      if (left.path_[left.depth_ - 1].index == 0 && right.path_[right.depth_ - 1].index == 0 && skip_shared()) continue;
      if (!Compare{}(left->key, right->key) && !Compare{}(right->key, left->key)) {
        if (!(left->value == right->value) && !change(left->key, &left->value, &right->value)) return;
        ++left;
        ++right;
        continue;
      }
    }
    if (right.depth_ == 0 || (left.depth_ > 0 && Compare{}(left->key, right->key))) {
      if (!change(left->key, &left->value, static_cast<const V*>(nullptr))) return;
      ++left;
    } else {
      if (!change(right->key, static_cast<const V*>(nullptr), &right->value)) return;
      ++right;
    }
  }
}

// The value type of a set: PersistentMap<K, Nothing>.
struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};

template <class K, class Compare = std::less<>>
using PersistentSet = PersistentMap<K, Nothing, Compare>;

}  // namespace castellan
