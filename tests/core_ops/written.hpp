// What comes of a call: its results, and the tensors that it wrote into.
#pragma once

#include <span>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test {

// The tensors that a call with these arguments writes into, in their order.
inline std::vector<Tensor> written_by(const Operator& op, std::span<const bp_value> args) {
  std::vector<Tensor> written;
  const auto add = [&](const bp_tensor* tensor) {
    if (tensor) written.push_back(Tensor::share(TensorImpl::of(tensor)));
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!(op.mutates >> i & 1u)) continue;
    auto* elements = static_cast<const bp_tensor* const*>(args[i].u.ptr);
    if (args[i].tag == BP_TENSOR) add(args[i].u.tensor);
    for (std::uint32_t k = 0; args[i].tag == BP_TENSOR_LIST && k < args[i].aux; ++k)
      add(elements[k]);
  }
  return written;
}

// The call's results, then the tensors that it wrote into: for a row that returns nothing, all that there is to compare.
inline std::vector<Tensor> call_for_all(Operator& op, std::span<const bp_value> args) {
  std::vector<Tensor> all = call_boxed(op, args);
  for (Tensor& tensor : written_by(op, args)) all.push_back(std::move(tensor));
  return all;
}

}  // namespace bp::test
