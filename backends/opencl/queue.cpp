#include "queue.hpp"

#include <chrono>

#include "discovery.hpp"

namespace opencl {
namespace {

// A processor can read the time where an event is, by a function of ours among the commands. PoCL's measuring reads it
// several times for each of them, which is 8 % of a launch.
bool can_run_functions(cl_device_id device) {
  return (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0 &&
         (device_value<cl_device_exec_capabilities>(device, CL_DEVICE_EXECUTION_CAPABILITIES) &
          CL_EXEC_NATIVE_KERNEL) != 0;
}

cl_command_queue make_queue(cl_context context, cl_device_id device, int32_t priority) {
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = nullptr;
  const cl_command_queue_properties measures =
      can_run_functions(device) ? 0 : CL_QUEUE_PROFILING_ENABLE;
  if (device_version(device) < 200) {
    queue = clCreateCommandQueue(context, device, measures, &error);
  } else {
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, measures, 0, 0, 0};
    if (priority < 0 && takes_priorities(device)) {
      properties[2] = CL_QUEUE_PRIORITY_KHR;
      properties[3] = CL_QUEUE_PRIORITY_HIGH_KHR;
    }
    queue = clCreateCommandQueueWithProperties(context, device, properties, &error);
  }
  require("creating a command queue", error);
  return queue;
}

// ok, BP_RETRY or the failure of the work before it.
bp::Status status_of(cl_event event) {
  cl_int state = CL_COMPLETE;
  const cl_int error =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  if (error != CL_SUCCESS) return failed("asking for an event", error);
  if (state > CL_COMPLETE) return bp::Status::from_host(BP_RETRY);
  return check("work given earlier to this stream", state);
}

OwnedEvent shared(cl_event event) {
  if (event != nullptr) clRetainEvent(event);
  return OwnedEvent(event);
}

OwnedQueue shared(cl_command_queue queue) {
  require("adopting a command queue", clRetainCommandQueue(queue));
  return OwnedQueue(queue);
}

}  // namespace

// ---- Streams -----------------------------------------------------------------------------------------

Queue::Queue(cl_context context, cl_device_id device, int32_t priority)
    : queue_(make_queue(context, device, priority)), has_host_clock_(can_run_functions(device)) {}

// Stamped even if it measures: a driver need not have the host's clock, and all times are of one.
Queue::Queue(cl_command_queue adopted, cl_device_id device)
    : queue_(shared(adopted)), has_host_clock_(can_run_functions(device)), is_adopted_(true) {}

bp::Status Queue::synchronize() {
  if (bp::Status status = check_process(born_); !status.is_ok()) return status;
  if (bp::Status status = refuse_in_recording("synchronize"); !status.is_ok()) return status;
  const uint64_t given = given_.load(std::memory_order_relaxed);
  bp::Status status = check("work given earlier to this stream", clFinish(queue_.get()));
  std::lock_guard lock(mutex_);
  if (marked_ > given) return status;
  // All of it is done: a query needs no marker, which itself takes a while to be reached.
  marked_ = given;
  marker_.reset();
  return status;
}

bp::Status Queue::query() {
  if (bp::Status status = check_process(born_); !status.is_ok()) return status;
  std::lock_guard lock(mutex_);
  const uint64_t given = given_.load(std::memory_order_relaxed);
  // Nobody counts what the application gives its queue itself: each answer needs a marker of its own.
  if (marked_ != given || (is_adopted_ && !marker_)) {
    cl_event event = nullptr;
    const cl_int error = clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event);
    if (error != CL_SUCCESS) return failed("query", error);
    marker_.reset(event);
    marked_ = given;
    if (const cl_int flushed = clFlush(queue_.get()); flushed != CL_SUCCESS)
      return failed("query", flushed);
  }
  if (!marker_) return bp::ok;
  const bp::Status status = status_of(marker_.get());
  if (status.code() != BP_RETRY) marker_.reset();
  return status;
}

Staging& Queue::staging(cl_context context) {
  std::lock_guard lock(mutex_);
  if (!staging_) staging_ = std::make_unique<Staging>(context, queue_.get());
  return *staging_;
}

// ---- Events ------------------------------------------------------------------------------------------

