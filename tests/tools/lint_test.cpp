#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tools/run_program.hpp"

namespace {

using bp::test::run_backplane;
using nlohmann::json;
using testing::HasSubstr;

const std::string good = BP_TEST_PLUGIN_DIR "/broken/libgood.so";
const std::string without_export = BP_TEST_PLUGIN_DIR "/broken/libno_export.so";
const std::string exporting_more = BP_TEST_PLUGIN_DIR "/broken/libexports_more.so";

TEST(Lint, finds_nothing_in_a_good_library) {
  const auto linted = run_backplane({"lint", BP_TEST_PLUGIN_DIR "/libbackplane_memonly.so"});
  EXPECT_EQ(linted.exit_code, 0);
  EXPECT_THAT(linted.out, testing::StartsWith("ok: "));
}

TEST(Lint, fails_if_one_of_several_is_refused) {
  const auto linted = run_backplane({"lint", without_export, good});
  EXPECT_EQ(linted.exit_code, 1);
  EXPECT_THAT(linted.out, HasSubstr("refuse: " + without_export));
  EXPECT_THAT(linted.out, HasSubstr("[missing-export]"));
}

TEST(Lint, passes_with_warnings) {
  const auto linted = run_backplane({"lint", "--json", exporting_more});
  EXPECT_EQ(linted.exit_code, 0);
  const json report = json::parse(linted.out);
  EXPECT_EQ(report[0]["file"], exporting_more);
  EXPECT_EQ(report[0]["refused"], false);
  EXPECT_EQ(report[0]["findings"][0]["severity"], "warn");
  EXPECT_EQ(report[0]["findings"][0]["rule"], "other-exports");
}

TEST(Lint, refuses_what_it_cannot_read) {
  const auto linted = run_backplane({"lint", "/nowhere/libacme.so"});
  EXPECT_EQ(linted.exit_code, 1);
  EXPECT_THAT(linted.out, HasSubstr("refuse: /nowhere/libacme.so"));
}

}  // namespace
