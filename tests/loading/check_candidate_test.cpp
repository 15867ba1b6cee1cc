#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <backplane/loading/check_candidate.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using testing::HasSubstr;

// A plugin of tests/plugins/broken with a manifest, in a folder of one's own.
class CheckCandidate : public testing::Test {
 protected:
  Verdict check(const std::string& broken, const std::string& more = "") {
    library_ = folder_.copy(broken);
    manifest_ = write_file(folder_ / "acme.json", manifest_text("libplugin.so", more));
    return check_again();
  }

  Verdict check_again() {
    const std::vector<Candidate> found = discover(environment_, std::vector{manifest_});
    EXPECT_EQ(found.size(), 1u);
    return check_candidate(found.at(0), environment_, std::chrono::milliseconds(2000));
  }

  TemporaryFolder folder_;
  Environment environment_ = bare_environment();
  fs::path library_, manifest_;
};

TEST_F(CheckCandidate, lets_a_good_plugin_pass_without_a_word) {
  const Verdict verdict = check("good");
  EXPECT_TRUE(verdict.usable);
  EXPECT_EQ(verdict.reason, "");
  EXPECT_TRUE(verdict.warnings.empty());
}

TEST_F(CheckCandidate, asks_who_could_write_before_anything_else) {
  check("crash_in_constructor");
  chmod(library_.c_str(), 0777);
  const Verdict verdict = check_again();
  EXPECT_FALSE(verdict.usable);
  EXPECT_THAT(verdict.reason, HasSubstr("libplugin.so can be written by everyone"));
  EXPECT_EQ(verdict.probe.outcome, Probed::not_probed);
}

TEST_F(CheckCandidate, asks_who_could_write_the_manifest) {
  check("good");
  chmod(manifest_.c_str(), 0666);
  EXPECT_THAT(check_again().reason, HasSubstr("acme.json can be written by everyone"));
  environment_.trust_any_file = true;
  const Verdict verdict = check_again();
  EXPECT_TRUE(verdict.usable);
  EXPECT_EQ(verdict.warnings.size(), 1u);
}

TEST_F(CheckCandidate, does_not_run_what_the_lint_refuses) {
  const Verdict verdict = check("imports_ours");
  EXPECT_FALSE(verdict.usable);
  EXPECT_THAT(verdict.reason, HasSubstr("imports bp_private_helper"));
  EXPECT_EQ(verdict.probe.outcome, Probed::not_probed);
}

TEST_F(CheckCandidate, compares_the_sum) {
  const Verdict verdict = check("good", R"(, "sha256": ")" + std::string(64, '0') + "\"");
  EXPECT_FALSE(verdict.usable);
  EXPECT_THAT(verdict.reason, HasSubstr("its sha256 is "));
  EXPECT_THAT(verdict.reason, HasSubstr("says 00000000"));
  EXPECT_EQ(verdict.probe.outcome, Probed::not_probed);
}

TEST_F(CheckCandidate, explains_a_crash) {
  const Verdict verdict = check("crash_in_constructor");
  EXPECT_FALSE(verdict.usable);
  EXPECT_THAT(verdict.reason, HasSubstr("libplugin.so: crashed"));
}

TEST_F(CheckCandidate, passes_warnings_on) {
  const Verdict verdict = check("exports_more");
  EXPECT_TRUE(verdict.usable);
  ASSERT_EQ(verdict.warnings.size(), 1u);
  EXPECT_THAT(verdict.warnings[0], HasSubstr("helper_for_everybody"));
}

TEST_F(CheckCandidate, warns_of_a_missing_dependency_and_then_says_that_it_is_why) {
  const Verdict verdict = check("missing_dependency");
  EXPECT_FALSE(verdict.usable);
  EXPECT_THAT(verdict.warnings, testing::Contains(HasSubstr("libbackplane_gone.so")));
  EXPECT_THAT(verdict.reason, HasSubstr("needs libbackplane_gone.so"));
}

TEST_F(CheckCandidate, tells_a_missing_driver_from_an_error) {
  const Verdict verdict = check("no_driver");
  EXPECT_FALSE(verdict.usable);
  EXPECT_TRUE(verdict.no_device);
  EXPECT_THAT(verdict.reason, HasSubstr("libacme-driver.so.1 is not installed"));
}

TEST_F(CheckCandidate, refuses_a_plugin_cut_short) {
  library_ = folder_.copy("good");
  manifest_ = write_file(folder_ / "acme.json", manifest_text("libplugin.so"));
  fs::resize_file(library_, fs::file_size(library_) / 2);
  EXPECT_THAT(check_again().reason, HasSubstr("libplugin.so: is cut short"));
}

TEST_F(CheckCandidate, repeats_what_discovery_found) {
  manifest_ = write_file(folder_ / "acme.json", "[]");
  EXPECT_THAT(check_again().reason, HasSubstr("acme.json: is not a JSON object"));
}

}  // namespace
}  // namespace bp::loading
