#include "draft.hpp"

#include <cmath>
#include <limits>

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/elements.hpp>
#include <backplane/tensor/views.hpp>

namespace bp {
namespace {

Dims doubled_last(IntList shape) {
  Dims result(shape);
  if (!result.empty()) result.back() *= 2;
  return result;
}

Dims swapped_last(IntList shape) {
  Dims result(shape);
  if (result.size() >= 2) std::swap(result[result.size() - 1], result[result.size() - 2]);
  return result;
}

// Small numbers of both signs; unsigned types get the positive ones.
Scalar number_from(std::uint32_t word, Dtype dtype) {
  if (dtype == boolean) return Scalar((word & 1) != 0);
  if (is_complex(dtype))
    return Scalar(std::complex<double>((word & 0xff) / 64.0 - 2, (word >> 8 & 0xff) / 64.0 - 2));
  if (is_floating(dtype) || is_storage_only(dtype)) return Scalar((word & 0xff) / 64.0 - 2);
  const bool is_signed = contains(set_of(i8, i16, i32, i64), dtype);
  return Scalar(static_cast<std::int64_t>(word % 11) - (is_signed ? 5 : 0));
}

std::vector<Scalar> special_numbers(Dtype dtype) {
  if (dtype == boolean) return {false, true, true, false};
  if (is_floating(dtype) || is_complex(dtype)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return {std::nan(""), infinity, -infinity, 0.0,     -0.0, 1.0,
            -1.0,         0.5,      1e-40,     65504.0, 88.0, -104.0};
  }
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  const bool is_signed = contains(set_of(i8, i16, i32, i64), dtype);
  const std::int64_t largest = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  if (!is_signed) return {0, 1, 2, largest, -1};
  return {0, 1, -1, largest, -largest, -largest - 1};
}

}  // namespace

Draft::Draft(const Operator& op, std::string recipe, Dtype dtype, Device device,
             std::uint32_t variant)
    : op_(op), dtype_(dtype), device_(device) {
  random_state_ = (static_cast<std::uint32_t>(schema_hash(recipe)) ^ variant * 0x9e3779b9u) | 1u;
  sample_.recipe = std::move(recipe);
}

bool Draft::is(std::string_view recipe) {
  const bool same = sample_.recipe == recipe;
  recognized_ |= same;
  return same;
}

Dims Draft::shape() {
  if (is("zero_size")) return {0, 5};
  if (is("zero_dim")) return {};
  if (is("size_one")) return {1, 1};
  if (is("several_tiles")) return {7, 1031};
  if (is("channels_last")) return {2, 3, 4, 5};
  is("same", "non_contiguous", "transposed", "expanded", "offset", "specials");
  return {3, 5};
}

Tensor Draft::tensor(IntList shape, Dtype dtype) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (rank == 0) return dense(shape, dtype);
  if (is("specials")) return specials(dtype);
  if (is("non_contiguous"))
    return views::slice(dense(doubled_last(shape), dtype), rank - 1, {}, {}, 2);
  if (rank >= 2 && is("transposed"))
    return views::transpose(dense(swapped_last(shape), dtype), rank - 1, rank - 2);
  if (is("expanded")) {
    Dims row(shape);
    row[0] = 1;
    return views::expand(dense(row, dtype), shape);
  }
  if (is("offset")) {
    Dims longer(shape);
    ++longer[0];
    return views::narrow(dense(longer, dtype), 0, 1, shape[0]);
  }
  if (rank == 4 && is("channels_last")) {
    const Tensor nhwc = dense({shape[0], shape[2], shape[3], shape[1]}, dtype);
    return views::permute(nhwc, {0, 3, 1, 2});
  }
  return dense(shape, dtype);
}

Tensor Draft::dense(IntList shape, Dtype dtype) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < numel; ++i) numbers.push_back(number_from(next_random(), dtype));
  return from_numbers(shape, dtype, numbers);
}

Tensor Draft::indices(IntList shape, std::int64_t end) {
  return below(shape, end, i64);
}

Tensor Draft::sides(IntList shape) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < numel; ++i)
    numbers.push_back(std::int64_t{next_random() % 2 == 0 ? 1 : -1});
  return from_numbers(shape, i64, numbers);
}

Tensor Draft::numbers(IntList shape, const std::vector<std::int64_t>& values) const {
  return from_numbers(shape, i64, {values.begin(), values.end()});
}

Tensor Draft::numbers(IntList shape, const std::vector<double>& values) const {
  return from_numbers(shape, dtype_, {values.begin(), values.end()});
}

Tensor Draft::whole(IntList shape, std::int64_t end) {
  return below(shape, end, dtype_);
}

Tensor Draft::below(IntList shape, std::int64_t end, Dtype dtype) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < numel; ++i)
    numbers.push_back(static_cast<std::int64_t>(next_random() % static_cast<std::uint32_t>(end)));
  return from_numbers(shape, dtype, numbers);
}

// From the lowest to the highest of the small numbers, in steps of at least one place of each dtype.
Tensor Draft::rising(std::int64_t count) {
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step = i * 5 / count;
    numbers.push_back(is_floating(dtype_) ? Scalar(static_cast<double>(step) * 0.75 - 1.5)
                                          : Scalar(step));
  }
  return from_numbers({count}, dtype_, numbers);
}

Tensor Draft::between(IntList shape, double low, double high, Dtype dtype) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  std::vector<Scalar> numbers;
  for (std::int64_t i = 0; i < numel; ++i)
    numbers.push_back(low + (high - low) * (next_random() & 0xff) / 256);
  return from_numbers(shape, dtype, numbers);
}

Tensor Draft::specials(Dtype dtype) {
  const std::vector<Scalar> numbers = special_numbers(dtype);
  return from_numbers({static_cast<std::int64_t>(numbers.size())}, dtype, numbers);
}

Tensor Draft::from_numbers(IntList shape, Dtype dtype, const std::vector<Scalar>& numbers) const {
  Tensor tensor = empty_tensor(shape, dtype, device_);
  if (device_ == meta_device) return tensor;
  std::vector<unsigned char> bytes(tensor.nbytes());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    store_number(numbers[i], dtype, bytes.data() + i * itemsize(dtype));
  copy_from_host_memory(tensor, bytes.data());
  return tensor;
}

// xorshift32: the same numbers everywhere, without a library.
std::uint32_t Draft::next_random() {
  random_state_ ^= random_state_ << 13;
  random_state_ ^= random_state_ >> 17;
  random_state_ ^= random_state_ << 5;
  return random_state_ >> 8;
}

void Draft::add(const Tensor& tensor) {
  sample_.tensors.push_back(tensor);
  add_value(tensor);
}

void Draft::add(const std::vector<Tensor>& tensors) {
  std::vector<const bp_tensor*>& list = sample_.tensor_lists.emplace_back();
  for (const Tensor& tensor : tensors) {
    if (tensor.defined()) sample_.tensors.push_back(tensor);
    list.push_back(tensor.defined() ? &tensor.impl()->abi : nullptr);
  }
  bp_value value{};
  value.tag = BP_TENSOR_LIST;
  value.aux = static_cast<std::uint32_t>(list.size());
  value.u.ptr = list.data();
  sample_.args.push_back(value);
}

void Draft::add_list(IntList list) {
  add_value(IntList(sample_.lists.emplace_back(list.to_vector())));
}

}  // namespace bp
