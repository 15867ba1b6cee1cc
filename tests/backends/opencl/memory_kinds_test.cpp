// needs: opencl
// The kinds of memory that BACKPLANE_OPENCL_MEMORY chooses, and copies through pinned memory.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <cstdlib>

#include <backplane/extensions/interop.h>

#include "backends/opencl/direct_device.hpp"

namespace {

// An environment variable for as long as the object lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

class OpenClMemoryKinds : public testing::TestWithParam<const char*> {
 protected:
  uint32_t flags() {
    uint32_t count = 0;
    EXPECT_EQ(plugin->devices(plugin->self, &count, nullptr), BP_OK);
    std::vector<bp_device_info> infos(count);
    for (bp_device_info& info : infos) info.h = {sizeof info, BP_TYPE_DEVICE_INFO, nullptr};
    EXPECT_EQ(plugin->devices(plugin->self, &count, infos.data()), BP_OK);
    return infos[0].flags;
  }
  bool has_the_kind() {
    return std::string(GetParam()) == "buffer" || (flags() & BP_DEVICE_REAL_ADDRESSES);
  }

  Setting setting{"BACKPLANE_OPENCL_MEMORY", GetParam()};
  fake::Host host;
  fake::Plugin plugin{host, BP_PLUGIN_DIR "/libbackplane_opencl.so"};
  fake::Device device{plugin, 0};
};

TEST_P(OpenClMemoryKinds, buffers_of_an_application_come_where_handles_are_buffers) {
  if (!has_the_kind()) GTEST_SKIP() << "the device has no " << GetParam();
  const auto& interop = *reinterpret_cast<const bp_interop*>(
      plugin->extension(plugin->self, BP_INTEROP, BP_INTEROP_VERSION));
  uint64_t context = 0, native = 0;
  ASSERT_EQ(interop.device_handle(device.get(), "opencl.context", &context), BP_OK);
  cl_int error = CL_SUCCESS;
  const cl_mem buffer =
      clCreateBuffer(reinterpret_cast<cl_context>(context), CL_MEM_READ_WRITE, 64, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const bp_native given{"opencl.mem", reinterpret_cast<uint64_t>(buffer)};
  bp_handle handle = 0;
  const bp_code code = interop.adopt_memory(device.get(), &given, 64, &handle);
  if (flags() & BP_DEVICE_REAL_ADDRESSES) {
    EXPECT_EQ(code, BP_BAD_ARGUMENT);
    EXPECT_NE(fake::Host::last_message().find("addresses, not buffers"), std::string::npos);
    handle = device.allocate(64);
    EXPECT_EQ(interop.memory_handle(device.get(), handle, "opencl.mem", &native), BP_UNSUPPORTED);
    device.release(handle);
  } else {
    ASSERT_EQ(code, BP_OK);
    EXPECT_EQ(interop.memory_handle(device.get(), handle, "opencl.mem", &native), BP_OK);
    EXPECT_EQ(native, given.value);
    interop.forget_memory(device.get(), handle);
  }
  EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
}

TEST_P(OpenClMemoryKinds, bytes_survive_copies_fills_and_offsets) {
  if (!has_the_kind()) GTEST_SKIP() << "the device has no " << GetParam();
  const bp_handle first = device.allocate(4096), second = device.allocate(4096);
  ASSERT_NE(first, 0u);
  std::vector<uint8_t> sent(1000), got(1000);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>(i * 7);
  const bp_region from_host{reinterpret_cast<uintptr_t>(sent.data()), 0, 1000},
      to_host{reinterpret_cast<uintptr_t>(got.data()), 0, 1000};
  ASSERT_EQ(device.copy({first, 64, 1000}, from_host, BP_COPY_FROM_HOST), BP_OK);
  ASSERT_EQ(device.copy({second, 3, 1000}, {first, 64, 1000}, BP_COPY_WITHIN), BP_OK);
  const uint16_t pattern = 0x0201;
  const bp_region aligned{second, 10, 20}, unaligned{second, 101, 3};
  ASSERT_EQ(plugin->memory->fill(device.get(), &aligned, &pattern, 2, nullptr), BP_OK);
  ASSERT_EQ(plugin->memory->fill(device.get(), &unaligned, &pattern, 2, nullptr), BP_OK);
  ASSERT_EQ(device.copy(to_host, {second, 3, 1000}, BP_COPY_TO_HOST), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  for (size_t i = 0; i < 20; ++i) sent[7 + i] = i % 2 == 0 ? 1 : 2;
  for (size_t i = 0; i < 3; ++i) sent[98 + i] = i % 2 == 0 ? 1 : 2;
  EXPECT_EQ(got, sent);
  device.release(first);
  device.release(second);
}

TEST_P(OpenClMemoryKinds, the_host_reads_what_it_is_told_it_may) {
  if (!(flags() & BP_DEVICE_HOST_READABLE)) GTEST_SKIP() << "not readable";
  const bp_handle handle = device.allocate(64);
  const uint64_t pattern = 0x1122334455667788;
  const bp_region to{handle, 0, 64};
  ASSERT_EQ(plugin->memory->fill(device.get(), &to, &pattern, 8, nullptr), BP_OK);
  ASSERT_EQ(device.synchronize(), BP_OK);
  EXPECT_EQ(reinterpret_cast<const uint64_t*>(handle)[7], pattern);
  device.release(handle);
}

TEST_P(OpenClMemoryKinds, an_allocation_beyond_the_device_is_out_of_memory) {
  bp_handle handle = 0;
  EXPECT_EQ(plugin->memory->allocate(device.get(), uint64_t{1} << 60, 64, &handle),
            BP_OUT_OF_MEMORY);
  EXPECT_THAT(fake::Host::last_message(),
              testing::HasSubstr("1152921504606846976 bytes asked for"));
}

TEST_P(OpenClMemoryKinds, addresses_are_aligned_as_far_as_the_host_asks) {
  if (!(flags() & BP_DEVICE_REAL_ADDRESSES)) GTEST_SKIP() << "handles are not addresses";
  for (const uint64_t alignment : {uint64_t{64}, uint64_t{4096}, uint64_t{1} << 21}) {
    bp_handle handles[3] = {};
    for (bp_handle& handle : handles) {
      ASSERT_EQ(plugin->memory->allocate(device.get(), 5000, alignment, &handle), BP_OK);
      EXPECT_EQ(handle % alignment, 0u) << alignment;
      const uint32_t pattern = 7;
      const bp_region to{handle, 0, 5000};
      EXPECT_EQ(plugin->memory->fill(device.get(), &to, &pattern, 4, nullptr), BP_OK);
    }
    EXPECT_EQ(device.synchronize(), BP_OK);
    for (const bp_handle handle : handles) device.release(handle);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OpenClMemoryKinds, testing::Values("buffer", "svm", "usm"));

TEST(OpenClMemoryKind, one_that_does_not_exist_is_a_line_in_the_log) {
  const Setting setting("BACKPLANE_OPENCL_MEMORY", "magnetic");
  fake::Host host;
  fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_opencl.so");
  fake::Device device(plugin, 0);
  EXPECT_THAT(host.log_lines(), testing::Contains(testing::HasSubstr("is 'magnetic', which")));
}

class OpenClKernelsOnAddresses : public direct::OpenCl {
 protected:
  void expect_axpb_works() {
    bp_module* module = compile(direct::axpb);
    const bp_handle x = upload(std::vector<float>{1, 2, 3}), y = device.allocate(16);
    const direct::AxpbValues values{4, 8, 10, 1};
    ASSERT_EQ(launch(find(module, "axpb"), 2, {argument(x), argument(y), argument(&values)}),
              BP_OK);
    const std::vector<float> got = download<float>(y, 4);
    EXPECT_EQ(got[2], 21);
    EXPECT_EQ(got[3], 31);
    device.release(x);
    device.release(y);
    release(module);
  }
};

// Bases that come first, since the device reads the variable when it is opened.
struct AsSvm {
  Setting setting{"BACKPLANE_OPENCL_MEMORY", "svm"};
};
struct AsUsm {
  Setting setting{"BACKPLANE_OPENCL_MEMORY", "usm"};
};
class OpenClSvm : private AsSvm, public OpenClKernelsOnAddresses {};
class OpenClUsm : private AsUsm, public OpenClKernelsOnAddresses {};

TEST_F(OpenClSvm, kernels_take_addresses) {
  expect_axpb_works();
}

TEST_F(OpenClUsm, kernels_take_addresses) {
  expect_axpb_works();
}

// Eleven megabytes are two whole pieces of pinned memory and a part of a third.
TEST(OpenClStaging, large_copies_through_pinned_memory_are_whole) {
  const Setting setting("BACKPLANE_OPENCL_STAGING", "1");
  fake::Host host;
  fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_opencl.so");
  fake::Device device(plugin, 0);
  for (const size_t count : {size_t{11} << 18, size_t{1} << 20, size_t{16} << 10, size_t{9}}) {
    std::vector<uint32_t> sent(count), got(count);
    for (size_t i = 0; i < count; ++i) sent[i] = static_cast<uint32_t>(i * 2654435761u);
    const bp_handle handle = device.allocate(4 * count + 64);
    const bp_region place{handle, 64, 4 * count};
    const auto address = [](const std::vector<uint32_t>& of) {
      return bp_region{reinterpret_cast<uintptr_t>(of.data()), 0, 4 * of.size()};
    };
    ASSERT_EQ(device.copy(place, address(sent), BP_COPY_FROM_HOST), BP_OK);
    if (count >= 16 << 10) {
      // The source has been read: what happens to it now is nobody's business.
      const uint32_t first = sent[0];
      sent[0] = 77;
      ASSERT_EQ(device.copy(address(got), place, BP_COPY_TO_HOST), BP_OK);
      EXPECT_EQ(got[0], first);
      sent[0] = first;
    }
    ASSERT_EQ(device.copy(address(got), place, BP_COPY_TO_HOST), BP_OK);
    ASSERT_EQ(device.synchronize(), BP_OK);
    EXPECT_TRUE(got == sent) << count;
    device.release(handle);
  }
}

}  // namespace
