// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Any bytes as each of a log directory's small files.

#include "io/memory/memory_file_system.h"
#include "log/directory.h"
#include "log/metadata_snapshot.h"
#include "log/partition_metadata.h"
#include "log/quorum_state_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  using namespace castellan::log;
  const BytesView input(data, size);
  io::MemoryFileSystem files;
  (void)files.make_directories("/d");
  const SnapshotId id{5, 1};
  for (const std::string_view name : {meta_properties_name, recovery_point_name, log_start_name, high_watermark_name, cleaner_name, partition_metadata_name, quorum_state_name,
                                      std::string_view(".kafka_cleanshutdown"), std::string_view(".castellan_partitions")})
    (void)files.replace_file(io::join("/d", name), input);
  (void)files.replace_file(snapshot_path("/d", id), input);
  (void)LogDirectory::open(files, "/d");
  (void)read_meta_properties(files, "/d");
  (void)read_checkpoint(files, io::join("/d", recovery_point_name));
  (void)read_partition_metadata(files, "/d");
  (void)read_quorum_state(files, "/d");
  (void)read_clean_shutdown(files, "/d");
  (void)LeaderEpochCache::read(files, io::join("/d", recovery_point_name));
  ProducerStates states;
  (void)states.decode_snapshot(input, 0, 1000);
  (void)parse_folder_name(as_text(input));
  if (auto reader = SnapshotReader::open(files, "/d", id)) (void)(*reader)->check();
  return 0;
}
