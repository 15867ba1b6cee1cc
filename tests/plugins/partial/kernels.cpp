// Few kernels, each there for one rung of the fallback ladder.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <backplane/plugin.hpp>

// Named, so that `exp` is this one and not the C library's.
namespace partial {
namespace {

// ---- Pointwise, contiguous, f32 alone: other dtypes and layouts must be legalized --------------------

template <class F> bp::Status map(bp::In a, bp::Out out, F f) {
  const float* x = a.data<float>();
  float* y = out.data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) y[i] = f(x[i]);
  return bp::ok;
}

template <class F> bp::Status map(bp::In a, bp::In b, bp::Out out, F f) {
  const float *x = a.data<float>(), *y = b.data<float>();
  float* z = out.data<float>();
  for (int64_t i = 0; i < out.numel(); ++i) z[i] = f(x[i], y[i]);
  return bp::ok;
}

bp::Status add(bp::Stream, bp::In a, bp::In b, double alpha, bp::Out out) {
  const float factor = static_cast<float>(alpha);
  return map(a, b, out, [=](float x, float y) { return x + factor * y; });
}

bp::Status sub(bp::Stream, bp::In a, bp::In b, double alpha, bp::Out out) {
  const float factor = static_cast<float>(alpha);
  return map(a, b, out, [=](float x, float y) { return x - factor * y; });
}

bp::Status mul(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  return map(a, b, out, [](float x, float y) { return x * y; });
}

bp::Status div(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  return map(a, b, out, [](float x, float y) { return x / y; });
}

bp::Status maximum(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  return map(a, b, out, [](float x, float y) { return x > y || std::isnan(x) ? x : y; });
}

bp::Status exp(bp::Stream, bp::In a, bp::Out out) {
  return map(a, out, [](float x) { return std::exp(x); });
}

// ---- Two candidates: the preferred one takes even sizes only, the other marks what it has done --------

bool is_even(bp::Stream, bp::In a, bp::Out) {
  return a.numel() % 2 == 0;
}

bp::Status neg(bp::Stream, bp::In a, bp::Out out) {
  return map(a, out, [](float x) { return -x; });
}

// ---- Reductions: what softmax decomposes into, besides the above ----------------------------------------

template <class F>
bp::Status reduce(bp::In a, const std::optional<bp::Ints>& dim, bp::Out out, float start, F f) {
  std::array<int64_t, BP_MAX_RANK> out_stride{};  // 0 where the dimension is reduced
  int64_t stride = 1;
  for (int32_t d = a.ndim() - 1; d >= 0; --d) {
    const bool reduced = !dim || std::find(dim->begin(), dim->end(), d) != dim->end();
    if (reduced) continue;
    out_stride[d] = stride;
    stride *= a.size(d);
  }
  const float* x = a.data<float>();
  float* y = out.data<float>();
  std::fill_n(y, out.numel(), start);
  for (int64_t i = 0; i < a.numel(); ++i) {
    int64_t rest = i, at = 0;
    for (int32_t d = a.ndim() - 1; d >= 0; --d) {
      at += rest % a.size(d) * out_stride[d];
      rest /= a.size(d);
    }
    y[at] = f(y[at], x[i]);
  }
  return bp::ok;
}

bp::Status sum(bp::Stream, bp::In a, std::optional<bp::Ints> dim, bool, std::optional<bp::Dtype>,
               bp::Out out) {
  return reduce(a, dim, out, 0.0f, [](float x, float y) { return x + y; });
}

bp::Status max(bp::Stream, bp::In a, std::optional<bp::Ints> dim, bool, bp::Out out) {
  return reduce(a, dim, out, -std::numeric_limits<float>::infinity(),
                [](float x, float y) { return y > x || std::isnan(y) ? y : x; });
}

// ---- An operator of its own, with its derivative as data -----------------------------------------------

struct square {
  static constexpr const char* name = "partial::square";
  static constexpr const char* schema = "partial::square(Tensor input) -> Tensor";
  static constexpr uint64_t schema_hash = bp::schema_hash(schema);
  using signature = bp::Status(bp::Stream, bp::In, bp::Out);
  enum class place : unsigned { input, out };
};

struct square_backward {
  static constexpr const char* name = "partial::square_backward";
  static constexpr const char* schema =
      "partial::square_backward(Tensor grad, Tensor input) -> Tensor";
  static constexpr uint64_t schema_hash = bp::schema_hash(schema);
  using signature = bp::Status(bp::Stream, bp::In, bp::In, bp::Out);
  enum class place : unsigned { grad, input, out };
};

bp::Status run_square(bp::Stream, bp::In a, bp::Out out) {
  return map(a, out, [](float x) { return x * x; });
}

bp::Status run_square_backward(bp::Stream, bp::In grad, bp::In a, bp::Out out) {
  return map(grad, a, out, [](float g, float x) { return 2 * x * g; });
}

}  // namespace
}  // namespace partial

BP_KERNELS(partial) {
  k.add<bp::op::add>(partial::add).dtypes(bp::f32).deterministic();
  k.add<bp::op::sub>(partial::sub).dtypes(bp::f32);
  k.add<bp::op::mul>(partial::mul).dtypes(bp::f32).in_place_safe();
  k.add<bp::op::div>(partial::div).dtypes(bp::f32);
  k.add<bp::op::maximum>(partial::maximum).dtypes(bp::f32);
  k.add<bp::op::exp>(partial::exp).dtypes(bp::f32);
  k.add<bp::op::neg>(partial::neg).dtypes(bp::f32).priority(1).supports(partial::is_even);
  k.add<bp::op::neg>(partial::neg).dtypes(bp::f32);
  k.add<bp::op::sum>(partial::sum).dtypes(bp::f32);
  k.add<bp::op::max>(partial::max).dtypes(bp::f32);

  k.define<partial::square>().backward("partial::square_backward", {partial::square::place::input});
  k.define<partial::square_backward>().infer(
      [](bp::In, bp::In a, bp::OutputSpec out) { return out.like(a); });
  k.add<partial::square>(partial::run_square).dtypes(bp::f32);
  k.add<partial::square_backward>(partial::run_square_backward).dtypes(bp::f32);
}
