#include "capture.hpp"

#include <string_view>
#include <vector>

#include "device.hpp"
#include "discovery.hpp"

namespace opencl {
namespace {

constexpr char extension_name[] = "cl_khr_command_buffer";

// 0 if the driver does not say.
cl_version version_of_extension(cl_device_id device) {
  size_t bytes = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &bytes) != CL_SUCCESS)
    return 0;
  std::vector<cl_name_version> all(bytes / sizeof(cl_name_version));
  clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, bytes, all.data(), nullptr);
  for (const cl_name_version& each : all)
    if (std::string_view(each.name) == extension_name) return each.version;
  return 0;
}

}  // namespace

Capture::Capture(cl_platform_id platform, cl_device_id device) {
  if (!has_extension(device, extension_name)) return;
  CommandBufferFunctions& f = functions_;
  f.before_095 = version_of_extension(device) < CL_MAKE_VERSION(0, 9, 5);
  f.can_overlap = (device_value<cl_device_command_buffer_capabilities_khr>(
                       device, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR) &
                   CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR) != 0;
  complete_ = find_function(platform, "clCreateCommandBufferKHR", f.create) &&
              find_function(platform, "clFinalizeCommandBufferKHR", f.finalize) &&
              find_function(platform, "clReleaseCommandBufferKHR", f.release) &&
              find_function(platform, "clEnqueueCommandBufferKHR", f.enqueue) &&
              find_function(platform, "clCommandNDRangeKernelKHR", f.launch) &&
              find_function(platform, "clCommandCopyBufferKHR", f.copy) &&
              find_function(platform, "clCommandFillBufferKHR", f.fill);
}

// ---- Recording -----------------------------------------------------------------------------------------

cl_int Recording::add_launch(OwnedKernel kernel, cl_uint dimensions, const size_t* global,
                             const size_t* local) {
  std::lock_guard lock(mutex_);
  buffer_->kernels.push_back(std::move(kernel));
  return count(buffer_->functions.launch(buffer_->handle, nullptr, nullptr,
                                         buffer_->kernels.back().get(), dimensions, nullptr, global,
                                         local, 0, nullptr, nullptr, nullptr));
}

bp::Status Recording::add_copy(cl_mem from, cl_mem to, uint64_t from_offset, uint64_t to_offset,
                               uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const CommandBufferFunctions& f = buffer_->functions;
  if (f.before_095) {
    const auto copy = reinterpret_cast<CommandBufferFunctions::CopyBefore095>(f.copy);
    return check("recording a copy", count(copy(buffer_->handle, nullptr, from, to, from_offset,
                                                to_offset, bytes, 0, nullptr, nullptr, nullptr)));
  }
  const auto copy = reinterpret_cast<CommandBufferFunctions::Copy>(f.copy);
  return check("recording a copy",
               count(copy(buffer_->handle, nullptr, nullptr, from, to, from_offset, to_offset,
                          bytes, 0, nullptr, nullptr, nullptr)));
}

bp::Status Recording::add_fill(cl_mem to, const void* pattern, uint32_t pattern_bytes,
                               uint64_t offset, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const CommandBufferFunctions& f = buffer_->functions;
  if (f.before_095) {
    const auto fill = reinterpret_cast<CommandBufferFunctions::FillBefore095>(f.fill);
    return check("recording a fill",
                 count(fill(buffer_->handle, nullptr, to, pattern, pattern_bytes, offset, bytes, 0,
                            nullptr, nullptr, nullptr)));
  }
  const auto fill = reinterpret_cast<CommandBufferFunctions::Fill>(f.fill);
  return check("recording a fill",
               count(fill(buffer_->handle, nullptr, nullptr, to, pattern, pattern_bytes, offset,
                          bytes, 0, nullptr, nullptr, nullptr)));
}

bp::Result<std::unique_ptr<CommandBuffer>> Recording::finish() {
  std::lock_guard lock(mutex_);
  const cl_int error = buffer_->functions.finalize(buffer_->handle);
  if (error != CL_SUCCESS) return failed("ending a recording", error);
  return std::move(buffer_);
}

cl_int Recording::count(cl_int error) {
  if (error == CL_SUCCESS) ++buffer_->num_commands;
  return error;
}

// ---- Replaying -----------------------------------------------------------------------------------------

Graph::~Graph() {
  if (process_generation() != born_) {
    (void)last_run_.release();
    (void)buffer_.release();
    return;
  }
  const cl_event last = last_run_.get();
  if (last != nullptr) clWaitForEvents(1, &last);
}

bp::Status Graph::replay(Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("a replay"); !status.is_ok()) return status;
  if (buffer_->num_commands == 0) return bp::ok;
  std::lock_guard lock(mutex_);
  const cl_event last = last_run_.get();
  if (last != nullptr && !buffer_->functions.can_overlap) {
    if (bp::Status status = check("replay", clWaitForEvents(1, &last)); !status.is_ok())
      return status;
  }
  cl_event event = nullptr;
  // One run after the other, also on several streams.
  bp::Status status = queue.submit("replay", [&](cl_command_queue commands) {
    const cl_int error =
        buffer_->functions.enqueue(1, &commands, buffer_->handle, last != nullptr ? 1 : 0,
                                   last != nullptr ? &last : nullptr, &event);
    return error == CL_SUCCESS ? clFlush(commands) : error;
  });
  if (event != nullptr) last_run_.reset(event);
  return status;
}

// ---- Beginning and ending ------------------------------------------------------------------------------

bp::Status Graph::begin(Device& device, Queue& queue) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  const CommandBufferFunctions* functions = device.capture().functions();
  if (functions == nullptr) return bp::unsupported("capture: this device has no command buffers");
  if (!device.memory().can_record())
    return bp::unsupported("capture: command buffers need BACKPLANE_OPENCL_MEMORY=buffer");
  const cl_command_buffer_properties_khr properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR,
                                                         CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
  cl_int error = CL_SUCCESS;
  cl_command_queue commands = queue.get();
  cl_command_buffer_khr made =
      functions->create(1, &commands, functions->can_overlap ? properties : nullptr, &error);
  if (error == CL_INCOMPATIBLE_COMMAND_QUEUE_KHR)
    return bp::unsupported("capture: this device records no queue that measures time");
  if (error != CL_SUCCESS) return failed("beginning a recording", error);
  queue.set_recording(new Recording(std::make_unique<CommandBuffer>(*functions, made)));
  return bp::ok;
}

bp::Result<std::unique_ptr<Graph>> Graph::end(Device&, Queue& queue, bool keep) {
  const std::unique_ptr<Recording> recording(queue.recording());
  queue.set_recording(nullptr);
  if (!keep) return bp::ok;
  bp::Result<std::unique_ptr<CommandBuffer>> buffer = recording->finish();
  if (!buffer.is_ok()) return buffer.status();
  return std::make_unique<Graph>(std::move(buffer.value()));
}

constexpr bp_capture capture_functions = bp::capture_of<Device, Graph>();

}  // namespace opencl
