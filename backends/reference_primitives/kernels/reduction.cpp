// Reductions and scans: what accumulates over dimensions by the row's expression, and argmax.
#include "expression.hpp"
#include "tensor_view.hpp"

namespace reference {
namespace {

uint32_t bits_of(bp::Ints dims) {
  uint32_t bits = 0;
  for (int64_t dim : dims) bits |= 1u << dim;
  return bits;
}

// Of one dimension, or all.
uint32_t bits_of(std::optional<int64_t> dim) {
  return dim ? 1u << *dim : ~0u;
}

bp::Status reduce(bp::Call call, bp::In a, uint32_t dims, bp::Out out) {
  const TensorView from(call, a), to(call, out);
  const TensorView kept = from.only(~dims), reduced = from.only(dims);
  return with_sum_type(a.dtype(), [&]<class T>(Tag<T>) {
    const T initial = Expression<T>::initial(call.op());
    return submit(call, [=, combine = Expression<T>(call.op(), from.dtype)]() mutable {
      for (int64_t i = 0; i < kept.numel; ++i) {
        T accumulated = initial;
        for (int64_t j = 0; j < reduced.numel; ++j) {
          const T element = read<T>(kept.at(i) + reduced.offset(j), from.dtype);
          accumulated = combine(&element, accumulated);
        }
        to.set(i, accumulated);
      }
    });
  });
}

bp::Status sum(bp::Call call, bp::In a, std::optional<bp::Ints> dims, bool,
               std::optional<bp::Dtype>, bp::Out out) {
  return reduce(call, a, bits_of(*dims), out);
}

bp::Status extremum(bp::Call call, bp::In a, std::optional<bp::Ints> dims, bool, bp::Out out) {
  return reduce(call, a, bits_of(*dims), out);
}

bp::Status argmax(bp::Stream stream, bp::In a, std::optional<int64_t> dim, bool, bp::Out out) {
  const TensorView from(stream, a), to(stream, out);
  const TensorView kept = from.only(~bits_of(dim)), searched = from.only(bits_of(dim));
  return with_sum_type(a.dtype(), [&]<class T>(Tag<T>) {
    if constexpr (is_complex<T>)
      return bp::unsupported("argmax: complex numbers have no order");
    else
      return submit(stream, [=] {
        for (int64_t i = 0; i < kept.numel; ++i) {
          int64_t best = 0;
          T largest{};
          for (int64_t j = 0; j < searched.numel; ++j) {
            const T element = read<T>(kept.at(i) + searched.offset(j), from.dtype);
            const bool is_larger = element > largest || (element != element && largest == largest);
            if (j > 0 && !is_larger) continue;
            best = j;
            largest = element;
          }
          to.set(i, best);
        }
      });
  });
}

bp::Status cumsum(bp::Call call, bp::In a, int64_t dim, std::optional<bp::Dtype>, bp::Out out) {
  const TensorView from(call, a), to(call, out);
  const TensorView lines = from.only(~bits_of(dim)), line = from.only(bits_of(dim));
  const TensorView to_lines = to.only(~bits_of(dim)), to_line = to.only(bits_of(dim));
  return with_sum_type(a.dtype(), [&]<class T>(Tag<T>) {
    const T initial = Expression<T>::initial(call.op());
    return submit(call, [=, combine = Expression<T>(call.op(), from.dtype)]() mutable {
      for (int64_t i = 0; i < lines.numel; ++i) {
        T accumulated = initial;
        for (int64_t j = 0; j < line.numel; ++j) {
          const T element = read<T>(lines.at(i) + line.offset(j), from.dtype);
          accumulated = combine(&element, accumulated);
          write(to_lines.at(i) + to_line.offset(j), to.dtype, accumulated);
        }
      }
    });
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(reduction) {
  using namespace reference;
  const bp::DtypeSet ordered = bp::real | bp::boolean;
  k.add<bp::op::sum>(sum).dtypes(bp::numeric).layouts(bp::strided).deterministic();
  k.add<bp::op::max>(extremum).dtypes(ordered).layouts(bp::strided).deterministic();
  k.add<bp::op::min>(extremum).dtypes(ordered).layouts(bp::strided).deterministic();
  k.add<bp::op::argmax>(argmax).dtypes(bp::real).layouts(bp::strided).deterministic();
  k.add<bp::op::cumsum>(cumsum).dtypes(bp::numeric).layouts(bp::strided).deterministic();
}
