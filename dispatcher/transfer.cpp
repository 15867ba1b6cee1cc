#include <atomic>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/loader.hpp>
#include <backplane/dispatcher/loading/generated/abi_sizes.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/extensions/peer.h>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>

#include "generated_kernels.hpp"
#include "layer_table.hpp"
#include "number_bytes.hpp"
#include "recording.hpp"

namespace bp {
namespace {

bp_region region_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return {impl.storage->handle, impl.abi.dl.byte_offset, tensor.nbytes()};
}
bp_region host_region(const void* memory, std::uint64_t bytes) {
  return {reinterpret_cast<bp_handle>(memory), 0, bytes};
}

// Not a static local, whose guard could be held by another thread during a fork.
Operator& row(const char* name, std::atomic<Operator*>& found) {
  if (Operator* op = found.load(std::memory_order_relaxed)) return *op;
  Operator* op = find_operator(name);
  if (!op) throw_error(ErrorClass::internal, fmt::format("the operator '{}' is missing", name));
  found.store(op, std::memory_order_relaxed);
  return *op;
}
constinit std::atomic<Operator*> copy_row{nullptr};
constinit std::atomic<Operator*> cast_row{nullptr};

// Host memory that a queued copy may still read.
void release_host_memory(void* memory) {
  release_host(memory);
}

// Between two devices of one backend that copies between them by itself. False: it does not, and nothing happened. A
// capture refuses such copies, as it does those through the host.
bool copy_between_peers(DeviceRecord& to, const Tensor& target, DeviceRecord& from,
                        const Tensor& source) {
  if (to.backend != from.backend || current_capture()) return false;
  const auto* peer = reinterpret_cast<const bp_peer*>(
      find_extension(*to.backend, BP_PEER, BP_PEER_VERSION, loading::abi_size("bp_peer", 1)));
  if (!peer || !peer->copy) return false;
  StreamImpl &to_stream = current_stream_impl(to), &from_stream = current_stream_impl(from);
  note_use(*target.impl(), to_stream);
  note_use(*source.impl(), from_stream);
  const bp_region to_region = region_of(target), from_region = region_of(source);
  clear_plugin_error();
  const bp_code code =
      peer->copy(to.handle, &to_region, to_stream.raw, from.handle, &from_region, from_stream.raw);
  if (code == BP_UNSUPPORTED) return false;
  if (code != BP_OK) throw_plugin_error(to, code, "copy");
  for (StreamImpl* stream : {&to_stream, &from_stream})
    stream->last_operator.store("copy", std::memory_order_relaxed);
  return true;
}

}  // namespace

void copy_into(const Tensor& target, const Tensor& source) {
  BP_CHECK(target.shape() == source.shape(),
           "copy_into: shapes {} and {} differ; expand the source first", to_string(target.shape()),
           to_string(source.shape()));
  if (target.numel() == 0) return;
  const bool plain =
      target.dtype() == source.dtype() && target.is_contiguous() && source.is_contiguous() &&
      target.device() == source.device() && !may_overlap(*target.impl(), *source.impl()) &&
      !((target.impl()->keys | source.impl()->keys) & ~thread_state().excluded_layers);
  if (plain) {
    if (current_capture()) [[unlikely]]
      return capture_copy(target, source);
    DeviceRecord& record = device_record(target.device());
    StreamImpl& stream = current_stream_impl(record);
    if (!record.synchronous) {
      note_use(*target.impl(), stream);
      note_use(*source.impl(), stream);
    }
    copy_region(record, region_of(target), region_of(source), BP_COPY_WITHIN, stream);
    target.impl()->storage->bump_version();
    return;
  }
  bp_value args[2] = {value_of(source), value_of(target.dtype())};
  if (target.dtype() == source.dtype())
    call_one_into(row("copy", copy_row), args, 1, target);
  else
    call_one_into(row("cast", cast_row), args, 2, target);
}

Tensor make_contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor dense = empty_tensor(tensor.shape(), tensor.dtype(), tensor.device());
  copy_into(dense, tensor);
  return dense;
}

