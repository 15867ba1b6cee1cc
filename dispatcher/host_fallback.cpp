// Rung 5: the whole operator on the host. Inputs are copied there (or read in place where the host
// can), the host's kernel runs, results are copied back.
#include <algorithm>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/submit.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>

#include "counter_slots.hpp"
#include "ladder.hpp"

namespace bp {
namespace {

// Keeps a device's storage alive while the host uses the same bytes under its own name.
struct BorrowedStorage : Storage {
  Storage* owner = nullptr;
};
void release_borrowed(Storage* storage) {
  auto* borrowed = static_cast<BorrowedStorage*>(storage);
  borrowed->owner->drop();
  delete borrowed;
}

Tensor with_storage(const TensorImpl& like, Storage* storage, std::uint64_t byte_offset,
                    DeviceRecord& host) {
  TensorImpl* impl = take_impl();
  const auto ndim = static_cast<std::size_t>(like.abi.dl.ndim);
  std::copy_n(like.shape, ndim, impl->shape);
  std::copy_n(like.strides, ndim, impl->strides);
  bp_tensor& abi = impl->abi;
  abi.flags = like.abi.flags;
  abi.numel = like.abi.numel;
  abi.dtype = like.abi.dtype;
  abi.itemsize = like.abi.itemsize;
  abi.device = host.device.number;
  abi.space = 0;
  abi.dl.ndim = like.abi.dl.ndim;
  abi.dl.dtype = like.abi.dl.dtype;
  abi.dl.device = {host.info.dl_device_type, host.info.dl_device_id};
  abi.dl.data = reinterpret_cast<void*>(storage->handle);
  abi.dl.byte_offset = byte_offset;
  impl->backend = host.backend->number;
  impl->keys = 0;
  impl->storage = storage;
  return Tensor::adopt(impl);
}

Tensor borrowed_by_host(const TensorImpl& impl, DeviceRecord& host) {
  auto* storage = new BorrowedStorage;
  storage->refs.store(1, std::memory_order_relaxed);
  storage->handle = impl.storage->handle;
  storage->offset = impl.storage->offset;
  storage->bytes = impl.storage->bytes;
  storage->device = host.device;
  storage->host_readable = true;
  storage->release = release_borrowed;
  storage->owner = impl.storage;
  impl.storage->retain();
  return with_storage(impl, storage, impl.abi.dl.byte_offset, host);
}

// The bytes that the tensor touches, on the host, under the same strides. The copy is only queued.
Tensor copied_to_host(const TensorImpl& impl, Frame& frame, DeviceRecord& host) {
  const ByteSpan span = touched_bytes(impl);
  const std::uint64_t bytes = span.end - span.begin;
  Storage* storage = allocate_storage(host, bytes);
  Tensor copy =
      with_storage(impl, storage, storage->offset + (impl.abi.dl.byte_offset - span.begin), host);
  if (bytes == 0) return copy;
  const bp_region to{storage->handle + storage->offset, 0, bytes};
  const bp_region from{impl.storage->handle, span.begin, bytes};
  copy_region(frame.record, to, from, BP_COPY_TO_HOST, frame.stream);
  return copy;
}

// What these copies report later is reported under the operator that they are for.
void name_work(Frame& frame) {
  if (!frame.record.synchronous)
    frame.stream.last_operator.store(frame.op().name(), std::memory_order_relaxed);
}

void drop_tensor(void* impl) {
  Tensor::adopt(static_cast<TensorImpl*>(impl));
}

// A contiguous host tensor's bytes to a contiguous tensor of the device.
void copy_back(const Tensor& from, const Tensor& to, Frame& frame) {
  const std::uint64_t bytes = from.nbytes();
  if (bytes == 0) return;
  const bp_region source{from.impl()->storage->handle + from.impl()->abi.dl.byte_offset, 0, bytes};
  const bp_region target{to.impl()->storage->handle, to.impl()->abi.dl.byte_offset, bytes};
  copy_region(frame.record, target, source, BP_COPY_FROM_HOST, frame.stream);
  to.impl()->storage->bump_version();
  if (frame.record.synchronous) return;
  // The host's memory lives until the stream has passed the copy.
  release_after(frame.stream, drop_tensor, Tensor(from).release());
}

// Writes a host result over a tensor of the device that the caller gave, of whatever strides.
void write_over(const Tensor& result, const Tensor& target, Frame& frame, DeviceRecord& host) {
  const TensorImpl& impl = *target.impl();
  if (target.is_contiguous()) {
    Tensor same = result;
    if (result.dtype() != target.dtype() || !result.is_contiguous()) {
      same = empty_tensor(target.shape(), target.dtype(), host.device);
      copy_into(same, result);
    }
    return copy_back(same, target, frame);
  }
  // What lies between the target's elements must stay: fetch the span, write into it, send it back.
  const ByteSpan span = touched_bytes(impl);
  if (span.end == span.begin) return;
  Tensor image = copied_to_host(impl, frame, host);
  name_work(frame);
  synchronize_stream(frame.stream);
  copy_into(image, result);
  const bp_region source{image.impl()->storage->handle + image.impl()->storage->offset, 0,
                         span.end - span.begin};
  const bp_region to{impl.storage->handle, span.begin, span.end - span.begin};
  copy_region(frame.record, to, source, BP_COPY_FROM_HOST, frame.stream);
  impl.storage->bump_version();
  if (!frame.record.synchronous) release_after(frame.stream, drop_tensor, image.release());
}

// Without a word about what went wrong: another error is on its way.
void wait_for(StreamImpl& stream) noexcept {
  try {
    synchronize_stream(stream);
  } catch (...) {
  }
}

// The arguments as the host sees them, in `args`.
void arguments_on_host(Frame& frame, DeviceRecord& host, Call& call, Temporaries& kept) {
  bool copied = false, borrowed = false;
  try {
    rewrite_tensors(call, kept, [&](std::uint32_t, const bp_tensor* tensor) {
      const TensorImpl& impl = *TensorImpl::of(tensor);
      if (impl.storage->host_readable) {
        borrowed = true;
        return kept.keep(borrowed_by_host(impl, host));
      }
      const bp_tensor* copy = kept.keep(copied_to_host(impl, frame, host));
      copied = true;
      return copy;
    });
  } catch (...) {
    // A queued copy still writes into memory that is about to be given back.
    if (copied && !frame.record.synchronous) wait_for(frame.stream);
    throw;
  }
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (call.op.schema->arguments[i].type == ArgumentType::device)
      call.args[i] = value_of(host.device);
  if (copied) name_work(frame);
  if (!frame.record.synchronous && (copied || borrowed)) synchronize_stream(frame.stream);
}

// What the host's call wrote into its arguments: where it had copies of them, these go back.
void return_written(Frame& frame, const Call& on_host, DeviceRecord& host) {
  std::vector<Tensor> originals;
  for_each_written(frame.call,
                   [&](const bp_tensor& tensor) { originals.push_back(tensor_of(&tensor)); });
  std::size_t next = 0;
  for_each_written(on_host, [&](const bp_tensor& tensor) {
    const Tensor& original = originals[next++];
    if (original.impl()->storage->host_readable)
      original.impl()->storage->bump_version();
    else
      write_over(tensor_of(&tensor), original, frame, host);
  });
}

}  // namespace

bool try_host(Frame& frame) {
  Device host_number;
  if (!find_host_device(host_number) || host_number == frame.device()) return false;
  submit::on_host(frame);
  DeviceRecord& host = device_record(host_number);
  UncountedScope uncounted;
  bp_value args[64];
  if (frame.call.num_args > 64) return false;
  std::copy_n(frame.call.args, frame.call.num_args, args);
  PerResult<Tensor> results(frame.call.num_results);
  Call call{frame.call.op, args, frame.call.num_args, results.data(), frame.call.num_results};
  Temporaries kept;
  arguments_on_host(frame, host, call, kept);
  if (call.op.kind == BP_KIND_POINTWISE)
    results[0] = call_pointwise(call.op, args, call.num_args);
  else
    dispatch(call);
  return_written(frame, call, host);
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    Tensor& wanted = frame.call.results[i];
    if (wanted.defined()) {
      write_over(results[i], wanted, frame, host);
      continue;
    }
    const Tensor dense = make_contiguous(results[i]);
    wanted = empty_tensor(dense.shape(), dense.dtype(), frame.device());
    copy_back(dense, wanted, frame);
  }
  name_work(frame);
  return true;
}

}  // namespace bp
