#include "plan_key.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/runtime/settings.hpp>

namespace bp {
namespace {

class KeyWriter {
 public:
  KeyWriter(PlanKey& key, const DeviceRecord& record)
      : key_(key), has_addresses_((record.info.flags & BP_DEVICE_REAL_ADDRESSES) != 0),
        usual_alignment_(std::max<std::uint64_t>(record.info.offset_alignment, 64)) {}

  void word(std::uint64_t value) { key_.push_back(value); }
  void pair(std::uint32_t a, std::uint32_t b) { word(a | std::uint64_t{b} << 32); }

  void bytes(const void* from, std::size_t count) {
    const std::size_t at = key_.size();
    key_.resize(at + (count + 7) / 8);
    if (count) std::memcpy(key_.data() + at, from, count);
  }

  // A tensor that has no memory yet, because its shape depends on data, is null.
  void tensor(const bp_tensor* tensor) {
    if (!tensor) return word(0);
    const auto rank = static_cast<std::size_t>(tensor->dl.ndim);
    pair(tensor->size, tensor->flags);
    pair(tensor->dtype, tensor->itemsize);
    pair(static_cast<std::uint32_t>(rank), tensor->space);
    bytes(tensor->dl.shape, rank * 8);
    bytes(tensor->dl.strides, rank * 8);
    word(alignment_of(*tensor));
    if (tensor->layout) bytes(tensor->layout, tensor->layout->size);
  }

  void value(const bp_value& value) {
    pair(value.tag, value.aux);
    switch (value.tag) {
      case BP_NONE: return;
      case BP_TENSOR: return tensor(value.u.tensor);
      case BP_COMPLEX: return bytes(value.u.ptr, 16);
      case BP_STRING: return bytes(value.u.ptr, value.aux);
      case BP_INT_LIST:
      case BP_DOUBLE_LIST: return bytes(value.u.ptr, std::size_t{value.aux} * 8);
      case BP_TENSOR_LIST: return list(value);
      case BP_GENERATOR: return generator(*static_cast<const bp_generator*>(value.u.ptr));
      default: return word(static_cast<std::uint64_t>(value.u.i));
    }
  }

 private:
  void list(const bp_value& value) {
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t i = 0; i < value.aux; ++i) tensor(elements[i]);
  }

  void generator(const bp_generator& generator) {
    word(generator.seed);
    word(generator.offset);
  }

  // Of the first element, up to what the device gives every tensor: more of it would be chance, and make classes of
  // calls that are alike.
  std::uint64_t alignment_of(const bp_tensor& tensor) const {
    const std::uint64_t place =
        (has_addresses_ ? reinterpret_cast<std::uint64_t>(tensor.dl.data) : 0) +
        tensor.dl.byte_offset;
    return place % usual_alignment_ == 0 ? usual_alignment_ : place & (~place + 1);
  }

  PlanKey& key_;
  bool has_addresses_;
  std::uint64_t usual_alignment_;
};

}  // namespace

PlanKey plan_key_of(const bp_call& call, const DeviceRecord& record) {
  PlanKey key;
  key.reserve(64);
  KeyWriter writer(key, record);
  // A kernel may ask for the settings while it plans.
  writer.pair(record.device.number, num_threads());
  writer.pair(deterministic(), allow_tf32());
  for (std::uint32_t i = 0; i < call.num_args; ++i) writer.value(call.args[i]);
  for (std::uint32_t i = 0; i < call.num_outputs; ++i) writer.tensor(call.outputs[i]);
  return key;
}

std::uint64_t hash_of(const PlanKey& key) {
  std::uint64_t hash = key.size();
  for (const std::uint64_t word : key) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace bp
