#include "decompositions/index.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/selection.hpp"

namespace bp {
namespace {

void check_together(const char* op, const Tensor& input, const char* what, const Tensor& other) {
  BP_CHECK(other.device() == input.device(),
           "{}: 'input' is on {} and {} is on {}; move one with to()", op,
           device_name(input.device()), what, device_name(other.device()));
}

// A mask is as many indices as it has dimensions.
void append_mask(const char* op, const Tensor& input, const Tensor& mask,
                 std::vector<Tensor>& by_dim) {
  for (std::int64_t d = 0; d < mask.ndim(); ++d) {
    const std::int64_t dim = static_cast<std::int64_t>(by_dim.size()) + d;
    BP_CHECK(dim < input.ndim() && mask.size(d) == input.size(dim),
             "{}: a mask has shape {} and input has shape {}; make their sizes equal", op,
             to_string(mask.shape()), to_string(input.shape()));
  }
  const Tensor places = nonzero(mask);
  for (std::int64_t d = 0; d < mask.ndim(); ++d) by_dim.push_back(select(places, 1, d));
}

// An int64 index for each dimension of `input`; undefined where there is none.
std::vector<Tensor> indices_by_dim(const char* op, const Tensor& input, TensorList given) {
  std::vector<Tensor> by_dim;
  for (const Tensor& index : given.span()) {
    if (!index.defined()) {
      by_dim.emplace_back();
      continue;
    }
    check_together(op, input, "an index", index);
    if (index.dtype() == boolean) {
      append_mask(op, input, index, by_dim);
    } else {
      BP_CHECK(index.dtype() == i64 || index.dtype() == i32,
               "{}: an index is {}; cast it to int64 (or int32, or bool)", op, name(index.dtype()));
      by_dim.push_back(cast(index, i64));
    }
  }
  BP_CHECK(!by_dim.empty() && static_cast<std::int64_t>(by_dim.size()) <= input.ndim(),
           "{}: {} indices into shape {}; pass from one up to one for each dimension", op,
           by_dim.size(), to_string(input.shape()));
  by_dim.resize(static_cast<std::size_t>(input.ndim()));
  return by_dim;
}

bool is_in_order(IntList dims) {
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// A copy, so that the new layout is that of any other result.
Tensor permuted(const Tensor& input, IntList dims) {
  return is_in_order(dims) ? input : contiguous(permute(input, dims));
}

// `input` seen as [rows, the rest]: a row for each tuple of the dimensions that have an index.
class Rows {
 public:
  Rows(const char* op, const Tensor& input, TensorList given)
      : op_(op), by_dim_(indices_by_dim(op, input, given)) {
    std::int64_t first = -1, last = -1;
    Dims others;
    for (std::int64_t d = 0; d < input.ndim(); ++d) {
      const Tensor& index = by_dim_[static_cast<std::size_t>(d)];
      if (!index.defined()) {
        others.push_back(d);
        rest_.push_back(input.size(d));
        row_size_ *= input.size(d);
        continue;
      }
      if (first < 0) first = d;
      last = d;
      order_.push_back(d);
      shape_ =
          num_indexed() == 1 ? Dims(index.shape()) : broadcast_shapes(op, shape_, index.shape());
      num_rows_ *= input.size(d);
    }
    if (last - first + 1 == static_cast<std::int64_t>(num_indexed()) && first > 0) front_ = first;
    for (const std::int64_t d : others) order_.push_back(d);
    count_ = checked_numel(op, shape_);
    BP_CHECK(count_ == 0 || num_rows_ > 0, "{}: {} indices into shape {}, which has no elements",
             op, count_, to_string(input.shape()));
  }

  bool has_no_index() const { return rest_.size() == order_.size(); }
  std::int64_t count() const { return count_; }
  bool is_empty() const { return count_ == 0 || row_size_ == 0; }

  Tensor lines_of(const Tensor& input) const {
    return reshape(permute(input, order_), {num_rows_, row_size_});
  }
  Tensor from_lines(const Tensor& lines, const Tensor& input) const {
    Dims sizes, places(order_);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      sizes.push_back(input.size(order_[i]));
      places[order_[i]] = static_cast<std::int64_t>(i);
    }
    return permuted(reshape(lines, sizes), places);
  }
  // Which row each tuple of indices names. One that is outside in any dimension is outside of the rows as well, so that
  // it is noticed.
  Tensor numbers(const Tensor& input) const {
    if (order_.size() == rest_.size() + 1) return numbers_of_one(input);
    Tensor row, is_inside;
    for (std::size_t d = 0; d < by_dim_.size(); ++d) {
      const Tensor& index = by_dim_[d];
      if (!index.defined()) continue;
      const std::int64_t size = input.shape()[d];
      const Tensor wrapped = where(lt(index, 0), add(index, size), index);
      const Tensor fits = logical_and(ge(wrapped, 0), lt(wrapped, size));
      const bool is_first = !row.defined();
      row = is_first ? wrapped : add(mul(row, size), wrapped);
      is_inside = is_first ? fits : logical_and(is_inside, fits);
    }
    return reshape(where(is_inside, row, num_rows_), {count_});
  }
  // The same with one index: what is outside stays as it was given.
  Tensor numbers_of_one(const Tensor& input) const {
    const auto d = static_cast<std::size_t>(order_[0]);
    const Tensor& index = by_dim_[d];
    const std::int64_t size = input.shape()[d];
    const Tensor is_from_end = logical_and(lt(index, 0), ge(index, -size));
    return reshape(where(is_from_end, add(index, size), index), {count_});
  }

  // The shape of what the indices name: that of the indices among the other dimensions.
  Dims result_shape() const {
    Dims shape;
    for (std::int64_t d = 0; d < front_; ++d) shape.push_back(rest_[d]);
    for (const std::int64_t size : shape_) shape.push_back(size);
    for (std::size_t d = static_cast<std::size_t>(front_); d < rest_.size(); ++d)
      shape.push_back(rest_[d]);
    return shape;
  }
  // [the indices' rows, the rest] as a result, and a tensor of the result's shape as such rows.
  Tensor as_result(const Tensor& lines) const {
    const auto rank = static_cast<std::int64_t>(shape_.size());
    Dims sizes(shape_), places;
    for (const std::int64_t size : rest_) sizes.push_back(size);
    for (std::int64_t d = 0; d < front_; ++d) places.push_back(rank + d);
    for (std::int64_t d = 0; d < rank; ++d) places.push_back(d);
    for (std::int64_t d = rank + front_; d < static_cast<std::int64_t>(sizes.size()); ++d)
      places.push_back(d);
    check_rank(op_, sizes.size());
    return permuted(reshape(lines, sizes), places);
  }
  Tensor as_lines(const Tensor& result) const {
    const auto rank = static_cast<std::int64_t>(shape_.size());
    Dims places;
    for (std::int64_t d = 0; d < rank; ++d) places.push_back(front_ + d);
    for (std::int64_t d = 0; d < front_; ++d) places.push_back(d);
    for (std::int64_t d = rank + front_; d < result.ndim(); ++d) places.push_back(d);
    return reshape(permute(result, places), {count_, row_size_});
  }

 private:
  std::size_t num_indexed() const { return order_.size(); }  // while order_ is being filled

  const char* op_;
  std::vector<Tensor> by_dim_;
  Dims order_;              // input's dimensions, those with an index first
  Dims shape_;              // that the indices broadcast to
  Dims rest_;               // the sizes of the other dimensions
  std::int64_t front_ = 0;  // how many of those come before shape_ in the result
  std::int64_t num_rows_ = 1, row_size_ = 1, count_ = 0;
};

// What is so small is scattered element by element, in a third of the calls; who sorts indices for it sorts few.
constexpr std::int64_t few_elements = 1 << 14;

// Row `rows[i]` of `lines` becomes row i of `values`; the last one counts.
Tensor with_rows(const Tensor& lines, const Tensor& rows, const Tensor& values) {
  if (values.numel() <= few_elements)
    return scatter(lines, 0, expand(unsqueeze(rows, 1), values.shape()), values);
  const Tensor none = full({lines.size(0)}, 0, i64, lines.device());
  const Tensor writers =
      scatter(none, 0, rows, arange(1, rows.numel() + 1, 1, i64, lines.device()));
  return where(unsqueeze(gt(writers, 0), 1), index_select(values, 0, index_of_writer(writers)),
               lines);
}

}  // namespace

Tensor index_by_rows(const Tensor& input, TensorList indices) {
  const Rows rows("index", input, indices);
  if (rows.has_no_index()) return input.is_contiguous() ? copy(input) : contiguous(input);
  return rows.as_result(index_select(rows.lines_of(input), 0, rows.numbers(input)));
}

Tensor index_put_by_rows(const Tensor& input, TensorList indices, const Tensor& values,
                         bool accumulate) {
  BP_CHECK(input.dtype() == values.dtype(),
           "index_put: input is {} and values is {}; cast one of them", name(input.dtype()),
           name(values.dtype()));
  check_together("index_put", input, "'values'", values);
  const Rows rows("index_put", input, indices);
  const Tensor written = expand(values, rows.result_shape());
  if (rows.has_no_index()) return accumulate ? add(input, written) : copy(written);
  if (rows.is_empty()) return copy(input);
  const Tensor numbers = rows.numbers(input), lines = rows.lines_of(input);
  const Tensor new_lines = rows.as_lines(written);
  if (!accumulate) return rows.from_lines(with_rows(lines, numbers, new_lines), input);
  const Tensor places = expand(unsqueeze(numbers, 1), new_lines.shape());
  return rows.from_lines(sum_at(lines, 0, places, new_lines), input);
}

Tensor sum_at(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src) {
  if (input.dtype() != boolean) return scatter_add(input, dim, index, src);
  return ne(scatter_add(cast(input, i64), dim, index, cast(src, i64)), 0);
}

}  // namespace bp
