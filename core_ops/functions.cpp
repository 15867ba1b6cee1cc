// Public functions that do more than pass their arguments on.
#include <algorithm>

#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/core_ops/generated/matmul.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/core_ops/generated/random.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/core_ops/generated/selection.hpp>
#include <backplane/core_ops/generated/view.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

Tensor multiply(const Tensor& input, const Tensor& other) {
  bp_value args[] = {value_of(input), value_of(other)};
  return call_one(ops::matmul, args, 2);
}

std::int64_t split_dim(const char* op, const Tensor& input, std::int64_t dim) {
  BP_CHECK(input.defined(), "{}: the tensor is undefined; give it a value first", op);
  BP_CHECK(input.ndim() > 0, "{}: a 0-dim tensor has no parts; reshape it to [1] first", op);
  return wrap_dim(op, dim, input.ndim());
}

}  // namespace

// A vector is a matrix for the kernel, and the dimension that this added goes again.
Tensor matmul(const Tensor& input, const Tensor& other) {
  if (!input.defined() || !other.defined() || (input.ndim() >= 2 && other.ndim() >= 2))
    return multiply(input, other);
  BP_CHECK(input.ndim() > 0 && other.ndim() > 0,
           "matmul: shapes {} and {}; a 0-dim tensor is no matrix: use mul",
           to_string(input.shape()), to_string(other.shape()));
  BP_CHECK(
      input.shape().back() == other.shape()[other.ndim() == 1 ? 0 : other.ndim() - 2],
      "matmul: shapes {} and {} do not fit ({} columns against {} rows); transpose one, or make "
      "the inner sizes equal",
      to_string(input.shape()), to_string(other.shape()), input.shape().back(),
      other.shape()[other.ndim() == 1 ? 0 : other.ndim() - 2]);
  Tensor product = multiply(input.ndim() == 1 ? unsqueeze(input, 0) : input,
                            other.ndim() == 1 ? unsqueeze(other, 1) : other);
  if (other.ndim() == 1) product = squeeze(product, -1);
  if (input.ndim() == 1) product = squeeze(product, other.ndim() == 1 ? -1 : -2);
  return product;
}

// No layer and no backend has a part in it.
Tensor empty(IntList size, std::optional<Dtype> dtype, std::optional<Device> device) {
  return named("empty", [&] {
    return empty_tensor(size, dtype ? *dtype : default_dtype(),
                        device ? *device : default_device());
  });
}

std::vector<Tensor> split(const Tensor& input, IntList sizes, std::int64_t dim) {
  const std::int64_t place = split_dim("split", input, dim), size = input.size(place);
  std::int64_t sum = 0;
  bool overflow = false;
  for (std::int64_t part : sizes) {
    BP_CHECK(part >= 0, "split: a part of {} elements; pass 0 or more", part);
    overflow |= __builtin_add_overflow(sum, part, &sum);
  }
  BP_CHECK(sum == size && !overflow,
           "split: the sizes {} add up to {} and dimension {} has {}; make them equal",
           to_string(sizes), sum, place, size);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t part : sizes) {
    parts.push_back(narrow(input, place, start, part));
    start += part;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& input, std::int64_t size, std::int64_t dim) {
  const std::int64_t place = split_dim("split", input, dim), whole = input.size(place);
  BP_CHECK(size > 0 || (size == 0 && whole == 0),
           "split: parts of {} elements of dimension {}, which has {}; pass a positive number",
           size, place, whole);
  return named("split", [&] {
    std::vector<std::int64_t> sizes;
    for (std::int64_t left = whole; left > 0; left -= sizes.back())
      sizes.push_back(std::min(size, left));
    if (sizes.empty()) sizes.push_back(0);
    return split(input, IntList(sizes), place);
  });
}

std::vector<Tensor> chunk(const Tensor& input, std::int64_t chunks, std::int64_t dim) {
  BP_CHECK(chunks > 0, "chunk: {} chunks; pass a positive number", chunks);
  const std::int64_t place = split_dim("chunk", input, dim), whole = input.size(place);
  return named("chunk", [&] {
    if (whole == 0)
      return split(input, std::vector<std::int64_t>(static_cast<std::size_t>(chunks), 0), place);
    return split(input, (whole - 1) / chunks + 1, place);
  });
}

Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index, const Scalar& value) {
  BP_CHECK(input.defined() && index.defined(),
           "scatter: argument '{}' is an undefined tensor; give it a value first",
           input.defined() ? "index" : "input");
  return named("scatter", [&] {
    return scatter(input, dim, index,
                   expand(full({}, value, input.dtype(), input.device()), index.shape()));
  });
}

Tensor normal(double mean, double std, IntList size, std::optional<Dtype> dtype,
              std::optional<Device> device) {
  BP_CHECK(std >= 0, "normal: std is {}; pass 0 or more", std);
  return named("normal", [&] { return add(mul(randn(size, dtype, device), std), mean); });
}

}  // namespace bp
