// One device for Backplane and for the application's own code: the maker's handles out, and the application's context,
// queues and memory in. See docs/interop.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/extensions/interop.h>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// A handle of a maker's own interface: {"cuda.stream", reinterpret_cast<std::uint64_t>(stream)}.
struct NativeHandle {
  // One from Backplane lives as long as the plugin. If the application passes an empty one: the
  // first kind that the device knows.
  std::string_view kind;
  std::uint64_t value = 0;
};
struct NativeMemory {
  NativeHandle handle;
  std::uint64_t byte_offset = 0;  // of element 0; always 0 for addresses
};

// The names that the device has for each; empty for a backend without bp.interop.
struct NativeKinds {
  std::vector<std::string> device, stream, event, memory;
};
BP_API NativeKinds native_kinds(Device device);

// Handles out. They stay Backplane's, and are valid as long as the device, stream, event or tensor lives: the caller
// neither releases them nor closes them. An empty `kind` is the device's first.
// Throw unsupported, naming the kinds that exist, and what the plugin says. Threads: any.
BP_API NativeHandle native_handle(Device device, std::string_view kind = {});
BP_API NativeHandle native_handle(const Stream& stream, std::string_view kind = {});
BP_API NativeHandle native_handle(const Event& event, std::string_view kind = {});
// The caller must order the work on the memory that it submits to queues itself, and report it with
// record_stream (allocator.hpp).
BP_API NativeMemory native_memory(const Tensor& tensor, std::string_view kind = {});

// The context, or another object of the application's, with which the device is to be opened, and
// which must outlive it. Before the device's first use; throws bad_argument after it. Opening it
// throws what the plugin says if it cannot take them.
BP_API void adopt_context(Device device, const std::vector<NativeHandle>& handles);

// The application's queue as a stream, mainly for a StreamGuard. The application keeps the queue
// until the last Stream over it is gone; that one waits for its work, and an error of it comes out
// of the default stream's next synchronize. Adopting one that is adopted already gives the same
// stream. Threads: any.
BP_API Stream adopt_stream(Device device, const NativeHandle& queue);

// Later work of the application's queue waits for what `stream` has been given so far; the caller does not wait, unless
// the device cannot do that. At once on a synchronous device, which may have no queues at all.
BP_API void make_native_wait(const Stream& stream, const NativeHandle& queue);
// The other way round: `stream` waits for the application's queue.
BP_API void wait_for_native(const Stream& stream, const NativeHandle& queue);

// A tensor in the application's memory, from `byte_offset` on. As tensor_from_blob, which is this for addresses:
// `deleter`, if any, runs when the last tensor is gone and the streams that used it are done; not if this throws.
// Throws bad_argument if the elements are not aligned, and if the plugin says that the memory is another device's, or
// too small.
BP_API Tensor tensor_from_memory(const NativeHandle& memory, std::uint64_t byte_offset,
                                 IntList shape, IntList strides, Dtype dtype, Device device,
                                 void (*deleter)(void* context), void* context);

}  // namespace bp
