// Public functions that do more than pass their arguments on.
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/core_ops/generated/matmul.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/core_ops/generated/view.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

Tensor multiply(const Tensor& a, const Tensor& b) {
  bp_value args[] = {value_of(a), value_of(b)};
  return call_one(ops::matmul, args, 2);
}

}  // namespace

// A vector is a matrix for the kernel, and the dimension that this added goes again.
Tensor matmul(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || (a.ndim() >= 2 && b.ndim() >= 2)) return multiply(a, b);
  BP_CHECK(a.ndim() > 0 && b.ndim() > 0,
           "matmul: shapes {} and {}; a 0-dim tensor is no matrix: use mul", to_string(a.shape()),
           to_string(b.shape()));
  BP_CHECK(
      a.shape().back() == b.shape()[b.ndim() == 1 ? 0 : b.ndim() - 2],
      "matmul: shapes {} and {} do not fit ({} columns against {} rows); transpose one, or make "
      "the inner sizes equal",
      to_string(a.shape()), to_string(b.shape()), a.shape().back(),
      b.shape()[b.ndim() == 1 ? 0 : b.ndim() - 2]);
  Tensor product =
      multiply(a.ndim() == 1 ? unsqueeze(a, 0) : a, b.ndim() == 1 ? unsqueeze(b, 1) : b);
  if (b.ndim() == 1) product = squeeze(product, -1);
  if (a.ndim() == 1) product = squeeze(product, b.ndim() == 1 ? -1 : -2);
  return product;
}

// No layer and no backend has a part in it.
Tensor empty(IntList size, std::optional<Dtype> dtype, std::optional<Device> device) {
  return empty_tensor(size, dtype ? *dtype : default_dtype(), device ? *device : default_device());
}

}  // namespace bp
