// The commands that a list can hold.
#include <algorithm>
#include <cstring>

#include "command_list.hpp"
#include "tables.hpp"

namespace over_opencl {
namespace {

Order order_of(ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  Order order;
  check(count == 0 || waits != nullptr, ZE_RESULT_ERROR_INVALID_SIZE);
  if (signal != nullptr) order.signal = from<Event>(signal);
  if (count != 0) order.waits.reserve(count);
  for (uint32_t i = 0; i < count; ++i) order.waits.push_back(from<Event>(waits[i]));
  return order;
}

ze_result_t ZE_APICALL append_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                     const ze_group_count_t* groups, ze_event_handle_t signal,
                                     uint32_t count, ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& to = *from<CommandList>(list);
    Kernel& of = *from<Kernel>(kernel);
    to.append_launch(of, required(groups), order_of(signal, count, waits));
  });
}

ze_result_t ZE_APICALL append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal,
                                      uint32_t count, ze_event_handle_t* waits) {
  return guarded([&] { from<CommandList>(list)->append_barrier(order_of(signal, count, waits)); });
}

ze_result_t ZE_APICALL append_ranges_barrier(ze_command_list_handle_t list, uint32_t num_ranges,
                                             const size_t* sizes, const void** ranges,
                                             ze_event_handle_t signal, uint32_t count,
                                             ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& to = *from<CommandList>(list);
    if (num_ranges != 0) required(sizes), required(ranges);
    to.append_barrier(order_of(signal, count, waits));
  });
}

ze_result_t ZE_APICALL append_signal(ze_command_list_handle_t list, ze_event_handle_t event) {
  return guarded([&] {
    CommandList& to = *from<CommandList>(list);
    to.append_barrier({from<Event>(event), {}});
  });
}

ze_result_t ZE_APICALL append_wait(ze_command_list_handle_t list, uint32_t count,
                                   ze_event_handle_t* events) {
  return guarded([&] {
    CommandList& to = *from<CommandList>(list);
    required(events);
    to.append_barrier(order_of(nullptr, count, events));
  });
}

ze_result_t ZE_APICALL append_reset(ze_command_list_handle_t list, ze_event_handle_t event) {
  return guarded([&] {
    CommandList& to = *from<CommandList>(list);
    to.append_event_reset(*from<Event>(event));
  });
}

void append_copy_work(CommandList& list, void* to, const void* source, size_t bytes, Order order) {
  const auto distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(source);
  check(distance >= bytes && 0 - distance >= bytes, ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  list.append(
      [=](cl_command_queue queue, cl_uint count, const cl_event* events, cl_event* own) {
        return clEnqueueSVMMemcpy(queue, CL_FALSE, to, source, bytes, count, events, own);
      },
      std::move(order));
}

ze_result_t ZE_APICALL append_copy(ze_command_list_handle_t list, void* to, const void* source,
                                   size_t bytes, ze_event_handle_t signal, uint32_t count,
                                   ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& in = *from<CommandList>(list);
    required(to);
    required(source);
    Order order = order_of(signal, count, waits);
    if (bytes == 0) return in.append_barrier(std::move(order));
    append_copy_work(in, to, source, bytes, std::move(order));
  });
}

ze_result_t ZE_APICALL append_copy_from_context(ze_command_list_handle_t list, void* to,
                                                ze_context_handle_t context, const void* source,
                                                size_t bytes, ze_event_handle_t signal,
                                                uint32_t count, ze_event_handle_t* waits) {
  return guarded([&] {
    from<Context>(context);
    return append_copy(list, to, source, bytes, signal, count, waits);
  });
}

// A pattern of any size, at any address, also cut off at the end.
struct OddFill {
  char* to;
  size_t bytes, pattern_bytes;
  char pattern[largest_pattern];

  void operator()() const {
    for (size_t done = 0; done < bytes; done += pattern_bytes)
      std::memcpy(to + done, pattern, std::min(pattern_bytes, bytes - done));
  }
};

ze_result_t ZE_APICALL append_fill(ze_command_list_handle_t list, void* to, const void* pattern,
                                   size_t pattern_bytes, size_t bytes, ze_event_handle_t signal,
                                   uint32_t count, ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& in = *from<CommandList>(list);
    required(to);
    required(pattern);
    check(pattern_bytes != 0 && (pattern_bytes & (pattern_bytes - 1)) == 0 &&
              pattern_bytes <= largest_pattern,
          ZE_RESULT_ERROR_INVALID_SIZE);
    Order order = order_of(signal, count, waits);
    if (bytes == 0) return in.append_barrier(std::move(order));
    OddFill fill{static_cast<char*>(to), bytes, pattern_bytes, {}};
    std::memcpy(fill.pattern, pattern, pattern_bytes);
    if (bytes % pattern_bytes != 0 || reinterpret_cast<uintptr_t>(to) % pattern_bytes != 0)
      return in.append_host_work(fill, std::move(order));
    in.append(
        [fill](cl_command_queue queue, cl_uint n, const cl_event* events, cl_event* own) {
          return clEnqueueSVMMemFill(queue, fill.to, fill.pattern, fill.pattern_bytes, fill.bytes,
                                     n, events, own);
        },
        std::move(order));
  });
}

