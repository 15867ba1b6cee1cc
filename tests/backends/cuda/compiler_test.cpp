// needs: cuda
// The extension bp.compiler of the CUDA backend.
#include <numeric>
#include <thread>

#include "backends/cuda/direct_device.hpp"

namespace {

class CudaCompiler : public direct::Cuda {
 protected:
  std::vector<char> binary_of(bp_module* module) {
    uint64_t bytes = 0;
    EXPECT_EQ(compiler().binary(device().get(), module, &bytes, nullptr), BP_OK);
    std::vector<char> binary(bytes);
    EXPECT_EQ(compiler().binary(device().get(), module, &bytes, binary.data()), BP_OK);
    return binary;
  }
  bp_code load(const std::vector<char>& binary, bp_module** out) {
    return compiler().load(device().get(), "axpb", binary.data(), binary.size(), out);
  }
  void expect_axpb_works(bp_function* function) {
    const bp_handle x = upload(std::vector<float>{9, 1, 2, 3}), y = device().allocate(32);
    const direct::AxpbValues values{4, 16, 10, 0.5f};
    ASSERT_EQ(launch(function, 3, {argument(x), argument(y), argument(&values)}), BP_OK)
        << fake::Host::last_message();
    const std::vector<float> got = download<float>(y, 7);
    EXPECT_EQ(std::vector<float>(got.begin() + 4, got.end()),
              (std::vector<float>{10.5f, 20.5f, 30.5f}));
    device().release(x);
    device().release(y);
  }
};

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
  bp_compiler_info info{};
  info.h = {offsetof(bp_compiler_info, max_group), BP_COMPILER_INFO_TYPE, nullptr};
  info.compute_units = 77;
  ASSERT_EQ(compiler().describe(device().get(), &info), BP_OK);
  EXPECT_NE(info.identity, nullptr);
  EXPECT_EQ(info.compute_units, 77u);
}

TEST_F(CudaCompiler, launches_with_memory_at_offsets_and_values) {
  bp_module* module = compile(direct::axpb);
  expect_axpb_works(find(module, "axpb"));
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
  const bp_handle out = device().allocate(4 * 2 * 3 * 8);
  const bp_launch_argument arguments[] = {argument(out)};
  bp_launch made{};
  made.h = {sizeof made, BP_LAUNCH_TYPE, nullptr};
  made.function = find(module, "place");
  const uint64_t groups[] = {2, 2, 1}, items[] = {2, 1, 3};
  std::copy_n(groups, 3, made.groups);
  std::copy_n(items, 3, made.items);
  made.arguments = arguments;
  made.num_arguments = 1;
  ASSERT_EQ(compiler().launch(device().get(), &made, nullptr), BP_OK);
  const std::vector<uint64_t> got = download<uint64_t>(out, 24);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], i % 4 % 2 + 10 * (i % 4 / 2) + 300) << i;
  release(module);
  device().release(out);
}

TEST_F(CudaCompiler, a_second_launch_sees_every_argument_that_changed) {
  bp_module* module = compile(direct::axpb);
  bp_function* function = find(module, "axpb");
  const bp_handle x = upload(std::vector<float>{1, 2}), y = device().allocate(64),
                  z = device().allocate(64);
  direct::AxpbValues values{0, 0, 1, 0};
  ASSERT_EQ(launch(function, 2, {argument(x), argument(y), argument(&values)}), BP_OK);
  values.shift = 5;
  ASSERT_EQ(launch(function, 2, {argument(y), argument(z), argument(&values)}), BP_OK);
  ASSERT_EQ(launch(function, 2, {argument(y), argument(y), argument(&values)}), BP_OK);
  EXPECT_EQ(download<float>(z, 2), (std::vector<float>{6, 7}));
  EXPECT_EQ(download<float>(y, 2), (std::vector<float>{6, 7}));
  for (bp_handle handle : {x, y, z}) device().release(handle);
  release(module);
}

