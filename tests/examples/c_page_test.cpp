// needs: cpu
// The page for callers in C shows examples/c/hello.c, what that prints, and sentences that the library says.
#include <filesystem>

#include "tools/run_program.hpp"

namespace {

const std::string page_for_c = bp::test::read_file(BP_SOURCE_DIR "/docs/c.md");

TEST(PageForC, shows_the_program) {
  const std::string program = bp::test::read_file(BP_SOURCE_DIR "/examples/c/hello.c");
  EXPECT_NE(page_for_c.find("```c\n" + program + "```\n"), std::string::npos)
      << "docs/c.md's first program is examples/c/hello.c";
}

TEST(PageForC, shows_what_it_prints) {
  if (!std::filesystem::exists(BP_BUILD_BIN_DIR "/hello_c"))
    GTEST_SKIP() << "examples are not built";  // as in the sanitizers' builds
  const auto ran = bp::test::run_program("hello_c", {});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(page_for_c.find("./hello\n" + ran.out + "```\n"), std::string::npos) << ran.out;
}

TEST(PageForC, shows_how_it_fails) {
  if (!std::filesystem::exists(BP_BUILD_BIN_DIR "/hello_c"))
    GTEST_SKIP() << "examples are not built";
  const auto ran = bp::test::run_program("hello_c", {"acme:0"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(ran.err.starts_with("hello_c: ")) << ran.err;
  EXPECT_NE(ran.err.find("acme"), std::string::npos) << ran.err;
}

}  // namespace
