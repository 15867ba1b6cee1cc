// Tensors over memory of the application, and streams that use a tensor besides its own.
#include "memory/blob.hpp"

#include <memory>
#include <new>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/quiet.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>

#include "interop/interop_table.hpp"
#include "memory/caching_allocator.hpp"
#include "memory/new_tensor.hpp"

namespace bp {
namespace {

// Memory of the application.
struct Blob : Storage {
  StreamUses uses;  // of other streams than the one current when it was made
  std::atomic<std::uint32_t> num_waiting{0};  // streams that it is released after
  void (*forget)(bp_device* device, bp_handle handle) = nullptr;  // if the plugin has adopted it
  void (*deleter)(void*) = nullptr;
  void* context = nullptr;
};

StreamImpl& own_stream(const Blob& blob) {
  return *blob.stream.load(std::memory_order_relaxed);
}

void forget(Blob& blob) {
  DeviceState& device = state_of(*own_stream(blob).record);
  if (!blob.forget || device.is_left_behind()) return;
  wait_until_quiet(device, MayWait::memory);
  blob.forget(device.handle, blob.handle);
}

void delete_blob(void* pointer) {
  auto* blob = static_cast<Blob*>(pointer);
  DeviceRecord& record = *own_stream(*blob).record;
  forget(*blob);
  if (blob->deleter) blob->deleter(blob->context);
  delete blob;
  record.live_blobs.fetch_sub(1, std::memory_order_relaxed);
}

void pass_one_stream(void* pointer) {
  auto* blob = static_cast<Blob*>(pointer);
  if (blob->num_waiting.fetch_sub(1, std::memory_order_acq_rel) == 1) delete_blob(blob);
}

// Whoever drops the last handle does not wait for streams at work.
void release_blob(Storage* storage) {
  auto* blob = static_cast<Blob*>(storage);
  blob->num_waiting.store(1, std::memory_order_relaxed);
  for (const StreamUse* use = blob->uses.first(); use; use = use->next) {
    blob->num_waiting.fetch_add(1, std::memory_order_relaxed);
    release_after(*use->stream, pass_one_stream, blob);
  }
  release_after(own_stream(*blob), pass_one_stream, blob);
}

bool is_address(const DeviceRecord& record, const NativeHandle& memory) {
  return has_addresses(record) && (memory.kind.empty() || memory.kind == BP_NATIVE_ADDRESS);
}

// A number lies at a multiple of its size, a complex one at a multiple of its parts'.
void check_alignment(const char* op, const DeviceRecord& record, const NativeHandle& memory,
                     std::uint64_t byte_offset, Dtype dtype) {
  const std::uint32_t alignment = itemsize(dtype) / (is_complex(dtype) ? 2 : 1);
  const std::uint64_t first = byte_offset + (is_address(record, memory) ? memory.value : 0);
  BP_CHECK(
      first % alignment == 0,
      "{}: element 0 lies at {:#x}, which is not a multiple of the {} bytes that {} needs; copy "
      "it to where it fits",
      op, first, alignment, name(dtype));
}

// Tells the plugin of the memory if it asks to be told; the blob then owns the handle that it gives.
void adopt(const char* op, Blob& blob, DeviceRecord& record, const NativeHandle& memory) {
  const bp_interop& interop = extensions_of(record).interop;
  const bool by_address = is_address(record, memory);
  const bool can_adopt = interop.adopt_memory != nullptr;
  blob.handle = memory.value;
  if (by_address && !(can_adopt && is_listed(interop.memory_kinds, BP_NATIVE_ADDRESS))) return;
  const bp_native native{by_address
                             ? BP_NATIVE_ADDRESS
                             : listed_kind(op, record, "memory",
                                           can_adopt ? interop.memory_kinds : nullptr, memory.kind),
                         memory.value};
  wait_until_quiet(record, MayWait::memory);
  clear_plugin_error();
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): without it there is no kind, and listed_kind has thrown
  const bp_code code =
      interop.adopt_memory(record.handle, &native, blob.offset + blob.bytes, &blob.handle);
  if (code != BP_OK) throw_plugin_error(record, code, op);
  blob.forget = interop.forget_memory;
}

}  // namespace

