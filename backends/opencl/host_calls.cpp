#include "host_calls.hpp"

#include <backplane/plugin/host_calls.hpp>

#include "device.hpp"

namespace opencl {
namespace {

cl_int give(cl_command_queue queue, bp::StreamCaller& caller, void (*function)(void*),
            void* context) {
  const std::lock_guard<std::mutex> in_order(caller.order());
  cl_context of_queue = nullptr;
  cl_int error =
      clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof of_queue, &of_queue, nullptr);
  if (error != CL_SUCCESS) return error;
  const auto done = std::make_shared<OwnedEvent>(clCreateUserEvent(of_queue, &error));
  if (error != CL_SUCCESS) return error;
  cl_event made = nullptr;
  error = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &made);
  const auto before = std::make_shared<OwnedEvent>(made);
  const cl_event waited = done->get();
  if (error == CL_SUCCESS) error = clEnqueueBarrierWithWaitList(queue, 1, &waited, nullptr);
  if (error == CL_SUCCESS) error = clFlush(queue);
  if (error != CL_SUCCESS) {
    clSetUserEventStatus(waited, CL_COMPLETE);  // nothing is to wait for it
    return error;
  }
  // Where earlier work failed, the wait ends with an error and the function is called all the same.
  try {
    caller.give({[before] {
                   const cl_event event = before->get();
                   clWaitForEvents(1, &event);
                 },
                 function, context, [done] { clSetUserEventStatus(done->get(), CL_COMPLETE); }});
  } catch (...) {  // no memory, or no thread
    clSetUserEventStatus(waited, CL_COMPLETE);
    throw;
  }
  return CL_SUCCESS;
}

bp::Status call(Queue& queue, void (*function)(void*), void* context) {
  constexpr const char* what = "a function of the host";
  if (bp::Status status = queue.refuse_in_recording(what); !status.is_ok()) return status;
  return queue.submit(
      what, [&](cl_command_queue to) { return give(to, queue.caller(), function, context); });
}

}  // namespace

const bp_host_calls host_call_functions = bp::host_calls_of<Device, call>();

}  // namespace opencl
