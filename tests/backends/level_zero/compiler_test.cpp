// needs: level_zero
// The extension bp.compiler of the Level Zero backend.
#include <numeric>
#include <thread>

#include "backends/compiler_checks.hpp"
#include "backends/level_zero/direct_device.hpp"

namespace {

class LevelZeroCompiler : public direct::LevelZero {
 protected:
  void SetUp() override {
    LevelZero::SetUp();
    if (!IsSkipped()) BP_SKIP_WITHOUT_A_TOOL_CHAIN();
  }
  bp_compiler_info describe() {
    bp_compiler_info info{};
    info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
    EXPECT_EQ(on().compiler().describe(device().get(), &info), BP_OK);
    return info;
  }
};

TEST_P(LevelZeroCompiler, fills_no_more_than_the_caller_knows) {
  direct::expect_no_more_described_than_the_caller_knows(on());
}

TEST_P(LevelZeroCompiler, launches_with_memory_at_offsets_and_values) {
  bp_module* module = on().compile(direct::axpb);
  direct::expect_axpb_works(on(), on().find(module, "axpb"));
  on().release(module);
}

TEST_P(LevelZeroCompiler, launches_over_three_dimensions) {
  bp_module* module = on().compile(
      "__kernel void place(__global ulong* out) {"
      "  ulong at = get_global_id(0) + 4 * (get_global_id(1) + 2 * get_global_id(2));"
      "  out[at] = get_local_id(0) + 10 * get_group_id(0) + 100 * get_global_size(2); }");
  const bp_handle out = device().allocate(4 * 2 * 3 * 8);
  const bp_launch_argument arguments[] = {on().argument(out)};
  bp_launch made{};
  made.h = {sizeof made, BP_LAUNCH_TYPE, nullptr};
  made.function = on().find(module, "place");
  const uint64_t groups[] = {2, 2, 1}, items[] = {2, 1, 3};
  std::copy_n(groups, 3, made.groups);
  std::copy_n(items, 3, made.items);
  made.arguments = arguments;
  made.num_arguments = 1;
  ASSERT_EQ(on().compiler().launch(device().get(), &made, nullptr), BP_OK);
  const std::vector<uint64_t> got = on().download<uint64_t>(out, 24);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], i % 4 % 2 + 10 * (i % 4 / 2) + 300) << i;
  on().release(module);
  device().release(out);
}

TEST_P(LevelZeroCompiler, a_second_launch_sees_every_argument_that_changed) {
  bp_module* module = on().compile(direct::axpb);
  bp_function* function = on().find(module, "axpb");
  const bp_handle x = on().upload(std::vector<float>{1, 2}), y = device().allocate(64),
                  z = device().allocate(64);
  direct::AxpbValues values{0, 0, 1, 0};
  ASSERT_EQ(on().launch(function, 2, {on().argument(x), on().argument(y), on().argument(&values)}),
            BP_OK);
  values.shift = 5;
  ASSERT_EQ(on().launch(function, 2, {on().argument(y), on().argument(z), on().argument(&values)}),
            BP_OK);
  ASSERT_EQ(on().launch(function, 2, {on().argument(y), on().argument(y), on().argument(&values)}),
            BP_OK);
  EXPECT_EQ(on().download<float>(z, 2), (std::vector<float>{6, 7}));
  EXPECT_EQ(on().download<float>(y, 2), (std::vector<float>{6, 7}));
  for (bp_handle handle : {x, y, z}) device().release(handle);
  on().release(module);
}

// An allocation that ended and one that began may share their handle; a launch must not mistake one for the other.
TEST_P(LevelZeroCompiler, a_launch_is_not_fooled_by_memory_that_was_released) {
  bp_module* module = on().compile(direct::axpb);
  bp_function* function = on().find(module, "axpb");
  const bp_handle x = on().upload(std::vector<float>{1, 2});
  const direct::AxpbValues values{0, 0, 2, 1};
  for (int i = 0; i < 100; ++i) {
    const bp_handle y = device().allocate(8);
    ASSERT_EQ(
        on().launch(function, 2, {on().argument(x), on().argument(y), on().argument(&values)}),
        BP_OK);
    ASSERT_EQ(on().download<float>(y, 2), (std::vector<float>{3, 5})) << i;
    device().release(y);
  }
  device().release(x);
  on().release(module);
}

TEST_P(LevelZeroCompiler, a_missing_kernel_is_told_with_those_that_exist) {
  bp_module* module = on().compile(direct::axpb);
  bp_function* function = nullptr;
  EXPECT_EQ(on().compiler().find(device().get(), module, "axbp", &function), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "test f32: it has no kernel 'axbp'; it has: axpb");
  on().release(module);
}

TEST_P(LevelZeroCompiler, a_binary_runs_after_it_was_loaded) {
  direct::expect_a_binary_runs_after_it_was_loaded(on(), on().compile(direct::axpb));
}

TEST_P(LevelZeroCompiler, a_broken_binary_is_refused_wherever_it_broke) {
  direct::expect_a_broken_binary_is_refused_wherever_it_broke(on(), on().compile(direct::axpb));
}

TEST_P(LevelZeroCompiler, eight_threads_launch_one_function) {
  direct::expect_eight_threads_launch_one_function(on(), on().compile(direct::axpb));
}

