// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The same promises, asked of the real file system and of the one in memory; then what only the one in memory can do.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "io/memory/memory_file_system.h"
#include "io/posix/posix_file_system.h"

namespace castellan::io {
namespace {

class FileSystems : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      files_ = make_posix_file_system();
      char name[] = "/tmp/castellan_io_XXXXXX";
      ASSERT_NE(::mkdtemp(name), nullptr);
      root_ = name;
    } else {
      files_ = std::make_unique<MemoryFileSystem>();
      root_ = "/root";
      ASSERT_TRUE(files_->make_directories(root_).has_value());
    }
  }
  void TearDown() override { (void)files_->remove_all(root_); }
  std::string at(std::string_view name) const { return join(root_, name); }
  std::string text(std::string_view name) const {
    const auto bytes = files_->read_file(at(name));
    return bytes ? std::string(as_text(*bytes)) : "error: " + bytes.error().message;
  }

  std::unique_ptr<FileSystem> files_;
  std::string root_;
};

TEST_P(FileSystems, what_is_written_is_read) {
  const auto file = files_->open(at("a"), OpenMode::create);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->write_at(3, as_bytes("def")).has_value());
  const BytesView pieces[] = {as_bytes("a"), as_bytes(""), as_bytes("bc")};
  ASSERT_TRUE((*file)->write_at(0, pieces).has_value());
  ASSERT_TRUE((*file)->sync().has_value());
  EXPECT_EQ(*(*file)->size(), 6u);
  EXPECT_EQ(text("a"), "abcdef");
  Bytes buffer(10);
  EXPECT_EQ(*(*file)->read_at(4, buffer), 2u);
  EXPECT_EQ(*(*file)->read_at(40, buffer), 0u);
  ASSERT_TRUE((*file)->truncate(2).has_value());
  EXPECT_EQ(text("a"), "ab");
}

TEST_P(FileSystems, modes_are_kept) {
  EXPECT_TRUE(is_not_found(files_->open(at("a"), OpenMode::read_only).error()));
  EXPECT_TRUE(is_not_found(files_->open(at("a"), OpenMode::read_write).error()));
  ASSERT_TRUE(files_->open(at("a"), OpenMode::create_new).has_value());
  const auto again = files_->open(at("a"), OpenMode::create_new);
  ASSERT_FALSE(again.has_value());
  EXPECT_FALSE(is_not_found(again.error()));
  EXPECT_NE(again.error().message.find(at("a")), std::string::npos);
  const auto reader = files_->open(at("a"), OpenMode::read_only);
  EXPECT_FALSE((*reader)->write_at(0, as_bytes("x")).has_value());
  EXPECT_TRUE(is_not_found(files_->open(at("no/such"), OpenMode::create).error()));
}

TEST_P(FileSystems, directories_list_sorted_and_trees_go_whole) {
  ASSERT_TRUE(files_->make_directories(at("x/y/z")).has_value());
  ASSERT_TRUE(files_->make_directories(at("x/y")).has_value());
  ASSERT_TRUE(files_->open(at("x/b"), OpenMode::create).has_value());
  ASSERT_TRUE(files_->open(at("x/a"), OpenMode::create).has_value());
  EXPECT_EQ(*files_->list(at("x")), (std::vector<DirectoryEntry>{{"a", false}, {"b", false}, {"y", true}}));
  EXPECT_TRUE(files_->is_directory(at("x/y")));
  EXPECT_FALSE(files_->is_directory(at("x/a")));
  EXPECT_FALSE(files_->remove(at("x")).has_value());
  EXPECT_FALSE(files_->make_directories(at("x/a/c")).has_value());
  ASSERT_TRUE(files_->remove_all(at("x")).has_value());
  EXPECT_FALSE(files_->exists(at("x")));
  EXPECT_TRUE(files_->remove_all(at("x")).has_value());
  EXPECT_TRUE(files_->remove(at("x")).has_value());
  EXPECT_TRUE(is_not_found(files_->list(at("x")).error()));
}

TEST_P(FileSystems, rename_replaces_and_an_open_file_stays) {
  ASSERT_TRUE(files_->replace_file(at("a"), as_bytes("old")).has_value());
  ASSERT_TRUE(files_->replace_file(at("b"), as_bytes("new")).has_value());
  const auto open = files_->open(at("a"), OpenMode::read_only);
  ASSERT_TRUE(files_->rename(at("b"), at("a")).has_value());
  EXPECT_EQ(text("a"), "new");
  EXPECT_FALSE(files_->exists(at("b")));
  EXPECT_FALSE(files_->exists(at("a.tmp")));
  Bytes buffer(3);
  ASSERT_EQ(*(*open)->read_at(0, buffer), 3u);
  EXPECT_EQ(as_text(buffer), "old");
  EXPECT_TRUE(is_not_found(files_->rename(at("none"), at("a")).error()));
}