void copy_to_host_memory(const Tensor& tensor, void* target) {
  BP_CHECK(tensor.defined() && tensor.device() != meta_device,
           "copy to the host: the tensor has no values (it is {})",
           tensor.defined() ? "on meta" : "undefined");
  if (tensor.numel() == 0) return;
  const Tensor dense = make_contiguous(tensor);
  DeviceRecord& record = device_record(dense.device());
  StreamImpl& stream = current_stream_impl(record);
  copy_region(record, host_region(target, dense.nbytes()), region_of(dense), BP_COPY_TO_HOST,
              stream);
  synchronize_stream(stream);
}

void copy_from_host_memory(const Tensor& tensor, const void* source) {
  BP_CHECK(tensor.defined() && tensor.device() != meta_device && tensor.is_contiguous(),
           "copy from the host: the target must be contiguous and have memory");
  if (tensor.numel() == 0) return;
  DeviceRecord& record = device_record(tensor.device());
  StreamImpl& stream = current_stream_impl(record);
  copy_region(record, region_of(tensor), host_region(source, tensor.nbytes()), BP_COPY_FROM_HOST,
              stream);
  tensor.impl()->storage->bump_version();
  synchronize_stream(stream);
}

Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device) {
  Tensor tensor = empty_tensor({}, dtype, device);
  if (device == meta_device) return tensor;
  DeviceRecord& record = device_record(device);
  StreamImpl& stream = current_stream_impl(record);
  if (record.synchronous || current_capture()) {
    unsigned char bytes[16];
    number_to_bytes(value, dtype, bytes);
    if (current_capture()) [[unlikely]] {
      capture_fill(tensor, bytes);
      return tensor;
    }
    copy_region(record, region_of(tensor), host_region(bytes, tensor.nbytes()), BP_COPY_FROM_HOST,
                stream);
    return tensor;
  }
  void* bytes = allocate_host(16, 16);
  if (!bytes) throw_error(ErrorClass::out_of_memory, "out of host memory for a number");
  number_to_bytes(value, dtype, bytes);
  copy_region(record, region_of(tensor), host_region(bytes, tensor.nbytes()), BP_COPY_FROM_HOST,
              stream);
  release_after(stream, release_host_memory, bytes);
  return tensor;
}

Tensor to_device(const Tensor& tensor, Device device) {
  BP_CHECK(tensor.defined(), "to: the tensor is undefined; give it a value first");
  if (tensor.device() == device) return tensor;
  if (const std::uint64_t keys = tensor.impl()->keys & ~thread_state().excluded_layers)
    if (const TransferHandler handle = transfer_of_layer(keys)) return handle(tensor, device);
  if (device == meta_device) return empty_tensor(tensor.shape(), tensor.dtype(), device);
  BP_CHECK(tensor.device() != meta_device,
           "to: a meta tensor has no values to move to {}; make one with empty()",
           device_name(device));
  Tensor target = empty_tensor(tensor.shape(), tensor.dtype(), device);
  if (tensor.numel() == 0) return target;
  const Tensor source = make_contiguous(tensor);
  DeviceRecord& from = device_record(tensor.device());
  DeviceRecord& to = device_record(device);
  if (from.host_readable) {
    synchronize_stream(current_stream_impl(from));
    copy_from_host_memory(target, source.data_ptr());
  } else if (to.host_readable) {
    synchronize_stream(current_stream_impl(to));
    copy_to_host_memory(source, target.data_ptr());
  } else if (!copy_between_peers(to, target, from, source)) {
    void* staging = allocate_host(source.nbytes(), 64);
    if (!staging)
      throw_error(ErrorClass::out_of_memory,
                  fmt::format("to: out of host memory for {} bytes between {} and {}",
                              source.nbytes(), from.name, to.name));
    struct Release {
      void* memory;
      ~Release() { release_host(memory); }
    } release{staging};
    copy_to_host_memory(source, staging);
    copy_from_host_memory(target, staging);
  }
  return target;
}

}  // namespace bp
