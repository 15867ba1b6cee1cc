// Lending and borrowing memory.
#include "tensors.hpp"

#include <ATen/EmptyTensor.h>
#include <array>

#include "devices.hpp"

namespace bp::bridge {
namespace {

constexpr std::pair<c10::ScalarType, Dtype> pairs[] = {
    {c10::ScalarType::Bool, boolean},
    {c10::ScalarType::Byte, u8},
    {c10::ScalarType::Char, i8},
    {c10::ScalarType::Short, i16},
    {c10::ScalarType::Int, i32},
    {c10::ScalarType::Long, i64},
    {c10::ScalarType::UInt16, u16},
    {c10::ScalarType::UInt32, u32},
    {c10::ScalarType::UInt64, u64},
    {c10::ScalarType::Half, f16},
    {c10::ScalarType::BFloat16, bf16},
    {c10::ScalarType::Float, f32},
    {c10::ScalarType::Double, f64},
    {c10::ScalarType::ComplexFloat, complex64},
    {c10::ScalarType::ComplexDouble, complex128},
    {c10::ScalarType::Float8_e4m3fn, f8_e4m3fn},
    {c10::ScalarType::Float8_e5m2, f8_e5m2},
};

struct Dtypes {
  std::array<std::int8_t, 128> ours{};
  std::array<c10::ScalarType, num_dtypes> theirs{};
};
constexpr Dtypes make_dtypes() {
  Dtypes table;
  for (auto& each : table.ours) each = -1;
  for (auto [theirs, ours] : pairs) {
    table.ours[static_cast<std::size_t>(theirs)] = static_cast<std::int8_t>(index(ours));
    table.theirs[index(ours)] = theirs;
  }
  return table;
}
constexpr Dtypes dtypes_table = make_dtypes();

void drop_storage(void* context) {
  static_cast<Storage*>(context)->drop();
}

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    return with_memory(
        [&] { return data_ptr_of(allocate_storage(device_record(device_at(-1)), bytes)); });
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

std::optional<Dtype> dtype_of(c10::ScalarType type) {
  const std::int8_t found = dtypes_table.ours[static_cast<std::size_t>(type)];
  if (found < 0) return std::nullopt;
  return static_cast<Dtype>(found);
}
c10::ScalarType torch_dtype(Dtype dtype) {
  return dtypes_table.theirs[index(dtype)];
}

c10::DataPtr data_ptr_of(Storage* storage) {
  // Where the host cannot read it, PyTorch needs an address that is not null and never looks behind it.
  void* data = storage;
  if (storage->host_readable) data = reinterpret_cast<void*>(storage->handle + storage->offset);
  if (storage->bytes == 0) data = nullptr;
  return {data, storage, drop_storage, torch_device(storage->device)};
}

Storage& storage_of(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  TORCH_CHECK(data.get_deleter() == drop_storage,
              "backplane: this memory was not allocated by Backplane; copy it to the device");
  return *static_cast<Storage*>(data.get_context());
}

Tensor borrow(const at::Tensor& tensor) {
  const std::optional<Dtype> dtype = dtype_of(tensor.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(dtype, "backplane: no tensors of dtype ", tensor.scalar_type());
  const c10::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  const c10::DataPtr& data = tensor.storage().data_ptr();
  // PyTorch itself puts tensors over addresses that it has asked for, as when it pickles a storage.
  if (data.get_deleter() != drop_storage) [[unlikely]] {
    const Device device = device_at(tensor.device().index());
    if (device_record(device).host_readable)
      return tensor_from_blob(
          static_cast<char*>(data.get()) +
              tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize()),
          {sizes.data(), sizes.size()}, {strides.data(), strides.size()}, *dtype, device, nullptr,
          nullptr);
  }
  return tensor_over_storage(&storage_of(tensor.storage()), {sizes.data(), sizes.size()},
                             {strides.data(), strides.size()}, *dtype, tensor.storage_offset());
}

at::Tensor lend(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  Storage* storage = impl.storage;
  const IntList shape = tensor.shape(), strides = tensor.strides();
  // What the tensor reaches: ours is rounded up, and files would hold what was in the rest.
  const std::size_t bytes = at::detail::computeStorageNbytes(
      {shape.data(), shape.size()}, {strides.data(), strides.size()}, itemsize(tensor.dtype()),
      static_cast<std::size_t>(tensor.storage_offset()));
  storage->retain();
  auto theirs = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t{}, static_cast<std::int64_t>(bytes), data_ptr_of(storage),
      c10::GetAllocator(device_type), true);
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(theirs)), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(torch_dtype(tensor.dtype())));
  if (shape.size() != 1 || shape[0] != 0 || strides[0] != 1)
    result.unsafeGetTensorImpl()->set_sizes_and_strides(
        {shape.data(), shape.size()}, {strides.data(), strides.size()}, tensor.storage_offset());
  return result;
}

void register_allocator() {
  static Allocator allocator;
  c10::SetAllocator(device_type, &allocator);
}

}  // namespace bp::bridge
