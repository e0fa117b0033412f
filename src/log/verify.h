// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Looks for damage before anybody reads: a segment that this process did not write is checked once, piece by piece, on a thread that
// may wait for the disk (design, "Damage"). What was found good is remembered, so that it is not checked again when it is read; what
// was not is looked at by the log itself, which names file and position.
//
//   while (auto task = log.begin_verify(4 << 20)) {
//     task->run();                  // any thread
//     TRY_VOID(log.finish_verify(*task));
//   }

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace castellan::io {
class FileSystem;
}

namespace castellan::log {

class Segment;

// One piece. run() is called once.
class VerifyTask {
 public:
  // Never fails: a file that cannot be read (any more) is left to whoever reads it next.
  void run();
  uint64_t bytes() const { return bytes_; }

 private:
  friend class Log;
  io::FileSystem* files_ = nullptr;
  std::shared_ptr<Segment> segment_;  // not touched by run()
  std::string path_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t most_ = 0;
  int64_t base_offset_ = 0;
  int64_t limit_offset_ = 0;
  uint64_t bytes_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> good_;
  bool suspicious_ = false;           // something behind good_ is not a good batch
  bool unreadable_ = false;
};

}  // namespace castellan::log
