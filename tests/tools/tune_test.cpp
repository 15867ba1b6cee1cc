// needs: cpu
// `backplane tune`.
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <backplane/tuning/tuner.hpp>

#include "tools/run_program.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

class Tune : public testing::Test {
 protected:
  Tune() { setenv("BACKPLANE_CACHE_DIR", place_.c_str(), 1); }
  ~Tune() override {
    unsetenv("BACKPLANE_CACHE_DIR");
    tuner::forget();
  }
  Finished tune(const std::vector<std::string>& words) {
    std::vector<std::string> all{"tune"};
    all.insert(all.end(), words.begin(), words.end());
    return run_backplane(all);
  }
  static void decide(const char* what, const char* identity, std::vector<double> seconds) {
    tuner::choose({.what = what, .identity = identity, .num_ways = seconds.size()},
                  [&](std::size_t way) { return seconds[way]; });
  }

  TemporaryFolder folder_;
  const std::string place_ = folder_.path() / "kernels";
};

TEST_F(Tune, says_what_to_do_where_nothing_is_decided) {
  const Finished said = tune({});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("backplane tune --device NAME"));
}

TEST_F(Tune, shows_what_was_decided_and_forgets_it) {
  decide("product 1; 512", "acme 1.0; ACME 9", {3e-3, 1e-3});
  decide("product 1; 64", "acme 1.0; ACME 9", {1e-3, 2e-3});
  const Finished said = tune({});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("acme 1.0; ACME 9"));
  EXPECT_THAT(said.out, HasSubstr("3.00"));  // times as fast
  EXPECT_THAT(said.out, HasSubstr("3.000 1.000"));
  const auto json = nlohmann::json::parse(tune({"--json"}).out);
  ASSERT_EQ(json.at("decisions").size(), 2u);
  EXPECT_EQ(json.at("decisions")[0].at("way"), 1);
  EXPECT_EQ(json.at("decisions")[1].at("way"), 0);
  EXPECT_THAT(tune({"--forget"}).out, HasSubstr("2 decisions forgotten"));
  EXPECT_TRUE(nlohmann::json::parse(tune({"--json"}).out).at("decisions").empty());
}

TEST_F(Tune, runs_a_program_that_measures_and_gives_its_exit_code) {
  const Finished said = tune({"sh", "-c", "echo tuning: $BACKPLANE_TUNE; exit 3"});
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_THAT(said.out, HasSubstr("tuning: all"));
  EXPECT_EQ(tune({"/nowhere/at/all"}).exit_code, 1);
  EXPECT_THAT(tune({"/nowhere/at/all"}).err, HasSubstr("tune: cannot start /nowhere/at/all"));
}

TEST_F(Tune, names_a_device_that_there_is_not) {
  const Finished said = tune({"--device", "acme:0"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, HasSubstr("acme:0"));
}

}  // namespace
}  // namespace bp::test
