// Tensors over memory of the application, and streams that use a tensor besides its own.
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>

#include "caching_allocator.hpp"
#include "new_tensor.hpp"

namespace bp {
namespace {

// Memory of the application.
struct Blob : Storage {
  StreamImpl* stream = nullptr;  // whose work may use it: the one current when it was made
  CoreMutex mutex;               // guards what follows
  std::vector<StreamState*> other_streams;
  void (*deleter)(void*) = nullptr;
  void* context = nullptr;
};

void delete_blob(void* pointer) {
  auto* blob = static_cast<Blob*>(pointer);
  DeviceRecord& record = *blob->stream->record;
  if (blob->deleter) blob->deleter(blob->context);
  delete blob;
  record.live_blobs.fetch_sub(1, std::memory_order_relaxed);
}

void release_blob(Storage* storage) {
  auto* blob = static_cast<Blob*>(storage);
  for (StreamState* stream : blob->other_streams) wait_quietly(*stream);
  release_after(*blob->stream, delete_blob, blob);
}

void record_stream(Blob& blob, StreamState& stream) {
  if (&stream == blob.stream) return;
  const std::lock_guard lock(blob.mutex);
  auto& streams = blob.other_streams;
  if (std::find(streams.begin(), streams.end(), &stream) == streams.end())
    streams.push_back(&stream);
}

}  // namespace

Tensor tensor_from_blob(void* data, IntList shape, IntList strides, Dtype dtype, Device device,
                        void (*deleter)(void* context), void* context) {
  const std::uint64_t bytes = strided_bytes("tensor_from_blob", shape, strides, dtype);
  DeviceRecord& record = device_record(device);
  BP_CHECK(
      record.backend && (record.info.flags & (BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE)),
      "tensor_from_blob: the handles of {} are no addresses; make a tensor there and copy",
      record.name);
  BP_CHECK(data || bytes == 0, "tensor_from_blob: data is null for shape {}", to_string(shape));
  auto blob = std::make_unique<Blob>();
  blob->refs.store(1, std::memory_order_relaxed);
  blob->handle = reinterpret_cast<bp_handle>(data);
  blob->bytes = bytes;
  blob->device = device;
  blob->host_readable = record.host_readable;
  blob->release = release_blob;
  blob->stream = &current_stream_impl(record);
  blob->deleter = deleter;
  blob->context = context;
  TensorImpl* impl = take_impl();
  record.live_blobs.fetch_add(1, std::memory_order_relaxed);
  return make_strided(impl, record, blob.release(), shape, strides, dtype);
}

void record_stream(const Tensor& tensor, StreamImpl* stream) {
  BP_CHECK(tensor.defined(), "record_stream: the tensor is undefined");
  BP_CHECK(stream, "record_stream: the stream is null");
  Storage* storage = tensor.impl()->storage;
  // A synchronous stream is past everything already.
  if (!storage || stream->record->synchronous) return;
  if (PoolBlock* block = CachingAllocator::block_of(*storage)) {
    block->segment->allocator->record_stream(*block, state_of(*stream));
  } else if (storage->release == release_blob) {
    record_stream(static_cast<Blob&>(*storage), state_of(*stream));
  }
}

}  // namespace bp
