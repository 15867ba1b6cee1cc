// needs: cpu reference
// Each program of the tour prints what docs/examples.md shows; `./dev test --accept` renews the page.
#include <filesystem>

#include "tools/run_program.hpp"

namespace {

namespace fs = std::filesystem;

const std::string page = BP_SOURCE_DIR "/docs/examples.md";
const std::string begin = "<!-- the tour -->\n", end = "<!-- end -->\n";

// A section for each: its first comment, its code and what it prints.
std::string section_of(const fs::path& source) {
  const std::string name = source.stem(), text = bp::test::read_file(source);
  const auto ran = bp::test::run_program("tour_" + name, {});
  EXPECT_EQ(ran.exit_code, 0) << name << ": " << ran.err;
  return "`examples/tour/" + name + ".cpp`\n\n```cpp\n" + text + "```\n\nprints\n\n```\n" +
         ran.out + "```\n\n";
}

TEST(Tour, prints_what_the_page_shows) {
  if (!fs::exists(BP_BUILD_BIN_DIR "/tour_01_two_devices"))
    GTEST_SKIP() << "examples are not built";  // as in the sanitizers' builds
  std::vector<fs::path> sources;
  for (const auto& entry : fs::directory_iterator(BP_SOURCE_DIR "/examples/tour"))
    if (entry.path().extension() == ".cpp") sources.push_back(entry.path());
  std::sort(sources.begin(), sources.end());
  EXPECT_EQ(sources.size(), 10);
  std::string sections;
  for (const fs::path& source : sources) {
    const std::string text = bp::test::read_file(source);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << source << " is more than a screen";
    sections += section_of(source);
  }
  std::string shown = bp::test::read_file(page);
  const std::size_t first = shown.find(begin) + begin.size(), last = shown.find(end);
  ASSERT_LE(first, last);
  if (std::getenv("BP_ACCEPT"))
    std::ofstream(page) << shown.replace(first, last - first, "\n" + sections);
  else
    EXPECT_EQ(shown.substr(first, last - first), "\n" + sections)
        << "if the new output is right, ./dev test --accept";
}

}  // namespace
