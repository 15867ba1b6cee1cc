// Whole files: what is read to its end, and what stays when one is replaced.
#include <sys/stat.h>
#include <thread>

#include <backplane/files/whole_file.hpp>

#include "files/internal/files.hpp"

namespace bp::test {
namespace {

using files::read_whole_file;
using files::write_whole_file;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(WholeFile, comes_back_as_it_was_written) {
  const FilesFolder folder;
  for (const std::size_t size : {0, 1, 4095, 65536, 65537, 1000000}) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31);
    write_whole_file(folder / "a", bytes, "end");
    EXPECT_EQ(read_whole_file(folder / "a"), bytes + "end");
    EXPECT_EQ(folder.num_files(), 1);
  }
}

TEST(WholeFile, may_be_a_pipe_or_a_file_of_proc) {
  const FilesFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const std::string bytes(300000, 'p');
  std::thread writer([&] { written_file(folder / "pipe", bytes); });
  EXPECT_EQ(read_whole_file(folder / "pipe"), bytes);
  writer.join();
  std::thread second([&] { written_file(folder / "pipe", std::string(100, 'p')); });
  EXPECT_THAT(thrown_by([&] { read_whole_file(folder / "pipe", 99); }),
              HasSubstr("pipe: has more than 99 bytes"));
  second.join();
  EXPECT_EQ(read_whole_file("/proc/self/cmdline"), file_bytes("/proc/self/cmdline"));
  EXPECT_FALSE(read_whole_file("/proc/self/cmdline").empty());
}

TEST(WholeFile, that_is_none_is_a_sentence) {
  const FilesFolder folder;
  EXPECT_THAT(thrown_by([&] { read_whole_file(folder / "none"); }),
              HasSubstr("none: can't be opened: No such file or directory; check the path"));
  EXPECT_THAT(thrown_by([&] { read_whole_file(folder / ""); }), HasSubstr("is a folder, not a"));
  EXPECT_THAT(thrown_by([] { read_whole_file("/dev/zero"); }), HasSubstr("/dev/zero: is a device"));
  EXPECT_THAT(thrown_by([] { read_whole_file(std::string("a\0b", 3)); }), HasSubstr("zero byte"));
  written_file(folder / "a", "12345");
  EXPECT_EQ(read_whole_file(folder / "a", 5), "12345");
  EXPECT_THAT(thrown_by([&] { read_whole_file(folder / "a", 4); }),
              HasSubstr("a: has 5 bytes, and at most 4 are read"));
}

// Files of 1 and 3 MB in turn: what comes back is one of them, or a sentence.
TEST(WholeFile, that_is_written_while_it_is_read_is_a_sentence) {
  const FilesFolder folder;
  const fs::path file = written_file(folder / "a", std::string(1 << 20, 'a'));
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    while (!is_over) {
      fs::resize_file(file, 3 << 20);
      fs::resize_file(file, 1 << 20);
    }
  });
  int num_refused = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (num_refused < 3 && std::chrono::steady_clock::now() < until) {
    const std::string said = thrown_by([&] {
      const std::size_t size = read_whole_file(file).size();
      EXPECT_TRUE(size == 1u << 20 || size == 3u << 20) << size;
    });
    if (said == "nothing") continue;
    EXPECT_THAT(said, AllOf(HasSubstr("a: was written to while it was read: it had "),
                            HasSubstr("; read it again")));
    ++num_refused;
  }
  is_over = true;
  writer.join();
  EXPECT_EQ(num_refused, 3);
}

TEST(WholeFile, keeps_its_mode_and_the_link_that_names_it) {
  const FilesFolder folder;
  const fs::path file = written_file(folder / "real", "earlier");
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  fs::create_symlink("real", folder / "link");
  write_whole_file(folder / "link", "later");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(file_bytes(file), "later");
  struct stat facts {};
  ASSERT_EQ(stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
  EXPECT_EQ(folder.num_files(), 2);
}

}  // namespace
}  // namespace bp::test
