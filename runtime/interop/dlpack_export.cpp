// Tensors for other frameworks.
#include <backplane/runtime/interop.hpp>
#include <backplane/tensor/check.hpp>

#include "interop/dlpack_layout.hpp"
#include "interop/interop_table.hpp"

namespace bp {
namespace dlpack {
namespace {

// What the consumer gets, and what it keeps alive.
template <class AnyManaged> struct Exported {
  AnyManaged managed{};
  Tensor tensor;
  std::int64_t shape[max_rank] = {};
  std::int64_t strides[max_rank] = {};
};

template <class AnyManaged> void delete_exported(AnyManaged* managed) {
  if (managed) delete static_cast<Exported<AnyManaged>*>(managed->context);
}

// Where element 0 is, as DLPack says it: `data` and a byte offset from there.
NativeMemory placed(const Tensor& tensor, const DeviceRecord& record) {
  if (has_addresses(record)) return native_memory(tensor);
  const bp_interop& interop = extensions_of(record).interop;
  if (interop.memory_handle && interop.memory_kinds && *interop.memory_kinds)
    return native_memory(tensor);
  const Storage& storage = *tensor.impl()->storage;
  return {{{}, storage.handle}, tensor.impl()->abi.dl.byte_offset};
}

template <class AnyManaged>
AnyManaged* exported(const char* op, const Tensor& tensor, const DlpackExport& options) {
  BP_CHECK(tensor.defined(), "{}: the tensor is undefined; make one first", op);
  BP_CHECK(tensor.impl()->storage, "{}: a tensor of shape {} on the meta device has no memory", op,
           to_string(tensor.shape()));
  DeviceRecord& record = device_record(tensor.device());
  auto made = std::make_unique<Exported<AnyManaged>>();
  const NativeMemory memory = placed(tensor, record);
  made->tensor = tensor;
  std::copy(tensor.shape().begin(), tensor.shape().end(), made->shape);
  std::copy(tensor.strides().begin(), tensor.strides().end(), made->strides);
  made->managed.tensor = {reinterpret_cast<void*>(memory.handle.value),
                          {record.info.dl_device_type, record.info.dl_device_id},
                          static_cast<std::int32_t>(tensor.ndim()),
                          dl_dtype(tensor.dtype()),
                          made->shape,
                          made->strides,
                          memory.byte_offset};
  made->managed.context = made.get();
  made->managed.deleter = delete_exported<AnyManaged>;
  if (options.consumer_stream)
    make_native_wait(Stream::current(record.device), {{}, *options.consumer_stream});
  return &made.release()->managed;
}

template <class AnyManaged> Tensor tensor_in(const AnyManaged& managed) {
  if (managed.deleter != delete_exported<AnyManaged>) return {};
  return static_cast<const Exported<AnyManaged>*>(managed.context)->tensor;
}

}  // namespace

Tensor exported_tensor(const Managed& managed) {
  return tensor_in(managed);
}
Tensor exported_tensor(const ManagedVersioned& managed) {
  return tensor_in(managed);
}

}  // namespace dlpack

DlpackDevice dlpack_device(Device device) {
  const bp_device_info& info = registered_state(device).info;
  return {info.dl_device_type, info.dl_device_id};
}

DLManagedTensor* to_dlpack(const Tensor& tensor, const DlpackExport& options) {
  BP_CHECK(!options.read_only,
           "to_dlpack: the older form of DLPack cannot say that memory is read-only; use "
           "to_dlpack_versioned");
  return reinterpret_cast<DLManagedTensor*>(
      dlpack::exported<dlpack::Managed>("to_dlpack", tensor, options));
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor, const DlpackExport& options) {
  auto* managed =
      dlpack::exported<dlpack::ManagedVersioned>("to_dlpack_versioned", tensor, options);
  managed->major = dlpack::major_version;
  managed->minor = dlpack::minor_version;
  if (options.read_only) managed->flags |= dlpack::flag_read_only;
  return reinterpret_cast<DLManagedTensorVersioned*>(managed);
}

}  // namespace bp
