// A sample in the making: shapes, layouts and values by the recipe's name.
#pragma once

#include <string>
#include <string_view>

#include <backplane/dispatcher/call.hpp>
#include <backplane/samples/samples.hpp>

namespace bp {

class Draft {
 public:
  Draft(const Operator& op, std::string recipe, Dtype dtype, Device device, std::uint32_t variant);

  // Is this the recipe? Recipes that nobody asked for are an error in the table.
  bool is(std::string_view recipe);
  template <class... More> bool is(std::string_view first, More... more) {
    return is(first) | is(std::string_view(more)...);
  }
  bool was_recognized() const { return recognized_; }

  const Operator& op() const { return op_; }
  Dtype dtype() const { return dtype_; }
  Device device() const { return device_; }

  // The recipe's usual shape: a small matrix, unless its name says otherwise.
  Dims shape();
  // A tensor of this shape, laid out and filled as the recipe says.
  Tensor tensor(IntList shape) { return tensor(shape, dtype_); }
  Tensor tensor(IntList shape, Dtype dtype);
  // A row-major one with whole numbers from 0 up to, without, `end`.
  Tensor indices(IntList shape, std::int64_t end);
  // A row-major one with 1 and -1, as int64.
  Tensor sides(IntList shape);
  // Indices in the sample's dtype.
  Tensor whole(IntList shape, std::int64_t end);
  // A vector of numbers that never fall, and of which some are equal.
  Tensor rising(std::int64_t count);
  // A row-major one with fractions from `low` up to, without, `high`.
  Tensor between(IntList shape, double low, double high);
  // A vector of numbers that are special in this dtype: NaN, infinities, zeros, extremes.
  Tensor specials(Dtype dtype);
  // A vector of bools.
  Tensor choices(std::int64_t count) { return dense({count}, boolean); }

  // Appends an argument. An undefined tensor is a hole of the list.
  void add(const Tensor& tensor);
  void add(const std::vector<Tensor>& tensors);
  void add_list(IntList list);
  template <class T> void add_value(const T& value) { sample_.args.push_back(value_of(value)); }
  void add_none() { sample_.args.push_back({}); }

  Sample finish() { return std::move(sample_); }

 private:
  Tensor dense(IntList shape, Dtype dtype);
  Tensor below(IntList shape, std::int64_t end, Dtype dtype);
  Tensor from_numbers(IntList shape, Dtype dtype, const std::vector<Scalar>& numbers) const;
  std::uint32_t next_random();

  const Operator& op_;
  Dtype dtype_;
  Device device_;
  bool recognized_ = false;
  std::uint32_t random_state_;
  Sample sample_;
};

// Fills in the arguments of one call of draft.op().
void draft_pointwise(Draft& draft);
void draft_reduction(Draft& draft);
void draft_along(Draft& draft);
void draft_matmul(Draft& draft);
void draft_indexing(Draft& draft);
void draft_movement(Draft& draft);
void draft_factory(Draft& draft);
void draft_random(Draft& draft);
void draft_view(Draft& draft);
void draft_shape(Draft& draft);
void draft_statistics(Draft& draft);
void draft_selection(Draft& draft);
void draft_draw(Draft& draft);
void draft_linear(Draft& draft);
void draft_convolution(Draft& draft);
void draft_pooling(Draft& draft);
void draft_norm(Draft& draft);
void draft_loss(Draft& draft);
void draft_pair_loss(Draft& draft);
void draft_product(Draft& draft);
void draft_similarity(Draft& draft);
void draft_attention(Draft& draft);
void draft_filling(Draft& draft);
void draft_arranging(Draft& draft);
void draft_measuring(Draft& draft);
void draft_contraction(Draft& draft);
void draft_ordering(Draft& draft);
void draft_distances(Draft& draft);
void draft_resampling(Draft& draft);
void draft_recurrence(Draft& draft);

}  // namespace bp