// Boxes of bytes within memory that is `pitch` bytes a row and `slice_pitch` bytes a slice.
struct RegionCopy {
  char* to;
  const char* source;
  size_t to_pitch, to_slice_pitch, source_pitch, source_slice_pitch;
  size_t width, height, depth;

  void operator()() const {
    for (size_t z = 0; z < depth; ++z)
      for (size_t y = 0; y < height; ++y)
        std::memcpy(to + z * to_slice_pitch + y * to_pitch,
                    source + z * source_slice_pitch + y * source_pitch, width);
  }
};

size_t offset_of(const ze_copy_region_t& region, size_t pitch, size_t slice_pitch) {
  return region.originX + region.originY * pitch + region.originZ * slice_pitch;
}

ze_result_t ZE_APICALL append_copy_region(ze_command_list_handle_t list, void* to,
                                          const ze_copy_region_t* to_region, uint32_t to_pitch,
                                          uint32_t to_slice_pitch, const void* source,
                                          const ze_copy_region_t* source_region,
                                          uint32_t source_pitch, uint32_t source_slice_pitch,
                                          ze_event_handle_t signal, uint32_t count,
                                          ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& in = *from<CommandList>(list);
    required(to);
    required(source);
    const ze_copy_region_t& region = required(to_region);
    const ze_copy_region_t& of = required(source_region);
    check(region.width == of.width && region.height == of.height && region.depth == of.depth,
          ZE_RESULT_ERROR_INVALID_SIZE);
    const size_t depth = std::max(1u, region.depth);  // zero: the copy is of two dimensions
    RegionCopy copy{
        static_cast<char*>(to) + offset_of(region, to_pitch, to_slice_pitch),
        static_cast<const char*>(source) + offset_of(of, source_pitch, source_slice_pitch),
        to_pitch,
        to_slice_pitch,
        source_pitch,
        source_slice_pitch,
        region.width,
        region.height,
        depth};
    in.append_host_work(copy, order_of(signal, count, waits));
  });
}

ze_result_t ZE_APICALL append_global_timestamp(ze_command_list_handle_t list, uint64_t* to,
                                               ze_event_handle_t signal, uint32_t count,
                                               ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& in = *from<CommandList>(list);
    required(to);
    in.append_host_work([to, device = &in.device()] { *to = device->now_ns(); },
                        order_of(signal, count, waits));
  });
}

ze_result_t ZE_APICALL append_query_timestamps(ze_command_list_handle_t list, uint32_t num_events,
                                               ze_event_handle_t* events, void* to,
                                               const size_t* offsets, ze_event_handle_t signal,
                                               uint32_t count, ze_event_handle_t* waits) {
  return guarded([&] {
    CommandList& in = *from<CommandList>(list);
    required(events);
    required(to);
    const Order order = order_of(signal, count, waits);
    in.append_barrier({nullptr, order.waits});
    for (uint32_t i = 0; i < num_events; ++i) {
      Event* event = from<Event>(events[i]);
      check(event->has_timestamps, ZE_RESULT_ERROR_INVALID_ARGUMENT);
      const size_t offset =
          offsets != nullptr ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
      in.append_host_work(
          [event, place = static_cast<char*>(to) + offset] {
            uint64_t start = 0, end = 0;
            event->signal.times(start, end);
            const ze_kernel_timestamp_result_t result{{start, end}, {start, end}};
            std::memcpy(place, &result, sizeof result);
          },
          {});
    }
    in.append_barrier({order.signal, {}});
  });
}

// Memory is where it is.
ze_result_t ZE_APICALL append_prefetch(ze_command_list_handle_t list, const void* start, size_t) {
  return guarded([&] {
    from<CommandList>(list);
    required(start);
  });
}

ze_result_t ZE_APICALL append_advice(ze_command_list_handle_t list, ze_device_handle_t device,
                                     const void* start, size_t, ze_memory_advice_t) {
  return guarded([&] {
    from<CommandList>(list);
    from<Device>(device);
    required(start);
  });
}

}  // namespace

void fill_appends(ze_command_list_dditable_t& table) {
  table.pfnAppendLaunchKernel = append_launch;
  table.pfnAppendBarrier = append_barrier;
  table.pfnAppendMemoryRangesBarrier = append_ranges_barrier;
  table.pfnAppendSignalEvent = append_signal;
  table.pfnAppendWaitOnEvents = append_wait;
  table.pfnAppendEventReset = append_reset;
  table.pfnAppendMemoryCopy = append_copy;
  table.pfnAppendMemoryCopyFromContext = append_copy_from_context;
  table.pfnAppendMemoryFill = append_fill;
  table.pfnAppendMemoryCopyRegion = append_copy_region;
  table.pfnAppendWriteGlobalTimestamp = append_global_timestamp;
  table.pfnAppendQueryKernelTimestamps = append_query_timestamps;
  table.pfnAppendMemoryPrefetch = append_prefetch;
  table.pfnAppendMemAdvise = append_advice;
}

}  // namespace over_opencl
