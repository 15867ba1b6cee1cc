#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <backplane/tuning/kept_files.hpp>

#include "tools/run_program.hpp"

namespace {

namespace cache = bp::kept_files;
namespace fs = std::filesystem;
using testing::HasSubstr;

class KeptFiles : public testing::Test {
 protected:
  KeptFiles() {
    setenv("BACKPLANE_CACHE_DIR", folder.c_str(), 1);
    unsetenv("BACKPLANE_CACHE_BYTES");
  }
  ~KeptFiles() override {
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("BACKPLANE_CACHE_BYTES");
  }

  static std::string key(int number) {
    return cache::key_of(std::to_string(number), "", "c11", "here");
  }
  static std::vector<char> binary(int number, std::size_t bytes = 1000) {
    std::vector<char> result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<char>(i * 31 + number);
    return result;
  }
  fs::path file(int number) const { return folder / key(number); }
  // Asked for, it is missing, and its file is gone.
  void expect_heals(int number) {
    EXPECT_FALSE(cache::read(key(number)));
    EXPECT_FALSE(fs::exists(file(number)));
    cache::write(key(number), binary(number));
    EXPECT_EQ(cache::read(key(number)), binary(number));
  }

  bp::test::TemporaryFolder parent;
  fs::path folder = parent.path() / "a" / "kernels";
};

TEST_F(KeptFiles, gives_back_what_was_written) {
  EXPECT_FALSE(cache::read(key(1)));
  cache::write(key(1), binary(1));
  cache::write(key(2), binary(2, 100000));
  EXPECT_EQ(cache::read(key(1)), binary(1));
  EXPECT_EQ(cache::read(key(2)), binary(2, 100000));
  cache::write(key(1), binary(3));
  EXPECT_EQ(cache::read(key(1)), binary(3));
  cache::discard(key(1));
  EXPECT_FALSE(cache::read(key(1)));
}

TEST_F(KeptFiles, a_key_says_all_that_a_binary_depends_on) {
  std::set<std::string> keys;
  keys.insert(cache::key_of("source", "options", "c11", "device"));
  keys.insert(cache::key_of("sourc", "eoptions", "c11", "device"));
  keys.insert(cache::key_of("source", "options", "spirv", "device"));
  keys.insert(cache::key_of("source", "options", "c11", "device 2"));
  keys.insert(cache::key_of("source", "", "c11", "device"));
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_TRUE(keys.count(cache::key_of("source", "options", "c11", "device")));
  EXPECT_EQ(keys.begin()->size(), 64u);
}

TEST_F(KeptFiles, only_this_user_can_write_in_it) {
  cache::write(key(1), binary(1));
  struct stat status {};
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(file(1).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(KeptFiles, does_not_trust_what_others_can_write) {
  cache::write(key(1), binary(1));
  chmod(file(1).c_str(), 0666);
  expect_heals(1);
  chmod(folder.c_str(), 0777);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cache::read(key(1)));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("can be written by others"));
  chmod(folder.c_str(), 0700);
  EXPECT_TRUE(cache::read(key(1)));
}

TEST_F(KeptFiles, does_not_follow_a_link) {
  cache::write(key(1), binary(1));
  fs::create_symlink(file(1), file(2));
  EXPECT_FALSE(cache::read(key(2)));
  EXPECT_FALSE(fs::is_symlink(file(2)));
  EXPECT_TRUE(cache::read(key(1)));
}

TEST_F(KeptFiles, heals_after_a_file_was_cut_at_any_place) {
  cache::write(key(1), binary(1));
  const auto whole = fs::file_size(file(1));
  for (std::uintmax_t size :
       {std::uintmax_t{0}, std::uintmax_t{5}, std::uintmax_t{88}, whole - 500, whole - 1}) {
    fs::resize_file(file(1), size);
    expect_heals(1);
  }
}

TEST_F(KeptFiles, heals_after_a_byte_was_changed_anywhere) {
  cache::write(key(1), binary(1));
  const auto whole = static_cast<int>(fs::file_size(file(1)));
  for (int at = 0; at < whole; at += 7) {
    {
      std::fstream stream(file(1), std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(at);
      const int old = stream.get();
      stream.seekp(at);
      stream.put(static_cast<char>(old ^ 0x10));
    }
    EXPECT_FALSE(cache::read(key(1))) << at;
    cache::write(key(1), binary(1));
  }
}

TEST_F(KeptFiles, heals_after_bytes_were_added_and_after_a_folder_in_its_place) {
  cache::write(key(1), binary(1));
  std::ofstream(file(1), std::ios::app) << "more";
  expect_heals(1);
  fs::create_directory(file(2));
  EXPECT_FALSE(cache::read(key(2)));
}

TEST_F(KeptFiles, counts_and_deletes_its_own_files_only) {
  EXPECT_EQ(cache::usage().num_files, 0u);
  for (int i = 0; i < 5; ++i) cache::write(key(i), binary(i));
  std::ofstream(folder / "a letter") << "dear";
  const bp::kept_files::Usage usage = cache::usage();
  EXPECT_EQ(usage.folder, folder.string());
  EXPECT_EQ(usage.num_files, 5u);
  EXPECT_EQ(usage.bytes, 5 * fs::file_size(file(0)));
  EXPECT_EQ(usage.limit_bytes, 512u << 20);
  EXPECT_EQ(cache::clear(), 5u);
  EXPECT_EQ(cache::usage().num_files, 0u);
  EXPECT_TRUE(fs::exists(folder / "a letter"));
}

TEST_F(KeptFiles, stays_within_its_limit_and_drops_what_was_used_longest_ago) {
  setenv("BACKPLANE_CACHE_BYTES", "12000", 1);
  for (int i = 0; i < 9; ++i) {
    cache::write(key(i), binary(i));
    // Long ago, in this order; but the first is used again.
    const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file(i).c_str(), times, 0), 0);
  }
  EXPECT_TRUE(cache::read(key(0)));
  for (int i = 9; i < 30; ++i) {
    cache::write(key(i), binary(i));
    EXPECT_LE(cache::usage().bytes, 12000u);
    EXPECT_TRUE(cache::read(key(i)));
  }
  EXPECT_FALSE(cache::read(key(1)));
  EXPECT_GE(cache::usage().bytes, 8000u);
}

