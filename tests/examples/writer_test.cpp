// needs: cpu
// A text is learnt character by character, and written on.
#include <gmock/gmock.h>

#include "tools/run_program.hpp"

namespace {

using bp::test::Finished;
using bp::test::run_program;
using bp::test::TemporaryFolder;
using testing::HasSubstr;

class Writer : public testing::Test {
 protected:
  // The sanitizers' builds have no examples.
  void SetUp() override {
    if (!std::filesystem::exists(BP_BUILD_BIN_DIR "/writer"))
      GTEST_SKIP() << "examples are not built";
    std::ofstream stream(text());
    for (int i = 0; i < 400; ++i) stream << "the cat sat on the mat, the dog sat on the log. ";
  }

  std::string text() const { return folder_.path() / "text"; }
  std::string write(const std::vector<std::string>& options) {
    std::vector<std::string> words{"--text", text(), "--begin", "the ", "--length", "96"};
    words.insert(words.end(), options.begin(), options.end());
    const Finished finished = run_program("writer", words);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  }

  TemporaryFolder folder_;
};

TEST_F(Writer, writes_what_it_has_learnt) {
  const std::string out = write({"--steps", "150"});
  EXPECT_THAT(out, HasSubstr("It knows more than pairs of characters."));
  EXPECT_THAT(out, HasSubstr("\nthe "));
  EXPECT_THAT(out, testing::AnyOf(HasSubstr(" sat on the mat"), HasSubstr(" sat on the log")));
}

TEST_F(Writer, says_when_it_has_learnt_too_little) {
  EXPECT_THAT(write({"--steps", "1"}), HasSubstr("no more than pairs"));
}

TEST_F(Writer, writes_the_same_for_the_same_seed) {
  const std::string out = write({"--steps", "2", "--seed", "3"});
  EXPECT_EQ(write({"--steps", "2", "--seed", "3"}), out);
  EXPECT_NE(write({"--steps", "2", "--seed", "4"}), out);
}

TEST_F(Writer, complains_in_one_sentence) {
  const auto complaint = [](const std::vector<std::string>& options) {
    const Finished finished = run_program("writer", options);
    EXPECT_EQ(finished.exit_code, 1);
    return finished.err;
  };
  EXPECT_THAT(complaint({"--text", "/nowhere"}),
              HasSubstr("writer: /nowhere: 0 bytes can be read"));
  EXPECT_THAT(complaint({"--text", text(), "--steps", "1", "--begin", "#"}),
              HasSubstr("has no character '#'"));
  EXPECT_THAT(complaint({"--device", "acme:7"}), HasSubstr("acme:7"));
}

}  // namespace
