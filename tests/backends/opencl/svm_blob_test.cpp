// needs: cpu opencl
// Shared virtual memory of an application as a tensor. In a process of its own: the kind of memory is chosen when the
// device is opened.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/runtime/interop.hpp>
#include <backplane/tensors.hpp>

#include "dispatcher/calls.hpp"

namespace {

TEST(OpenClSvmBlob, is_computed_with_where_it_lies_and_given_back_once) {
  setenv("BACKPLANE_OPENCL_MEMORY", "svm", 1);
  const bp::Device device = bp::device("opencl:0");
  const auto context = reinterpret_cast<cl_context>(bp::native_handle(device).value);
  unsetenv("BACKPLANE_OPENCL_MEMORY");
  if (bp::native_kinds(device).memory.front() != BP_NATIVE_ADDRESS)
    GTEST_SKIP() << "the device has no shared virtual memory, or was opened without";
  void* const memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
  ASSERT_NE(memory, nullptr);
  int deleted = 0;
  const auto over = [&](char* data, bp::IntList shape) {
    return bp::tensor_from_blob(
        data, shape, {1}, bp::f32, device, [](void* count) { ++*static_cast<int*>(count); },
        &deleted);
  };
  auto* const bytes = static_cast<char*>(memory);
  {
    const bp::Tensor tensor = over(bytes, {8});
    bp::copy_into(tensor, bp::to(bp::arange(0, 8, 1, bp::f32, bp::host_device()), device));
    bp::mul_(tensor, 3);
    EXPECT_EQ(bp::test::values(tensor)[7], 21);
    EXPECT_EQ(bp::native_memory(tensor).handle.value, reinterpret_cast<std::uint64_t>(memory));
    EXPECT_EQ(deleted, 0);
  }
  bp::synchronize(device);
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(bp::test::values(over(bytes, {8}))[7], 21) << "the application's memory is as it was";
  bp::synchronize(device);
  EXPECT_EQ(deleted, 2);
  EXPECT_THAT(bp::test::error_of([&] { over(bytes + 2, {8}); }),
              testing::HasSubstr("which is not a multiple of the 4 bytes"));
  EXPECT_THAT(bp::test::error_of([&] { over(nullptr, {8}); }), testing::HasSubstr("is null"));
  EXPECT_THAT(
      bp::test::error_of([&] {
        bp::tensor_from_memory({"opencl.mem", 1}, 0, {8}, {1}, bp::f32, device, nullptr, nullptr);
      }),
      testing::HasSubstr("addresses, not buffers"));
  EXPECT_EQ(deleted, 2);
  clSVMFree(context, memory);
}

}  // namespace
