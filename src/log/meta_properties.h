// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// meta.properties: which cluster, node and directory this is (KIP-858; doc/formats/meta-properties.md). A Java properties file; version 1 is
// written, version 0 (of ZooKeeper days: broker.id, everything optional) is read.

#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "base/uuid.h"
#include "io/file.h"

namespace castellan::log {

inline constexpr std::string_view meta_properties_name = "meta.properties";

struct MetaProperties {
  int version = 1;
  std::optional<std::string> cluster_id;
  std::optional<int32_t> node_id;
  std::optional<Uuid> directory_id;

  friend bool operator==(const MetaProperties&, const MetaProperties&) = default;
};

// The bytes of the file, with the date comment that Java writes.
Bytes encode_meta_properties(const MetaProperties& properties, WallTime now);
// `path` is for messages. An empty file, a missing or unreadable value is CORRUPT_MESSAGE.
Result<MetaProperties> parse_meta_properties(BytesView bytes, const std::string& path);

// Of a directory: nothing when the file is absent.
Result<std::optional<MetaProperties>> read_meta_properties(const io::FileSystem& files, const std::string& directory);
Result<void> write_meta_properties(io::FileSystem& files, const std::string& directory, const MetaProperties& properties, WallTime now);

}  // namespace castellan::log