// An allocation that ended and one that began may share their handle; a launch must not mistake one for the other.
TEST_F(CudaCompiler, a_launch_is_not_fooled_by_memory_that_was_released) {
  bp_module* module = compile(direct::axpb);
  bp_function* function = find(module, "axpb");
  const bp_handle x = upload(std::vector<float>{1, 2});
  const direct::AxpbValues values{0, 0, 2, 1};
  for (int i = 0; i < 100; ++i) {
    const bp_handle y = device().allocate(8);
    ASSERT_EQ(launch(function, 2, {argument(x), argument(y), argument(&values)}), BP_OK);
    ASSERT_EQ(download<float>(y, 2), (std::vector<float>{3, 5})) << i;
    device().release(y);
  }
  device().release(x);
  release(module);
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
  bp_module* compiled = compile(direct::axpb);
  const std::vector<char> binary = binary_of(compiled);
  release(compiled);
  bp_module* loaded = nullptr;
  ASSERT_EQ(load(binary, &loaded), BP_OK) << fake::Host::last_message();
  expect_axpb_works(find(loaded, "axpb"));
  EXPECT_FALSE(binary_of(loaded).empty());
  release(loaded);
}

TEST_F(CudaCompiler, a_broken_binary_is_refused_wherever_it_broke) {
  bp_module* module = compile(direct::axpb);
  const std::vector<char> whole = binary_of(module);
  release(module);
  for (const size_t length :
       {size_t{0}, size_t{5}, size_t{24}, whole.size() / 2, whole.size() - 1}) {
    std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    bp_module* loaded = nullptr;
    EXPECT_EQ(load(cut, &loaded), BP_BAD_ARGUMENT) << length;
    EXPECT_EQ(loaded, nullptr);
  }
  for (const size_t place :
       {size_t{0}, size_t{9}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
    std::vector<char> spoiled = whole;
    spoiled[place] ^= 4;
    bp_module* loaded = nullptr;
    EXPECT_EQ(load(spoiled, &loaded), BP_BAD_ARGUMENT) << place;
  }
}

TEST_F(CudaCompiler, eight_threads_launch_one_function) {
  bp_module* module = compile(direct::axpb);
  bp_function* function = find(module, "axpb");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      bp_stream* stream = make_stream();
      const bp_handle x = upload(std::vector<float>(64, static_cast<float>(t))),
                      y = device().allocate(256);
      for (int i = 0; i < 200; ++i) {
        const direct::AxpbValues values{0, 0, 100, static_cast<float>(i)};
        ASSERT_EQ(launch(function, 64, {argument(x), argument(y), argument(&values)}, stream),
                  BP_OK);
        float got[64];
        ASSERT_EQ(device().to_host(got, y, 256, stream), BP_OK);
        ASSERT_EQ(device().synchronize(stream), BP_OK);
        ASSERT_EQ(got[0], static_cast<float>(100 * t + i));
        ASSERT_EQ(got[63], static_cast<float>(100 * t + i));
      }
      device().release(x);
      device().release(y);
      destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  release(module);
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
  bp_module* module = compile(direct::axpb);
  bp_function* function = find(module, "axpb");
  const bp_handle x = device().allocate(64);
  const int32_t small = 1;
  const direct::AxpbValues values{0, 0, 1, 0};
  EXPECT_EQ(launch(function, 1, {argument(x)}), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "axpb: launched with 1 arguments, and it has 3");
  EXPECT_EQ(launch(function, 1, {argument(x), argument(&small), argument(&values)}),
            BP_BAD_ARGUMENT);
  EXPECT_THAT(fake::Host::last_message(), testing::StartsWith("axpb: argument 1, of 4 bytes"));
  device().release(x);
  release(module);
}

TEST_F(CudaCompiler, says_when_a_group_is_too_large) {
  bp_compiler_info info{};
  info.h = {sizeof info, BP_COMPILER_INFO_TYPE, nullptr};
  ASSERT_EQ(compiler().describe(device().get(), &info), BP_OK);
  bp_module* module = compile("extern \"C\" __global__ void k(int* out) { out[threadIdx.x] = 1; }");
  const bp_handle out = device().allocate(64);
  const uint64_t group = info.max_group[0] * 2;
  EXPECT_EQ(launch(find(module, "k"), group, {argument(out)}, nullptr, group), BP_BAD_ARGUMENT);
  EXPECT_EQ(fake::Host::last_message(), "k: a group of " + std::to_string(group) +
                                            " work-items along dimension 0; this device "
                                            "takes " +
                                            std::to_string(info.max_group[0]));
  EXPECT_EQ(launch(find(module, "k"), 0, {argument(out)}), BP_BAD_ARGUMENT);
  device().release(out);
  release(module);
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
