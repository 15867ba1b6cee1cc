// needs: opencl
// The extension bp.interop of the OpenCL backend: what it hands out is what OpenCL itself knows.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <backplane/extensions/interop.h>

#include "backends/opencl/direct_device.hpp"

namespace {

class OpenClInterop : public direct::OpenCl {
 protected:
  const bp_interop& interop() { return extension<bp_interop>(BP_INTEROP); }
  template <class T> T device_handle(const char* kind) {
    uint64_t value = 0;
    EXPECT_EQ(interop().device_handle(device.get(), kind, &value), BP_OK);
    return reinterpret_cast<T>(value);
  }
};

TEST_F(OpenClInterop, queues_and_buffers_are_of_the_context_that_it_hands_out) {
  const auto context = device_handle<cl_context>("opencl.context");
  const auto id = device_handle<cl_device_id>("opencl.device");
  bp_stream* stream = make_stream();
  uint64_t queue = 0;
  ASSERT_EQ(interop().stream_handle(device.get(), stream, interop().stream_kinds[0], &queue),
            BP_OK);
  cl_context found = nullptr;
  cl_device_id found_id = nullptr;
  const auto commands = reinterpret_cast<cl_command_queue>(queue);
  ASSERT_EQ(clGetCommandQueueInfo(commands, CL_QUEUE_CONTEXT, sizeof found, &found, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(found, context);
  ASSERT_EQ(clGetCommandQueueInfo(commands, CL_QUEUE_DEVICE, sizeof found_id, &found_id, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(found_id, id);
  destroy(stream);
}

TEST_F(OpenClInterop, an_application_reads_a_buffer_of_ours) {
  const bp_handle handle = upload<float>({1, 2, 3});
  uint64_t native = 0, queue = 0;
  ASSERT_EQ(interop().memory_handle(device.get(), handle, "opencl.mem", &native), BP_OK)
      << fake::Host::last_message();
  ASSERT_EQ(interop().stream_handle(device.get(), nullptr, "opencl.command_queue", &queue), BP_OK);
  float values[3] = {};
  EXPECT_EQ(clEnqueueReadBuffer(reinterpret_cast<cl_command_queue>(queue),
                                reinterpret_cast<cl_mem>(native), CL_TRUE, 0, sizeof values, values,
                                0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(values[2], 3);
  device.release(handle);
}

TEST_F(OpenClInterop, a_device_is_opened_in_a_context_of_the_applications) {
  const auto id = device_handle<cl_device_id>("opencl.device");
  cl_int error = CL_SUCCESS;
  const cl_context context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const bp_native adopted[] = {{"opencl.context", reinterpret_cast<uint64_t>(context)},
                               {"opencl.device", reinterpret_cast<uint64_t>(id)}};
  bp_device* opened = nullptr;
  ASSERT_EQ(interop().open(plugin->self, 0, adopted, 2, &opened), BP_OK)
      << fake::Host::last_message();
  uint64_t value = 0;
  EXPECT_EQ(interop().device_handle(opened, "opencl.context", &value), BP_OK);
  EXPECT_EQ(value, adopted[0].value);
  bp_handle handle = 0, other = 0;
  EXPECT_EQ(memory().allocate(opened, 64, 64, &handle), BP_OK);
  ASSERT_EQ(interop().memory_handle(opened, handle, "opencl.mem", &value), BP_OK);
  cl_context of_buffer = nullptr;
  ASSERT_EQ(clGetMemObjectInfo(reinterpret_cast<cl_mem>(value), CL_MEM_CONTEXT, sizeof of_buffer,
                               &of_buffer, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(of_buffer, context);
  // The device that is open besides has a context of its own, and takes no buffer of this one.
  const bp_native buffer{"opencl.mem", value};
  EXPECT_EQ(interop().adopt_memory(device.get(), &buffer, 64, &other), BP_BAD_ARGUMENT);
  memory().release(opened, handle);
  plugin->close(opened);
  cl_uint references = 0;
  ASSERT_EQ(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references,
                             nullptr),
            CL_SUCCESS);
  EXPECT_EQ(references, 1u) << "the context is the application's";
  clReleaseContext(context);
}

TEST_F(OpenClInterop, a_device_is_not_opened_within_what_does_not_fit) {
  bp_device* opened = nullptr;
  const auto refusal = [&](const char* kind, uint64_t value, uint32_t index = 0) {
    const bp_native adopted{kind, value};
    EXPECT_EQ(interop().open(plugin->self, index, &adopted, 1, &opened), BP_BAD_ARGUMENT);
    return fake::Host::last_message();
  };
  EXPECT_EQ(refusal("opencl.device", 1),
            "interop: the cl_device_id is another device's than opencl:0");
  EXPECT_EQ(refusal("opencl.context", 0), "interop: the opencl.context is null");
  EXPECT_EQ(refusal("moon.rock", 1),
            "interop: a device of kind 'moon.rock', which this backend does not know");
  EXPECT_EQ(refusal("opencl.device", 1, 99), "there is no opencl:99");
  EXPECT_EQ(opened, nullptr);
}

}  // namespace