Tensor tensor_over(const char* op, DeviceRecord& record, const NativeHandle& memory,
                   std::uint64_t byte_offset, IntList shape, IntList strides, Dtype dtype,
                   void (*deleter)(void* context), void* context) {
  const std::uint64_t bytes = strided_bytes(op, shape, strides, dtype);
  BP_CHECK(record.backend, "{}: {} has no memory; use a tensor's shape alone", op, record.name);
  BP_CHECK(memory.value != 0 || bytes == 0, "{}: the memory is null for shape {}", op,
           to_string(shape));
  if (bytes != 0) check_alignment(op, record, memory, byte_offset, dtype);
  auto blob = std::make_unique<Blob>();
  blob->refs.store(1, std::memory_order_relaxed);
  blob->offset = byte_offset;
  blob->bytes = bytes;
  blob->device = record.device;
  blob->host_readable = record.host_readable;
  blob->release = release_blob;
  blob->stream.store(&current_stream_impl(record), std::memory_order_relaxed);
  blob->deleter = deleter;
  blob->context = context;
  // A tensor without elements may point anywhere.
  if (bytes != 0) adopt(op, *blob, record, memory);
  TensorImpl* impl = nullptr;
  try {
    impl = take_impl();
  } catch (...) {
    forget(*blob);
    throw;
  }
  record.live_blobs.fetch_add(1, std::memory_order_relaxed);
  return make_strided(impl, record, blob.release(), shape, strides, dtype);
}

Tensor tensor_from_memory(const NativeHandle& memory, std::uint64_t byte_offset, IntList shape,
                          IntList strides, Dtype dtype, Device device,
                          void (*deleter)(void* context), void* context) {
  return tensor_over("tensor_from_memory", device_record(device), memory, byte_offset, shape,
                     strides, dtype, deleter, context);
}

Tensor tensor_from_blob(void* data, IntList shape, IntList strides, Dtype dtype, Device device,
                        void (*deleter)(void* context), void* context) {
  DeviceRecord& record = device_record(device);
  const std::uint64_t bytes = strided_bytes("tensor_from_blob", shape, strides, dtype);
  BP_CHECK(record.backend && has_addresses(record),
           "tensor_from_blob: the handles of {} are not addresses; make a tensor there and copy",
           record.name);
  BP_CHECK(data || bytes == 0, "tensor_from_blob: data is null for shape {}", to_string(shape));
  const NativeHandle memory{BP_NATIVE_ADDRESS, reinterpret_cast<std::uint64_t>(data)};
  return tensor_over("tensor_from_blob", record, memory, 0, shape, strides, dtype, deleter,
                     context);
}

void record_stream(const Tensor& tensor, const Stream& stream) {
  record_stream(tensor, stream.impl());
}

void record_stream(const Tensor& tensor, StreamImpl* stream) {
  BP_CHECK(tensor.defined(), "record_stream: the tensor is undefined");
  BP_CHECK(stream, "record_stream: the stream is null");
  // A synchronous stream is past everything already.
  if (tensor.impl()->storage && !stream->record->synchronous) note_use(*tensor.impl(), *stream);
}

// What a capture uses it keeps itself, for as long as there may be replays.
void detail::note_use_elsewhere(Storage& storage, StreamImpl& stream) {
  if (is_capturing()) return;
  try {
    if (PoolBlock* block = CachingAllocator::block_of(storage))
      block->uses.add(state_of(stream));
    else if (storage.release == release_blob)
      static_cast<Blob&>(storage).uses.add(state_of(stream));
  } catch (const std::bad_alloc&) {
    throw_error(ErrorClass::out_of_memory,
                fmt::format("no host memory to note that another stream of {} uses a tensor's "
                            "memory; free some and call again",
                            stream.record->name));
  }
}

}  // namespace bp
