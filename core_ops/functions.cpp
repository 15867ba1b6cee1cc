// Public functions that do more than pass their arguments on.
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/host_device.hpp>
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

void check_target(const char* op, const Tensor& input) {
  BP_CHECK(input.defined(), "{}: the tensor is undefined; give it a value first", op);
}

}  // namespace

// A vector is a matrix for the kernel, and the dimension that this added goes again.
Tensor matmul(const Tensor& input, const Tensor& other) {
  if (!input.defined() || !other.defined() || (input.ndim() >= 2 && other.ndim() >= 2))
    return multiply(input, other);
  BP_CHECK(input.ndim() > 0 && other.ndim() > 0,
           "matmul: shapes {} and {}; a 0-dim tensor is not a matrix: use mul",
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
  return named("split", [&] { return split_with_sizes(input, sizes, dim); });
}

std::vector<Tensor> tensor_split(const Tensor& input, IntList indices, std::int64_t dim) {
  return named("tensor_split", [&] { return tensor_split_at(input, indices, dim); });
}

const Tensor& index_put_(const Tensor& input, TensorList indices, const Tensor& values,
                         bool accumulate) {
  return named("index_put_", [&]() -> const Tensor& {
    return copy_(input, index_put(input, indices, values, accumulate));
  });
}

const Tensor& masked_fill_(const Tensor& input, const Tensor& mask, const Scalar& value) {
  check_target("masked_fill_", input);
  return named("masked_fill_",
               [&]() -> const Tensor& { return copy_(input, masked_fill(input, mask, value)); });
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

Tensor randint(std::int64_t high, IntList size, const TensorOptions& options,
               Generator* generator) {
  return randint(0, high, size, options, generator);
}

Tensor normal(double mean, double std, IntList size, std::optional<Dtype> dtype,
              std::optional<Device> device, Generator* generator) {
  BP_CHECK(std >= 0, "normal: std is {}; pass 0 or more", std);
  return named("normal",
               [&] { return add(mul(randn(size, dtype, device, generator), std), mean); });
}

const Tensor& uniform_(const Tensor& input, double low, double high, Generator* generator) {
  check_target("uniform_", input);
  BP_CHECK(low <= high, "uniform_: no number from {} up to {}; make the second larger", low, high);
  return named("uniform_", [&]() -> const Tensor& {
    const Tensor numbers = rand(input.shape(), input.dtype(), input.device(), generator);
    return copy_(input, add(mul(numbers, high - low), low));
  });
}

const Tensor& normal_(const Tensor& input, double mean, double std, Generator* generator) {
  check_target("normal_", input);
  return named("normal_", [&]() -> const Tensor& {
    return copy_(input, normal(mean, std, input.shape(), input.dtype(), input.device(), generator));
  });
}

const Tensor& bernoulli_(const Tensor& input, double p, Generator* generator) {
  check_target("bernoulli_", input);
  BP_CHECK(p >= 0 && p <= 1, "bernoulli_: p is {}; pass a probability from 0 to 1", p);
  return named("bernoulli_", [&]() -> const Tensor& {
    const Dtype dtype = input.dtype() == f64 ? f64 : f32;
    const Tensor draws = lt(rand(input.shape(), dtype, input.device(), generator), p);
    return copy_(input, cast(draws, input.dtype()));
  });
}

// In float64, where no number that is not 0 becomes 1.
const Tensor& exponential_(const Tensor& input, double lambd, Generator* generator) {
  check_target("exponential_", input);
  BP_CHECK(lambd > 0, "exponential_: lambd is {}; pass a positive number", lambd);
  return named("exponential_", [&]() -> const Tensor& {
    const Tensor draws = add(rand(input.shape(), f64, input.device(), generator), 0x1p-33);
    return copy_(input, cast(mul(log(draws), -1 / lambd), input.dtype()));
  });
}

}  // namespace bp