TEST_P(FileSystems, times_can_be_set) {
  ASSERT_TRUE(files_->replace_file(at("a"), {}).has_value());
  ASSERT_TRUE(files_->set_modified_ms(at("a"), 1'700'000'000'123).has_value());
  EXPECT_EQ(*files_->modified_ms(at("a")), 1'700'000'000'123);
  EXPECT_GT(files_->disk_space(root_)->total_bytes, 0u);
}

TEST_P(FileSystems, a_lock_is_held_once_and_its_file_stays) {
  auto first = files_->lock(at(".lock"));
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = files_->lock(at(".lock"));
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find(at(".lock")), std::string::npos);
  first->reset();
  EXPECT_TRUE(files_->lock(at(".lock")).has_value());
  EXPECT_TRUE(files_->exists(at(".lock")));
}

TEST_P(FileSystems, a_small_file_must_be_small) {
  ASSERT_TRUE(files_->replace_file(at("a"), Bytes(100)).has_value());
  EXPECT_FALSE(files_->read_file(at("a"), 99).has_value());
}

INSTANTIATE_TEST_SUITE_P(io, FileSystems, testing::Bool(), [](const auto& info) { return info.param ? "posix" : "memory"; });

TEST(PosixFileSystem, the_lock_keeps_another_process_out) {
  char directory[] = "/tmp/castellan_io_XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const auto files = make_posix_file_system();
  const auto lock = files->lock(join(directory, ".lock"));
  ASSERT_TRUE(lock.has_value());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(make_posix_file_system()->lock(join(directory, ".lock")).has_value() ? 1 : 0);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  (void)files->remove_all(directory);
}

TEST(PosixFileSystem, a_full_disk_is_told_apart) {
  const auto files = make_posix_file_system();
  const auto file = files->open("/dev/full", OpenMode::read_write);
  ASSERT_TRUE(file.has_value());
  const auto written = (*file)->write_at(0, as_bytes("x"));
  ASSERT_FALSE(written.has_value());
  EXPECT_TRUE(is_no_space(written.error()));
}

TEST(MemoryFileSystem, a_crash_loses_what_was_not_synced) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.make_directories("/d").has_value());
  ASSERT_TRUE(files.sync_directory("/").has_value());
  auto file = *files.open("/d/a", OpenMode::create);
  ASSERT_TRUE(file->write_at(0, as_bytes("synced")).has_value());
  ASSERT_TRUE(file->sync().has_value());
  ASSERT_TRUE(files.sync_directory("/d").has_value());
  ASSERT_TRUE(file->write_at(0, as_bytes("SYNCED and more")).has_value());
  ASSERT_TRUE(files.open("/d/b", OpenMode::create).has_value());
  ASSERT_TRUE(files.rename("/d/a", "/d/c").has_value());
  files.crash();
  EXPECT_EQ(*files.list("/d"), (std::vector<DirectoryEntry>{{"a", false}}));
  EXPECT_EQ(as_text(*files.read_file("/d/a")), "synced");
}

TEST(MemoryFileSystem, a_random_crash_keeps_a_prefix_of_the_writes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Prng random(seed);
    MemoryFileSystem files;
    auto file = *files.open("/a", OpenMode::create);
    ASSERT_TRUE(files.sync_directory("/").has_value());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(file->write_at(static_cast<uint64_t>(i) * 4, as_bytes("abcd")).has_value());
    files.crash(&random);
    EXPECT_TRUE(std::string("abcdabcdabcdabcdabcd").starts_with(as_text(*files.read_file("/a")))) << "seed " << seed;
  }
}

TEST(MemoryFileSystem, it_fills_up_and_fails_when_told_to) {
  MemoryFileSystem files;
  files.set_capacity(10);
  auto file = *files.open("/a", OpenMode::create);
  ASSERT_TRUE(file->write_at(0, Bytes(10)).has_value());
  EXPECT_TRUE(is_no_space(file->write_at(10, Bytes(1)).error()));
  ASSERT_TRUE(file->truncate(5).has_value());
  EXPECT_TRUE(file->write_at(5, Bytes(5)).has_value());
  files.fail_when([](MemoryFileSystem::Operation operation, const std::string& path) {
    return operation == MemoryFileSystem::Operation::sync && path == "/a" ? std::optional(EIO) : std::nullopt;
  });
  EXPECT_FALSE(file->sync().has_value());
  EXPECT_TRUE(file->write_at(0, Bytes(1)).has_value());
  files.fail_when(nullptr);
  EXPECT_TRUE(file->sync().has_value());
}

}  // namespace
}  // namespace castellan::io
