#include <algorithm>
#include <map>

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tracing/saved_call.hpp>

#include "tensors_over.hpp"

namespace bp::tracing {
namespace {

// Bytes before the first element that a copy keeps, so that an address's alignment stays what it was.
constexpr std::uint64_t alignment = 64;

// The storages of a call's tensors in the order in which they are met, each with all bytes that one of them touches.
class Storages {
 public:
  void add(const TensorImpl& tensor) {
    if (tensor.abi.numel == 0) return;
    ByteSpan span = touched_bytes(tensor);
    span.begin -= span.begin % alignment;
    const auto [it, added] = places_.try_emplace(tensor.storage, spans_.size());
    if (added) {
      spans_.push_back({&tensor, span});
      return;
    }
    ByteSpan& known = spans_[it->second].span;
    known = {std::min(known.begin, span.begin), std::max(known.end, span.end)};
  }

  SavedTensor saved(const TensorImpl& tensor) const {
    const auto rank = static_cast<std::size_t>(tensor.abi.dl.ndim);
    SavedTensor out;
    out.dtype = static_cast<Dtype>(tensor.abi.dtype);
    out.shape.assign(tensor.shape, tensor.shape + rank);
    out.strides.assign(tensor.strides, tensor.strides + rank);
    if (tensor.abi.numel == 0) return out;
    const std::size_t place = places_.at(tensor.storage);
    out.storage = static_cast<std::uint32_t>(place);
    out.byte_offset = tensor.abi.dl.byte_offset - spans_[place].span.begin;
    return out;
  }

  std::vector<std::vector<unsigned char>> bytes() const {
    std::vector<std::vector<unsigned char>> all;
    for (const Span& one : spans_) {
      auto& copy = all.emplace_back(one.span.end - one.span.begin);
      copy_to_host_memory(bytes_of(*one.tensor, one.span), copy.data());
    }
    return all;
  }

 private:
  struct Span {
    const TensorImpl* tensor;
    ByteSpan span;
  };
  std::map<const Storage*, std::size_t> places_;
  std::vector<Span> spans_;
};

template <class F> void for_each_impl(const bp_value& value, F&& f) {
  if (value.tag == BP_TENSOR) return f(*TensorImpl::of(value.u.tensor));
  if (value.tag != BP_TENSOR_LIST) return;
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t i = 0; i < value.aux; ++i)
    if (elements[i]) f(*TensorImpl::of(elements[i]));
}

template <class T> std::vector<T> list_of(const void* data, std::size_t count) {
  auto* first = static_cast<const T*>(data);
  return {first, first + count};
}

std::vector<std::optional<SavedTensor>> saved_list(const bp_value& value,
                                                   const Storages& storages) {
  std::vector<std::optional<SavedTensor>> out(value.aux);
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t i = 0; i < value.aux; ++i)
    if (elements[i]) out[i] = storages.saved(*TensorImpl::of(elements[i]));
  return out;
}

SavedArgument saved_argument(const bp_value& value, const Storages& storages) {
  SavedArgument out;
  out.tag = value.tag;
  switch (value.tag) {
    case BP_INT:
    case BP_BOOLEAN:
    case BP_DTYPE: out.integer = value.u.i; break;
    case BP_DOUBLE: out.reals = {value.u.f}; break;
    case BP_COMPLEX: out.reals = list_of<double>(value.u.ptr, 2); break;
    case BP_DOUBLE_LIST: out.reals = list_of<double>(value.u.ptr, value.aux); break;
    case BP_INT_LIST: out.list = list_of<std::int64_t>(value.u.ptr, value.aux); break;
    case BP_STRING: out.text.assign(static_cast<const char*>(value.u.ptr), value.aux); break;
    case BP_TENSOR: out.tensors = {storages.saved(*TensorImpl::of(value.u.tensor))}; break;
    case BP_TENSOR_LIST: out.tensors = saved_list(value, storages); break;
    case BP_GENERATOR: {
      auto& generator = *static_cast<const bp_generator*>(value.u.ptr);
      out.list = {static_cast<std::int64_t>(generator.seed),
                  static_cast<std::int64_t>(generator.offset)};
      break;
    }
    default: break;
  }
  return out;
}

}  // namespace

SavedCall save_call(const Call& call, Device device) {
  Storages storages;
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    for_each_impl(call.args[i], [&](const TensorImpl& impl) { storages.add(impl); });
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (call.results[i].defined()) storages.add(*call.results[i].impl());

  SavedCall saved;
  saved.op = call.op.name();
  const DeviceRecord& record = device_record(device);
  saved.device = record.name;
  saved.plugin = record.backend->path;
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    saved.args.push_back(saved_argument(call.args[i], storages));
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    auto& result = saved.results.emplace_back();
    if (call.results[i].defined()) result = storages.saved(*call.results[i].impl());
  }
  saved.storages = storages.bytes();
  return saved;
}

}  // namespace bp::tracing
