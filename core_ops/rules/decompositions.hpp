// What the decompositions of the table are written with: public operators, and the functions here.
#pragma once

#include <span>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/operator.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/settings.hpp>

#include "decompositions/arranging.hpp"
#include "decompositions/attention.hpp"
#include "decompositions/bessel.hpp"
#include "decompositions/bitwise.hpp"
#include "decompositions/complex.hpp"
#include "decompositions/complex_functions.hpp"
#include "decompositions/contraction.hpp"
#include "decompositions/convolution.hpp"
#include "decompositions/ctc.hpp"
#include "decompositions/detection.hpp"
#include "decompositions/distance.hpp"
#include "decompositions/draw.hpp"
#include "decompositions/eigen.hpp"
#include "decompositions/elementary.hpp"
#include "decompositions/exponents.hpp"
#include "decompositions/factorization.hpp"
#include "decompositions/filling.hpp"
#include "decompositions/foreach.hpp"
#include "decompositions/fourier.hpp"
#include "decompositions/incomplete_gamma.hpp"
#include "decompositions/index.hpp"
#include "decompositions/index_reduction.hpp"
#include "decompositions/linear.hpp"
#include "decompositions/linear_algebra.hpp"
#include "decompositions/loss.hpp"
#include "decompositions/measuring.hpp"
#include "decompositions/norm.hpp"
#include "decompositions/ordering.hpp"
#include "decompositions/orthogonal.hpp"
#include "decompositions/orthogonal_polynomials.hpp"
#include "decompositions/parts.hpp"
#include "decompositions/pooling.hpp"
#include "decompositions/product.hpp"
#include "decompositions/quantized.hpp"
#include "decompositions/recurrence.hpp"
#include "decompositions/regrouping.hpp"
#include "decompositions/resample.hpp"
#include "decompositions/resampling.hpp"
#include "decompositions/scaling.hpp"
#include "decompositions/scanning.hpp"
#include "decompositions/selection.hpp"
#include "decompositions/shape.hpp"
#include "decompositions/similarity.hpp"
#include "decompositions/special.hpp"
#include "decompositions/statistics.hpp"
#include "decompositions/steps.hpp"
#include "decompositions/unpooling.hpp"

namespace bp {

// Hands the values over as the call's results, or writes them into those that the caller gave.
void finish(const Call& call, std::span<Tensor> values);
inline void finish(const Call& call, Tensor value) {
  finish(call, std::span<Tensor>(&value, 1));
}

// A tensor argument that may have come as a number: then a 0-dim tensor of the others' dtype.
Tensor operand_arg(const Call& call, std::uint32_t place);

// 16-bit floats as float32, in which what follows rounds once; all else as it is.
Tensor widened(const Tensor& input);
// No cast where the dtype is that one already.
Tensor in_dtype(const Tensor& input, Dtype dtype);

inline Device device_or_default(std::optional<Device> device) {
  return device ? *device : default_device();
}

// A result has memory of its own.
inline Tensor fresh(Tensor result, const Tensor& input) {
  return result.shares_storage(input) ? copy(result) : std::move(result);
}

// The numbers of a vector along `dim` of `rank` dimensions, the others of size 1.
Tensor along_dim(const Tensor& vector, std::int64_t dim, std::int64_t rank);

// How many elements go into one result.
std::int64_t num_reduced(const Tensor& input, const DimList& dim);

// The highest term first.
Tensor polynomial(const Tensor& x, std::span<const double> terms);

Tensor matmul_by_bmm(const Tensor& input, const Tensor& other);
Tensor index_select_by_gather(const Tensor& input, std::int64_t dim, const Tensor& index);
Tensor one_hot_by_scatter(const Tensor& input, std::int64_t num_classes);

// Functions of one tensor from the primitives' own, each within its row's tolerance: by_primitives.cpp.
Tensor round_by_floor(const Tensor& input);
Tensor sign_by_comparisons(const Tensor& input);
Tensor expm1_by_exp(const Tensor& input);
Tensor log1p_by_log(const Tensor& input);
Tensor erf_by_exp(const Tensor& input);

// Where a draw begins. The counters are reserved before a kernel is chosen, so that all devices give
// the same numbers; from `generator`, or where that is null from the device's.
struct Draw {
  std::int64_t seed, offset;
  Device device;
};
Draw reserve_words(std::int64_t num_words, std::optional<Device> device, Generator* generator);

Tensor uniform_by_words(IntList size, std::int64_t seed, std::int64_t offset,
                        std::optional<Dtype> dtype, std::optional<Device> device);
Tensor normal_by_words(IntList size, std::int64_t seed, std::int64_t offset,
                       std::optional<Dtype> dtype, std::optional<Device> device);
Tensor integers_by_words(std::int64_t low, std::int64_t high, IntList size,
                         std::optional<Dtype> dtype, std::optional<Device> device,
                         Generator* generator);
Tensor permutation_by_sort(std::int64_t n, std::optional<Dtype> dtype, std::optional<Device> device,
                           Generator* generator);
Tensor dropout_by_mask(const Tensor& input, double p, bool training);

}  // namespace bp
