// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A segment's .txnindex: the aborted transactions whose marker lies in it, 34 bytes each, in the order of their markers (B241).
// Small and rare, so it is read whole when it is asked for; the file exists only once it has an entry.

#pragma once

#include "io/file.h"

namespace castellan::log {

struct AbortedTransaction {
  int64_t producer_id = -1;
  int64_t first_offset = -1;
  int64_t last_offset = -1;         // of the marker
  int64_t last_stable_offset = -1;  // when the marker was written

  friend auto operator<=>(const AbortedTransaction&, const AbortedTransaction&) = default;
};

inline constexpr size_t aborted_transaction_size = 34;

class TransactionIndex {
 public:
  // All entries; an absent file has none. A size or version that cannot be is CORRUPT_MESSAGE.
  static Result<std::vector<AbortedTransaction>> read(const io::FileSystem& files, const std::string& path);
  static Result<void> append(io::FileSystem& files, const std::string& path, const AbortedTransaction& entry);
  // Replaces the whole file; without entries it is removed.
  static Result<void> write(io::FileSystem& files, const std::string& path, std::span<const AbortedTransaction> entries);
};

}  // namespace castellan::log
