// needs: cpu reference once
// What pages show is what programs print; `./dev test --accept` renews the table.
#include "tools/run_program.hpp"

namespace {

const std::string begin = "<!-- backplane ops --markdown --device cpu --device reference -->\n";
const std::string end = "<!-- end -->\n";

TEST(Coverage, shows_what_works_now) {
  const auto printed =
      bp::test::run_backplane({"ops", "--markdown", "--device", "cpu", "--device", "reference"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  std::string text = bp::test::read_file(BP_SOURCE_DIR "/docs/coverage.md");
  const std::size_t first = text.find(begin) + begin.size();
  const std::size_t last = text.find(end);
  ASSERT_LE(first, last);
  const std::string shown = text.substr(first, last - first);
  if (std::getenv("BP_ACCEPT"))
    std::ofstream(BP_SOURCE_DIR "/docs/coverage.md")
        << text.replace(first, last - first, printed.out);
  else
    EXPECT_EQ(shown, printed.out) << "if the new table is right, ./dev test --accept";
}

TEST(Readme, shows_the_hello_program) {
  const std::string text = bp::test::read_file(BP_SOURCE_DIR "/README.md");
  const std::string hello = bp::test::read_file(BP_SOURCE_DIR "/examples/hello/hello.cpp");
  EXPECT_NE(text.find("```cpp\n" + hello + "```\n"), std::string::npos)
      << "README's first program is examples/hello/hello.cpp";
}

}  // namespace
