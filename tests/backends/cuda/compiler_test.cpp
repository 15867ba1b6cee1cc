// needs: cuda
// The extension bp.compiler of the CUDA backend.
#include <gmock/gmock.h>
#include <numeric>
#include <thread>

#include "backends/compiler_checks.hpp"
#include "backends/cuda/direct_device.hpp"

namespace {

using CudaCompiler = direct::Cuda;

TEST_F(CudaCompiler, describes_itself) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(compiler().describe(device().get(), &info), BP_OK);
  EXPECT_THAT(info.languages, testing::StartsWith("cuda-c++"));
  EXPECT_THAT(info.identity, testing::HasSubstr("sm_"));
  EXPECT_EQ(info.shape, BP_SHAPE_GPU);
  EXPECT_EQ(info.subgroup_size, 32u);
  EXPECT_GE(info.local_memory, 48u << 10);
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_F64);
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_F32);
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_I64);
  EXPECT_GE(info.max_group[0], 1u);
  EXPECT_GE(info.max_group_items, info.max_group[0] > 1 ? 2u : 1u);
  EXPECT_GE(info.compute_units, 1u);
}

TEST_F(CudaCompiler, fills_no_more_than_the_caller_knows) {
  direct::expect_no_more_described_than_the_caller_knows(*this);
}

TEST_F(CudaCompiler, launches_with_memory_at_offsets_and_values) {
  bp_module* module = compile(direct::axpb);
  direct::expect_axpb_works(*this, find(module, "axpb"));
  release(module);
}

TEST_F(CudaCompiler, launches_over_three_dimensions) {
  bp_module* module = compile(
      "extern \"C\" __global__ void place(unsigned long long* out) {"
      "  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + "
      "threadIdx.y,"
      "           z = blockIdx.z * blockDim.z + threadIdx.z;"
      "  out[x + 4 * (y + 2 * z)] = threadIdx.x + 10 * blockIdx.x + 100 * gridDim.z * blockDim.z; "
      "}");
  direct::expect_launches_over_three_dimensions(*this, module);
}

TEST_F(CudaCompiler, a_second_launch_sees_every_argument_that_changed) {
  direct::expect_a_second_launch_sees_every_argument_that_changed(*this, compile(direct::axpb));
}

TEST_F(CudaCompiler, a_launch_is_not_fooled_by_memory_that_was_released) {
  direct::expect_a_launch_is_not_fooled_by_memory_that_was_released(*this, compile(direct::axpb));
}

TEST_F(CudaCompiler, gives_options_to_the_compiler) {
  bp_module* module = nullptr;
  const std::string code = "extern \"C\" __global__ void k(int* out) { out[0] = ANSWER; }";
  EXPECT_EQ(compile(code, &module), BP_BAD_ARGUMENT);
  ASSERT_EQ(compile(code, &module, "-DANSWER=42"), BP_OK) << fake::Host::last_message();
  const bp_handle out = device().allocate(4);
  ASSERT_EQ(launch(find(module, "k"), 1, {argument(out)}), BP_OK);
  EXPECT_EQ(download<int32_t>(out, 1)[0], 42);
  device().release(out);
  release(module);
}

TEST_F(CudaCompiler, an_error_carries_the_log) {
  bp_module* module = nullptr;
  EXPECT_EQ(compile("extern \"C\" __global__ void k(int* out) { out[0] = nowhere; }", &module),
            BP_BAD_ARGUMENT);
  EXPECT_EQ(module, nullptr);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("nowhere"));
}

TEST_F(CudaCompiler, a_language_that_it_does_not_know_is_unsupported) {
  bp_module* module = nullptr;
  EXPECT_EQ(compile("", &module, "", "fortran"), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(), "test f32: this device does not compile 'fortran'");
}

TEST_F(CudaCompiler, a_missing_kernel_is_told) {
  bp_module* module = compile(direct::axpb);
  bp_function* function = nullptr;
  EXPECT_EQ(compiler().find(device().get(), module, "axbp", &function), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "test f32: it has no kernel 'axbp'");
  release(module);
}

TEST_F(CudaCompiler, a_binary_runs_after_it_was_loaded) {
  direct::expect_a_binary_runs_after_it_was_loaded(*this, compile(direct::axpb));
}

TEST_F(CudaCompiler, a_broken_binary_is_refused_wherever_it_broke) {
  direct::expect_a_broken_binary_is_refused_wherever_it_broke(*this, compile(direct::axpb));
}

TEST_F(CudaCompiler, eight_threads_launch_one_function) {
  direct::expect_eight_threads_launch_one_function(*this, compile(direct::axpb));
}

TEST_F(CudaCompiler, eight_threads_compile_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      bp_module* module = compile(
          "extern \"C\" __global__ void k(int* out) { out[0] = " + std::to_string(t) + "; }");
      const bp_handle out = device().allocate(4);
      ASSERT_EQ(launch(find(module, "k"), 1, {argument(out)}), BP_OK);
      EXPECT_EQ(download<int32_t>(out, 1)[0], t);
      device().release(out);
      release(module);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaCompiler, says_which_argument_does_not_suit) {
  direct::expect_says_which_argument_does_not_suit(*this, compile(direct::axpb));
}

TEST_F(CudaCompiler, says_when_a_group_is_too_large) {
  bp_module* module = compile("extern \"C\" __global__ void k(int* out) { out[threadIdx.x] = 1; }");
  direct::expect_says_when_a_group_is_too_large(*this, module);
}

TEST_F(CudaCompiler, says_when_a_kernel_cannot_have_so_large_a_group) {
  bp_module* module = compile(
      "extern \"C\" __global__ void __launch_bounds__(64) k(int* out) { out[threadIdx.x] = 1; }");
  const bp_handle out = device().allocate(1024);
  EXPECT_EQ(launch(find(module, "k"), 128, {argument(out)}, nullptr, 128), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "k: a group of 128 work-items; this kernel takes at most 64 on this device");
  EXPECT_EQ(launch(find(module, "k"), 64, {argument(out)}, nullptr, 64), BP_OK);
  EXPECT_EQ(device().synchronize(), BP_OK);
  device().release(out);
  release(module);
}

TEST_F(CudaCompiler, says_when_a_grid_is_too_large) {
  bp_module* module = compile(direct::axpb);
  bp_launch made{};
  made.h = {sizeof made, BP_LAUNCH_TYPE, nullptr};
  made.function = find(module, "axpb");
  const uint64_t groups[] = {1, 100'000, 1}, items[] = {1, 1, 1};
  std::copy_n(groups, 3, made.groups);
  std::copy_n(items, 3, made.items);
  const direct::AxpbValues values{};
  const bp_launch_argument arguments[] = {argument(bp_handle{0}), argument(bp_handle{0}),
                                          argument(&values)};
  made.arguments = arguments;
  made.num_arguments = 3;
  EXPECT_EQ(compiler().launch(device().get(), &made, nullptr), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(),
            "axpb: 100000 groups along dimension 1; this device takes 65535");
  release(module);
}

}  // namespace
