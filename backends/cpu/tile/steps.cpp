// One pass over all that a step reads and writes: memory is what it waits for.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/steps.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/steps.hpp"
#include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

template <class T> using StepLanes = hn::ScalableTag<T>;
template <class T> using StepVector = hn::Vec<StepLanes<T>>;

// How a step of a loop reaches memory: by whole vectors, or at the end by the part of one.
template <class T> struct WholeStep {
  HWY_INLINE StepVector<T> load(const void* from, int64_t i) const {
    return hn::LoadU(StepLanes<T>(), static_cast<const T*>(from) + i);
  }
  HWY_INLINE void store(StepVector<T> value, void* to, int64_t i) const {
    hn::StoreU(value, StepLanes<T>(), static_cast<T*>(to) + i);
  }
};
template <class T> struct PartOfStep {
  size_t size;
  HWY_INLINE StepVector<T> load(const void* from, int64_t i) const {
    return load_part(StepLanes<T>(), static_cast<const T*>(from) + i, size);
  }
  HWY_INLINE void store(StepVector<T> value, void* to, int64_t i) const {
    store_part(value, StepLanes<T>(), static_cast<T*>(to) + i, size);
  }
};

template <class T, class F> HWY_INLINE void walk(int64_t count, F f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(StepLanes<T>()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) f(i, WholeStep<T>());
  if (i < count) f(i, PartOfStep<T>{static_cast<size_t>(count - i)});
}

template <class T> HWY_INLINE StepVector<T> all_lanes(double number) {
  return hn::Set(StepLanes<T>(), static_cast<T>(number));
}

template <class T> void sgd(const SgdRow& row) {
  const auto scale = all_lanes<T>(row.gradient_factor), decay = all_lanes<T>(row.weight_decay);
  const auto lr = all_lanes<T>(row.lr), momentum = all_lanes<T>(row.momentum);
  const auto fresh = all_lanes<T>(row.fresh);
  walk<T>(row.count, [&](int64_t i, auto at) HWY_ATTR {
    const auto parameter = at.load(row.parameter, i);
    auto gradient = hn::Mul(scale, at.load(row.gradient, i));
    if (row.weight_decay != 0) gradient = hn::MulAdd(decay, parameter, gradient);
    auto direction = gradient;
    if (row.buffer != nullptr) {
      const auto velocity = row.is_first_step ? gradient
                                              : hn::MulAdd(momentum, at.load(row.buffer, i),
                                                           hn::Mul(fresh, gradient));
      direction = row.nesterov ? hn::MulAdd(momentum, velocity, gradient) : velocity;
      at.store(velocity, row.buffer, i);
    }
    at.store(hn::NegMulAdd(lr, direction, parameter), row.parameter, i);
  });
}

template <class T> void adam(const AdamRow& row) {
  const auto scale = all_lanes<T>(row.gradient_factor), decay = all_lanes<T>(row.weight_decay);
  const auto own = all_lanes<T>(row.decay), eps = all_lanes<T>(row.eps);
  const auto beta2 = all_lanes<T>(row.beta2);
  const auto fresh1 = all_lanes<T>(1 - row.beta1), fresh2 = all_lanes<T>(1 - row.beta2);
  const auto step_size = all_lanes<T>(row.step_size), root_factor = all_lanes<T>(row.root_factor);
  walk<T>(row.count, [&](int64_t i, auto at) HWY_ATTR {
    const auto parameter = at.load(row.parameter, i);
    auto gradient = hn::Mul(scale, at.load(row.gradient, i));
    if (row.weight_decay != 0) gradient = hn::MulAdd(decay, parameter, gradient);
    const auto old_mean = at.load(row.mean, i);
    const auto mean = hn::MulAdd(fresh1, hn::Sub(gradient, old_mean), old_mean);
    const auto square_mean = hn::MulAdd(hn::Mul(fresh2, gradient), gradient,
                                        hn::Mul(beta2, at.load(row.square_mean, i)));
    auto largest = square_mean;
    if (row.largest != nullptr) {
      const auto before = at.load(row.largest, i);
      // NaN of either stays.
      const auto keeps = hn::Or(hn::IsNaN(before), hn::Ge(before, square_mean));
      largest = hn::IfThenElse(keeps, before, square_mean);
      at.store(largest, row.largest, i);
    }
    const auto denominator = hn::MulAdd(hn::Sqrt(largest), root_factor, eps);
    at.store(mean, row.mean, i);
    at.store(square_mean, row.square_mean, i);
    at.store(hn::NegMulAdd(step_size, hn::Div(mean, denominator), hn::Mul(own, parameter)),
             row.parameter, i);
  });
}

template <class T> void adagrad(const AdagradRow& row) {
  const auto scale = all_lanes<T>(row.gradient_factor), decay = all_lanes<T>(row.weight_decay);
  const auto lr = all_lanes<T>(row.lr), eps = all_lanes<T>(row.eps);
  walk<T>(row.count, [&](int64_t i, auto at) HWY_ATTR {
    const auto parameter = at.load(row.parameter, i);
    auto gradient = hn::Mul(scale, at.load(row.gradient, i));
    if (row.weight_decay != 0) gradient = hn::MulAdd(decay, parameter, gradient);
    const auto sum = hn::MulAdd(gradient, gradient, at.load(row.sum, i));
    const auto direction = hn::Div(gradient, hn::Add(hn::Sqrt(sum), eps));
    at.store(sum, row.sum, i);
    at.store(hn::NegMulAdd(lr, direction, parameter), row.parameter, i);
  });
}

}  // namespace

void sgd_row_f32(const SgdRow& row) {
  sgd<float>(row);
}
void sgd_row_f64(const SgdRow& row) {
  sgd<double>(row);
}
void adam_row_f32(const AdamRow& row) {
  adam<float>(row);
}
void adam_row_f64(const AdamRow& row) {
  adam<double>(row);
}
void adagrad_row_f32(const AdagradRow& row) {
  adagrad<float>(row);
}
void adagrad_row_f64(const AdagradRow& row) {
  adagrad<double>(row);
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(sgd_row_f32);
HWY_EXPORT(sgd_row_f64);
HWY_EXPORT(adam_row_f32);
HWY_EXPORT(adam_row_f64);
HWY_EXPORT(adagrad_row_f32);
HWY_EXPORT(adagrad_row_f64);

void sgd_f32(const SgdRow& row) {
  HWY_DYNAMIC_DISPATCH(sgd_row_f32)(row);
}
void sgd_f64(const SgdRow& row) {
  HWY_DYNAMIC_DISPATCH(sgd_row_f64)(row);
}
void adam_f32(const AdamRow& row) {
  HWY_DYNAMIC_DISPATCH(adam_row_f32)(row);
}
void adam_f64(const AdamRow& row) {
  HWY_DYNAMIC_DISPATCH(adam_row_f64)(row);
}
void adagrad_f32(const AdagradRow& row) {
  HWY_DYNAMIC_DISPATCH(adagrad_row_f32)(row);
}
void adagrad_f64(const AdagradRow& row) {
  HWY_DYNAMIC_DISPATCH(adagrad_row_f64)(row);
}

}  // namespace bp::cpu::tile
#endif
