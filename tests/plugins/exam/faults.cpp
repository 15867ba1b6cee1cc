#include "faults.hpp"

#include <cmath>
#include <cstring>

#include "element.hpp"
#include "variant.hpp"

namespace exam {
namespace {

bp::Dtype dtype_of(const bp_tensor& tensor) {
  return static_cast<bp::Dtype>(tensor.dtype);
}

void set_contiguous(bp_tensor& tensor) {
  int64_t step = 1;
  for (int32_t dim = tensor.dl.ndim - 1; dim >= 0; --dim) {
    tensor.dl.strides[dim] = step;
    step *= tensor.dl.shape[dim];
  }
  tensor.flags = BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED;
}

}  // namespace

const bp_host* host = nullptr;

const KernelFault* chosen_kernel_fault() {
  for (const auto* table :
       {&shape_faults, &size_faults, &corner_faults, &value_faults, &number_faults,
        &composed_faults, &memory_faults, &thread_faults, &honesty_faults, &contract_faults})
    for (const KernelFault& one : *table)
      if (fault_is(one.name)) return &one;
  return nullptr;
}

uint8_t* element(const bp_tensor& tensor, int64_t place) {
  int64_t offset = 0;
  for (int32_t dim = tensor.dl.ndim - 1; dim >= 0; --dim) {
    offset += place % tensor.dl.shape[dim] * tensor.dl.strides[dim];
    place /= tensor.dl.shape[dim];
  }
  return data_of(tensor) + offset * tensor.itemsize;
}

double number_at(const bp_tensor& tensor, int64_t place) {
  return reference::read<double>(element(tensor, place), dtype_of(tensor));
}

void set_number(const bp_tensor& tensor, int64_t place, double value) {
  reference::write(element(tensor, place), dtype_of(tensor), value);
}

bool is_floating(const bp_tensor& tensor) {
  return bp::floating.holds(dtype_of(tensor));
}

ChangedCall::ChangedCall(const bp_call& call)
    : call_(call), args_(call.args, call.args + call.num_args) {
  own_.reserve(args_.size());  // pointers into it stay
  for (bp_value& value : args_) {
    if (value.tag != BP_TENSOR) continue;
    Own& own = own_.emplace_back();
    own.tensor = *value.u.tensor;
    const size_t bytes = static_cast<size_t>(own.tensor.dl.ndim) * sizeof(int64_t);
    if (bytes != 0) {
      std::memcpy(own.shape, own.tensor.dl.shape, bytes);
      std::memcpy(own.strides, own.tensor.dl.strides, bytes);
    }
    own.tensor.dl.shape = own.shape;
    own.tensor.dl.strides = own.strides;
    value.u.tensor = &own.tensor;
  }
  call_.args = args_.data();
}

bp_tensor* ChangedCall::tensor(uint32_t arg) {
  return args_[arg].tag == BP_TENSOR ? const_cast<bp_tensor*>(args_[arg].u.tensor) : nullptr;
}

ChangedCall::Own* ChangedCall::own_of(const bp_tensor& tensor) {
  for (Own& own : own_)
    if (&own.tensor == &tensor) return &own;
  return nullptr;
}

void ChangedCall::make_contiguous(bp_tensor& tensor, std::vector<uint8_t> bytes) {
  Own& own = *own_of(tensor);
  own.bytes = std::move(bytes);
  tensor.dl.data = own.bytes.data();
  tensor.dl.byte_offset = 0;
  set_contiguous(tensor);
}

void ChangedCall::repack(bp_tensor& tensor) {
  std::vector<uint8_t> bytes(static_cast<size_t>(tensor.numel) * tensor.itemsize + 16);
  for (int64_t i = 0; i < tensor.numel; ++i)
    std::memcpy(bytes.data() + i * tensor.itemsize, element(tensor, i), tensor.itemsize);
  make_contiguous(tensor, std::move(bytes));
}

void ChangedCall::repeat_flat(bp_tensor& tensor, int64_t period) {
  std::vector<uint8_t> bytes(static_cast<size_t>(tensor.numel) * tensor.itemsize + 16);
  for (int64_t i = 0; i < tensor.numel; ++i)
    std::memcpy(bytes.data() + i * tensor.itemsize, data_of(tensor) + i % period * tensor.itemsize,
                tensor.itemsize);
  make_contiguous(tensor, std::move(bytes));
}

}  // namespace exam
