// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <gtest/gtest.h>

#include <sstream>

#include "base/prng.h"
#include "cli/storage/scram.h"
#include "cli/storage/voters.h"
#include "cli/tools.h"
#include "io/memory/memory_file_system.h"
#include "log/meta_properties.h"
#include "log/metadata_snapshot.h"
#include "record/reader.h"
#include "wire/messages/user_scram_credential_record.h"
#include "wire/record_frame.h"

namespace castellan::cli {
namespace {

struct FixedClock final : io::Clock {
  MonotonicTime monotonic() const override { return {}; }
  WallTime wall() const override { return {1'700'000'000'000}; }
};
struct SeededEntropy final : io::Entropy {
  Prng random{7};
  uint64_t next() override { return random.next(); }
};

constexpr std::string_view id_1 = "3Db5QLSqSZieL3rJBUUegA", id_2 = "L3rJBUUegA3Db5QLSqSZiQ";

class Storage : public testing::Test {
 protected:
  static std::string combined(std::string_view directories = "/d/a,/d/b") {
    return fmt::format("process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
                       "controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=127.0.0.1:9093\nlog.dirs={}\n", directories);
  }
  void SetUp() override { prepare(files); }

  static void prepare(io::MemoryFileSystem& to) {
    write(to, "/conf/server.properties", combined());
    ASSERT_TRUE(to.make_directories("/d"));
    ASSERT_TRUE(to.sync_directory("/"));
  }
  static void write(io::MemoryFileSystem& to, const std::string& path, std::string_view text) {
    ASSERT_TRUE(to.make_directories(io::parent(path)));
    ASSERT_TRUE(to.replace_file(path, as_bytes(text)));
    ASSERT_TRUE(to.sync_directory(io::parent(path)));
  }

