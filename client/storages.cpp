// Storages behind tensors of the caller's own.
#include <backplane/runtime/allocator.hpp>

#include "boundary.hpp"
#include "functions.hpp"

namespace bp::client {
namespace {

bp_storage* given(Storage* storage) {
  return reinterpret_cast<bp_storage*>(storage);
}
Storage* taken(const bp_storage* storage) {
  return reinterpret_cast<Storage*>(const_cast<bp_storage*>(storage));
}

}  // namespace

bp_code allocate_storage(std::uint32_t device, std::uint64_t bytes, bp_storage** out) noexcept {
  return guarded("allocate_storage", [&] {
    clear_output("allocate_storage", "out", out);
    DeviceRecord& record = device_record({device});
    BP_CHECK(record.backend, "allocate_storage: {} has no memory", record.name);
    *out = given(bp::allocate_storage(record, bytes));
  });
}

bp_code storage_of(const bp_tensor* tensor, bp_storage** out) noexcept {
  return guarded("storage_of", [&] {
    clear_output("storage_of", "out", out);
    const Tensor of = share("storage_of", "tensor", tensor);
    Storage* storage = of.impl()->storage;
    BP_CHECK(storage, "storage_of: the tensor has no memory (it is on {})",
             bp::device_name(of.device()));
    storage->retain();
    *out = given(storage);
  });
}

bp_code describe_storage(const bp_storage* storage, bp_storage_info* out) noexcept {
  return guarded("describe_storage", [&] {
    check_pointer("describe_storage", "storage", storage);
    const Storage& of = *taken(storage);
    bp_storage_info info{};
    if (of.host_readable) info.address = reinterpret_cast<void*>(of.handle + of.offset);
    info.handle = of.handle;
    info.offset = of.offset;
    info.bytes = of.bytes;
    info.device = of.device.number;
    info.space = of.space;
    fill_struct("describe_storage", info, out);
  });
}

void retain_storage(bp_storage* storage) noexcept {
  if (storage) taken(storage)->retain();
}

void release_storage(bp_storage* storage) noexcept {
  if (storage) taken(storage)->drop();
}

}  // namespace bp::client
