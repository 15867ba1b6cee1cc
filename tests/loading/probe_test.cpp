#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <backplane/loading/probe.hpp>

#include "loading/support.hpp"

namespace bp::loading {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

ProbeResult probed(const std::string& broken, std::chrono::milliseconds limit = probe_limit) {
  return probe(broken_plugin(broken), bare_environment(), limit);
}

TEST(Probe, lets_a_good_plugin_pass) {
  const ProbeResult result = probed("good");
  EXPECT_EQ(result.outcome, Probed::good) << result.message;
  EXPECT_FALSE(result.from_cache);
}

TEST(Probe, survives_a_crash_at_start) {
  const ProbeResult result = probed("crash_in_constructor");
  EXPECT_EQ(result.outcome, Probed::crashed);
  EXPECT_THAT(result.message,
              HasSubstr("libcrash_in_constructor.so: crashed while it was opened, in "
                        "its constructors (signal 11, Segmentation fault)"));
}

TEST(Probe, says_in_which_step_a_plugin_crashed) {
  EXPECT_THAT(probed("crash_in_probe").message, HasSubstr("crashed in bp_plugin.probe"));
}

TEST(Probe, ends_a_hang_at_the_limit) {
  const auto start = std::chrono::steady_clock::now();
  const ProbeResult result = probed("hang_in_constructor", 300ms);
  EXPECT_EQ(result.outcome, Probed::hung);
  EXPECT_THAT(result.message, HasSubstr("hung while it was opened, in its constructors: no answer "
                                        "within 300 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
}

TEST(Probe, notices_a_plugin_that_ends_its_process) {
  const ProbeResult result = probed("exit_in_constructor");
  EXPECT_EQ(result.outcome, Probed::crashed);
  EXPECT_THAT(result.message, HasSubstr("ended its process while it was opened"));
}

TEST(Probe, takes_a_missing_driver_for_no_error) {
  const ProbeResult result = probed("no_driver");
  EXPECT_EQ(result.outcome, Probed::no_device);
  EXPECT_EQ(result.message, "minimal: no device here: libacme-driver.so.1 is not installed");
}

TEST(Probe, passes_on_what_the_plugin_and_the_loader_say) {
  EXPECT_THAT(probed("refusing").message, EndsWith("returned code 7: the licence has run out"));
  EXPECT_THAT(probed("future_abi").message, HasSubstr("speaks ABI level 1000, this host 1"));
  EXPECT_THAT(
      probed("missing_dependency").message,
      HasSubstr("libmissing_dependency.so: needs libbackplane_gone.so, which was not found"));
  EXPECT_THAT(probed("missing_symbol").message, HasSubstr("lacks symbol nobody_has_this"));
  EXPECT_EQ(probed("missing_symbol").outcome, Probed::refused);
}

TEST(Probe, does_without_its_helper) {
  Environment environment = bare_environment();
  environment.probe_program = "/none/backplane-probe";
  const ProbeResult result = probe(broken_plugin("good"), environment);
  EXPECT_EQ(result.outcome, Probed::not_probed);
  EXPECT_TRUE(result.usable());
  EXPECT_THAT(result.message, HasSubstr("/none/backplane-probe: No such file"));

  environment.probe_program = "/bin/true";
  EXPECT_THAT(probe(broken_plugin("good"), environment).message,
              HasSubstr("was not probed, since /bin/true is not the program for it"));
}

TEST(Probe, remembers_a_good_plugin_until_it_changes) {
  const TemporaryFolder folder;
  Environment environment = bare_environment();
  environment.user_cache = folder / "cache";
  const fs::path library = folder.copy("good");
  EXPECT_FALSE(probe(library, environment).from_cache);
  EXPECT_TRUE(probe(library, environment).from_cache);
  folder.copy("crash_in_constructor");
  EXPECT_EQ(probe(library, environment).outcome, Probed::crashed);
  EXPECT_EQ(probe(library, environment).outcome, Probed::crashed);
}

TEST(Probe, asks_again_after_a_missing_driver) {
  const TemporaryFolder folder;
  Environment environment = bare_environment();
  environment.user_cache = folder / "cache";
  probe(folder.copy("no_driver"), environment);
  EXPECT_EQ(probe(folder / "libplugin.so", environment).outcome, Probed::no_device);
}

TEST(Probe, works_with_a_damaged_or_unusable_cache) {
  const TemporaryFolder folder;
  Environment environment = bare_environment();
  environment.user_cache = folder / "cache";
  const fs::path library = folder.copy("good");
  probe(library, environment);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "cache/probed"))
    write_file(entry.path(), "garbage");
  const ProbeResult result = probe(library, environment);
  EXPECT_EQ(result.outcome, Probed::good);
  EXPECT_FALSE(result.from_cache);

  environment.user_cache = write_file(folder / "file", "not a folder");
  EXPECT_EQ(probe(library, environment).outcome, Probed::good);
}

TEST(Probe, can_be_asked_by_several_threads_at_once) {
  const TemporaryFolder folder;
  Environment environment = bare_environment();
  environment.user_cache = folder / "cache";
  const fs::path library = folder.copy("good");
  std::vector<Probed> outcomes(8, Probed::hung);
  std::vector<std::thread> threads;
  for (Probed& outcome : outcomes)
    threads.emplace_back([&] { outcome = probe(library, environment).outcome; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(outcomes, testing::Each(Probed::good));
}

}  // namespace
}  // namespace bp::loading
