// needs: cpu
// The page for callers in C shows examples/c/hello.c, what that prints, and sentences that the callers of tests/client are told.
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

// Where a sentence differs from call to call, the page has "...".
std::vector<std::string> quoted_parts(const std::string& row) {
  std::vector<std::string> parts;
  const std::size_t end = row.find('"', 3);
  for (std::size_t at = 3; at < end;) {
    const std::size_t dots = std::min(row.find("...", at), end);
    std::string part = row.substr(at, dots - at);
    while (!part.empty() && (part.back() == ' ' || part.back() == ';')) part.pop_back();
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    if (!part.empty()) parts.push_back(part);
    at = dots + 3;
  }
  return parts;
}

TEST(PageForC, quotes_sentences_that_callers_are_told) {
  std::string told;
  for (const char* folder : {"/tests/client/callers", "/tests/client/later"})
    for (const auto& entry :
         std::filesystem::directory_iterator(BP_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".c") told += bp::test::read_file(entry.path());
  std::istringstream lines(page_for_c.substr(page_for_c.find("## What goes wrong")));
  int num_sentences = 0;
  for (std::string row; std::getline(lines, row);) {
    if (!row.starts_with("| \"")) continue;
    ++num_sentences;
    for (const std::string& part : quoted_parts(row))
      EXPECT_NE(told.find(part), std::string::npos) << "no caller is told: " << part;
  }
  EXPECT_GE(num_sentences, 5);
}

}  // namespace
