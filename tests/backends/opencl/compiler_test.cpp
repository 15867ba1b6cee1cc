// needs: opencl
// The extension bp.compiler of the OpenCL backend.
#include <numeric>
#include <thread>

#include "backends/compiler_checks.hpp"
#include "backends/opencl/direct_device.hpp"

namespace {

using OpenClCompiler = direct::OpenCl;

TEST_F(OpenClCompiler, describes_itself) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(compiler().describe(device.get(), &info), BP_OK);
  EXPECT_THAT(info.languages, testing::StartsWith("opencl-c"));
  EXPECT_THAT(info.identity, testing::HasSubstr("OpenCL"));
  EXPECT_TRUE(info.shape == BP_SHAPE_CPU || info.shape == BP_SHAPE_GPU);
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_F32);
  EXPECT_TRUE(info.compute_dtypes & 1u << BP_I64);
  EXPECT_GE(info.max_group[0], 1u);
  EXPECT_GE(info.max_group_items, info.max_group[0] > 1 ? 2u : 1u);
  EXPECT_GE(info.compute_units, 1u);
}

TEST_F(OpenClCompiler, fills_no_more_than_the_caller_knows) {
  direct::expect_no_more_described_than_the_caller_knows(*this);
}

TEST_F(OpenClCompiler, launches_with_memory_at_offsets_and_values) {
  bp_module* module = compile(direct::axpb);
  direct::expect_axpb_works(*this, find(module, "axpb"));
  release(module);
}

TEST_F(OpenClCompiler, launches_over_three_dimensions) {
  bp_module* module = compile(
      "__kernel void place(__global ulong* out) {"
      "  ulong at = get_global_id(0) + 4 * (get_global_id(1) + 2 * get_global_id(2));"
      "  out[at] = get_local_id(0) + 10 * get_group_id(0) + 100 * get_global_size(2); }");
  direct::expect_launches_over_three_dimensions(*this, module);
}

TEST_F(OpenClCompiler, a_second_launch_sees_every_argument_that_changed) {
  direct::expect_a_second_launch_sees_every_argument_that_changed(*this, compile(direct::axpb));
}

TEST_F(OpenClCompiler, a_launch_is_not_fooled_by_memory_that_was_released) {
  direct::expect_a_launch_is_not_fooled_by_memory_that_was_released(*this, compile(direct::axpb));
}

TEST_F(OpenClCompiler, gives_options_to_the_compiler) {
  bp_module* module = nullptr;
  const std::string code = "__kernel void k(__global int* out) { out[0] = ANSWER; }";
  EXPECT_EQ(compile(code, &module), BP_BAD_ARGUMENT);
  ASSERT_EQ(compile(code, &module, "-DANSWER=42"), BP_OK) << fake::Host::last_message();
  const bp_handle out = device.allocate(4);
  ASSERT_EQ(launch(find(module, "k"), 1, {argument(out)}), BP_OK);
  EXPECT_EQ(download<int32_t>(out, 1)[0], 42);
  device.release(out);
  release(module);
}

TEST_F(OpenClCompiler, divides_and_takes_roots_correctly_rounded_where_the_device_can) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(compiler().describe(device.get(), &info), BP_OK);
  const bool can = std::string(info.identity).find("-cl-fp32-correctly-rounded-divide-sqrt") !=
                   std::string::npos;
  if (!can) GTEST_SKIP() << "the device divides with 2.5 ULP";
  bp_module* module = compile(R"(
__kernel void both(__global const float* a, __global const float* b, __global float* q) {
  const size_t i = get_global_id(0);
  q[2 * i] = a[i] / b[i];
  q[2 * i + 1] = sqrt(a[i]);
})");
  constexpr size_t count = 4096;
  std::vector<float> a(count), b(count);
  uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    a[i] = static_cast<float>(state >> 8) * 0x1p-12f + 1;
    state = state * 1664525u + 1013904223u;
    b[i] = static_cast<float>(state >> 8) * 0x1p-20f + 1;
  }
  const bp_handle from = upload(a), by = upload(b), to = device.allocate(2 * count * 4);
  ASSERT_EQ(launch(find(module, "both"), count, {argument(from), argument(by), argument(to)}),
            BP_OK);
  const std::vector<float> got = download<float>(to, 2 * count);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(got[2 * i], a[i] / b[i]) << a[i] << " / " << b[i];
    ASSERT_EQ(got[2 * i + 1], std::sqrt(a[i])) << a[i];
  }
  for (const bp_handle handle : {from, by, to}) device.release(handle);
  release(module);
}

TEST_F(OpenClCompiler, an_error_carries_the_log) {
  bp_module* module = nullptr;
  EXPECT_EQ(compile("__kernel void k(__global int* out) { out[0] = nowhere; }", &module),
            BP_BAD_ARGUMENT);
  EXPECT_EQ(module, nullptr);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("nowhere"));
}

TEST_F(OpenClCompiler, a_language_that_it_does_not_know_is_unsupported) {
  bp_module* module = nullptr;
  EXPECT_EQ(compile("", &module, "", "fortran"), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(), "test f32: this device does not compile 'fortran'");
}

