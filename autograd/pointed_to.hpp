// What lies behind a value of a call and dies with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <backplane/abi.h>

namespace bp::autograd {

// Null for the holes of a list; none for what is not a tensor.
inline std::span<const bp_tensor* const> tensors_of(const bp_value& value) {
  if (value.tag == BP_TENSOR) return {&value.u.tensor, 1};
  if (value.tag != BP_TENSOR_LIST) return {};
  return {static_cast<const bp_tensor* const*>(value.u.ptr), value.aux};
}

// Of anything but tensors.
inline std::size_t num_bytes_of(const bp_value& value) {
  switch (value.tag) {
    case BP_INT_LIST: return value.aux * sizeof(std::int64_t);
    case BP_DOUBLE_LIST: return value.aux * sizeof(double);
    case BP_COMPLEX: return 2 * sizeof(double);
    case BP_STRING: return value.aux;
    case BP_GENERATOR: return sizeof(bp_generator);
    default: return 0;
  }
}

}  // namespace bp::autograd
