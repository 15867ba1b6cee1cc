// Another framework, as far as DLPack shows it: its structs as the standard says them, and a tensor that it lends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <backplane/abi.h>
#include <backplane/runtime/dlpack.hpp>
#if __has_include(<dlpack/dlpack.h>)
#  include <dlpack/dlpack.h>
#endif

namespace bp::test {

struct Managed {
  bp_dl_tensor tensor{};
  void* context = nullptr;
  void (*deleter)(Managed* self) = nullptr;

  DLManagedTensor* get() { return reinterpret_cast<DLManagedTensor*>(this); }
  static Managed* of(DLManagedTensor* managed) { return reinterpret_cast<Managed*>(managed); }
};

struct ManagedVersioned {
  std::uint32_t major = 1, minor = 0;
  void* context = nullptr;
  void (*deleter)(ManagedVersioned* self) = nullptr;
  std::uint64_t flags = 0;
  bp_dl_tensor tensor{};

  DLManagedTensorVersioned* get() { return reinterpret_cast<DLManagedTensorVersioned*>(this); }
  static ManagedVersioned* of(DLManagedTensorVersioned* managed) {
    return reinterpret_cast<ManagedVersioned*>(managed);
  }
};

#ifdef DLPACK_DLPACK_H_
static_assert(sizeof(Managed) == sizeof(DLManagedTensor));
static_assert(offsetof(Managed, context) == offsetof(DLManagedTensor, manager_ctx));
static_assert(offsetof(Managed, deleter) == offsetof(DLManagedTensor, deleter));
#endif
#if defined(DLPACK_DLPACK_H_) && defined(DLPACK_MAJOR_VERSION)
static_assert(sizeof(ManagedVersioned) == sizeof(DLManagedTensorVersioned));
static_assert(offsetof(ManagedVersioned, context) ==
              offsetof(DLManagedTensorVersioned, manager_ctx));
static_assert(offsetof(ManagedVersioned, deleter) == offsetof(DLManagedTensorVersioned, deleter));
static_assert(offsetof(ManagedVersioned, flags) == offsetof(DLManagedTensorVersioned, flags));
static_assert(offsetof(ManagedVersioned, tensor) == offsetof(DLManagedTensorVersioned, dl_tensor));
#endif

// Floats in host memory, lent as `M`; counts how often they were given back.
template <class M> struct Producer {
  std::vector<float> values;
  std::vector<std::int64_t> shape, strides;
  M managed{};
  int num_deleted = 0;

  explicit Producer(std::vector<float> given, std::vector<std::int64_t> of_shape)
      : values(std::move(given)), shape(std::move(of_shape)) {
    managed.tensor.data = values.data();
    managed.tensor.device = {BP_DL_CPU, 0};
    managed.tensor.ndim = static_cast<std::int32_t>(shape.size());
    managed.tensor.dtype = {2, 32, 1};
    managed.tensor.shape = shape.data();
    managed.context = this;
    managed.deleter = [](M* self) { ++static_cast<Producer*>(self->context)->num_deleted; };
  }
  void set_strides(std::vector<std::int64_t> given) {
    strides = std::move(given);
    managed.tensor.strides = strides.data();
  }
  auto get() { return managed.get(); }
};

}  // namespace bp::test
