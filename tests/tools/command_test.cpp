#include <gmock/gmock.h>

#include "tools/run_program.hpp"

namespace {

using bp::test::run_backplane;
using testing::HasSubstr;

TEST(Command, lists_its_subcommands) {
  const auto help = run_backplane({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name : {"devices", "plugins", "doctor", "ops", "lint", "cache", "conform",
                           "new-backend", "fallbacks", "repeat"})
    EXPECT_THAT(help.out, HasSubstr(name));
}

// The ABI is frozen since 1.0 (docs/decisions/0017): this major version is what a plugin and an application ask for.
TEST(Command, knows_its_version) {
  const auto version = run_backplane({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out, "1.0.0\n");
}

TEST(Command, tells_misuse_from_failure) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"unheard-of"},
                                                {"devices", "--unheard-of"},
                                                {"lint"},
                                                {"fallbacks", "--json"},
                                                {"repeat"},
                                                {"ops", "--markdown"}}) {
    const auto misused = run_backplane(words);
    EXPECT_EQ(misused.exit_code, 2) << misused.err;
    EXPECT_EQ(misused.out, "");
    EXPECT_NE(misused.err, "");
  }
}

TEST(Command, names_a_command_that_does_not_exist) {
  EXPECT_THAT(run_backplane({"unheard-of"}).err, HasSubstr("not expected: unheard-of"));
  if (!std::filesystem::exists(std::filesystem::path(BP_BUILD_BIN_DIR) / "backplane-conform"))
    return;  // a build without the suite
  EXPECT_THAT(run_backplane({"conform", "unheard-of"}).err, HasSubstr("not expected: unheard-of"));
}

TEST(Command, writes_no_colour_into_a_file) {
  for (const char* name : {"devices", "plugins", "doctor", "ops"})
    EXPECT_EQ(run_backplane({name}).out.find('\033'), std::string::npos) << name;
}

TEST(Command, fails_with_one_sentence_for_a_plugin_that_is_not_there) {
  for (const char* name : {"devices", "ops"}) {
    const auto failed = run_backplane({name, "--plugin", "/nowhere/acme.so"});
    EXPECT_EQ(failed.exit_code, 1);
    EXPECT_EQ(failed.out, "");
    EXPECT_EQ(failed.err, "backplane: /nowhere/acme.so: does not exist\n");
  }
}

}  // namespace
