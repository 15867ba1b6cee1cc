// Elementwise kernels. Backplane has done shapes, promotion, layout and allocation, so that each is one launch; what is
// not here runs by these, by other kernels, or on the host. `backplane conform gaps` says what to write next.
#include <cmath>

#include <backplane/plugin.hpp>

namespace acme {
namespace {

template <class F> bp::Status each(bp::In a, bp::Out out, F f) {
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = f(a.data<float>()[i]);
  return bp::ok;
}

template <class F> bp::Status each(bp::In a, bp::In b, bp::Out out, F f) {
  for (int64_t i = 0; i < out.numel(); ++i)
    out.data<float>()[i] = f(a.data<float>()[i], b.data<float>()[i]);
  return bp::ok;
}

bp::Status add(bp::Stream, bp::In a, bp::In b, double alpha, bp::Out out) {
  const float factor = static_cast<float>(alpha);
  return each(a, b, out, [=](float x, float y) { return x + factor * y; });
}

bp::Status mul(bp::Stream, bp::In a, bp::In b, bp::Out out) {
  return each(a, b, out, [](float x, float y) { return x * y; });
}

bp::Status exp(bp::Stream, bp::In a, bp::Out out) {
  return each(a, out, [](float x) { return std::exp(x); });
}

bp::Status relu(bp::Stream, bp::In a, bp::Out out) {
  return each(a, out, [](float x) { return x > 0 || std::isnan(x) ? x : 0; });  // NaN stays NaN
}

}  // namespace
}  // namespace acme

BP_KERNELS(pointwise) {
  k.add<bp::op::add>(acme::add)
      .dtypes(bp::f32)
      .layouts(bp::contiguous)
      .deterministic()
      .in_place_safe();
  k.add<bp::op::mul>(acme::mul)
      .dtypes(bp::f32)
      .layouts(bp::contiguous)
      .deterministic()
      .in_place_safe();
  k.add<bp::op::exp>(acme::exp)
      .dtypes(bp::f32)
      .layouts(bp::contiguous)
      .deterministic()
      .in_place_safe();
  k.add<bp::op::relu>(acme::relu)
      .dtypes(bp::f32)
      .layouts(bp::contiguous)
      .deterministic()
      .in_place_safe();
}
