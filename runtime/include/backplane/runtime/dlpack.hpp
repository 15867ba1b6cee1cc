// Exchange of tensors with other frameworks in one process, without a copy, as DLPack defines it. See docs/interop.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/tensor.hpp>

// DLPack's own types, defined by <dlpack/dlpack.h>; code that only passes them on needs no more
// than these declarations.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace bp {

// A DLPack device: a kind (1 is the host, 2 CUDA ...) and a number within it.
struct DlpackDevice {
  std::int32_t type = 0;
  std::int32_t id = 0;
  friend constexpr bool operator==(DlpackDevice, DlpackDevice) = default;
};

struct DlpackExport {
  // A queue of the consumer's, in the maker's own terms, that is made to wait for the device's current stream, as by
  // make_native_wait. Unset: the caller orders the work.
  std::optional<std::uint64_t> consumer_stream;
  bool read_only = false;  // asks the consumer not to write; of the versioned form alone
};

struct DlpackImport {
  // The expected device; throws if the producer names another. Unset: the first registered device
  // that matches.
  std::optional<Device> device;
  // Tensors can be written here, so that read-only memory is refused unless the caller promises not to.
  bool accept_read_only = false;
};

// The device, as a producer names it to a consumer (__dlpack_device__).
BP_API DlpackDevice dlpack_device(Device device);

// The tensor for another framework, which owns the result and releases it by its `deleter`, once,
// on any thread. The memory lives as long as either side; the backend cannot be unloaded meanwhile.
// Address and offset are one where handles are addresses; else `data` is the device's first native
// kind of memory, or for a device without one its handle, which only from_dlpack of this process
// understands. Throws bad_argument for an undefined or meta tensor.
BP_API DLManagedTensor* to_dlpack(const Tensor& tensor, const DlpackExport& options = {});
BP_API DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor,
                                                     const DlpackExport& options = {});

// Another framework's tensor over the same memory. Takes ownership of `managed`, and calls its
// deleter when the last tensor is gone and the streams that used it are done; if this throws, the
// caller still has it. What to_dlpack gave comes back as a tensor that shares its storage. The
// producer has made the device's current stream wait for its work: it was given
// native_handle(Stream::current()). Throws bad_argument for null, a device that is not registered,
// element types of several lanes or unknown ones, misaligned elements and negative strides.
// Threads: any.
BP_API Tensor from_dlpack(DLManagedTensor* managed, const DlpackImport& options = {});
BP_API Tensor from_dlpack(DLManagedTensorVersioned* managed, const DlpackImport& options = {});

}  // namespace bp