TEST_F(KeptFiles, what_was_used_again_stays) {
  setenv("BACKPLANE_CACHE_BYTES", "12000", 1);
  for (int i = 0; i < 9; ++i) {
    cache::write(key(i), binary(i));
    const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file(i).c_str(), times, 0), 0);
  }
  EXPECT_TRUE(cache::read(key(0)));
  for (int i = 9; i < 13; ++i) cache::write(key(i), binary(i));
  EXPECT_TRUE(cache::read(key(0)));
  EXPECT_FALSE(cache::read(key(1)));
}

TEST_F(KeptFiles, a_limit_of_zero_keeps_nothing_and_a_wrong_one_is_the_usual) {
  setenv("BACKPLANE_CACHE_BYTES", "0", 1);
  cache::write(key(1), binary(1));
  EXPECT_FALSE(fs::exists(folder));
  setenv("BACKPLANE_CACHE_BYTES", "much", 1);
  EXPECT_EQ(cache::usage().limit_bytes, 512u << 20);
}

TEST_F(KeptFiles, what_a_process_left_aside_goes) {
  cache::write(key(1), binary(1));
  const fs::path aside = file(2).string() + ".AbC123";
  std::ofstream(aside) << "half of a binar";
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, aside.c_str(), times, 0), 0);
  for (int i = 3; i < 70; ++i) cache::write(key(i), binary(i));
  EXPECT_FALSE(fs::exists(aside));
  EXPECT_TRUE(cache::read(key(1)));
}

// Each trouble: a line in the log, once, and nothing else.
void expect_complains(const std::string& folder, const std::string& why) {
  setenv("BACKPLANE_CACHE_DIR", folder.c_str(), 1);
  const std::string key = cache::key_of(folder, "", "", "");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) cache::write(key, {'a', 'b'});
  EXPECT_FALSE(cache::read(key));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr(why));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_EQ(cache::clear(), 0u);
}

TEST_F(KeptFiles, a_place_where_nothing_can_be_written_costs_a_line) {
  std::ofstream(parent.path() / "file") << "";
  expect_complains(parent.path() / "file", "is not a folder");
  expect_complains(parent.path() / "file" / "kernels", "cannot make the folder");
  expect_complains("/proc/backplane", "cannot make the folder /proc/backplane");
  expect_complains("/proc/self/fdinfo", "");  // exists; nothing can be created there
}

TEST_F(KeptFiles, a_full_disk_costs_a_line_and_leaves_nothing) {
  cache::write(key(1), binary(1));
  const pid_t child = fork();
  if (child == 0) {
    // As on a disk without room, a write comes to an end in the middle of a file.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2000, 2000};
    setrlimit(RLIMIT_FSIZE, &limit);
    cache::write(key(2), binary(2, 100000));
    const bool good =
        !cache::read(key(2)) && cache::read(key(1)) == binary(1) && cache::usage().num_files == 1;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(KeptFiles, several_processes_and_threads_use_it_at_once) {
  setenv("BACKPLANE_CACHE_BYTES", "60000", 1);
  // Each reads what it or another wrote: whole, or not at all.
  const auto work = [](unsigned seed) {
    bool good = true;
    for (int i = 0; i < 300; ++i) {
      seed = seed * 1103515245 + 12345;
      const int number = static_cast<int>(seed >> 16) % 40;
      const auto size = static_cast<std::size_t>(number) * 100 + 1;
      if (const auto found = cache::read(key(number)))
        good = good && *found == binary(number, size);
      else
        cache::write(key(number), binary(number, size));
      if (i % 50 == 0) cache::usage();
      if (i == 150) cache::clear();
    }
    return good;
  };
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(work(i) ? 0 : 1);
    children.push_back(child);
  }
  std::thread other([&] { EXPECT_TRUE(work(10)); });
  EXPECT_TRUE(work(11));
  other.join();
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(cache::usage().bytes, 4 * 60000u);
}

}  // namespace
