// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Requests that wait for an offset to be passed: a produce with acks=all for the high watermark, a deletion of records for
// the low one. Tokens only; deadlines and answers are the caller's, who takes a token out when its time is over.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace castellan::partition {

class OffsetWaiters {
 public:
  using Token = uint64_t;

  // Waits until the mark is at `end` or beyond.
  void add(Token token, int64_t end) {
    by_token_.emplace(token, by_end_.emplace(end, token));
  }

  // False when it is gone already.
  bool remove(Token token) {
    const auto found = by_token_.find(token);
    if (found == by_token_.end()) return false;
    by_end_.erase(found->second);
    by_token_.erase(found);
    return true;
  }

  // Takes those out whose offset is reached, in the order of their offsets, then of their coming.
  std::vector<Token> release(int64_t mark) {
    std::vector<Token> released;
    while (!by_end_.empty() && by_end_.begin()->first <= mark) {
      released.push_back(by_end_.begin()->second);
      by_token_.erase(by_end_.begin()->second);
      by_end_.erase(by_end_.begin());
    }
    return released;
  }

  // All of them, as when the partition is no longer led here.
  std::vector<Token> release_all() { return release(INT64_MAX); }

  bool empty() const { return by_end_.empty(); }
  size_t size() const { return by_end_.size(); }

 private:
  std::multimap<int64_t, Token> by_end_;
  std::map<Token, std::multimap<int64_t, Token>::iterator> by_token_;
};

}  // namespace castellan::partition
