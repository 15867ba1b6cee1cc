// needs: cpu reference
// The probes written by hand: all of them on devices that are right, and some on answers that are wrong.
#include "trials/probes.hpp"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

#include "cases/subject.hpp"
#include "conformance/child_worker.hpp"
#include "worker/scope.hpp"

namespace bp::conform {
namespace {

// Runs all probes of a family; what fails, as sentences.
class ProbeRunner {
 public:
  ProbeRunner(std::string device, std::string plugin = "")
      : device_(std::move(device)), plugin_(std::move(plugin)) {
    subject_ = read_subject(worker("direct").ask({{{"do", "describe"}}})["steps"][0]["subject"]);
  }

  const Subject& subject() const { return subject_; }

  std::vector<std::string> run(const std::string& family, int profile) {
    std::vector<std::string> failures;
    for (const ProbeFamily& each : probe_families()) {
      if (family != each.name) continue;
      for (const Case& one : each.cases(subject_, profile)) {
        const auto begin = std::chrono::steady_clock::now();
        const std::string why = run_one(one);
        if (!why.empty()) failures.push_back(name_of(one) + ": " + why);
        if (std::getenv("BP_SHOW_TIMES"))
          std::printf(
              "%8.1f ms %s\n",
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                  .count(),
              name_of(one).c_str());
      }
    }
    return failures;
  }

 private:
  ChildWorker& worker(const std::string& lane) {
    auto& slot = workers_[lane];
    if (!slot) slot = std::make_unique<ChildWorker>(device_, lane, plugin_);
    return *slot;
  }

  std::string run_one(const Case& one) {
    const std::unique_ptr<Trial> trial = make_trial(one, subject_);
    std::vector<Json> answers;
    for (int i = 0; i < trial->num_scripts(); ++i) {
      const Json script = trial->script(i);
      answers.push_back(worker(worker_lane(one, script)).run(script));
      if (answers.back().is_null()) return "the worker died";
    }
    const Verdict verdict = trial->judge(answers);
    return verdict.outcome == Outcome::pass ? "" : verdict.why;
  }

  const std::string device_, plugin_;
  std::map<std::string, std::unique_ptr<ChildWorker>> workers_;
  Subject subject_;
};

class Probes : public testing::TestWithParam<const char*> {};

TEST_P(Probes, pass_on_a_device_that_is_right) {
  const char* only = std::getenv("BP_PROBE_FAMILY");
  ProbeRunner runner(GetParam());
  for (const ProbeFamily& each : probe_families()) {
    const std::string family = each.name;
    if (only && only != family) continue;
    for (const std::string& failure : runner.run(family, 0)) ADD_FAILURE() << failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Probes,
                         testing::Values("cpu:0", "reference:0", "reference_primitives:0"));

// For trying by hand on others: BP_PROBE_DEVICE=acme:0 BP_PROBE_PLUGIN=/path.
TEST(ProbesByHand, pass_on_the_device_that_was_named) {
  const char* device = std::getenv("BP_PROBE_DEVICE");
  if (!device) GTEST_SKIP() << "BP_PROBE_DEVICE is not set";
  const char *plugin = std::getenv("BP_PROBE_PLUGIN"), *only = std::getenv("BP_PROBE_FAMILY");
  ProbeRunner runner(device, plugin ? plugin : "");
  for (const ProbeFamily& each : probe_families()) {
    const std::string family = each.name;
    if (only && only != family) continue;
    for (const std::string& failure : runner.run(family, 1)) ADD_FAILURE() << failure;
  }
}

TEST(ProbeJudging, sees_growth_that_goes_on_and_no_other) {
  EXPECT_EQ(grows({{"heap", {5000, 5000, 5000, 5000}}}, 400), "");
  EXPECT_EQ(grows({{"files", {1, 1, 2, 2}}}, 400), "");
  EXPECT_NE(grows({{"files", {100, 200, 300, 400}}}, 400), "");
  EXPECT_NE(grows({{"heap", {6400, 12800, 19200, 25600}}}, 400), "");
}

}  // namespace
}  // namespace bp::conform
