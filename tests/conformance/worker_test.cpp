// needs: cpu reference
// The worker: scripts in, bytes and observations out. Each test runs one in a child of its own, as the runner does.
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

#include "cases/subject.hpp"
#include "conformance/child_worker.hpp"
#include "worker/crew.hpp"
#include "worker/scope.hpp"
#include "worker/watched_memory.hpp"

namespace bp::conform {
namespace {

template <class T> Json binary(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return Json::binary(bytes);
}
std::vector<float> floats(const Json& value) {
  const auto& bytes = value.get_binary();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
Json tensor_json(int object, std::vector<int> shape, std::vector<int> strides) {
  return {
      {"object", object}, {"offset", 0}, {"dtype", "f32"}, {"shape", shape}, {"strides", strides}};
}
Json allocate_json(int object, int bytes) {
  return {{"do", "allocate"}, {"object", object}, {"bytes", bytes}, {"alignment", 4}};
}
Json write_json(int object, const std::vector<float>& values) {
  return {{"do", "write"}, {"object", object}, {"offset", 0}, {"bytes", binary(values)}};
}
Json core_tensor(int object, const std::vector<float>& values) {
  return {{"do", "tensor"},           {"object", object}, {"dtype", "f32"},
          {"shape", {values.size()}}, {"strides", {1}},   {"offset", 0},
          {"storage", binary(values)}};
}
Json direct_add() {
  return Json::array(
      {allocate_json(1, 12),
       write_json(1, {1, 2, 3}),
       allocate_json(2, 12),
       write_json(2, {10, 20, 30}),
       allocate_json(3, 12),
       {{"do", "call"},
        {"op", "add"},
        {"args", {{{"tensor", tensor_json(1, {3}, {1})}}, {{"tensor", tensor_json(2, {3}, {1})}}}},
        {"outputs", {tensor_json(3, {3}, {1})}}},
       {{"do", "read"}, {"object", 3}}});
}

TEST(Worker, describes_a_device_and_its_kernels) {
  ChildWorker worker("cpu:0", "direct");
  const Json answer = worker.ask({{{"do", "describe"}}});
  const Subject subject = read_subject(answer["steps"][0]["subject"]);
  EXPECT_EQ(subject.device, "cpu:0");
  EXPECT_EQ(subject.backend, "cpu");
  EXPECT_EQ(subject.library_sha256.size(), 64u);
  EXPECT_TRUE(subject.synchronous());
  EXPECT_FALSE(subject.kernels_of("add").empty());
  EXPECT_EQ(to_json(subject), answer["steps"][0]["subject"]);
}

TEST(Worker, calls_a_kernel_of_a_plugin_directly) {
  for (const char* device : {"cpu:0", "reference_primitives:0"}) {
    ChildWorker worker(device, "direct");
    const Json answer = worker.ask(direct_add());
    EXPECT_EQ(answer["steps"][5]["code"], BP_OK) << answer.dump();
    EXPECT_EQ(floats(answer["steps"][6]["bytes"]), (std::vector<float>{11, 22, 33})) << device;
    EXPECT_TRUE(answer["watch"].empty()) << answer["watch"].dump();
  }
}

TEST(Worker, calls_a_row_through_the_core) {
  for (const char* device : {"cpu:0", "reference:0", "reference_primitives:0"}) {
    ChildWorker worker(device, "core");
    const Json answer = worker.ask({core_tensor(1, {1, 2, 3}),
                                    core_tensor(2, {10, 20, 30}),
                                    {{"do", "row"},
                                     {"op", "add"},
                                     {"args", {{{"tensor", 1}}, {{"tensor", 2}}}},
                                     {"results", {3}}},
                                    {{"do", "values"}, {"object", 3}, {"both_ways", true}}});
    ASSERT_EQ(answer["steps"][2]["code"], BP_OK) << answer.dump();
    EXPECT_EQ(answer["steps"][2]["shapes"], Json::array({{3}}));
    EXPECT_EQ(answer["steps"][2]["served"]["add"],
              std::string(device) == "reference:0" ? "host" : "native");
    EXPECT_EQ(floats(answer["steps"][3]["bytes"]), (std::vector<float>{11, 22, 33})) << device;
    EXPECT_TRUE(answer["watch"].empty()) << answer["watch"].dump();
  }
}

TEST(Worker, goes_on_after_a_failing_step) {
  ChildWorker worker("cpu:0", "core");
  const Json answer = worker.ask({core_tensor(1, {1, 2, 3}),
                                  core_tensor(2, {10, 20}),
                                  {{"do", "row"},
                                   {"op", "add"},
                                   {"args", {{{"tensor", 1}}, {{"tensor", 2}}}},
                                   {"results", {3}}},
                                  {{"do", "values"}, {"object", 1}},
                                  {{"do", "no_such_step"}}});
  EXPECT_EQ(answer["steps"][2]["code"], BP_BAD_ARGUMENT);
  EXPECT_NE(answer["steps"][2]["message"].get<std::string>().find("broadcast"), std::string::npos);
  EXPECT_EQ(floats(answer["steps"][3]["bytes"]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(answer["steps"][4]["code"], BP_BAD_ARGUMENT);
  EXPECT_TRUE(answer["watch"].empty()) << answer["watch"].dump();
}

TEST(Worker, sees_what_is_written_outside_of_an_output) {
  ChildWorker worker("cpu:0", "direct");
  Json steps = direct_add();
  // A tensor that is said to be longer than its memory: what the kernel then writes lies in the red zone.
  steps[5]["args"] =
      Json::array({{{"tensor", tensor_json(1, {4}, {1})}}, {{"tensor", tensor_json(2, {4}, {1})}}});
  steps[5]["outputs"] = Json::array({tensor_json(3, {4}, {1})});
  const Json answer = worker.ask(steps);
  // Elements of the tensor are what a call may write: the zone is not among them.
  EXPECT_TRUE(answer["watch"].contains("zones")) << answer.dump();
}

TEST(Worker, hashes_repetitions_on_several_threads) {
  for (const char* lane : {"direct", "core"}) {
    ChildWorker worker("cpu:0", lane);
    Json step = {{"do", "repeat"}, {"times", 50}, {"threads", 4}, {"hash", {3}}};
    if (std::string(lane) == "direct") {
      Json all = direct_add();
      step["setup"] = Json::array({all[0], all[1], all[2], all[3], all[4]});
      step["steps"] = Json::array({all[5]});
      step["steps"][0]["quiet"] = true;
      step["steps"][0]["kept"] = "add";
    } else {
      step["setup"] = Json::array({core_tensor(1, {1, 2, 3}), core_tensor(2, {10, 20, 30})});
      step["steps"] = Json::array({{{"do", "row"},
                                    {"op", "add"},
                                    {"args", {{{"tensor", 1}}, {{"tensor", 2}}}},
                                    {"results", {3}},
                                    {"quiet", true}}});
    }
    const Json answer = worker.ask({step});
    EXPECT_EQ(answer["steps"][0]["hashes"].size(), 1u) << answer.dump();
    EXPECT_EQ(answer["steps"][0]["times"], 200);
    EXPECT_EQ(answer["steps"][0]["codes"], Json({{"0", 200}}));
    EXPECT_TRUE(answer["watch"].empty()) << answer["watch"].dump();
  }
}

TEST(Worker, gives_each_thread_work_of_its_own) {
  ChildWorker worker("cpu:0", "core");
  const auto work = [](float first) -> Json {
    return {{"setup", {core_tensor(1, {first, 2, 3}), core_tensor(2, {10, 20, 30})}},
            {"steps",
             {{{"do", "row"},
               {"op", "add"},
               {"args", {{{"tensor", 1}}, {{"tensor", 2}}}},
               {"results", {3}}}}},
            {"hash", {3}}};
  };
  const auto repeat = [](int times, const Json& works) -> Json {
    return {{"do", "repeat"}, {"times", times}, {"threads", works.size()}, {"by_thread", works}};
  };
  const Json answer =
      worker.ask({repeat(1, Json::array({work(1)})), repeat(1, Json::array({work(2)})),
                  repeat(20, Json::array({work(1), work(2), work(1)}))});
  const Json &one = answer["steps"][0], &two = answer["steps"][1], &all = answer["steps"][2];
  ASSERT_EQ(all["each"].size(), 3u) << answer.dump();
  const std::string first = one["hashes"].begin().key(), second = two["hashes"].begin().key();
  EXPECT_NE(first, second);
  EXPECT_EQ(all["each"][0], Json({{first, 20}}));
  EXPECT_EQ(all["each"][1], Json({{second, 20}}));
  EXPECT_EQ(all["each"][2], Json({{first, 20}}));
}

// What the suite itself remembers of a call it would take for the plugin's growth. The output has gaps: its rows are pieces.
TEST(Worker, remembers_no_more_of_a_thousand_calls_than_of_one) {
  ChildWorker worker("cpu:0", "direct");
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  Json call = {{"do", "call"},
               {"op", "add"},
               {"args",
                {{{"tensor", tensor_json(1, {3, 2}, {2, 1})}},
                 {{"tensor", tensor_json(1, {3, 2}, {2, 1})}}}},
               {"outputs", {tensor_json(2, {3, 2}, {4, 1})}}};
  const Json answer = worker.ask(
      Json::array({{{"do", "repeat"},
                    {"times", 2000},
                    {"threads", 1},
                    {"growth", true},
                    {"setup", {allocate_json(1, 24), write_json(1, numbers), allocate_json(2, 40)}},
                    {"steps", Json::array({call})}}}));
  const Json& result = answer["steps"][0];
  EXPECT_EQ(result["times"], 2000) << answer.dump();
  EXPECT_LT(result["growth"]["heap"][3], 2000) << result["growth"].dump();
  EXPECT_TRUE(answer["watch"].empty()) << answer["watch"].dump();
}

// Nobody wrote the memory that the call would read.
TEST(Worker, calls_nothing_after_memory_that_could_not_be_made) {
  ChildWorker worker("cpu:0", "direct");
  const Json call = {
      {"do", "call"}, {"op", "add"}, {"args", Json::array()}, {"outputs", Json::array()}};
  const Json answer =
      worker.ask(Json::array({allocate_step(1, std::uint64_t{1} << 60, 64),
                              call,
                              {{"do", "alive"}},
                              {{"do", "repeat"}, {"times", 2}, {"steps", Json::array({call})}}}));
  EXPECT_EQ(answer["steps"][0]["code"], BP_OUT_OF_MEMORY) << answer.dump();
  for (const int step : {1, 3}) {
    EXPECT_EQ(answer["steps"][step]["code"], BP_INTERNAL) << answer.dump();
    EXPECT_NE(answer["steps"][step]["message"].get<std::string>().find(
                  "not called: step 0 (allocate) failed: "),
              std::string::npos)
        << answer.dump();
  }
  EXPECT_EQ(answer["steps"][2]["same"], true);
}

TEST(Worker, says_why_a_device_cannot_be_opened) {
  ChildWorker worker("no_such:0", "direct");
  const Json answer = worker.ask({{{"do", "describe"}}});
  EXPECT_NE(answer["failed"].get<std::string>().find("no_such"), std::string::npos);
}

TEST(Worker, loads_and_unloads_a_plugin_many_times) {
  for (const char* device : {"cpu:0", "reference:0"}) {
    ChildWorker worker(device, "bare");
    const Json answer = worker.ask({{{"do", "lint"}},
                                    {{"do", "cycle"}, {"times", 20}},
                                    {{"do", "abi"}, {"what", "newer"}, {"skew", "padded"}},
                                    {{"do", "abi"}, {"what", "only_future"}, {"skew", "padded"}},
                                    {{"do", "extensions"}},
                                    {{"do", "facts"}},
                                    {{"do", "probe"}},
                                    {{"do", "core_cycle"}, {"times", 5}}});
    EXPECT_EQ(answer["steps"][1]["times"], 20) << answer.dump();
    EXPECT_EQ(answer["steps"][2]["code"], BP_OK);
    EXPECT_EQ(answer["steps"][2]["works"], true);
    EXPECT_EQ(answer["steps"][2]["fault"], "");
    for (const Json& info : answer["steps"][2]["infos"]) EXPECT_EQ(info["fault"], "") << info;
    EXPECT_NE(answer["steps"][3]["code"], BP_OK);
    EXPECT_EQ(answer["steps"][4]["unknown"].size(), 0u);
    EXPECT_EQ(answer["steps"][5]["code"], BP_OK);
    EXPECT_EQ(answer["steps"][5]["first"], answer["steps"][5]["second"]);
    EXPECT_EQ(answer["steps"][7]["code"], BP_OK) << answer.dump();
  }
}

// A runtime that keeps something for each host address that it has not seen, as Intel's for OpenCL does: no leak of the
// plugin's. One that keeps something for each copy is one.
class RememberingLane : public LaneDriver {
 public:
  explicit RememberingLane(bool leaks) : leaks_(leaks) {}
  std::unique_ptr<Scope> scope(std::uint8_t, Scope*) override {
    return std::make_unique<Copying>(*this);
  }
  Json describe() override { return {}; }
  Counters counters() override {
    Counters now;
    now.heap = 1000 * (static_cast<std::int64_t>(seen_.size()) + (leaks_ ? copies_ : 0));
    return now;
  }
  std::uint64_t staging_place() const override { return place_; }
  void return_to(std::uint64_t place) override { place_ = place; }

 private:
  struct Copying : Scope {
    explicit Copying(RememberingLane& lane) : lane_(lane) {}
    Json step(const Json&) override {
      lane_.seen_.insert(lane_.place_++);
      ++lane_.copies_;
      return {{"code", BP_OK}};
    }
    RememberingLane& lane_;
  };
  const bool leaks_;
  std::set<std::uint64_t> seen_;
  std::int64_t copies_ = 0;
  std::uint64_t place_ = 0;
};

TEST(Worker, repeats_copies_from_the_same_addresses) {
  for (const bool leaks : {false, true}) {
    RememberingLane lane(leaks);
    const std::unique_ptr<Scope> within = lane.scope(0, nullptr);
    Watch watch;
    const Json step = {{"do", "repeat"},
                       {"times", 100},
                       {"growth", true},
                       {"setup", Json::array()},
                       {"steps", {{{"do", "write"}}, {{"do", "read"}}}}};
    const Json result = run_repeat(lane, *within, step, 0, watch);
    EXPECT_EQ(result["growth"]["heap"][3], leaks ? 200 * 1000 : 0) << result;
  }
}

TEST(Crew, begins_all_at_once_and_keeps_its_threads) {
  Crew crew;
  std::set<std::thread::id> seen;
  std::mutex mutex;
  for (const int count : {3, 1, 3}) {
    std::atomic<int> begun{0};
    crew.run(count, [&](int) {
      for (++begun; begun < count;) std::this_thread::yield();  // ends only if all run together
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(begun, count);
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(HostPieces, lends_the_same_addresses_again) {
  HostPieces pieces;
  std::set<std::uint8_t*> seen;
  for (int i = 0; i < 100; ++i) {
    const HostPieces::Piece one = pieces.lend(64), other = pieces.lend(1000);
    EXPECT_NE(one, other);
    seen.insert({one.get(), other.get()});
  }
  EXPECT_EQ(seen.size(), 2u);
  std::vector<HostPieces::Piece> many;  // more than it has of its own
  for (int i = 0; i < 40; ++i) {
    many.push_back(pieces.lend(1 << 20));
    std::memset(many.back().get(), i, 1 << 20);
  }
  for (int i = 0; i < 40; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)][(1 << 20) - 1], i);
}

}  // namespace
}  // namespace bp::conform
