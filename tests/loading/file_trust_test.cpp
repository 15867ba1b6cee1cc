#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/loading/file_trust.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(FileTrust, trusts_ones_own_file_in_ones_own_folder) {
  const TemporaryFolder folder;
  const Trust trust = check_trust(write_file(folder / "a.so", "x"), bare_environment());
  EXPECT_EQ(trust.problem, "");
  EXPECT_EQ(trust.warning, "");
}

TEST(FileTrust, refuses_a_file_that_everybody_can_write) {
  const TemporaryFolder folder;
  const fs::path file = write_file(folder / "a.so", "x");
  chmod(file.c_str(), 0666);
  EXPECT_THAT(check_trust(file, bare_environment()).problem,
              StartsWith("the file " + file.string() + " can be written by everyone"));
}

TEST(FileTrust, refuses_a_folder_that_everybody_can_write_sticky_or_not) {
  const TemporaryFolder folder;
  const fs::path file = write_file(folder / "a.so", "x");
  for (const mode_t mode : {0777, 01777}) {
    chmod(folder.path().c_str(), mode);
    EXPECT_THAT(check_trust(file, bare_environment()).problem,
                StartsWith("the folder " + folder.path().string() + " can be written by everyone"));
  }
}

TEST(FileTrust, looks_at_the_file_behind_a_link) {
  const TemporaryFolder folder, open;
  chmod(open.path().c_str(), 0777);
  write_file(open / "a.so", "x");
  fs::create_symlink(open / "a.so", folder / "link.so");
  EXPECT_THAT(check_trust(folder / "link.so", bare_environment()).problem,
              HasSubstr(open.path().string()));
}

TEST(FileTrust, refuses_a_stranger_s_file) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TemporaryFolder folder;
  const fs::path file = write_file(folder / "a.so", "x");
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_THAT(check_trust(file, bare_environment()).problem,
              HasSubstr("belongs to user 12345, neither to root nor to you (user 0)"));
}

TEST(FileTrust, can_be_overridden_with_a_warning) {
  const TemporaryFolder folder;
  const fs::path file = write_file(folder / "a.so", "x");
  chmod(file.c_str(), 0666);
  Environment environment = bare_environment();
  environment.trust_any_file = true;
  const Trust trust = check_trust(file, environment);
  EXPECT_EQ(trust.problem, "");
  EXPECT_THAT(trust.warning, HasSubstr("trusted only because BACKPLANE_TRUST_ANY_FILE=1"));
}

TEST(FileTrust, refuses_what_is_not_there) {
  EXPECT_THAT(check_trust("/none/a.so", bare_environment()).problem, HasSubstr("does not exist"));
}

}  // namespace
}  // namespace bp::loading
