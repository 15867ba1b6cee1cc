// What reads or writes by index, and what orders.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "elements.hpp"

namespace oracle {
namespace {

// Strides of `a` but for dimension `dim`, which counts as 0: an index stands for it.
std::vector<Index> strides_without(const bp::AnyTensor& a, Index dim) {
  std::vector<Index> strides(a.strides().begin(), a.strides().end());
  if (!strides.empty()) strides[static_cast<std::size_t>(dim)] = 0;
  return strides;
}
Index stride_along(const bp::AnyTensor& a, Index dim) {
  return a.ndim() == 0 ? 0 : a.stride(static_cast<std::int32_t>(dim));
}

// To each place of `out`, from one that lies as `strides` says, but for `dim`, where an index decides: which one `index_of`
// tells.
template <class IndexOf>
bp::Status gathered(bp::In a, Index dim, const Indices& strides, const Checked& indices,
                    bp::Out out, IndexOf index_of) {
  const Indices from = places(out.shape(), {strides.data(), strides.size()}), to = places(out);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (Index at; indices.at(index_of(i), at))
      move_element(out, to[i], a, from[i] + at * stride_along(a, dim));
  return bp::ok;
}

bp::Status gather(bp::Call call, bp::In a, Index dim, bp::In index, bp::Out out) {
  const Checked indices(call, index, along(a.shape(), dim).size);
  return gathered(a, dim, strides_without(a, dim), indices, out, [](std::size_t i) { return i; });
}

bp::Status index_select(bp::Call call, bp::In a, Index dim, bp::In index, bp::Out out) {
  const Checked indices(call, index, along(a.shape(), dim).size);
  const Line line = along(out.shape(), a.ndim() == 0 ? -1 : dim);
  return gathered(a, dim, strides_without(a, dim), indices, out, [&](std::size_t i) {
    const Index which = a.ndim() == 0 ? 0 : static_cast<Index>(i) / line.inner % line.size;
    return static_cast<std::size_t>(which);
  });
}

bp::Status embedding(bp::Call call, bp::In weight, bp::In index, Index, bp::Out out) {
  const Checked indices(call, index, weight.size(0));
  const auto width = static_cast<std::size_t>(weight.size(1));
  Indices strides(static_cast<std::size_t>(out.ndim()), 0);
  strides.back() = weight.stride(1);
  return gathered(weight, 0, strides, indices, out, [=](std::size_t i) { return i / width; });
}

bp::Status one_hot(bp::Call call, bp::In a, Index num_classes, bp::Out out) {
  const Checked indices(call, a, num_classes);
  std::vector<Word> values = room_for<Word>(out);
  for (std::size_t i = 0; i < indices.count(); ++i) {
    Index at;
    if (indices.at(i, at))
      values[i * static_cast<std::size_t>(num_classes) + static_cast<std::size_t>(at)] = 1;
  }
  write(out, values);
  return bp::ok;
}

// Calls visit(position in src, place in out) for each index, both in elements.
template <class Visit>
void each_target(const bp::Call& call, Index dim, bp::In index, bp::In src, bp::Out out,
                 Visit visit) {
  const Checked indices(call, index, along(out.shape(), dim).size);
  const std::vector<Index> strides = strides_without(out, dim);
  const Indices from = places(index.shape(), src.strides());
  const Indices to = places(index.shape(), {strides.data(), strides.size()});
  for (std::size_t i = 0; i < indices.count(); ++i) {
    Index at;
    if (indices.at(i, at)) visit(from[i], to[i] + at * stride_along(out, dim));
  }
}

// Each place's additions are summed in full before it is rounded, once.
bp::Status scatter_add(bp::Call call, bp::In a, Index dim, bp::In index, bp::In src, bp::Out out) {
  in_class_of(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Index span = 1;
    for (std::int32_t d = 0; d < out.ndim(); ++d) span += (out.size(d) - 1) * out.stride(d);
    std::vector<T> totals(static_cast<std::size_t>(span));
    const std::vector<T> start = read<T>(a);
    const Indices to = places(out);
    for (std::size_t i = 0; i < to.size(); ++i) at(totals, to[i]) = start[i];
    each_target(call, dim, index, src, out, [&](Index from, Index place) {
      at(totals, place) += load<T>(address(src, from), src.dtype());
    });
    for (const Index place : to) store<T>(address(out, place), out.dtype(), at(totals, place));
  });
  return bp::ok;
}

// Of several for one place the last one, row-major, stays.
bp::Status scatter(bp::Call call, bp::In a, Index dim, bp::In index, bp::In src, bp::Out out) {
  move_all(a, out);
  each_target(call, dim, index, src, out,
              [&](Index from, Index place) { move_element(out, place, src, from); });
  return bp::ok;
}

bp::Status nonzero(bp::Call call, bp::In a, bp::Out) {
  std::vector<bool> holds;
  for (const Complex value : read<Complex>(a)) holds.push_back(value != Complex());
  std::vector<Word> found;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!holds[i]) continue;
    Index rest = static_cast<Index>(i);
    found.resize(found.size() + static_cast<std::size_t>(a.ndim()));
    for (std::int32_t d = a.ndim() - 1; d >= 0; --d) {
      found[found.size() - static_cast<std::size_t>(a.ndim() - d)] =
          static_cast<Word>(rest % a.size(d));
      rest /= a.size(d);
    }
  }
  const Index shape[2] = {std::ranges::count(holds, true), a.ndim()};
  if (const bp::Status status = call.allocate_output(0, {shape, 2}); !status.is_ok()) return status;
  if (!found.empty()) write(bp::Out(call.abi().outputs[0]), found);
  return bp::ok;
}

