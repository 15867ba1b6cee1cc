// needs: cpu level_zero
// What an application is told when the driver fails, and whether it can go on; and how it fares without a tool chain. The
// test's driver fails when its environment asks for it: each case is a process of its own.
#include <fmt/format.h>

#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/policy.hpp>
#include <backplane/tensors.hpp>

#include "backends/level_zero/direct_device.hpp"
#include "dispatcher/child.hpp"

namespace {

using bp::test::expect_passes;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class LevelZeroApplication : public testing::Test {
 protected:
  void SetUp() override {
    if (!direct::has_device()) GTEST_SKIP() << "the test's driver has no OpenCL device";
    if (!direct::spirv_of(direct::spin)) GTEST_SKIP() << "no clang, opt and llvm-spirv";
  }
};

bp::Tensor ones(std::int64_t count, bp::Device device) {
  return bp::to(bp::ones({count}), device);
}

// The sum of its elements, which must be equal, over their number.
double mean_of(const bp::Tensor& x) {
  return bp::item<double>(bp::mean(bp::to(x, bp::device("cpu:0"))));
}

template <class Call>
void expect_error(bp::ErrorClass expected, const testing::Matcher<std::string>& text,
                  const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const bp::Error& error) {
    EXPECT_EQ(error.error_class(), expected) << error.what();
    EXPECT_THAT(std::string(error.what()), text);
  }
}

TEST(LevelZeroApplicationChild, DISABLED_runs_out_of_memory) {
  const bp::Device device = bp::device("level_zero:0");
  constexpr std::int64_t count = 10'000'000;
  {
    const bp::Tensor x = ones(count, device), y = bp::add(x, x);
    expect_error(bp::ErrorClass::out_of_memory,
                 AllOf(StartsWith("add: level_zero:0: out of memory: asked 38.15 MiB"),
                       HasSubstr("free tensors (plugin level_zero: 40000000 bytes asked for"),
                       HasSubstr("OUT_OF_DEVICE_MEMORY")),
                 [&] { bp::add(y, x); });
    EXPECT_EQ(mean_of(y), 2);
  }
  const bp::Tensor x = ones(count, device);
  EXPECT_EQ(mean_of(bp::add(x, x)), 2);
}
TEST_F(LevelZeroApplication, is_told_what_holds_the_memory_that_ran_out_and_goes_on) {
  expect_passes("LevelZeroApplicationChild.DISABLED_runs_out_of_memory",
                {"ZE_OVER_OPENCL_MEMORY_BYTES=100000000"});
}

TEST(LevelZeroApplicationChild, DISABLED_loses_its_device) {
  const bp::Device device = bp::device("level_zero:0");
  const bp::Tensor x = ones(1000, device), two = bp::add(x, x);
  bp::synchronize(device);
  expect_error(bp::ErrorClass::device_lost, HasSubstr("level_zero:0"), [&] {
    bp::add(two, x);  // taken, perhaps; waiting reports the error
    bp::synchronize(device);
  });
  expect_error(bp::ErrorClass::device_lost,
               AllOf(StartsWith("level_zero:0: is lost since"), HasSubstr("after add"),
                     HasSubstr("use another device")),
               [&] { bp::mul(two, x); });
  expect_error(bp::ErrorClass::device_lost, HasSubstr("level_zero:0"),
               [&] { bp::to(two, bp::device("cpu:0")); });
  const bp::Tensor here = bp::ones({3});  // other devices go on
  EXPECT_EQ(mean_of(bp::add(here, here)), 2);
}
TEST_F(LevelZeroApplication, is_told_by_every_later_operator_that_the_device_is_lost) {
  expect_passes("LevelZeroApplicationChild.DISABLED_loses_its_device",
                {"ZE_OVER_OPENCL_LOST_AFTER_LAUNCHES=1"});
}

// Every mean goes to the host in between, behind what was given before.
TEST(LevelZeroApplicationChild, DISABLED_waits_for_slow_events) {
  const bp::Device device = bp::device("level_zero:0");
  bp::Tensor x = ones(1000, device);
  for (double expected = 2; expected < 100; expected *= 2) {
    x = bp::add(x, x);
    EXPECT_EQ(mean_of(x), expected);
  }
  bp::Stream other(device);
  bp::Tensor y;
  {
    const bp::StreamGuard on_other(other);
    y = bp::mul(ones(1000, device), 3.0);
  }
  other.synchronize();
  EXPECT_EQ(mean_of(y), 3);
}
TEST_F(LevelZeroApplication, gets_the_same_results_from_slow_events) {
  expect_passes("LevelZeroApplicationChild.DISABLED_waits_for_slow_events",
                {"ZE_OVER_OPENCL_EVENT_DELAY_MS=20"});
}

// ---- Without a tool chain

std::uint64_t calls_by(const char* op, bp::Rung rung) {
  std::uint64_t calls = 0;
  for (const bp::CallCount& count : bp::call_counts())
    if (count.backend == "level_zero" && count.op == op)
      calls += count.calls[static_cast<int>(rung)];
  return calls;
}

TEST(LevelZeroApplicationChild, DISABLED_has_no_tool_chain) {
  // The test's driver and its PoCL need these.
  const bp::test::TemporaryFolder programs;
  for (const char* program : {"llvm-spirv-15", "ld"}) {
    const std::string link =
        fmt::format("ln -s \"$(command -v {})\" {}", program, programs.path().string());
    ASSERT_EQ(std::system(link.c_str()), 0);
  }
  const direct::Variable path("PATH", programs.path());
  const bp::Device device = bp::device("level_zero:0");
  const bp::Tensor x = ones(1000, device);
  bp::reset_call_counts();
  EXPECT_EQ(mean_of(bp::add(x, x)), 2);
  EXPECT_EQ(calls_by("add", bp::Rung::host), 1u);
  // What was made ahead of time stays on the device.
  const bp::Tensor a = bp::to(bp::ones({40, 50}), device), b = bp::to(bp::ones({50, 30}), device);
  EXPECT_EQ(mean_of(bp::matmul(a, b)), 50);
  EXPECT_EQ(calls_by("matmul", bp::Rung::native), 1u);
  const bp::PolicyScope stays(bp::Rung::host, bp::Policy::forbid);
  expect_error(bp::ErrorClass::unsupported, StartsWith("mul: level_zero:0 has no kernel"),
               [&] { bp::mul(x, x); });
}
TEST_F(LevelZeroApplication, has_the_shipped_kernels_and_the_host_where_no_tool_chain_is) {
  const bp::test::Child child = bp::test::run_child(
      "LevelZeroApplicationChild.DISABLED_has_no_tool_chain", {"BACKPLANE_CACHE_BYTES=0"});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  // Said once, although two operators asked.
  const std::string sentence =
      "level_zero:0: operators run only by the plugin's own kernels and on the host: codegen: "
      "kernels are compiled to SPIR-V by clang, opt and llvm-spirv of one LLVM version, 14 to 19; "
      "'clang-15' is not in PATH; install "
      "it, or name it in "
      "BACKPLANE_CLANG";
  const std::size_t said = child.output.find(sentence);
  EXPECT_NE(said, std::string::npos) << child.output;
  EXPECT_EQ(child.output.find(sentence, said + 1), std::string::npos) << child.output;
}

}  // namespace
