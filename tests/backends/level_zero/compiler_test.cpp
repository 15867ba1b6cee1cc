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
  direct::expect_launches_over_three_dimensions(on(), module);
}

TEST_P(LevelZeroCompiler, a_second_launch_sees_every_argument_that_changed) {
  direct::expect_a_second_launch_sees_every_argument_that_changed(on(), on().compile(direct::axpb));
}

TEST_P(LevelZeroCompiler, a_launch_is_not_fooled_by_memory_that_was_released) {
  direct::expect_a_launch_is_not_fooled_by_memory_that_was_released(on(),
                                                                    on().compile(direct::axpb));
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
  direct::expect_says_which_argument_does_not_suit(on(), on().compile(direct::axpb));
}

TEST_P(LevelZeroCompiler, says_when_a_group_is_too_large) {
  bp_module* module =
      on().compile("__kernel void k(__global int* out) { out[get_global_id(0)] = 1; }");
  direct::expect_says_when_a_group_is_too_large(on(), module);
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
