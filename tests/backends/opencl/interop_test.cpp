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

}  // namespace
