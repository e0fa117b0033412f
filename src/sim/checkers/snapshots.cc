// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/snapshots.h"

namespace castellan::sim {

void Snapshots::appeared(int node, const io::FileSystem& files, const std::string& path) {
  const std::string file = io::base_name(path);
  if (!file.ends_with(".checkpoint")) return;
  const int64_t end = std::stoll(file.substr(0, 20)), epoch = std::stoll(file.substr(21, 10));
  if (end == 0) return;  // of the format, each node's own
  auto bytes = files.read_file(path);
  if (!bytes) return;
  const LogEntry* last = committed_.at(end - 1);
  if (!last) return report_.violate(name, "node {} has snapshot {}, and {} is the end of what is committed", node, file, committed_.end());
  if (last->end != end) report_.violate(name, "node {}: snapshot {} ends within the batch [{}, {})", node, file, last->base, last->end);
  if (last->epoch != epoch) report_.violate(name, "node {}: snapshot {} ends with a record of epoch {}", node, file, last->epoch);
  const auto [known, is_new] = known_.emplace(file, Known{*bytes, node});
  if (known->second.bytes != *bytes) {
    // The first batch's CRC differs with whatever differs in it.
    const size_t behind_crc = std::min<size_t>({21, bytes->size(), known->second.bytes.size()});
    const auto differ = std::ranges::mismatch(BytesView(known->second.bytes).subspan(behind_crc), BytesView(*bytes).subspan(behind_crc)).in1 -
                        BytesView(known->second.bytes).subspan(behind_crc).begin() + static_cast<ptrdiff_t>(behind_crc);
    report_.violate(name, "snapshot {} has {} bytes on node {} and {} on node {}, and they differ from byte {} on", file, known->second.bytes.size(), known->second.node,
                    bytes->size(), node, differ);
  }
}

}  // namespace castellan::sim
