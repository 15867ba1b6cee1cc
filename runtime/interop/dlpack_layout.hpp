// DLPack's managed tensors, bit for bit, under our names: the core needs no header of DLPack's.
#pragma once

#include <cstdint>

#include <backplane/abi.h>
#include <backplane/runtime/dlpack.hpp>

namespace bp::dlpack {

inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint32_t minor_version = 1;
inline constexpr std::uint64_t flag_read_only = 1;

// DLManagedTensor, of DLPack 0.x.
struct Managed {
  bp_dl_tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};

// DLManagedTensorVersioned, from 1.0 on. Version and deleter stay where they are in every major version.
struct ManagedVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  bp_dl_tensor tensor;
};

// The tensor that this process exported in `managed`; undefined if another framework made it.
Tensor exported_tensor(const Managed& managed);
Tensor exported_tensor(const ManagedVersioned& managed);

}  // namespace bp::dlpack