bp::Status Event::record(Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("record_event"); !status.is_ok()) return status;
  std::shared_ptr<Stamp> stamp;
  if (queue.has_host_clock()) stamp = std::make_shared<Stamp>();
  cl_event event = nullptr;
  bp::Status status = queue.submit("record_event", [&](cl_command_queue to) {
    const cl_int error = stamp ? enqueue_stamp(to, stamp, &event)
                               : clEnqueueMarkerWithWaitList(to, 0, nullptr, &event);
    // Another stream that waits for it never sees it reached unless it has left this queue.
    return error == CL_SUCCESS ? clFlush(to) : error;
  });
  OwnedEvent recorded(event);
  if (!status.is_ok()) return status;
  std::lock_guard lock(mutex_);
  marker_.swap(recorded);
  stamp_.swap(stamp);
  return bp::ok;
}

bp::Status Event::make_wait(Queue& queue) {
  if (bp::Status status = queue.refuse_in_recording("wait_event"); !status.is_ok()) return status;
  const OwnedEvent awaited = marker();
  if (!awaited) return bp::ok;
  const cl_event event = awaited.get();
  return queue.submit("wait_event", [&](cl_command_queue to) {
    return clEnqueueBarrierWithWaitList(to, 1, &event, nullptr);
  });
}

bp::Status Event::query() {
  const OwnedEvent recorded = marker();
  return recorded ? status_of(recorded.get()) : bp::ok;
}

bp::Status Event::synchronize() {
  const OwnedEvent recorded = marker();
  if (!recorded) return bp::ok;
  const cl_event event = recorded.get();
  const cl_int error = clWaitForEvents(1, &event);
  // The event itself knows what went wrong; the wait only says that something did.
  if (error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return status_of(event);
  return check("synchronize_event", error);
}

bp::Result<double> Event::elapsed(Event& start, Event& end) {
  bp::Result<double> from = start.reached_ns();
  if (!from.is_ok()) return from;
  bp::Result<double> to = end.reached_ns();
  if (!to.is_ok()) return to;
  return to.value() - from.value();
}

OwnedEvent Event::marker() {
  std::lock_guard lock(mutex_);
  return shared(marker_.get());
}

cl_int Event::enqueue_stamp(cl_command_queue to, const std::shared_ptr<Stamp>& stamp,
                            cl_event* event) {
  Stamp* argument = stamp.get();
  stamp->self = stamp;
  const cl_int error = clEnqueueNativeKernel(to, write_stamp, &argument, sizeof argument, 0,
                                             nullptr, nullptr, 0, nullptr, event);
  if (error != CL_SUCCESS) stamp->self.reset();
  return error;
}

// On a thread of the driver's, when the event and the device may be gone, and the plugin, which stays mapped. Behind work
// that failed it is not called, and the stamp's few bytes are lost: an event that failed may yet have begun.
void CL_CALLBACK Event::write_stamp(void* arguments) {
  const std::shared_ptr<Stamp> stamp = std::move((*static_cast<Stamp**>(arguments))->self);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  stamp->ns = std::chrono::nanoseconds(now).count();
}

bp::Result<double> Event::reached_ns() {
  OwnedEvent recorded;
  std::shared_ptr<Stamp> stamp;
  {
    std::lock_guard lock(mutex_);
    recorded = shared(marker_.get());
    stamp = stamp_;
  }
  if (!recorded) return bp::bad_argument("elapsed: an event was not recorded");
  if (stamp) {
    const bp::Status status = status_of(recorded.get());
    if (status.code() == BP_RETRY) return bp::bad_argument("elapsed: an event is not yet reached");
    if (!status.is_ok()) return status;
    return static_cast<double>(stamp->ns);
  }
  cl_ulong ns = 0;
  const cl_int error =
      clGetEventProfilingInfo(recorded.get(), CL_PROFILING_COMMAND_END, sizeof ns, &ns, nullptr);
  if (error == CL_PROFILING_INFO_NOT_AVAILABLE) {
    if (!status_of(recorded.get()).is_ok())
      return bp::bad_argument("elapsed: an event is not yet reached");
    return bp::unsupported(
        "elapsed: an event is of an adopted command queue that measures no time; make it with "
        "CL_QUEUE_PROFILING_ENABLE");
  }
  if (error != CL_SUCCESS) return failed("elapsed", error);
  return static_cast<double>(ns);
}

}  // namespace opencl
