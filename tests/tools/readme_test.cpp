// needs: cpu reference once
// README's table of what works is what the command prints; `./dev test --accept` renews it.
#include "tools/run_program.hpp"

namespace {

const std::string begin = "<!-- backplane ops --markdown --device cpu --device reference -->\n";
const std::string end = "<!-- end -->\n";

TEST(Readme, shows_what_works_now) {
  const auto printed =
      bp::test::run_backplane({"ops", "--markdown", "--device", "cpu", "--device", "reference"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  std::string text = bp::test::read_file(BP_SOURCE_DIR "/README.md");
  const std::size_t first = text.find(begin) + begin.size();
  const std::size_t last = text.find(end);
  ASSERT_LE(first, last);
  const std::string shown = text.substr(first, last - first);
  if (std::getenv("BP_ACCEPT"))
    std::ofstream(BP_SOURCE_DIR "/README.md") << text.replace(first, last - first, printed.out);
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