// NaN is the largest; -0 equals 0.
bool is_below(Real a, Real b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

// Writes the first `count` of each line in order, and where they were.
bp::Status ordered(bp::In a, Index dim, bool descending, Index count, bp::Out values_out,
                   bp::Out indices_out) {
  const std::vector<Real> values = read<Real>(a);
  const Line line = along(a.shape(), dim), kept = along(values_out.shape(), dim);
  std::vector<Real> sorted = room_for<Real>(values_out);
  std::vector<Word> indices(sorted.size());
  line.each([&](Index o, Index i) {
    Indices order(static_cast<std::size_t>(line.size));
    std::iota(order.begin(), order.end(), Index{0});
    const auto value = [&](Index k) { return at(values, line.at(o, k, i)); };
    std::ranges::stable_sort(order, [&](Index x, Index y) {
      return descending ? is_below(value(y), value(x)) : is_below(value(x), value(y));
    });
    for (Index k = 0; k < count; ++k) {
      at(sorted, kept.at(o, k, i)) = value(at(order, k));
      at(indices, kept.at(o, k, i)) = static_cast<Word>(at(order, k));
    }
  });
  write(values_out, sorted);
  write(indices_out, indices);
  return bp::ok;
}

bp::Status sort(bp::Stream, bp::In a, Index dim, bool descending, bool, bp::Out values,
                bp::Out indices) {
  return ordered(a, dim, descending, along(a.shape(), dim).size, values, indices);
}
bp::Status topk(bp::Stream, bp::In a, Index k, Index dim, bool largest, bool, bp::Out values,
                bp::Out indices) {
  return ordered(a, dim, largest, k, values, indices);
}

}  // namespace
}  // namespace oracle

BP_KERNELS(indexing) {
  namespace o = oracle;
  const auto any = bp::all;
  o::exact(k.add<bp::op::gather>(o::gather), any).may_fault();
  o::exact(k.add<bp::op::index_select>(o::index_select), any).may_fault();
  o::exact(k.add<bp::op::embedding>(o::embedding), any).may_fault();
  o::exact(k.add<bp::op::one_hot>(o::one_hot), any).may_fault();
  o::exact(k.add<bp::op::scatter_add>(o::scatter_add), any).may_fault();
  o::exact(k.add<bp::op::scatter>(o::scatter), any).may_fault();
  o::exact(k.add<bp::op::nonzero>(o::nonzero), any);
  o::exact(k.add<bp::op::sort>(o::sort), any);
  o::exact(k.add<bp::op::topk>(o::topk), any);
}
