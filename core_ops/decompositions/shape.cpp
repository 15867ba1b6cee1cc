#include "decompositions/shape.hpp"

#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

std::int64_t wrapped_dim(const char* op, std::int64_t dim, const Tensor& input) {
  return wrap_dim(op, dim, input.ndim());
}

enum class PadMode { constant, reflect, replicate, circular };

PadMode pad_mode_of(std::string_view name) {
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "replicate") return PadMode::replicate;
  BP_CHECK(name == "circular",
           "pad: the mode is '{}'; choose 'constant', 'reflect', 'replicate' or 'circular'", name);
  return PadMode::circular;
}

void check_pad_mode(PadMode mode, std::int64_t dim, std::int64_t size, std::int64_t before,
                    std::int64_t behind) {
  std::int64_t whole = 0;
  BP_CHECK(!__builtin_add_overflow(before, behind, &whole) &&
               !__builtin_add_overflow(whole, size, &whole) &&
               std::min(before, behind) > -INT64_MAX,
           "pad: {} and {} beside the {} elements at dimension {} are too many; add fewer", before,
           behind, size, dim);
  const std::int64_t most = mode == PadMode::reflect ? size - 1 : size;
  const std::int64_t wanted = std::max(before, behind);
  BP_CHECK(mode == PadMode::replicate || wanted <= std::max<std::int64_t>(most, 0),
           "pad: {} elements at dimension {}, of size {}; at most {} can be had from there", wanted,
           dim, size, std::max<std::int64_t>(most, 0));
  BP_CHECK(size > 0 || wanted <= 0,
           "pad: dimension {} has size 0 and no elements to repeat; use "
           "mode 'constant'",
           dim);
  BP_CHECK(whole >= 0 && -before <= size && -behind <= size,
           "pad: {} and {} at dimension {} remove more than its {} elements; remove fewer", before,
           behind, dim, size);
}

// Which element of `size` stands at each place from -before to size + behind.
Tensor padded_places(PadMode mode, std::int64_t size, std::int64_t before, std::int64_t behind,
                     Device device) {
  const Tensor places = arange(-before, size + behind, 1, i64, device);
  const std::int64_t last = size - 1;
  if (mode == PadMode::replicate) return clamp(places, 0, last);
  if (mode == PadMode::reflect) return sub(last, abs(sub(last, abs(places))));
  const Tensor above = where(ge(places, size), sub(places, size), places);
  return where(lt(places, 0), add(places, size), above);
}

Tensor rolled(const Tensor& input, std::int64_t shift, std::int64_t dim) {
  const std::int64_t size = input.ndim() == 0 ? 1 : input.size(dim);
  if (size == 0) return input;
  const std::int64_t head = (shift % size + size) % size;
  if (head == 0) return input;
  return cat({narrow(input, dim, size - head, head), narrow(input, dim, 0, size - head)}, dim);
}

}  // namespace

Tensor stack_by_cat(TensorList tensors, std::int64_t dim) {
  const std::span<const Tensor> list = tensors.span();
  BP_CHECK(!list.empty(), "stack: the list is empty; pass at least one tensor");
  const std::int64_t place = wrap_dim("stack", dim, list[0].ndim() + 1);
  std::vector<Tensor> slices;
  for (std::size_t i = 0; i < list.size(); ++i) {
    BP_CHECK(list[i].shape() == list[0].shape(),
             "stack: tensor 0 has shape {} and tensor {} has shape {}; all need the same",
             to_string(list[0].shape()), i, to_string(list[i].shape()));
    slices.push_back(unsqueeze(list[i], place));
  }
  return cat(slices, place);
}

// One write of the tensor into its place, however many dimensions are padded.
Tensor pad_by_copy(const Tensor& input, IntList pad, const Scalar& value) {
  Dims shape(input.shape());
  Tensor source = input;
  const auto padded = static_cast<std::int64_t>(pad.size() / 2);
  for (std::int64_t i = 0; i < padded; ++i) {
    const std::int64_t before = pad[2 * i], behind = pad[2 * i + 1], dim = input.ndim() - 1 - i;
    const std::int64_t start = std::max<std::int64_t>(-before, 0);
    const std::int64_t end = input.size(dim) - std::max<std::int64_t>(-behind, 0);
    source = narrow(source, dim, std::min(start, input.size(dim)),
                    std::max<std::int64_t>(end - start, 0));
    shape[dim] += before + behind;
  }
  Tensor out = full(shape, value, input.dtype(), input.device());
  if (source.numel() == 0) return out;
  Tensor inside = out;
  for (std::int64_t i = 0; i < padded; ++i) {
    const std::int64_t dim = input.ndim() - 1 - i;
    inside = narrow(inside, dim, std::max<std::int64_t>(pad[2 * i], 0), source.size(dim));
  }
  copy_(inside, source);
  return out;
}

