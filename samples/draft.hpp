// A sample in the making: shapes, layouts and values by the recipe's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/dispatcher/call.hpp>
#include <backplane/samples/samples.hpp>

namespace bp {

// What matrices are made for. All are well-conditioned.
enum class Matrices {
  dominant,    // one large element in each column, not on the diagonal, of different sizes
  positive,    // Hermitian and positive definite
  separated,   // Hermitian, with eigenvalues that lie apart
  triangular,  // either half would do as a factor
  turning      // with pairs of complex eigenvalues, all of which lie apart
};

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
  // A row-major one with these whole numbers, as int64; with these numbers, in the sample's dtype.
  Tensor numbers(IntList shape, const std::vector<std::int64_t>& values) const;
  Tensor numbers(IntList shape, const std::vector<double>& values) const;
  // Indices in the sample's dtype.
  Tensor whole(IntList shape, std::int64_t end);
  // Along the last dimension, int32 numbers from 1: where rows of a matrix went.
  Tensor counted(IntList shape);
  // A vector of numbers that never fall, and of which some are equal.
  Tensor rising(std::int64_t count);
  // A row-major one with fractions from `low` up to, without, `high`.
  Tensor between(IntList shape, double low, double high) {
    return between(shape, low, high, dtype_);
  }
  Tensor between(IntList shape, double low, double high, Dtype dtype);
  // [..., n, m], laid out as the recipe says.
  Tensor matrices(IntList shape, Matrices kind);
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
  double next_fraction();  // from -1 up to, without, 1

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
void draft_complex(Draft& draft);
void draft_fourier(Draft& draft);
void draft_linear_algebra(Draft& draft);
void draft_scaling(Draft& draft);
void draft_regrouping(Draft& draft);
void draft_unpooling(Draft& draft);
void draft_quantized(Draft& draft);
void draft_resample(Draft& draft);
void draft_ctc(Draft& draft);
void draft_detection(Draft& draft);
void draft_scanning(Draft& draft);
void draft_index_reduction(Draft& draft);
void draft_special(Draft& draft);
void draft_foreach(Draft& draft);
void draft_optimizer(Draft& draft);

}  // namespace bp
