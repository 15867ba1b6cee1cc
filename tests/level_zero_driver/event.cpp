#include "event.hpp"

#include "tables.hpp"

namespace over_opencl {

EventPool::EventPool(Device& device, const ze_event_pool_desc_t& description)
    : device_(device),
      has_timestamps_((description.flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0),
      places_(description.count) {}

void EventPool::take(uint32_t index) {
  check(index < places_.size() && !places_[index].test_and_set(), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

namespace {

ze_result_t ZE_APICALL pool_create(ze_context_handle_t context,
                                   const ze_event_pool_desc_t* description, uint32_t count,
                                   ze_device_handle_t* devices, ze_event_pool_handle_t* to) {
  return guarded([&] {
    const Context& in = *from<Context>(context);
    check(required(description).count != 0, ZE_RESULT_ERROR_INVALID_SIZE);
    check((description->flags & ZE_EVENT_POOL_FLAG_IPC) == 0, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    check(devices != nullptr || count == 0, ZE_RESULT_ERROR_INVALID_SIZE);
    Device* first = in.driver().devices().front().get();
    for (uint32_t i = 0; i < count; ++i) {
      Device& device = device_of(in, devices[i]);
      if (i == 0) first = &device;
    }
    required(to) = to_handle<ze_event_pool_handle_t>(new EventPool(*first, *description));
  });
}

ze_result_t ZE_APICALL pool_destroy(ze_event_pool_handle_t pool) {
  return guarded([&] { delete from<EventPool>(pool); });
}

ze_result_t ZE_APICALL event_create(ze_event_pool_handle_t pool, const ze_event_desc_t* description,
                                    ze_event_handle_t* to) {
  return guarded([&] {
    EventPool& in = *from<EventPool>(pool);
    required(to);
    *to = to_handle<ze_event_handle_t>(new Event(in, required(description).index));
  });
}

ze_result_t ZE_APICALL event_destroy(ze_event_handle_t event) {
  return guarded([&] { delete from<Event>(event); });
}

ze_result_t ZE_APICALL event_set(ze_event_handle_t event) {
  return guarded([&] { from<Event>(event)->signal.set(); });
}

ze_result_t ZE_APICALL event_reset(ze_event_handle_t event) {
  return guarded([&] { from<Event>(event)->signal.reset(); });
}

ze_result_t ZE_APICALL event_wait(ze_event_handle_t event, uint64_t timeout_ns) {
  return guarded([&] { return from<Event>(event)->signal.wait(timeout_ns); });
}

ze_result_t ZE_APICALL event_query(ze_event_handle_t event) {
  return guarded([&] { return from<Event>(event)->signal.query(); });
}

ze_result_t ZE_APICALL event_timestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t* to) {
  return guarded([&] {
    Event& of = *from<Event>(event);
    required(to);
    check(of.has_timestamps, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    uint64_t start = 0, end = 0;
    if (!of.signal.times(start, end)) return ZE_RESULT_NOT_READY;
    to->global = to->context = {start, end};
    return ZE_RESULT_SUCCESS;
  });
}

}  // namespace

void fill(ze_event_pool_dditable_t& table) {
  table.pfnCreate = pool_create;
  table.pfnDestroy = pool_destroy;
}

void fill(ze_event_dditable_t& table) {
  table.pfnCreate = event_create;
  table.pfnDestroy = event_destroy;
  table.pfnHostSignal = event_set;
  table.pfnHostReset = event_reset;
  table.pfnHostSynchronize = event_wait;
  table.pfnQueryStatus = event_query;
  table.pfnQueryKernelTimestamp = event_timestamp;
}

}  // namespace over_opencl
