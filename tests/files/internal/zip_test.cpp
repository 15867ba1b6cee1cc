// Zip archives, written and read again.
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

#include <backplane/files/input_file.hpp>
#include <backplane/files/zip_archive.hpp>
#include <backplane/files/zip_writer.hpp>

#include "files/internal/files.hpp"

namespace bp::test {
namespace {

using files::InputFile;
using files::write_zip;
using files::ZipArchive;
using files::ZipMember;
using ::testing::HasSubstr;

class Zips : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string said = thrown_by([&] {
      write_zip(folder_ / "a.zip", {{"a", "b", {}}}, false);
    });
    if (said.find("built without libzip") != std::string::npos) GTEST_SKIP();
    ASSERT_EQ(said, "nothing");
  }
  std::string read(const ZipArchive& archive, const std::string& name) const {
    std::string bytes(archive.bytes_of(name), '\0');
    archive.read(name, bytes.data());
    return bytes;
  }

  FilesFolder folder_;
};

TEST_F(Zips, come_back_in_their_order) {
  const std::string zeros(500000, '\0');
  for (const bool compressed : {false, true}) {
    write_zip(folder_ / "a.zip", {{"z", "head", zeros}, {"a/b", "", {}}, {"\xc3\xa4", "x", "y"}},
              compressed);
    const InputFile file(folder_ / "a.zip");
    EXPECT_EQ(file.bytes() < zeros.size(), compressed);
    const ZipArchive archive(file, {.most_growth = files::densest_deflate});
    EXPECT_EQ(archive.names(), (std::vector<std::string>{"z", "a/b", "\xc3\xa4"}));
    EXPECT_EQ(read(archive, "z"), "head" + zeros);
    EXPECT_EQ(read(archive, "a/b"), "");
    EXPECT_EQ(read(archive, "\xc3\xa4"), "xy");
    EXPECT_EQ(folder_.num_files(), 1);
  }
  write_zip(folder_ / "a.zip", {}, false);
  EXPECT_TRUE(ZipArchive(InputFile(folder_ / "a.zip")).names().empty());
}

TEST_F(Zips, keep_the_mode_and_the_link_of_the_file_before) {
  ASSERT_EQ(chmod((folder_ / "a.zip").c_str(), 0640), 0);
  fs::create_symlink("a.zip", folder_ / "link");
  for (const bool compressed : {false, true}) {
    write_zip(folder_ / "link", {{"a", "later", {}}}, compressed);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    struct stat facts {};
    ASSERT_EQ(stat((folder_ / "a.zip").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0640u);
    EXPECT_EQ(read(ZipArchive(InputFile(folder_ / "a.zip")), "a"), "later");
  }
  EXPECT_EQ(folder_.num_files(), 2);
}

TEST_F(Zips, that_can_not_be_written_leave_the_earlier_file) {
  const std::string earlier = file_bytes(folder_ / "a.zip");
  EXPECT_THAT(thrown_by([&] {
                write_zip(folder_ / "a.zip", {{"a", "1", {}}, {"a", "2", {}}}, false);
              }),
              HasSubstr("a.zip: can't hold 'a': File already exists"));
  EXPECT_THAT(thrown_by([&] {
                write_zip(folder_ / "no/a.zip", {{"a", "1", {}}}, false);
              }),
              HasSubstr("a.zip: can't be written after 0 bytes: No such file"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string bytes(5000, 'b');
  const std::string said = thrown_by([&] {
    write_zip(folder_ / "a.zip", {{"a", bytes, {}}}, false);
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(said, HasSubstr("File too large; the earlier file is as it was"));
  EXPECT_EQ(file_bytes(folder_ / "a.zip"), earlier);
  EXPECT_EQ(folder_.num_files(), 1);
}

TEST_F(Zips, that_unpack_to_more_than_the_limits_are_refused) {
  const std::string zeros(500000, '\0');
  write_zip(folder_ / "a.zip", {{"a", zeros, {}}, {"b", zeros, {}}}, true);
  const InputFile file(folder_ / "a.zip");
  EXPECT_THAT(thrown_by([&] { ZipArchive{file}; }), HasSubstr("may be 100 times the archive's"));
  EXPECT_THAT(
      thrown_by(
          [&] { ZipArchive(file, {.most_growth = files::densest_deflate, .most_bytes = 999999}); }),
      HasSubstr("a.zip: member 'b' unpacks to 500000 bytes, and 499999 of 999999 are left"));
  EXPECT_EQ(thrown_by([&] {
              ZipArchive(file, {.most_growth = files::densest_deflate, .most_bytes = 1000000});
            }),
            "nothing");
}

}  // namespace
}  // namespace bp::test
