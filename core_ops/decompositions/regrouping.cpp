#include "decompositions/regrouping.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

void check_blocks(const char* op, const Tensor& input, std::int64_t blocksize) {
  constexpr std::int64_t most = (std::int64_t{1} << 20) - 1;
  BP_CHECK(blocksize > 0 && blocksize <= most, "{}: the blocksize is {}; pass 1 to {}", op,
           blocksize, most);
  BP_CHECK(input.ndim() == 4, "{}: the shape is {}; pass [N, C, H, W]", op,
           to_string(input.shape()));
}

void check_lengths(const char* op, const char* what, const Tensor& lengths) {
  BP_CHECK(lengths.dtype() == i64 && lengths.ndim() == 1 && lengths.numel() > 0,
           "{}: {} is {} of shape {}; pass a vector of int64 that is not empty", op, what,
           name(lengths.dtype()), to_string(lengths.shape()));
  const std::int64_t count = lengths.numel();
  BP_CHECK(item<std::int64_t>(min(lengths)) > 0, "{}: a number of {} is below 1; pass 1 or more",
           op, what);
  BP_CHECK(
      count == 1 ||
          item<bool>(min(ge(narrow(lengths, 0, 0, count - 1), narrow(lengths, 0, 1, count - 1)))),
      "{}: {} rises; sort the sequences, the longest first", op, what);
}

Dims with_front(std::int64_t first, std::int64_t second, IntList shape, std::size_t from) {
  Dims whole{first, second};
  for (std::size_t d = from; d < shape.size(); ++d) whole.push_back(shape[d]);
  return whole;
}

}  // namespace

Tensor middle_of_size(const Tensor& input, IntList size, DimList dim) {
  const std::int64_t rank = input.ndim();
  const auto count = static_cast<std::int64_t>(dim.list() ? dim.list()->size() : input.ndim());
  BP_CHECK(static_cast<std::int64_t>(size.size()) == count,
           "center_crop_pad: {} sizes for {} dimensions; pass one for each", size.size(), count);
  Dims pad(static_cast<std::uint32_t>(2 * rank), 0);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    const std::int64_t given = dim.list() ? (*dim.list())[i] : static_cast<std::int64_t>(i);
    const std::int64_t at = wrap_dim("center_crop_pad", given, rank);
    BP_CHECK(rank > 0 && !(seen >> at & 1u),
             "center_crop_pad: dimension {} of shape {} is listed twice or does not exist; list "
             "each once",
             given, to_string(input.shape()));
    BP_CHECK(size[i] >= 0, "center_crop_pad: size {} has {}; it must be at least 0",
             to_string(size), size[i]);
    seen |= std::uint64_t{1} << at;
    const std::int64_t missing = size[i] - input.size(at);
    const std::int64_t front = missing / 2;  // of an odd number, the lesser part, cut or added
    const auto place = static_cast<std::size_t>(2 * (rank - 1 - at));
    pad[place] = front;
    pad[place + 1] = missing - front;
  }
  return constant_pad_nd(input, pad, input.dtype() == boolean ? Scalar(false) : Scalar(0));
}

Tensor channels_to_blocks(const Tensor& input, std::int64_t blocksize, std::string_view mode) {
  check_blocks("depth_to_space", input, blocksize);
  BP_CHECK(mode == "DCR" || mode == "CRD",
           "depth_to_space: the mode is '{}'; choose 'DCR' or 'CRD'", mode);
  const std::int64_t batch = input.size(0), rows = input.size(2), columns = input.size(3);
  BP_CHECK(input.size(1) % (blocksize * blocksize) == 0,
           "depth_to_space: shape {} and blocksize {}; the channels must be a multiple of {}",
           to_string(input.shape()), blocksize, blocksize * blocksize);
  const std::int64_t channels = input.size(1) / (blocksize * blocksize), b = blocksize;
  const Tensor ordered =
      mode == "DCR"
          ? permute(reshape(input, {batch, b, b, channels, rows, columns}), {0, 3, 4, 1, 5, 2})
          : permute(reshape(input, {batch, channels, b, b, rows, columns}), {0, 1, 4, 2, 5, 3});
  const std::int64_t high = checked_numel("depth_to_space", {rows, b});
  return fresh(
      reshape(ordered, {batch, channels, high, checked_numel("depth_to_space", {columns, b})}),
      input);
}

Tensor blocks_to_channels(const Tensor& input, std::int64_t blocksize) {
  check_blocks("space_to_depth", input, blocksize);
  BP_CHECK(input.size(2) % blocksize == 0 && input.size(3) % blocksize == 0,
           "space_to_depth: shape {} and blocksize {}; the last two sizes must be multiples of it",
           to_string(input.shape()), blocksize);
  const std::int64_t batch = input.size(0), channels = input.size(1), b = blocksize;
  const std::int64_t rows = input.size(2) / b, columns = input.size(3) / b;
  const Tensor ordered =
      permute(reshape(input, {batch, channels, rows, b, columns, b}), {0, 3, 5, 1, 2, 4});
  return fresh(reshape(ordered, {batch, b * b * channels, rows, columns}), input);
}

