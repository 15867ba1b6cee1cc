// needs: reference
// Where there is no cpu, for the thread sanitizer: views need no kernel.
#include <map>
#include <set>
#include <thread>

#include "tracing/programs.hpp"

namespace {

using namespace bp::test;
using nlohmann::json;

constexpr int num_calls = 500;

TEST(TraceOfThreads, DISABLED_two) {
  const bp::Device device = bp::device("reference");
  const auto work = [device](std::int64_t size) {
    const bp::Tensor a = bp::empty_tensor({size, 2}, bp::f32, device);
    for (int i = 0; i < num_calls; ++i) bp::transpose(a, 0, 1);
  };
  std::thread first(work, 3), second(work, 5);
  first.join();
  second.join();
}

TEST(TraceOfThreads, has_whole_lines_that_name_the_thread) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "trace.json";
  const Child child = run_child("TraceOfThreads.DISABLED_two", {"BACKPLANE_TRACE=ops:" + file});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  std::map<std::string, std::set<std::int64_t>> threads;
  std::map<std::string, int> counts;
  for (const json& call : json::parse(read_file(file))) {
    if (call["name"] != "transpose") continue;
    EXPECT_EQ(call["args"]["rung"], "view");
    const std::string shape = call["args"]["shapes"][0].dump();
    threads[shape].insert(call["tid"].get<std::int64_t>());
    ++counts[shape];
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"[3,2]", num_calls}, {"[5,2]", num_calls}}));
  EXPECT_EQ(threads["[3,2]"].size(), 1u);
  EXPECT_NE(threads["[3,2]"], threads["[5,2]"]);
}

}  // namespace