Tensor pad_by_mode(const Tensor& input, IntList pad, std::string_view mode_name,
                   const std::optional<Scalar>& value) {
  const PadMode mode = pad_mode_of(mode_name);
  if (mode == PadMode::constant) return constant_pad_nd(input, pad, value.value_or(Scalar(0)));
  BP_CHECK(!value, "pad: mode '{}' takes no value, and one was given; leave it out", mode_name);
  BP_CHECK(pad.size() % 2 == 0 && static_cast<std::int64_t>(pad.size()) <= 2 * input.ndim(),
           "pad: {} numbers for rank {}; pass two for each padded dimension", pad.size(),
           input.ndim());
  Tensor result = input;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::int64_t dim = input.ndim() - 1 - static_cast<std::int64_t>(i);
    std::int64_t size = input.size(dim), before = pad[2 * i], behind = pad[2 * i + 1];
    check_pad_mode(mode, dim, size, before, behind);
    if (mode == PadMode::circular && std::min(before, behind) < 0) {
      // What is cut away does not come back at the other end.
      const std::int64_t cut = std::max<std::int64_t>(-before, 0);
      size -= cut + std::max<std::int64_t>(-behind, 0);
      result = narrow(result, dim, cut, size);
      before = std::max<std::int64_t>(before, 0);
      behind = std::max<std::int64_t>(behind, 0);
      check_pad_mode(mode, dim, size, before, behind);
    }
    if (before == 0 && behind == 0) continue;
    result = index_select(result, dim, padded_places(mode, size, before, behind, input.device()));
  }
  return fresh(std::move(result), input);
}

// A dimension that repeats becomes two, of which the first has stride 0; one copy writes them all.
Tensor repeat_by_expand(const Tensor& input, IntList repeats) {
  const std::size_t num_new = repeats.size() - static_cast<std::size_t>(input.ndim());
  BP_CHECK(static_cast<std::int64_t>(repeats.size()) >= input.ndim(),
           "repeat: {} numbers for shape {}; pass at least one for each dimension", repeats.size(),
           to_string(input.shape()));
  Dims split, wide, shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t size = i < num_new ? 1 : input.shape()[i - num_new], times = repeats[i];
    BP_CHECK(times >= 0, "repeat: {} times along dimension {}; pass 0 or more", times, i);
    shape.push_back(size * times);
    if (times != 1 && size != 1) {
      split.push_back(1);
      wide.push_back(times);
    }
    split.push_back(size);
    wide.push_back(size == 1 ? times : size);
  }
  return reshape(copy(expand(reshape(input, split), wide)), shape);
}

Tensor flip_by_select(const Tensor& input, IntList dims) {
  Tensor result = input;
  for (std::int64_t dim : dims)
    result = index_select(result, dim, arange(input.size(dim) - 1, -1, -1, i64, input.device()));
  return fresh(std::move(result), input);
}

Tensor roll_by_cat(const Tensor& input, IntList shifts, IntList dims) {
  if (dims.empty()) {
    BP_CHECK(shifts.size() == 1, "roll: {} shifts and no dimensions; pass a dimension for each",
             shifts.size());
    return fresh(reshape(rolled(reshape(input, {input.numel()}), shifts[0], 0), input.shape()),
                 input);
  }
  BP_CHECK(shifts.size() == dims.size(),
           "roll: {} shifts and {} dimensions; pass a dimension for each shift", shifts.size(),
           dims.size());
  Tensor result = input;
  for (std::size_t i = 0; i < dims.size(); ++i)
    result = rolled(result, shifts[i], wrapped_dim("roll", dims[i], input));
  return fresh(std::move(result), input);
}

Tensor keep_triangle(const Tensor& input, std::int64_t diagonal, bool lower) {
  const std::int64_t num_rows = input.size(-2), num_columns = input.size(-1);
  const Tensor rows = reshape(arange(0, num_rows, 1, i64, input.device()), {num_rows, 1});
  const Tensor above = sub(arange(0, num_columns, 1, i64, input.device()), rows);
  const Scalar zero = input.dtype() == boolean ? Scalar(false) : Scalar(0);
  return where(lower ? le(above, diagonal) : ge(above, diagonal), input, zero);
}

}  // namespace bp
