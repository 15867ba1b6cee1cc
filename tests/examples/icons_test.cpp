// needs: cpu
// Icons go through a few numbers and come back better than as the mean of all.
#include <cstring>
#include <gmock/gmock.h>
#include <regex>

#include "tools/run_program.hpp"

namespace {

using bp::test::Finished;
using bp::test::run_program;
using bp::test::TemporaryFolder;
using testing::HasSubstr;

const char* const theme = "/usr/share/icons/Tango/32x32";

class Icons : public testing::Test {
 protected:
  // The sanitizers' builds have no examples.
  void SetUp() override {
    if (!std::filesystem::exists(BP_BUILD_BIN_DIR "/icons"))
      GTEST_SKIP() << "examples are not built";
  }

  TemporaryFolder folder_;
};

TEST_F(Icons, come_back_better_than_as_the_mean_of_all) {
  if (!std::filesystem::exists(theme)) GTEST_SKIP() << "apt-get install tango-icon-theme";
  const std::string picture = folder_.path() / "icons.png";
  const Finished finished = run_program("icons", {"--epochs", "60", "--picture", picture});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  std::smatch errors;
  const std::regex held_out("held out: mean square error ([0-9.]+); ([0-9.]+) if");
  ASSERT_TRUE(std::regex_search(finished.out, errors, held_out)) << finished.out;
  EXPECT_LT(std::stod(errors[1]), 0.6 * std::stod(errors[2])) << finished.out;
  EXPECT_EQ(bp::test::read_file(picture).substr(1, 3), "PNG");
}

TEST_F(Icons, complain_in_one_sentence) {
  const Finished finished = run_program("icons", {"--icons", folder_.path()});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("0 PNG files there; 50 at least"));
}

}  // namespace
