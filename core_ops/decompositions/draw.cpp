#include "decompositions/draw.hpp"

#include <limits>

#include <backplane/core_ops/creation.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

namespace bp {
namespace {

// Draws are constants: nothing that was recorded leads to them.
class Unrecorded {
 private:
  ExcludeLayers excluded_{key_of(Layer::autograd)};
};

void check_probabilities(const Tensor& input) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor are_fit = min(logical_and(ge(input, 0), lt(input, infinity)));
  const Tensor are_some = min(gt(sum(input, -1), 0));
  if (item<bool>(logical_and(are_fit, are_some))) return;
  BP_CHECK(item<bool>(are_fit),
           "multinomial: a probability is negative, infinite or NaN; pass finite ones from 0 on");
  BP_CHECK(item<bool>(are_some),
           "multinomial: the probabilities of a row are all 0; make one of them positive");
}

void check_counts(const Tensor& input, std::int64_t num_samples, bool replacement) {
  BP_CHECK(input.ndim() == 1 || input.ndim() == 2,
           "multinomial: the probabilities have shape {}; pass a vector or a matrix",
           to_string(input.shape()));
  BP_CHECK(is_floating(input.dtype()),
           "multinomial: the probabilities are {}; cast them to float32", name(input.dtype()));
  BP_CHECK(input.shape().back() > 0,
           "multinomial: shape {} has nothing to choose from; pass at least "
           "one probability",
           to_string(input.shape()));
  BP_CHECK(num_samples > 0, "multinomial: {} samples; pass a positive number", num_samples);
  BP_CHECK(replacement || num_samples <= input.shape().back(),
           "multinomial: {} samples of {} without replacement; draw fewer, or with replacement",
           num_samples, input.shape().back());
}

// Uniform numbers in (0, 1), in float64, so that devices' roundings do not change what comes out.
Tensor open_uniforms(IntList shape, Device device, Generator* generator) {
  return add(rand(shape, f64, device, generator), 0x1p-33);
}

// Exponential clocks with the probabilities as their rates: who rings first is drawn by them, and so is who
// rings next of the others (Efraimidis and Spirakis 2006). Who has no probability comes last.
Tensor first_of_race(const Tensor& weights, std::int64_t num_samples, Generator* generator) {
  const Tensor times = neg(log(open_uniforms(weights.shape(), weights.device(), generator)));
  return topk(div(weights, times), num_samples, -1).indices;
}

// The number of sums that are at most u, for each u: sorted together, sums first where equal, it is the
// number of sums in front of it.
Tensor places_among(const Tensor& sums, const Tensor& numbers) {
  const std::int64_t count = sums.size(-1), num_samples = numbers.size(-1);
  const Tensor order = sort(cat({sums, numbers}, -1), -1).indices;
  const Tensor in_front = cumsum(cast(lt(order, count), i64), -1);
  const Tensor by_place =
      scatter_add(full(order.shape(), 0, i64, order.device()), -1, order, in_front);
  return narrow(by_place, -1, count, num_samples);
}

Tensor draw_again_and_again(const Tensor& weights, std::int64_t num_samples, Generator* generator) {
  const Tensor sums = cumsum(weights, -1);
  Dims shape(weights.shape());
  shape.back() = num_samples;
  const Tensor total = narrow(sums, -1, weights.size(-1) - 1, 1);
  // Below the total, since a uniform number is below 1 by more than a rounding.
  const Tensor numbers = mul(rand(shape, f64, weights.device(), generator), total);
  return copy(places_among(sums, numbers));
}

}  // namespace

Tensor bernoulli_by_uniforms(const Tensor& input, std::optional<double> p, Generator* generator) {
  const Unrecorded constant;
  BP_CHECK(!p || (*p >= 0 && *p <= 1), "bernoulli: p is {}; pass a probability from 0 to 1",
           p.value_or(0));
  // A capture could not wait, and has no values yet.
  if (!p && input.device() != meta_device && input.numel() > 0 && !is_capturing())
    BP_CHECK(item<bool>(min(logical_and(ge(input, 0), le(input, 1)))),
             "bernoulli: a probability is below 0, above 1 or NaN; pass numbers from 0 to 1");
  // Not in `input`'s dtype: half precision has few uniform numbers.
  const Tensor uniforms =
      rand(input.shape(), input.dtype() == f64 ? f64 : f32, input.device(), generator);
  return cast(p ? lt(uniforms, *p) : lt(uniforms, input), input.dtype());
}

Tensor multinomial_by_race(const Tensor& input, std::int64_t num_samples, bool replacement,
                           Generator* generator) {
  const Unrecorded constant;
  check_counts(input, num_samples, replacement);
  const Tensor weights = cast(input, f64);
  if (input.device() != meta_device && input.numel() > 0) check_probabilities(weights);
  return replacement ? draw_again_and_again(weights, num_samples, generator)
                     : first_of_race(weights, num_samples, generator);
}

Tensor normal_by_scaling(const Tensor& mean, const Tensor& std, Generator* generator) {
  const Unrecorded constant;
  const Dims shape = broadcast_shapes("normal", mean.shape(), std.shape());
  const Dtype dtype = promote(mean.dtype(), std.dtype());
  return add(mul(randn(shape, dtype, mean.device(), generator), std), mean);
}

}  // namespace bp
