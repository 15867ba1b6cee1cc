// What moves elements as they are, byte for byte, and casts.
#include "elements.hpp"

namespace oracle {
namespace {

bp::Status copy(bp::Stream, bp::In a, bp::Out out) {
  move_all(a, out);
  return bp::ok;
}

bp::Status cast(bp::Stream, bp::In a, bp::Dtype dtype, bp::Out out) {
  if (is_complex(a.dtype()))
    write(out, read<Complex>(a));
  else if (is_integer(a.dtype()) && is_integer(dtype))
    write(out, read<Word>(a));
  else
    write(out, read<Real>(a));
  return bp::ok;
}

bp::Status cat(bp::Stream, bp::InList tensors, Index dim, bp::Out out) {
  const Line whole = along(out.shape(), dim);
  const Indices to = places(out);
  Index begin = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const bp::In a = tensors[t];
    const Line part = along(a.shape(), dim);
    const Indices from = places(a);
    part.each([&](Index o, Index i) {
      for (Index k = 0; k < part.size; ++k)
        move_element(out, at(to, whole.at(o, begin + k, i)), a, at(from, part.at(o, k, i)));
    });
    begin += part.size;
  }
  return bp::ok;
}

void fill(bp::Out out, const bp::Scalar& value) {
  const auto fill_with = [&](auto element) {
    for (const Index place : places(out)) store(address(out, place), out.dtype(), element);
  };
  if (is_complex(out.dtype()) || value.is_complex())
    fill_with(number<Complex>(value));
  else if (value.is_integer() && is_integer(out.dtype()))
    fill_with(number<Word>(value));
  else
    fill_with(number<Real>(value));
}

bp::Status full(bp::Stream, bp::Ints, bp::Scalar value, std::optional<bp::Dtype>,
                std::optional<bp::DeviceNumber>, bp::Out out) {
  fill(out, value);
  return bp::ok;
}

bp::Status constant_pad_nd(bp::Stream, bp::In a, bp::Ints pad, bp::Scalar value, bp::Out out) {
  fill(out, value);
  const Indices from = places(a);
  for (std::size_t i = 0; i < from.size(); ++i) {
    Index rest = static_cast<Index>(i), to = 0;
    bool is_inside = true;
    for (std::int32_t d = a.ndim() - 1; d >= 0; --d) {
      const auto pair = 2 * static_cast<std::size_t>(a.ndim() - 1 - d);
      const Index at = rest % a.size(d) + (pair < pad.size() ? pad[pair] : 0);
      rest /= a.size(d);
      is_inside &= at >= 0 && at < out.size(d);
      to += at * out.stride(d);
    }
    if (is_inside) move_element(out, to, a, from[i]);
  }
  return bp::ok;
}

}  // namespace
}  // namespace oracle

BP_KERNELS(movement) {
  namespace o = oracle;
  o::exact(k.add<bp::op::copy>(o::copy), bp::all);
  o::exact(k.add<bp::op::cast>(o::cast), bp::all);
  o::exact(k.add<bp::op::cat>(o::cat), bp::all);
  o::exact(k.add<bp::op::full>(o::full), bp::all);
  o::exact(k.add<bp::op::constant_pad_nd>(o::constant_pad_nd), bp::all);
}
