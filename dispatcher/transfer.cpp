#include <atomic>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/submit.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/check.hpp>

#include "layer_table.hpp"

namespace bp {
namespace {

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
  if (plain) return submit::copy(target, source);
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
  submit::fill(tensor, value);
  return tensor;
}

Tensor to_device(const Tensor& tensor, Device device) {
  BP_CHECK(tensor.defined(), "to: the tensor is undefined; give it a value first");
  if (tensor.device() == device) return tensor;
  if (const std::uint64_t keys = tensor.impl()->keys & ~thread_state().excluded_layers)
    if (Tensor moved = transfer_by_layer(keys, tensor, device); moved.defined()) return moved;
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
  } else if (!submit::copy_between_peers(target, source)) {
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