  int run(std::vector<std::string> arguments) {
    out.str("");
    err.str("");
    Environment environment{files, clock, entropy, out, err};
    return run_storage(arguments, environment);
  }
  int format(std::vector<std::string> more = {"-s"}) {
    std::vector<std::string> arguments{"format", "-t", "cluster", "-c", "/conf/server.properties"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  log::MetaProperties meta(const std::string& directory) {
    auto read = log::read_meta_properties(files, directory);
    EXPECT_TRUE(read.has_value() && read->has_value()) << directory;
    return read.has_value() && read->has_value() ? **read : log::MetaProperties{};
  }
  // The payload records of the bootstrap snapshot.
  std::vector<wire::AnyMetadataRecord> bootstrap(const std::string& directory) {
    std::vector<wire::AnyMetadataRecord> records;
    auto reader = log::SnapshotReader::open(files, directory + "/__cluster_metadata-0", log::bootstrap_snapshot);
    EXPECT_TRUE(reader.has_value());
    if (!reader) return records;
    while (true) {
      auto batch = (*reader)->next();
      EXPECT_TRUE(batch.has_value()) << (batch ? "" : batch.error().message);
      if (!batch || !*batch) return records;
      if ((*batch)->is_control()) continue;
      record::RecordReader each(**batch);
      record::Record one;
      while (each.next(one).value_or(false)) records.push_back(wire::decode_metadata_record(*one.value)->record);
    }
  }
  std::set<std::string> tree(const std::string& directory = "/d") {
    std::set<std::string> paths;
    auto entries = files.list(directory);
    if (!entries) return paths;
    for (const io::DirectoryEntry& entry : *entries) {
      paths.insert(io::join(directory, entry.name));
      if (entry.is_directory) paths.merge(tree(io::join(directory, entry.name)));
    }
    return paths;
  }

  io::MemoryFileSystem files;
  FixedClock clock;
  SeededEntropy entropy;
  std::ostringstream out, err;
};

#define EXPECT_SAYS(stream, words) EXPECT_NE(stream.str().find(words), std::string::npos) << stream.str()

TEST_F(Storage, a_standalone_controller_gets_identity_features_and_one_voter) {
  ASSERT_EQ(format(), 0) << err.str();
  EXPECT_EQ(meta("/d/a").cluster_id, "cluster");
  EXPECT_EQ(meta("/d/a").node_id, 1);
  EXPECT_NE(meta("/d/a").directory_id, meta("/d/b").directory_id);
  auto records = bootstrap("/d/a");
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(std::get<wire::FeatureLevelRecord>(records[0]).name, "metadata.version");
  EXPECT_EQ(std::get<wire::FeatureLevelRecord>(records[0]).feature_level, 33);
  EXPECT_FALSE(files.exists("/d/b/__cluster_metadata-0"));
  EXPECT_SAYS(out, "Formatting dynamic metadata voter directory /d/a with metadata.version 4.4-IV2.\nFormatting data directory /d/b");
}

TEST_F(Storage, a_second_time_is_refused_unless_asked_for) {
  ASSERT_EQ(format(), 0);
  EXPECT_EQ(format(), 1);
  EXPECT_SAYS(err, "/d/a is already formatted. Use --ignore-formatted");
  EXPECT_EQ(format({"-s", "-g"}), 0);
  EXPECT_SAYS(out, "All of the log directories are already formatted.");
}

TEST_F(Storage, a_failure_at_any_step_leaves_nothing_behind) {
  const auto before = tree();
  for (int failing = 0;; ++failing) {
    int count = 0;
    files.fail_when([&](io::MemoryFileSystem::Operation operation, const std::string& path) -> std::optional<int> {
      if (!path.starts_with("/d") || operation == io::MemoryFileSystem::Operation::remove) return std::nullopt;
      return count++ == failing ? std::optional(EIO) : std::nullopt;
    });
    int exit_code = format();
    files.fail_when(nullptr);
    if (exit_code == 0) {
      EXPECT_GT(failing, 10);
      break;
    }
    EXPECT_EQ(tree(), before) << "operation " << failing << ": " << err.str();
    EXPECT_EQ(std::ranges::count(err.str(), '\n'), 1) << err.str();
    EXPECT_EQ(out.str(), "");
    ASSERT_LT(failing, 1000);
  }
}

TEST_F(Storage, after_a_power_cut_at_any_step_it_can_be_completed) {
  for (int cut = 0; cut < 60; ++cut) {
    io::MemoryFileSystem disk;
    prepare(disk);
    int count = 0;
    disk.fail_when([&](io::MemoryFileSystem::Operation, const std::string& path) -> std::optional<int> {
      return path.starts_with("/d") && count++ >= cut ? std::optional(EIO) : std::nullopt;
    });
    Environment environment{disk, clock, entropy, out, err};
    std::vector<std::string> arguments{"format", "-t", "cluster", "-c", "/conf/server.properties", "-s", "-g"};
    run_storage(arguments, environment);
    disk.fail_when(nullptr);
    Prng random(cut);
    disk.crash(&random);
    static_cast<void>(disk.make_directories("/d"));
    ASSERT_EQ(run_storage(arguments, environment), 0) << cut << ": " << err.str();
    auto reader = log::SnapshotReader::open(disk, "/d/a/__cluster_metadata-0", log::bootstrap_snapshot);
    ASSERT_TRUE(reader.has_value() && (*reader)->check()) << cut;
  }
}

TEST_F(Storage, what_belongs_to_another_cluster_or_node_is_not_touched) {
  write(files, "/d/a/meta.properties", "version=1\ncluster.id=other\nnode.id=1\n");
  EXPECT_EQ(format({"-s", "-g"}), 1);
  EXPECT_SAYS(err, "Expected cluster, but read other");
  write(files, "/d/a/meta.properties", "version=1\ncluster.id=cluster\nnode.id=7\n");
  EXPECT_EQ(format({"-s", "-g"}), 1);
  EXPECT_SAYS(err, "Stored node id 7");
  write(files, "/d/a/meta.properties", fmt::format("version=1\ncluster.id=cluster\nnode.id=1\ndirectory.id={}\n", "AAAAAAAAAAAAAAAAAAAAAQ"));
  EXPECT_EQ(format({"-s", "-g"}), 1);
  EXPECT_SAYS(err, "reserved directory ID");
  for (std::string_view directory : {"/d/a", "/d/b"}) {
    write(files, fmt::format("{}/meta.properties", directory), fmt::format("version=1\ncluster.id=cluster\nnode.id=1\ndirectory.id={}\n", id_1));
  }
  EXPECT_EQ(format({"-s", "-g"}), 1);
  EXPECT_SAYS(err, "Duplicate directory ID");
}

TEST_F(Storage, damaged_identity_is_named_not_written_over) {
  for (std::string_view text : {"", "\x01 what is this", "version=7\n", "version=1\nnode.id=1\n"}) {
    write(files, "/d/a/meta.properties", text);
    EXPECT_EQ(format({"-s", "-g"}), 1) << text;
    EXPECT_SAYS(err, "/d/a/meta.properties");
  }
}

TEST_F(Storage, a_file_in_a_directorys_place_is_left_out_but_not_for_the_metadata) {
  write(files, "/d/b", "x");
  EXPECT_EQ(format(), 0);
  EXPECT_SAYS(out, "I/O error trying to read log directory /d/b. Ignoring...");
  write(files, "/conf/server.properties", combined("/d/b,/d/c"));
  EXPECT_EQ(format(), 1);
  EXPECT_SAYS(err, "/d/b is not a directory");
  EXPECT_FALSE(files.exists("/d/c"));
}

TEST_F(Storage, voters_have_to_be_told_in_one_way) {
  EXPECT_EQ(format({}), 1);
  EXPECT_SAYS(err, "--standalone, --initial-controllers, or --no-initial-controllers");
  EXPECT_EQ(format({"-s", "-N"}), 1);
  EXPECT_EQ(format({"-I", fmt::format("2@h:1:{}", id_2)}), 0);
  EXPECT_SAYS(out, "dynamic metadata directory /d/a");
}

TEST_F(Storage, a_voters_directory_has_the_id_that_the_list_says) {
  EXPECT_EQ(format({"-I", fmt::format("1@h:9093:{},2@h:9094:{}", id_1, id_2)}), 0);
  EXPECT_EQ(meta("/d/a").directory_id, Uuid::parse(id_1).value());
}

TEST_F(Storage, a_static_quorum_has_no_voters_in_its_snapshot) {
  std::string text = combined();
  text.replace(text.find("controller.quorum.bootstrap.servers=127.0.0.1:9093"), 50, "controller.quorum.voters=1@127.0.0.1:9093");
  write(files, "/conf/server.properties", text);
  EXPECT_EQ(format({"-s"}), 1);
  EXPECT_SAYS(err, "controller.quorum.voters");
  EXPECT_EQ(format({}), 0) << err.str();
  EXPECT_SAYS(out, "Formatting metadata directory /d/a");
}

TEST_F(Storage, features_follow_the_release_and_single_levels) {
  EXPECT_EQ(format({"-s", "-r", "3.9", "-f", "transaction.version=1"}), 0) << err.str();
  auto records = bootstrap("/d/a");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(std::get<wire::FeatureLevelRecord>(records[0]).feature_level, 21);
  EXPECT_EQ(std::get<wire::FeatureLevelRecord>(records[1]).name, "transaction.version");
  const std::pair<std::vector<std::string>, std::string_view> refused[] = {
      {{"-r", "9.9"}, "9.9"},
      {{"-r", "4.5-IV0"}, "4.5-IV0"},
      {{"-r", "3.8", "-f", "metadata.version=20"}, "--release-version"},
      {{"-f", "metadata.version=6"}, "6"},
      {{"-f", "kraft.version=0"}, "Cannot set kraft.version to 0"},
      {{"-f", "share.version=9"}, "share.version"},
      {{"-f", "no.such=1"}, "Unsupported feature: no.such. Supported features are: eligible.leader.replicas.version, group.version, kraft.version"},
      {{"-f", "share.version"}, "equals sign"},
      {{"-f", "share.version=x"}, "as a short"},
      {{"-r", "3.9", "-f", "eligible.leader.replicas.version=1"}, "metadata.version"}};
  for (auto [more, words] : refused) {
    more.insert(more.begin(), {"-s", "-g"});
    EXPECT_EQ(format(more), 1);
    EXPECT_SAYS(err, words);
  }
}

TEST_F(Storage, no_cluster_without_a_name) {
  EXPECT_EQ(run({"format", "-t", "", "-c", "/conf/server.properties", "-s"}), 1);
  EXPECT_SAYS(err, "cluster id is empty");
}

TEST_F(Storage, a_broken_configuration_is_refused_in_one_line_that_names_the_file) {
  write(files, "/conf/server.properties", combined() + "num.io.threads=0\n");
  EXPECT_EQ(format(), 1);
  EXPECT_EQ(err.str(), "/conf/server.properties: Invalid value 0 for configuration num.io.threads: Value must be at least 1\n");
  EXPECT_EQ(run({"info", "-c", "/none"}), 1);
  EXPECT_SAYS(err, "/none");
  write(files, "/conf/server.properties", combined() + "no.such=1\n");
  EXPECT_EQ(format(), 0);
  EXPECT_SAYS(err, "no.such");
}

TEST_F(Storage, info_tells_what_is_there_and_what_is_wrong) {
  EXPECT_EQ(run({"info", "-c", "/conf/server.properties"}), 1);
  EXPECT_EQ(out.str(), "Found problems:\n  /d/a does not exist\n  /d/b does not exist\n\n");
  write(files, "/d/a/meta.properties", fmt::format("version=1\ncluster.id=cluster\nnode.id=1\ndirectory.id={}\n", id_1));
  write(files, "/d/b/meta.properties", fmt::format("version=1\ncluster.id=other\nnode.id=1\ndirectory.id={}\n", id_2));
  EXPECT_EQ(run({"info", "-c", "/conf/server.properties"}), 1);
  EXPECT_EQ(out.str(), fmt::format("Found log directories:\n  /d/a\n  /d/b\n\nFound metadata: {{cluster.id=cluster, directory.id={}, node.id=1, version=1}}\n\n"
                                   "Found problem:\n  Mismatched cluster IDs between storage directories.\n\n", id_1));
  write(files, "/d/b/meta.properties", fmt::format("version=1\ncluster.id=cluster\nnode.id=1\ndirectory.id={}\n", id_2));
  EXPECT_EQ(run({"info", "-c", "/conf/server.properties"}), 0);
  write(files, "/d/b/meta.properties", "");
  EXPECT_EQ(run({"info", "-c", "/conf/server.properties"}), 1);
  EXPECT_SAYS(out, "/d/b/meta.properties");
}

TEST_F(Storage, look_ups) {
  EXPECT_EQ(run({"version-mapping", "-r", "4.0.2"}), 0);
  EXPECT_EQ(out.str(), "metadata.version=25 (4.0.2)\nkraft.version=1\ntransaction.version=2\ngroup.version=1\neligible.leader.replicas.version=0\nshare.version=0\nstreams.version=0\n");
  EXPECT_EQ(run({"version-mapping", "-r", "nine"}), 1);
  EXPECT_EQ(run({"feature-dependencies", "-f", "eligible.leader.replicas.version=1", "-f", "metadata.version=17"}), 0);
  EXPECT_EQ(out.str(), "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\nmetadata.version=17 (3.7-IV2) has no dependencies.\n");
  for (std::string bad : {"group.version", "group.version=a", "no.such=1", "group.version=7", "metadata.version=99"}) EXPECT_EQ(run({"feature-dependencies", "-f", bad}), 1) << bad;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(run({"random-uuid"}), 0);
    EXPECT_EQ(out.str().size(), 23u);
    EXPECT_EQ(out.str().find('-'), std::string::npos);
  }
}

TEST(InitialVoters, every_part_is_checked) {
  std::string id(id_1);
  EXPECT_EQ(parse_initial_voters(" 1@h:1:" + id + " ,,")->size(), 1u);
  EXPECT_EQ(parse_initial_voters("1@[::1]:1:" + id)->begin()->second.host, "0:0:0:0:0:0:0:1");
  for (std::string bad : {std::string(""), std::string(",,"), "h:1:" + id, "@h:1:" + id, "x@h:1:" + id, "-1@h:1:" + id, "1@:1:" + id, "1@[::1:1:" + id, std::string("1@h"),
                          std::string("1@h:1"), "1@h:a:" + id, "1@h:65536:" + id, "1@h:-1:" + id, std::string("1@h:1:hello"), std::string("1@h:1:AAAAAAAAAAAAAAAAAAAAAA"),
                          "1@h:1:" + id + ",2@h:2:" + id, "1@h:1:" + id + ",1@h:2:" + std::string(id_2), "1@[::1]x:1:" + id, std::string("1@")}) {
    EXPECT_FALSE(parse_initial_voters(bad).has_value()) << bad;
  }
}

TEST(Scram, keys_are_derived_as_rfc_5802_says) {
  SeededEntropy entropy;
  auto record = parse_scram_argument("SCRAM-SHA-256=[name=user,password=pencil,salt=\"W22ZaJ0SNY7soEsUEjb6gQ==\"]", entropy).value();
  EXPECT_EQ(record.name, "user");
  EXPECT_EQ(record.iterations, 4096);
  EXPECT_EQ(to_base64(record.stored_key), "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=");
  EXPECT_EQ(to_base64(record.server_key), "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
  auto salted = parse_scram_argument("SCRAM-SHA-256=[name=user,saltedpassword=xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0=,salt=W22ZaJ0SNY7soEsUEjb6gQ]", entropy).value();
  EXPECT_EQ(salted.stored_key, record.stored_key);
  EXPECT_EQ(parse_scram_argument("SCRAM-SHA-512=[name=u,password=p]", entropy)->stored_key.size(), 64u);
  EXPECT_NE(parse_scram_argument("SCRAM-SHA-512=[name=u,password=p]", entropy)->salt, parse_scram_argument("SCRAM-SHA-512=[name=u,password=p]", entropy)->salt);
}

TEST(Scram, every_part_is_checked) {
  SeededEntropy entropy;
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"SCRAM-SHA-256", "equals"}, {"SCRAM-SHA-1=[name=a,password=b]", "SCRAM-SHA-1"}, {"SCRAM-SHA-256=name=a]", "["}, {"SCRAM-SHA-256=[name=a", "]"},
      {"SCRAM-SHA-256=[]", "equals"}, {"SCRAM-SHA-256=[password=b]", "'name'"}, {"SCRAM-SHA-256=[name=a]", "'password'"},
      {"SCRAM-SHA-256=[name=a,saltedpassword=YQ==]", "'salt'"}, {"SCRAM-SHA-256=[name=a,password=b,salt=!!]", "salt"},
      {"SCRAM-SHA-256=[name=a,password=b,iterations=x]", "iterations"}, {"SCRAM-SHA-256=[name=a,password=b,iterations=4095]", "4096"},
      {"SCRAM-SHA-256=[name=a,password=b,iterations=16385]", "16384"}, {"SCRAM-SHA-256=[name=a,password=b,colour=blue]", "colour"},
      {"SCRAM-SHA-256=[name=a,saltedpassword=!,salt=YQ==]", "saltedPassword"}};
  for (auto [text, words] : cases) {
    auto record = parse_scram_argument(text, entropy);
    ASSERT_FALSE(record.has_value()) << text;
    EXPECT_NE(record.error().message.find(words), std::string::npos) << record.error().message;
  }
}

}  // namespace
}  // namespace castellan::cli
