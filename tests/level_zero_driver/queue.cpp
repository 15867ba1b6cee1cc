#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "command_list.hpp"
#include "tables.hpp"

namespace over_opencl {
namespace {

// Times are always measured: both runtimes do it for next to nothing, and a queue cannot be told later.
OwnedQueue make_queue(const Device& device) {
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_int error = CL_SUCCESS;
  OwnedQueue queue(clCreateCommandQueueWithProperties(device.driver().context(), device.id(),
                                                      properties, &error));
  require(error);
  return queue;
}

}  // namespace

Queue::Queue(Device& device, const ze_command_queue_desc_t& description)
    : device_(device), group_(description.ordinal),
      is_synchronous_(description.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS),
      is_loose_(faults().loose_order) {
  device.check_not_lost();
  check(group_ < num_queue_groups && description.index < queues_per_group,
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  check(description.mode <= ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS &&
            description.priority <= ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  queue_ = make_queue(device);
}

Queue::~Queue() {
  if (!device_.is_lost()) guarded([&] { release_held(); });
}

void Queue::collect(const std::vector<Event*>& waits, std::vector<OwnedEvent>& owned,
                    std::vector<cl_event>& events) {
  for (Event* event : waits) {
    check(event->is_alive(), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    OwnedEvent awaited = event->signal.awaited();
    if (awaited == nullptr) continue;
    events.push_back(awaited.get());
    owned.push_back(std::move(awaited));
  }
}

void Queue::promise(Signal& signal, OwnedEvent own) {
  OwnedEvent done = share(own.get());
  if (const uint64_t delay_ms = faults().event_delay_ms; delay_ms != 0) {
    const cl_event after = own.get();
    cl_event late = nullptr;
    require(enqueue_host_work(
        [delay_ms] { std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms)); },
        queue_.get(), 1, &after, &late));
    done.reset(late);
  }
  signal.promise(std::move(done), std::move(own));
}

void Queue::submit_barrier(const Order& order) {
  release_held();
  // OpenCL's queue keeps order, so that needs no command.
  if (order.signal == nullptr && order.waits.empty()) return;
  submit(clEnqueueBarrierWithWaitList, order);
}

void Queue::release_held() {
  const std::vector<Enqueue> held = std::move(held_);
  held_.clear();
  for (auto last = held.rbegin(); last != held.rend(); ++last)
    require((*last)(queue_.get(), 0, nullptr, nullptr));
}

void Queue::flush() {
  if (is_synchronous_) release_held();
  require(is_synchronous_ ? clFinish(queue_.get()) : clFlush(queue_.get()));
}

void Queue::submit_end(Signal& signal) {
  release_held();
  cl_event end = nullptr;
  require(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &end));
  ++given_;
  promise(signal, OwnedEvent(end));
}

OwnedEvent Queue::marker(uint64_t& given) {
  std::lock_guard lock(mutex_);
  release_held();
  given = given_;
  if (ended_ == given) return nullptr;
  if (marker_ == nullptr || marked_ != given_) {
    cl_event made = nullptr;
    require(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &made));
    marker_.reset(made);
    marked_ = given_;
    require(clFlush(queue_.get()));
  }
  return share(marker_.get());
}

ze_result_t Queue::synchronize(uint64_t timeout_ns) {
  device_.check_not_lost();
  uint64_t given = 0;
  OwnedEvent last = marker(given);
  if (last == nullptr) return ZE_RESULT_SUCCESS;
  Signal end(device_);
  end.promise(std::move(last), nullptr);
  const ze_result_t result = end.wait(timeout_ns);
  if (result != ZE_RESULT_SUCCESS) return result;
  {
    std::lock_guard lock(mutex_);
    ended_ = std::max(ended_, given);
  }
  return device_.is_lost() ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

namespace {

ze_result_t ZE_APICALL queue_create(ze_context_handle_t context, ze_device_handle_t device,
                                    const ze_command_queue_desc_t* description,
                                    ze_command_queue_handle_t* to) {
  return guarded([&] {
    Device& on = device_of(*from<Context>(context), device);
    required(description);
    required(to) = to_handle<ze_command_queue_handle_t>(new Queue(on, *description));
  });
}

ze_result_t ZE_APICALL queue_destroy(ze_command_queue_handle_t queue) {
  return guarded([&] { delete from<Queue>(queue); });
}

CommandList& executable(ze_command_list_handle_t handle, const Queue& queue) {
  CommandList& list = *from<CommandList>(handle);
  check(!list.is_immediate() && list.is_closed() && &list.device() == &queue.device(),
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  check(list.group() == queue.group(), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  return list;
}

ze_result_t ZE_APICALL queue_execute(ze_command_queue_handle_t handle, uint32_t count,
                                     ze_command_list_handle_t* lists, ze_fence_handle_t fence) {
  return guarded([&] {
    Queue& queue = *from<Queue>(handle);
    required(lists);
    check(count != 0, ZE_RESULT_ERROR_INVALID_SIZE);
    Fence* to_set = fence == nullptr ? nullptr : from<Fence>(fence);
    for (uint32_t i = 0; i < count; ++i) executable(lists[i], queue);
    queue.device().check_not_lost();
    std::lock_guard lock(queue.mutex());
    for (uint32_t i = 0; i < count; ++i) {
      executable(lists[i], queue).execute(queue);
      if (queue.device().is_lost()) return;  // during this call, which a card would not notice yet
      queue.submit_barrier({});
    }
    if (to_set != nullptr) queue.submit_end(to_set->signal);
    queue.flush();
  });
}

ze_result_t ZE_APICALL queue_synchronize(ze_command_queue_handle_t queue, uint64_t timeout_ns) {
  return guarded([&] { return from<Queue>(queue)->synchronize(timeout_ns); });
}

ze_result_t ZE_APICALL fence_create(ze_command_queue_handle_t queue,
                                    const ze_fence_desc_t* description, ze_fence_handle_t* to) {
  return guarded([&] {
    Queue& of = *from<Queue>(queue);
    required(description);
    required(to);
    auto fence = std::make_unique<Fence>(of.device());
    if ((description->flags & ZE_FENCE_FLAG_SIGNALED) != 0) fence->signal.set();
    *to = to_handle<ze_fence_handle_t>(fence.release());
  });
}

ze_result_t ZE_APICALL fence_destroy(ze_fence_handle_t fence) {
  return guarded([&] { delete from<Fence>(fence); });
}

ze_result_t ZE_APICALL fence_wait(ze_fence_handle_t fence, uint64_t timeout_ns) {
  return guarded([&] { return from<Fence>(fence)->signal.wait(timeout_ns); });
}

ze_result_t ZE_APICALL fence_query(ze_fence_handle_t fence) {
  return guarded([&] { return from<Fence>(fence)->signal.query(); });
}

ze_result_t ZE_APICALL fence_reset(ze_fence_handle_t fence) {
  return guarded([&] { from<Fence>(fence)->signal.reset(); });
}

}  // namespace

void fill(ze_command_queue_dditable_t& table) {
  table.pfnCreate = queue_create;
  table.pfnDestroy = queue_destroy;
  table.pfnExecuteCommandLists = queue_execute;
  table.pfnSynchronize = queue_synchronize;
}

void fill(ze_fence_dditable_t& table) {
  table.pfnCreate = fence_create;
  table.pfnDestroy = fence_destroy;
  table.pfnHostSynchronize = fence_wait;
  table.pfnQueryStatus = fence_query;
  table.pfnReset = fence_reset;
}

}  // namespace over_opencl