// __kernel void answer(__global int* out) { out[0] = 42; }, by clang and llvm-spirv.
constexpr uint32_t answer_in_spirv[] = {
    0x7230203,  0x10000, 0x6000e, 0xe,     0x0,        0x20011,    0x4,     0x20011, 0x5,
    0x20011,    0x6,     0x5000b, 0x1,     0x6e65704f, 0x732e4c43, 0x6474,  0x3000e, 0x2,
    0x2,        0x5000f, 0x6,     0xa,     0x77736e61, 0x7265,     0x60047, 0x6,     0x29,
    0x77736e61, 0x7265,  0x0,     0x40047, 0x7,        0x2c,       0x4,     0x40047, 0xb,
    0x2c,       0x4,     0x40015, 0x3,     0x20,       0x0,        0x4002b, 0x3,     0x9,
    0x2a,       0x20013, 0x2,     0x40020, 0x4,        0x5,        0x3,     0x40021, 0x5,
    0x2,        0x4,     0x50036, 0x2,     0x6,        0x2,        0x5,     0x30037, 0x4,
    0x7,        0x200f8, 0x8,     0x5003e, 0x7,        0x9,        0x2,     0x4,     0x100fd,
    0x10038,    0x50036, 0x2,     0xa,     0x2,        0x5,        0x30037, 0x4,     0xb,
    0x200f8,    0xc,     0x50039, 0x2,     0xd,        0x6,        0xb,     0x100fd, 0x10038,
};

TEST_F(OpenClCompiler, takes_spirv_where_the_device_does) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(compiler().describe(device.get(), &info), BP_OK);
  const bool offered = std::string(info.languages).find(BP_LANGUAGE_SPIRV) != std::string::npos;
  const std::string code(reinterpret_cast<const char*>(answer_in_spirv), sizeof answer_in_spirv);
  bp_module* module = nullptr;
  const bp_code compiled = compile(code, &module, "", BP_LANGUAGE_SPIRV);
  if (!offered) {
    EXPECT_EQ(compiled, BP_UNSUPPORTED);
    GTEST_SKIP() << "this device takes no SPIR-V";
  }
  ASSERT_EQ(compiled, BP_OK) << fake::Host::last_message();
  const bp_handle out = device.allocate(4);
  ASSERT_EQ(launch(find(module, "answer"), 1, {argument(out)}), BP_OK);
  EXPECT_EQ(download<int32_t>(out, 1)[0], 42);
  device.release(out);
  release(module);
  bp_module* none = nullptr;
  EXPECT_EQ(compile(code.substr(0, code.size() - 12), &none, "", BP_LANGUAGE_SPIRV),
            BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(),
              testing::StartsWith("test f32: the driver does not take it as 'spirv'"));
  EXPECT_EQ(none, nullptr);
}

TEST_F(OpenClCompiler, a_missing_kernel_is_told_with_those_that_exist) {
  bp_module* module = compile(direct::axpb);
  bp_function* function = nullptr;
  EXPECT_EQ(compiler().find(device.get(), module, "axbp", &function), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "test f32: it has no kernel 'axbp'; it has: axpb");
  release(module);
}

TEST_F(OpenClCompiler, a_binary_runs_after_it_was_loaded) {
  direct::expect_a_binary_runs_after_it_was_loaded(*this, compile(direct::axpb));
}

TEST_F(OpenClCompiler, a_broken_binary_is_refused_wherever_it_broke) {
  direct::expect_a_broken_binary_is_refused_wherever_it_broke(*this, compile(direct::axpb));
}

TEST_F(OpenClCompiler, eight_threads_launch_one_function) {
  direct::expect_eight_threads_launch_one_function(*this, compile(direct::axpb));
}

TEST_F(OpenClCompiler, eight_threads_compile_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      bp_module* module =
          compile("__kernel void k(__global int* out) { out[0] = " + std::to_string(t) + "; }");
      const bp_handle out = device.allocate(4);
      ASSERT_EQ(launch(find(module, "k"), 1, {argument(out)}), BP_OK);
      EXPECT_EQ(download<int32_t>(out, 1)[0], t);
      device.release(out);
      release(module);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OpenClCompiler, says_which_argument_does_not_suit) {
  direct::expect_says_which_argument_does_not_suit(*this, compile(direct::axpb));
}

TEST_F(OpenClCompiler, says_when_a_group_is_too_large) {
  bp_module* module = compile("__kernel void k(__global int* out) { out[get_global_id(0)] = 1; }");
  direct::expect_says_when_a_group_is_too_large(*this, module);
}

TEST_F(OpenClCompiler, says_when_a_kernel_asks_for_another_group) {
  bp_module* module = compile(
      "__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void k(__global int* out) {"
      "  out[get_global_id(0)] = 1; }");
  const bp_handle out = device.allocate(64);
  EXPECT_EQ(launch(find(module, "k"), 8, {argument(out)}, nullptr, 2), BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("in groups of 2x1x1"));
  EXPECT_EQ(launch(find(module, "k"), 8, {argument(out)}, nullptr, 4), BP_OK);
  EXPECT_EQ(device.synchronize(), BP_OK);
  device.release(out);
  release(module);
}

TEST_F(OpenClCompiler, says_when_local_memory_is_too_small) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(compiler().describe(device.get(), &info), BP_OK);
  const std::string bytes = std::to_string(info.local_memory * 2);
  bp_module* module = nullptr;
  const bp_code compiled =
      compile("__kernel void k(__global uchar* out) { __local uchar tile[" + bytes +
                  "]; tile[get_local_id(0)] = out[0]; "
                  "barrier(CLK_LOCAL_MEM_FENCE); out[1] = tile[out[2]]; }",
              &module);
  if (compiled == BP_OK) {
    bp_function* function = nullptr;
    EXPECT_EQ(compiler().find(device.get(), module, "k", &function), BP_UNSUPPORTED);
    release(module);
  }
  EXPECT_THAT(fake::Host::last_message(), testing::HasSubstr("local memory"));
}

}  // namespace