Tensor turned_up_to_length(const Tensor& input, const Tensor& sequence_lens,
                           std::int64_t batch_axis, std::int64_t time_axis) {
  BP_CHECK(input.ndim() >= 2 && (batch_axis == 0 || batch_axis == 1) && time_axis == 1 - batch_axis,
           "reverse_sequence: batch_axis {} and time_axis {} of shape {}; one is 0 and the other 1",
           batch_axis, time_axis, to_string(input.shape()));
  BP_CHECK((sequence_lens.dtype() == i64 || sequence_lens.dtype() == i32) &&
               sequence_lens.ndim() == 1 && sequence_lens.numel() == input.size(batch_axis),
           "reverse_sequence: sequence_lens is {} of shape {}; pass {} numbers as int64 or int32",
           name(sequence_lens.dtype()), to_string(sequence_lens.shape()), input.size(batch_axis));
  const std::int64_t rank = input.ndim();
  const Tensor length = along_dim(in_dtype(sequence_lens, i64), batch_axis, rank);
  const Tensor step =
      along_dim(arange(0, input.size(time_axis), 1, i64, input.device()), time_axis, rank);
  const Tensor from = where(lt(step, length), sub(sub(length, 1), step), step);
  return gather(input, time_axis, expand(from, input.shape()));
}

PackPaddedSequenceResult packed_by_steps(const Tensor& input, const Tensor& lengths,
                                         bool batch_first) {
  constexpr const char* op = "pack_padded_sequence";
  check_lengths(op, "lengths", lengths);
  BP_CHECK(input.ndim() >= 2, "{}: the shape is {}; pass [steps, N, ...]", op,
           to_string(input.shape()));
  const Tensor by_step = batch_first ? transpose(input, 0, 1) : input;
  const std::int64_t count = lengths.numel(), longest = item<std::int64_t>(max(lengths));
  BP_CHECK(by_step.size(1) == count, "{}: {} lengths for {} sequences; pass one for each", op,
           count, by_step.size(1));
  BP_CHECK(longest <= by_step.size(0), "{}: a length is {} of {} steps; pass at most these", op,
           longest, by_step.size(0));
  const Tensor steps = reshape(arange(0, longest, 1, i64, input.device()), {longest, 1});
  const Tensor is_inside = gt(lengths, steps);
  Dims shape{longest * count};
  for (std::int64_t d = 2; d < by_step.ndim(); ++d) shape.push_back(by_step.size(d));
  const Tensor places = nonzero(reshape(is_inside, {longest * count}));
  const Tensor all = reshape(narrow(by_step, 0, 0, longest), shape);
  return {index_select(all, 0, reshape(places, {places.size(0)})), sum(cast(is_inside, i64), 1)};
}

PadPackedSequenceResult padded_by_steps(const Tensor& data, const Tensor& batch_sizes,
                                        bool batch_first, double padding_value,
                                        std::optional<std::int64_t> total_length) {
  constexpr const char* op = "pad_packed_sequence";
  check_lengths(op, "batch_sizes", batch_sizes);
  const std::int64_t steps = batch_sizes.numel();
  const std::int64_t count = item<std::int64_t>(max(batch_sizes));
  const std::int64_t needed = item<std::int64_t>(sum(batch_sizes));
  BP_CHECK(data.ndim() >= 1 && data.size(0) == needed,
           "{}: batch_sizes add up to {} for data of shape {}; pass what packing gave", op, needed,
           to_string(data.shape()));
  const std::int64_t length = total_length.value_or(steps);
  BP_CHECK(length >= steps, "{}: total_length is {} for {} steps; pass at least these", op, length,
           steps);
  const Tensor sizes = reshape(batch_sizes, {steps, 1});
  const Tensor begins = sub(reshape(cumsum(batch_sizes, 0), {steps, 1}), sizes);
  const Tensor number = arange(0, count, 1, i64, data.device());
  // Steps behind the last have none.
  const Tensor is_inside = constant_pad_nd(lt(number, sizes), {0, 0, 0, length - steps}, false);
  const Tensor place = constant_pad_nd(add(begins, number), {0, 0, 0, length - steps});
  const Tensor taken =
      index_select(data, 0, reshape(clamp(place, 0, needed - 1), {length * count}));
  Dims inside(static_cast<std::uint32_t>(data.ndim()) + 1, 1);
  inside[0] = length, inside[1] = count;
  const Scalar value = data.dtype() == boolean ? Scalar(padding_value != 0)
                       : is_floating(data.dtype())
                           ? Scalar(padding_value)
                           : Scalar(static_cast<std::int64_t>(padding_value));
  const Tensor output = where(reshape(is_inside, inside),
                              reshape(taken, with_front(length, count, data.shape(), 1)), value);
  return {batch_first ? copy(transpose(output, 0, 1)) : output, sum(cast(is_inside, i64), 0)};
}

}  // namespace bp
