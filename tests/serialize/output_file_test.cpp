// needs: cpu
// What saving leaves on the disk: modes, links, names.

#include "serialize/files.hpp"

namespace bp::test {
namespace {

using serialize::load_file;
using serialize::save_file;

void save_one(const fs::path& path) {
  save_file({{"a", ones({1})}}, path);
}

mode_t mode_of(const fs::path& file) {
  struct stat facts {};
  EXPECT_EQ(stat(file.c_str(), &facts), 0);
  return facts.st_mode & 07777;
}

TEST(SavedFile, has_the_mode_that_umask_leaves_or_that_of_the_file_before) {
  const Folder folder;
  const mode_t before = umask(0027);
  save_one(folder / "new");
  umask(0);
  save_one(folder / "open");
  umask(before);
  EXPECT_EQ(mode_of(folder / "new"), 0640u);
  EXPECT_EQ(mode_of(folder / "open"), 0666u);
  for (const mode_t mode : {0600, 0644, 0664, 0606, 0755}) {
    ASSERT_EQ(chmod((folder / "new").c_str(), mode), 0);
    save_one(folder / "new");
    EXPECT_EQ(mode_of(folder / "new"), mode);
  }
}

TEST(SavedFile, keeps_its_owner_and_group) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const Folder folder;
  save_one(folder / "a");
  ASSERT_EQ(chown((folder / "a").c_str(), 34, 12), 0);
  save_one(folder / "a");
  struct stat facts {};
  ASSERT_EQ(stat((folder / "a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 34u);
  EXPECT_EQ(facts.st_gid, 12u);
}

// No mode stops root.
TEST(SavedFile, does_not_take_the_place_of_a_protected_one) {
  const Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  const fs::path file = written(folder / "a", "earlier");
  ASSERT_EQ(chmod(file.c_str(), 0444), 0);
  const bool is_root = geteuid() == 0;
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  const std::string said = sentence_of([&] { save_one(file); });
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  EXPECT_THAT(said, HasSubstr("a: exists and may not be written: Permission denied; choose "));
  EXPECT_EQ(bytes_in(file), "earlier");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

TEST(SavedFile, is_what_a_link_names_whether_that_is_there_or_not) {
  const Folder folder;
  fs::create_directory(folder / "elsewhere");
  save_one(folder / "real");
  fs::create_symlink("real", folder / "link");
  fs::create_symlink("elsewhere/new", folder / "dangling");
  fs::create_symlink("dangling", folder / "link of a link");
  fs::create_symlink("self", folder / "self");
  fs::create_symlink("no/such/folder", folder / "lost");
  for (const char* name : {"link", "dangling", "link of a link"}) {
    save_file({{name, ones({1})}}, folder / name);
    EXPECT_TRUE(fs::is_symlink(folder / name));
    EXPECT_TRUE(load_file(folder / name).contains(name));
  }
  EXPECT_TRUE(load_file(folder / "real").contains("link"));
  EXPECT_TRUE(load_file(folder / "elsewhere/new").contains("link of a link"));
  EXPECT_THAT(sentence_of([&] { save_one(folder / "self"); }),
              HasSubstr("self: can't be written: Too many levels of symbolic links"));
  EXPECT_THAT(sentence_of([&] { save_one(folder / "lost"); }),
              HasSubstr("can't be written after 0 bytes: No such file"));
  EXPECT_TRUE(fs::is_symlink(folder / "self") && fs::is_symlink(folder / "lost"));
}

TEST(SavedFile, may_have_a_name_as_long_as_the_system_allows) {
  const Folder folder;
  for (const std::size_t size : {200, 226, 227, 255}) {
    const std::string name(size, 'n');
    save_one(folder / name);
    save_one(folder / name);
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{name});
    fs::remove(folder / name);
  }
  EXPECT_THAT(sentence_of([&] { save_one(folder / std::string(256, 'n')); }),
              HasSubstr("File name too long"));
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(SavedFile, has_no_name_that_the_system_would_cut) {
  const Folder folder;
  const std::string name("a\0b", 3);
  EXPECT_THAT(sentence_of([&] { save_one(folder / name); }), HasSubstr("has a zero byte"));
  written(folder / "a", "x");
  EXPECT_THAT(sentence_of([&] { load_file(folder / name); }), HasSubstr("has a zero byte"));
  EXPECT_THAT(sentence_of([&] { serialize::CheckpointFolder(folder / name); }),
              HasSubstr("has a zero byte"));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace bp::test
