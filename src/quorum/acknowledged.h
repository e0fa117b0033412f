// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How far this replica has acknowledged, in a small file beside meta.properties: doc/formats/acknowledged.md.
//
// The metadata log's folder can be lost while the directory id survives (wiped by hand, a damaged middle cut off). Such a replica
// must not vote as if it had never promised anything (raft.md P68), so the promise is remembered outside the folder. It lags,
// never leads: written after the log's sync, lazily, and without a sync of its own. Absent means "may vote": a fresh cluster, or
// a directory that Apache Kafka wrote.
//
// The file has two places of one disk sector each, written in turn and in place: a crash tears the newer one at most.
// Thread: one at a time.

#pragma once

#include <optional>
#include <string>

#include "io/file.h"
#include "raft/types.h"

namespace castellan::quorum {

struct Acknowledged {
  std::string cluster_id;
  DirectoryId directory;
  raft::LogPosition position;

  friend bool operator==(const Acknowledged&, const Acknowledged&) = default;
};

inline constexpr std::string_view acknowledged_name = "castellan.acknowledged";

class AcknowledgedFile {
 public:
  AcknowledgedFile(io::FileSystem& files, const std::string& directory) : files_(files), path_(io::join(directory, acknowledged_name)) {}

  // Nothing when the file is absent. One that holds no whole record is CORRUPT_MESSAGE, named.
  Result<std::optional<Acknowledged>> read();
  Result<void> write(const Acknowledged& acknowledged);
  const std::string& path() const { return path_; }

 private:
  static constexpr size_t place_size = 512;
  struct Place {
    int64_t sequence = 0;
    Acknowledged acknowledged;
  };
  static Bytes encode(const Place& place);
  static std::optional<Place> decode(BytesView bytes);
  Result<std::optional<Place>> read_newest();

  io::FileSystem& files_;
  std::string path_;
  std::unique_ptr<io::File> file_;
  std::optional<int64_t> sequence_;  // of the newest place; none: not read yet
};

}  // namespace castellan::quorum