TEST_P(LevelZeroCompiler, says_which_argument_does_not_suit) {
  bp_module* module = on().compile(direct::axpb);
  bp_function* function = on().find(module, "axpb");
  const bp_handle x = device().allocate(64);
  const int32_t small = 1;
  const direct::AxpbValues values{0, 0, 1, 0};
  EXPECT_EQ(on().launch(function, 1, {on().argument(x)}), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "axpb: launched with 1 arguments, and it has 3");
  EXPECT_EQ(
      on().launch(function, 1, {on().argument(x), on().argument(&small), on().argument(&values)}),
      BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::StartsWith("axpb: argument 1, of 4 bytes"));
  device().release(x);
  on().release(module);
}

TEST_P(LevelZeroCompiler, says_when_a_group_is_too_large) {
  const bp_compiler_info info = describe();
  bp_module* module =
      on().compile("__kernel void k(__global int* out) { out[get_global_id(0)] = 1; }");
  const bp_handle out = device().allocate(64);
  const uint64_t group = info.max_group[0] * 2;
  EXPECT_EQ(on().launch(on().find(module, "k"), group, {on().argument(out)}, nullptr, group),
            BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "k: a group of " + std::to_string(group) +
                                            " work-items along dimension 0; this device "
                                            "takes " +
                                            std::to_string(info.max_group[0]));
  EXPECT_EQ(on().launch(on().find(module, "k"), 0, {on().argument(out)}), BP_BAD_ARGUMENT);
  device().release(out);
  on().release(module);
}

TEST_P(LevelZeroCompiler, says_when_a_kernel_asks_for_another_group) {
  bp_module* module = on().compile(
      "__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void k(__global int* out) {"
      "  out[get_global_id(0)] = 1; }");
  const bp_handle out = device().allocate(64);
  EXPECT_EQ(on().launch(on().find(module, "k"), 8, {on().argument(out)}, nullptr, 2),
            BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(),
              testing::AnyOf(testing::HasSubstr("refuses groups of 2x1x1"),
                             testing::HasSubstr("zeCommandListAppendLaunchKernel")));
  EXPECT_EQ(on().launch(on().find(module, "k"), 8, {on().argument(out)}, nullptr, 4), BP_OK);
  EXPECT_EQ(device().synchronize(), BP_OK);
  device().release(out);
  on().release(module);
}

TEST_P(LevelZeroCompiler, says_when_local_memory_is_too_small) {
  const std::string bytes = std::to_string(describe().local_memory * 2);
  const auto code =
      direct::spirv_of("__kernel void k(__global uchar* out) { __local uchar tile[" + bytes +
                       "]; tile[get_local_id(0)] = out[0]; "
                       "barrier(CLK_LOCAL_MEM_FENCE); out[1] = tile[out[2]]; }");
  bp_module* module = nullptr;
  if (on().compile_spirv(code.value_or(""), &module) == BP_OK) {
    bp_function* function = nullptr;
    EXPECT_EQ(on().compiler().find(device().get(), module, "k", &function), BP_UNSUPPORTED);
    on().release(module);
  }
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("local memory"));
}

TEST_P(LevelZeroCompiler, describes_itself) {
  const bp_compiler_info info = describe();
  EXPECT_STREQ(info.languages, BP_LANGUAGE_SPIRV);
  EXPECT_THAT(info.identity, testing::HasSubstr("Level Zero 1."));
  EXPECT_EQ(info.shape, BP_SHAPE_CPU);  // as the test's driver says
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_F32);
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_I64);
  EXPECT_GE(info.max_group[0], 1u);
  EXPECT_GE(info.compute_units, 1u);
  EXPECT_GE(info.vector_bytes, 16u);
}

TEST_P(LevelZeroCompiler, a_shape_that_is_asked_for_is_told_instead) {
  const direct::Variable chosen("BACKPLANE_LEVEL_ZERO_SHAPE", "gpu");
  EXPECT_EQ(describe().shape, BP_SHAPE_GPU);
}

TEST_P(LevelZeroCompiler, another_language_is_unsupported) {
  bp_module* module = nullptr;
  EXPECT_EQ(on().compile_spirv("__kernel void k() {}", &module, BP_LANGUAGE_OPENCL_C),
            BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            "test f32: this device does not compile 'opencl-c', but 'spirv'");
}

TEST_P(LevelZeroCompiler, a_module_that_is_not_whole_is_refused) {
  const std::string whole = direct::spirv_of(direct::axpb).value_or("");
  for (const size_t bytes : {size_t{0}, size_t{3}, size_t{16}, whole.size() - 3}) {
    bp_module* module = nullptr;
    EXPECT_EQ(on().compile_spirv(whole.substr(0, bytes), &module), BP_BAD_ARGUMENT) << bytes;
    EXPECT_EQ(module, nullptr);
    EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("not all of it"));
  }
}

TEST_P(LevelZeroCompiler, a_module_that_the_driver_refuses_is_told_with_the_call) {
  std::string module_text = direct::spirv_of(direct::axpb).value_or("");
  // The first instruction after the header becomes one that no version has.
  module_text[20] = static_cast<char>(0xff);
  module_text[21] = static_cast<char>(0x7f);
  bp_module* module = nullptr;
  EXPECT_EQ(on().compile_spirv(module_text, &module), BP_BAD_ARGUMENT);
  EXPECT_EQ(module, nullptr);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("zeModuleCreate"));
}

BP_BOTH_KINDS_OF_LISTS(LevelZeroCompiler);

}  // namespace
