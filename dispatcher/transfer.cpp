#include <atomic>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/submit.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/spaces.hpp>
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

// Its elements and what lies between them, as a row.
Tensor flat(const Tensor& tensor) {
  const ByteSpan span = touched_bytes(*tensor.impl());
  const std::int64_t count = static_cast<std::int64_t>(span.end - span.begin) / tensor.itemsize();
  return make_view(tensor, {count}, {1}, tensor.storage_offset());
}

// The same strides in another memory, by a copy of bytes alone: the kernels may take neither of the two memories.
Tensor image_in(std::uint32_t space, const Tensor& tensor) {
  Tensor image = empty_strided_tensor_in(space, tensor.shape(), tensor.strides(), tensor.dtype(),
                                         tensor.device());
  if (tensor.numel() != 0) submit::copy(flat(image), flat(tensor));
  return image;
}

// Below all layers; the device stays.
Tensor in_space(const Tensor& tensor, std::uint32_t space) {
  if (tensor.impl()->abi.flags & BP_LAYOUT_DENSE) return image_in(space, tensor);
  const Tensor dense = make_contiguous(tensor);
  return space == 0 ? dense : image_in(space, dense);
}

// The same for another device, contiguous and in main memory.
Tensor on_device(const Tensor& tensor, Device device) {
  if (device == meta_device) return empty_tensor(tensor.shape(), tensor.dtype(), device);
  BP_CHECK(tensor.device() != meta_device,
           "to: a meta tensor has no values to move to {}; make one with empty()",
           device_name(device));
  Tensor target = empty_tensor(tensor.shape(), tensor.dtype(), device);
  if (tensor.numel() == 0) return target;
  const Tensor source = make_contiguous(tensor);
  DeviceRecord& from = device_record(tensor.device());
  DeviceRecord& to = device_record(device);
  if (source.impl()->storage->host_readable) {
    synchronize_stream(current_stream_impl(from));
    copy_from_host_memory(target, source.data_ptr());
  } else if (target.impl()->storage->host_readable) {
    synchronize_stream(current_stream_impl(to));
    copy_to_host_memory(source, target.data_ptr());
  } else if (source.impl()->abi.space != 0 || !submit::copy_between_peers(target, source)) {
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

std::uint64_t visible_layers(const Tensor& a, const Tensor& b) {
  return (a.impl()->keys | b.impl()->keys) & ~thread_state().excluded_layers;
}

bool is_apart(const Tensor& tensor) {
  return tensor.impl()->abi.space != 0 && !tensor.is_contiguous();
}

// Strides are followed in main memory, since kernels may take no other.
void copy_by_main_memory(const Tensor& target, const Tensor& source) {
  const Tensor from = is_apart(source) ? image_in(0, source) : source;
  if (!is_apart(target)) return copy_into(target, from);
  const Tensor image = image_in(0, target);
  copy_into(image, from);
  submit::copy(flat(target), flat(image));
}

}  // namespace

void copy_into(const Tensor& target, const Tensor& source) {
  BP_CHECK(target.shape() == source.shape(),
           "copy_into: shapes {} and {} differ; expand the source first", to_string(target.shape()),
           to_string(source.shape()));
  if (target.numel() == 0) return;
  const bool plain = target.dtype() == source.dtype() && target.is_contiguous() &&
                     source.is_contiguous() && target.device() == source.device() &&
                     !may_overlap(*target.impl(), *source.impl()) &&
                     !visible_layers(target, source);
  if (plain) return submit::copy(target, source);
  if ((is_apart(target) || is_apart(source)) && !visible_layers(target, source))
    return copy_by_main_memory(target, source);
  bp_value args[2] = {value_of(source), value_of(target.dtype())};
  if (target.dtype() == source.dtype())
    call_one_into(row("copy", copy_row), args, 1, target);
  else
    call_one_into(row("cast", cast_row), args, 2, target);
}

bool fill_small(const Tensor& target, const Scalar& value) {
  return target.is_contiguous() && !visible_layers(target, target) &&
         submit::fill_small(target, value);
}

Tensor make_contiguous(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor dense = empty_tensor(tensor.shape(), tensor.dtype(), tensor.device());
  copy_into(dense, tensor);
  return dense;
}

namespace {

// What belongs to a layer alone holds nothing, and neither do views of it.
void check_has_values(const TensorImpl& impl) {
  for (const LayerData* data = impl.layer_data; data; data = data->next)
    BP_CHECK(
        !data->is_opaque(),
        "copy to the host: the tensor belongs to a level of layer {}, as an element of a batch "
        "does to vmap's, and has no values of its own; read the results after the level ended",
        data->layer());
  if (impl.view_base) check_has_values(*impl.view_base);
}

}  // namespace

void copy_to_host_memory(const Tensor& tensor, void* target) {
  BP_CHECK(tensor.defined() && tensor.device() != meta_device,
           "copy to the host: the tensor has no values (it is {})",
           tensor.defined() ? "on meta" : "undefined");
  check_has_values(*tensor.impl());
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

MemoryPlace place_of(const Tensor& tensor) {
  return {tensor.device(), tensor.impl()->abi.space};
}

Tensor to_place(const Tensor& tensor, MemoryPlace place) {
  BP_CHECK(tensor.defined(), "to: the tensor is undefined; give it a value first");
  const MemoryPlace from = place_of(tensor);
  if (from.device == place.device && from.space == place.space) return tensor;
  if (const std::uint64_t keys = tensor.impl()->keys & ~thread_state().excluded_layers)
    if (Tensor moved = transfer_by_layer(keys, tensor, place); moved.defined()) return moved;
  const Tensor there = from.device == place.device ? tensor : on_device(tensor, place.device);
  return there.impl()->abi.space == place.space ? there : in_space(there, place.space);
}

Tensor to_device(const Tensor& tensor, Device device) {
  BP_CHECK(tensor.defined(), "to: the tensor is undefined; give it a value first");
  return tensor.device() == device ? tensor : to_place(tensor, {device});
}

Tensor to_space(const Tensor& tensor, std::uint32_t space) {
  BP_CHECK(tensor.defined(), "to_space: the tensor is undefined; give it a value first");
  return to_place(tensor, {tensor.device(), space});
}

}  // namespace bp
