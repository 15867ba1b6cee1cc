// A call after its rule has run; every rung of the ladder works on it.
#pragma once

#include <string>
#include <vector>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/stream.hpp>

namespace bp {

// Temporary tensors (casts, expanded views), alive until the call is over.
class Temporaries {
 public:
  const bp_tensor* keep(Tensor tensor) {
    const bp_tensor* abi = &tensor.impl()->abi;
    if (count_ < in_place)
      inline_[count_++] = std::move(tensor);
    else
      more_.push_back(std::move(tensor));
    return abi;
  }
  // Room for the elements of a tensor list.
  std::vector<const bp_tensor*>& new_list() { return lists_.emplace_back(); }

 private:
  static constexpr std::uint32_t in_place = 6;
  std::uint32_t count_ = 0;
  Tensor inline_[in_place];
  std::vector<Tensor> more_;
  std::vector<std::vector<const bp_tensor*>> lists_;
};

struct Frame {
  const Call& call;
  Inferred& inferred;
  DeviceRecord& record;
  StreamImpl& stream;
  Temporaries& temporaries;
  // The error message if a memory other than the main one was full when a kernel needed it; other rungs do without that
  // memory.
  std::string shortage{};

  const Operator& op() const { return call.op; }
  std::uint32_t backend() const { return record.backend->number; }
  Device device() const { return record.device; }
};

// Calls `f` with every tensor among the arguments, including the elements of lists except for None. `f` returns the
// tensor to put in its place (or the same one).
template <class F> void rewrite_tensors(const Call& call, Temporaries& temporaries, F&& f) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    bp_value& value = call.args[i];
    if (value.tag == BP_TENSOR) {
      value.u.tensor = f(i, value.u.tensor);
    } else if (value.tag == BP_TENSOR_LIST) {
      auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
      auto& list = temporaries.new_list();
      for (std::uint32_t k = 0; k < value.aux; ++k)
        list.push_back(elements[k] ? f(i, elements[k]) : nullptr);
      value.u.ptr = list.data();
    }
  }
}
template <class F> void for_each_tensor(const Call& call, F&& f) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    const bp_value& value = call.args[i];
    if (value.tag == BP_TENSOR) {
      f(i, *value.u.tensor);
    } else if (value.tag == BP_TENSOR_LIST) {
      auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
      for (std::uint32_t k = 0; k < value.aux; ++k)
        if (elements[k]) f(i, *elements[k]);
    }
  }
}

// The tensors that the call writes into besides its results. A decomposition writes them through other calls.
template <class F> void for_each_written(const Call& call, F&& f) {
  if (!call.op.mutates) return;
  for_each_tensor(call, [&](std::uint32_t place, const bp_tensor& tensor) {
    if (call.op.mutates >> place & 1u) f(tensor);
  });
}
inline void bump_written(const Call& call) {
  for_each_written(call, [](const bp_tensor& tensor) {
    if (Storage* storage = TensorImpl::of(&tensor)->storage) storage->bump_version();
  });
}

// A tensor handle for an argument.
inline Tensor tensor_of(const bp_tensor* abi) {
  return Tensor::share(TensorImpl::of(abi));
}

}  // namespace bp
