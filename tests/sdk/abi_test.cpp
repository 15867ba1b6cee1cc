// What abi.h must agree on with others: DLPack, and a plugin written in C against the released header.
#include <gtest/gtest.h>

#include <backplane/abi.h>
#if __has_include(<dlpack/dlpack.h>)
#  include <dlpack/dlpack.h>
#endif

#include "sdk/fake_host.hpp"

namespace {

#if __has_include(<dlpack/dlpack.h>)
static_assert(sizeof(bp_dl_device) == sizeof(DLDevice));
static_assert(offsetof(bp_dl_device, device_type) == offsetof(DLDevice, device_type));
static_assert(offsetof(bp_dl_device, device_id) == offsetof(DLDevice, device_id));
static_assert(sizeof(bp_dl_dtype) == sizeof(DLDataType));
static_assert(offsetof(bp_dl_dtype, bits) == offsetof(DLDataType, bits));
static_assert(offsetof(bp_dl_dtype, lanes) == offsetof(DLDataType, lanes));
static_assert(sizeof(bp_dl_tensor) == sizeof(DLTensor));
static_assert(offsetof(bp_dl_tensor, data) == offsetof(DLTensor, data));
static_assert(offsetof(bp_dl_tensor, device) == offsetof(DLTensor, device));
static_assert(offsetof(bp_dl_tensor, ndim) == offsetof(DLTensor, ndim));
static_assert(offsetof(bp_dl_tensor, dtype) == offsetof(DLTensor, dtype));
static_assert(offsetof(bp_dl_tensor, shape) == offsetof(DLTensor, shape));
static_assert(offsetof(bp_dl_tensor, strides) == offsetof(DLTensor, strides));
static_assert(offsetof(bp_dl_tensor, byte_offset) == offsetof(DLTensor, byte_offset));
static_assert(BP_DL_CPU == kDLCPU && BP_DL_EXT_DEV == kDLExtDev);
#endif

// The same without DLPack's header: numbers from dlpack 0.6 to 1.1, on 64-bit machines.
static_assert(sizeof(bp_dl_device) == 8 && sizeof(bp_dl_dtype) == 4 && sizeof(bp_dl_tensor) == 48);
static_assert(offsetof(bp_dl_tensor, device) == 8 && offsetof(bp_dl_tensor, ndim) == 16);
static_assert(offsetof(bp_dl_tensor, dtype) == 20 && offsetof(bp_dl_tensor, shape) == 24);
static_assert(offsetof(bp_dl_tensor, strides) == 32 && offsetof(bp_dl_tensor, byte_offset) == 40);

// Frozen, since they are laid out in arrays and have no size of their own.
static_assert(sizeof(bp_value) == 16 && sizeof(bp_region) == 24 && sizeof(bp_expr_node) == 16);
static_assert(sizeof(bp_arg) == 24 && sizeof(bp_output_spec) == 8 + 8 * BP_MAX_RANK);

TEST(Abi, has_is_false_for_a_field_beyond_the_writers_size) {
  bp_memory memory{};
  memory.h.size = offsetof(bp_memory, fill);
  const bp_memory* p = &memory;
  EXPECT_TRUE(BP_HAS(p, bp_memory, copy));
  EXPECT_FALSE(BP_HAS(p, bp_memory, fill));
}

class C11 : public testing::Test {
 protected:
  fake::Host host;
  fake::Plugin plugin{host, BP_TEST_PLUGIN_DIR "/libbackplane_c11.so"};
  fake::Device device{plugin, 0};
};

TEST_F(C11, keeps_what_is_copied_to_it) {
  const bp_handle handle = device.allocate(100);
  int sent = 7, got = 0;
  EXPECT_EQ(device.from_host(handle, &sent, sizeof sent), BP_OK);
  EXPECT_EQ(device.to_host(&got, handle, sizeof got), BP_OK);
  EXPECT_EQ(device.synchronize(), BP_OK);
  EXPECT_EQ(got, 7);
  device.release(handle);
}

TEST_F(C11, runs_its_own_operator) {
  float elements[] = {1, 2, 3};
  int64_t shape[] = {3}, strides[] = {1};
  bp_tensor tensor{};
  tensor.dl = {elements, {BP_DL_EXT_DEV, 0}, 1, {2, 32, 1}, shape, strides, 0};
  tensor.numel = 3;
  tensor.dtype = BP_F32;
  bp_value args[2] = {{BP_TENSOR, 0, {}}, {BP_DOUBLE, 0, {}}};
  args[0].u.tensor = &tensor;
  args[1].u.f = 1.5;
  bp_tensor* outputs[] = {&tensor};
  bp_call call{};
  call.args = args;
  call.num_args = 2;
  call.outputs = outputs;
  call.num_outputs = 1;
  call.device = device.get();
  bp_output_spec spec{};
  const bp_custom_operator& op = *plugin->operators[0];
  ASSERT_EQ(op.infer(op.self, &call, &spec), BP_OK);
  EXPECT_EQ(spec.shape[0], 3);
  const bp_kernel& kernel = *plugin->kernels[1];
  ASSERT_EQ(kernel.run(kernel.self, &call), BP_OK);
  EXPECT_EQ(elements[2], 4.5f);
  tensor.dtype = BP_F64;
  EXPECT_EQ(op.infer(op.self, &call, &spec), BP_BAD_ARGUMENT);
}

}  // namespace
