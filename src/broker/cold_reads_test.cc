// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/cold_reads.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.h"
#include "io/posix/posix_file_system.h"

namespace castellan::broker {
namespace {

class ColdReads : public testing::Test {
 protected:
  static constexpr size_t size = 3 << 20;

  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("castellan-cold-reads-{}", ::getpid());
    std::filesystem::create_directories(folder_);
    file_ = std::move(*files_->open((folder_ / "segment").string(), io::OpenMode::create));
    bytes_.resize(size);
    for (size_t i = 0; i < size; ++i) bytes_[i] = static_cast<uint8_t>(i * 31 >> 8);
    ASSERT_TRUE(file_->write_at(0, bytes_));
    ASSERT_TRUE(file_->sync());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void make_cold() { ::posix_fadvise(file_->native_handle(), 0, 0, POSIX_FADV_DONTNEED); }

  std::filesystem::path folder_;
  std::unique_ptr<io::FileSystem> files_ = io::make_posix_file_system();
  std::unique_ptr<io::File> file_;
  Bytes bytes_;
};

TEST_F(ColdReads, what_was_just_written_is_in_memory) {
  EXPECT_TRUE(is_cached(*file_, 0, size));
  EXPECT_TRUE(is_cached(*file_, size - 1, 1));
  const auto read = read_if_cached(*file_, 1000, 5000);
  ASSERT_TRUE(read && *read);
  EXPECT_TRUE(std::ranges::equal(**read, BytesView(bytes_).subspan(1000, 5000)));
}

TEST_F(ColdReads, what_is_cold_is_not_waited_for_until_it_is_warm) {
  make_cold();
  if (is_cached(*file_, 0, size)) GTEST_SKIP() << "this file system keeps everything in memory";
  // Probing alone makes nothing warm.
  EXPECT_FALSE(is_cached(*file_, 0, size));
  const auto cold = read_if_cached(*file_, 2 << 20, 8000);
  ASSERT_TRUE(cold);
  EXPECT_FALSE(*cold);
  warm(*file_, 0, size);
  EXPECT_TRUE(is_cached(*file_, 0, size));
  const auto read = read_if_cached(*file_, 2 << 20, 8000);
  ASSERT_TRUE(read && *read);
  EXPECT_TRUE(std::ranges::equal(**read, BytesView(bytes_).subspan(2 << 20, 8000)));
}

TEST_F(ColdReads, a_read_over_the_end_of_the_file_is_short_and_not_cold) {
  const auto read = read_if_cached(*file_, size - 10, 100);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->size(), 10u);
}

}  // namespace
}  // namespace castellan::broker
