// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A snapshot stands for committed batches, whole ones, and is the same, byte for byte, on every node that has one with its id.

#pragma once

#include <map>

#include "io/file.h"
#include "sim/checkers/committed.h"

namespace castellan::sim {

class Snapshots {
 public:
  static constexpr std::string_view name = "snapshot equality";
  Snapshots(Report& report, const Committed& committed) : report_(report), committed_(committed) {}

  // The file `path` has become whole on the disk of `node`.
  void appeared(int node, const io::FileSystem& files, const std::string& path);
  size_t count() const { return known_.size(); }

 private:
  struct Known {
    Bytes bytes;
    int node = 0;
  };
  Report& report_;
  const Committed& committed_;
  std::map<std::string, Known> known_;
};

}  // namespace castellan::sim
