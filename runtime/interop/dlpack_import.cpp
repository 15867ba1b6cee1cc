// Tensors of other frameworks.
#include <algorithm>
#include <array>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/shape.hpp>

#include "interop/dlpack_layout.hpp"
#include "interop/interop_table.hpp"
#include "memory/blob.hpp"

namespace bp {
namespace {

constexpr const char* op = "from_dlpack";

std::string text_of(bp_dl_device device) {
  return fmt::format("DLPack's device ({}, {})", device.device_type, device.device_id);
}

std::string registered_as_text() {
  std::string text;
  for (const DeviceRecord* each : registered_devices())
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", each->name,
                        each->info.dl_device_type, each->info.dl_device_id);
  return text.empty() ? "none" : text;
}

bool is_of(const DeviceRecord& record, bp_dl_device device) {
  return record.info.dl_device_type == device.device_type &&
         record.info.dl_device_id == device.device_id;
}

DeviceRecord& device_for(bp_dl_device named, const DlpackImport& options) {
  if (options.device) {
    DeviceRecord& record = device_record(*options.device);
    BP_CHECK(is_of(record, named), "{}: the tensor is on {}, but {} is ({}, {}); copy it there", op,
             text_of(named), record.name, record.info.dl_device_type, record.info.dl_device_id);
    return record;
  }
  for (const DeviceRecord* each : registered_devices())
    if (is_of(*each, named)) return device_record(each->device);
  throw_error(ErrorClass::bad_argument,
              fmt::format("{}: the tensor is on {}, which is not a registered device; there is {}; "
                          "load the backend first, for example with bp::device(name)",
                          op, text_of(named), registered_as_text()));
}

Dtype dtype_for(bp_dl_dtype wanted) {
  BP_CHECK(wanted.lanes == 1, "{}: elements of {} lanes; give the lanes as a dimension", op,
           wanted.lanes);
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const bp_dl_dtype known = detail::dl_dtypes[i];
    if (known.code == wanted.code && known.bits == wanted.bits) return static_cast<Dtype>(i);
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("{}: elements of DLPack's type code {} with {} bits; there is no such "
                          "dtype here; cast them first",
                          op, wanted.code, wanted.bits));
}

IntList shape_in(const bp_dl_tensor& tensor) {
  BP_CHECK(tensor.ndim >= 0 && tensor.ndim <= static_cast<std::int32_t>(max_rank),
           "{}: a tensor of rank {}; at most {} are possible", op, tensor.ndim, max_rank);
  BP_CHECK(tensor.shape || tensor.ndim == 0, "{}: the shape is null for rank {}", op, tensor.ndim);
  return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}

// Row-major where the producer gives none. What it says of dimensions that are never stepped along is not believed:
// anything is allowed there.
std::array<std::int64_t, max_rank> strides_in(const bp_dl_tensor& tensor, IntList shape,
                                              bool is_empty) {
  std::array<std::int64_t, max_rank> strides{};
  std::uint64_t packed = 1;  // may wrap: the shape is refused then
  for (std::size_t i = shape.size(); i-- > 0;) {
    const bool is_given = tensor.strides && !is_empty && shape[i] != 1;
    strides[i] = is_given ? tensor.strides[i] : static_cast<std::int64_t>(packed);
    packed *= static_cast<std::uint64_t>(std::max<std::int64_t>(is_empty ? 1 : shape[i], 1));
  }
  return strides;
}

// Where element 0 is. A tensor without elements may point anywhere, and is nowhere here.
struct Place {
  NativeHandle memory;
  std::uint64_t byte_offset = 0;
};

Place place_of(const bp_dl_tensor& tensor, const DeviceRecord& record, Dtype dtype) {
  const auto data = reinterpret_cast<std::uint64_t>(tensor.data);
  const bool by_address = has_addresses(record);
  const Place place = by_address
                          ? Place{{BP_NATIVE_ADDRESS, data ? data + tensor.byte_offset : 0}, 0}
                          : Place{{{}, data}, tensor.byte_offset};
  const std::uint64_t first = by_address ? place.memory.value : place.byte_offset;
  BP_CHECK(first % itemsize(dtype) == 0,
           "{}: element 0 lies at {:#x}, which is not a multiple of the {} bytes of {}; copy the "
           "tensor first",
           op, first, itemsize(dtype), name(dtype));
  return place;
}

Tensor over(const bp_dl_tensor& tensor, const DlpackImport& options, void (*deleter)(void*),
            void* context) {
  const IntList shape = shape_in(tensor);
  const Dtype dtype = dtype_for(tensor.dtype);
  DeviceRecord& record = device_for(tensor.device, options);
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  const auto strides = strides_in(tensor, shape, is_empty);
  const Place place = is_empty ? Place{} : place_of(tensor, record, dtype);
  return tensor_over(op, record, place.memory, place.byte_offset, shape,
                     {strides.data(), shape.size()}, dtype, deleter, context);
}

template <class AnyManaged> void delete_managed(void* context) {
  auto* managed = static_cast<AnyManaged*>(context);
  if (managed->deleter) managed->deleter(managed);
}

template <class AnyManaged> Tensor imported(AnyManaged& managed, const DlpackImport& options) {
  Tensor tensor = dlpack::exported_tensor(managed);
  if (!tensor.defined()) return over(managed.tensor, options, delete_managed<AnyManaged>, &managed);
  BP_CHECK(!options.device || *options.device == tensor.device(),
           "{}: the tensor is on {}, not on {}; copy it there", op, device_name(tensor.device()),
           device_name(*options.device));
  delete_managed<AnyManaged>(&managed);
  return tensor;
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed, const DlpackImport& options) {
  BP_CHECK(managed, "{}: the managed tensor is null", op);
  return imported(*reinterpret_cast<dlpack::Managed*>(managed), options);
}

Tensor from_dlpack(DLManagedTensorVersioned* managed, const DlpackImport& options) {
  BP_CHECK(managed, "{}: the managed tensor is null", op);
  auto& versioned = *reinterpret_cast<dlpack::ManagedVersioned*>(managed);
  BP_CHECK(versioned.major == dlpack::major_version,
           "{}: the tensor is of DLPack {}.{}, and {}.x is understood here; ask the producer for "
           "that (max_version)",
           op, versioned.major, versioned.minor, dlpack::major_version);
  BP_CHECK(!(versioned.flags & dlpack::flag_read_only) || options.accept_read_only,
           "{}: the memory is read-only, and a tensor here can be written; copy it first, or "
           "accept_read_only and don't write",
           op);
  return imported(versioned, options);
}

}  // namespace bp
