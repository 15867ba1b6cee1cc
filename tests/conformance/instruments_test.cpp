// The instruments held against themselves: on a device that keeps nothing, whatever it is asked, every counter stays where it
// was, in a worker as the suite starts it.
#include <gtest/gtest.h>

#include "conformance/fake.hpp"
#include "runner/execute.hpp"

namespace bp::conform {
namespace {

Json answer_of(const std::string& device, const std::string& file, const std::string& lane,
               const Json& steps) {
  WorkerPlan plan;
  plan.executable = test::conform_program;
  plan.device = device;
  plan.plugin = BP_TEST_PLUGIN_DIR "/" + file;
  WorkerProcess worker(plan, lane);
  worker.post({{"case", "instruments"}, {"poison", 0x5a}, {"steps", steps}});
  Json answer;
  EXPECT_EQ(worker.next(answer, WorkerProcess::Clock::now() + std::chrono::seconds(60)),
            WorkerProcess::Got::message);
  return answer;
}

Json allocate(int object, std::uint64_t bytes) {
  return allocate_step(object, bytes, 64);
}

TEST(Instruments, count_nothing_where_nothing_is_kept) {
  const Json copy = {{"do", "copy"}, {"to", 2},          {"to_offset", 3},
                     {"from", 1},    {"from_offset", 1}, {"count", 900}};
  Json steps = Json::array({copy, {{"do", "synchronize"}}});
  for (const int bytes : {1, 24, 1000, 70000, 3000000})
    steps.push_back({{"do", "raw"}, {"what", "allocate"}, {"bytes", bytes}, {"alignment", 64}});
  const Json answer =
      answer_of("memonly:0", "libbackplane_memonly.so", "direct",
                Json::array({{{"do", "repeat"},
                              {"times", 400},
                              {"growth", true},
                              {"setup", Json::array({allocate(1, 1000), allocate(2, 1000)})},
                              {"steps", steps}}}));
  const Json& result = answer["steps"][0];
  ASSERT_EQ(result["codes"].size(), 1u) << answer.dump();
  for (const auto& [counter, quarters] : result["growth"].items())
    for (const Json& grown : quarters) EXPECT_EQ(grown, 0) << counter << ": " << quarters.dump();
  EXPECT_TRUE(answer["watch"].empty()) << answer["watch"].dump();
}

}  // namespace
}  // namespace bp::conform
