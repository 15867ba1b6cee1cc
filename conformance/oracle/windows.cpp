// Convolutions and pools, one element of the result, or one term, at a time.
#include <algorithm>
#include <array>
#include <cmath>

#include "elements.hpp"

namespace oracle {
namespace {

constexpr std::size_t spatial =
    3;  // every tensor is seen with three dimensions behind its channels
using Size = std::array<Index, spatial>;

// Of a list with one element for each dimension, or one for all.
Size per_dim(bp::Ints list, std::size_t rank, Index otherwise) {
  Size sizes;
  sizes.fill(otherwise);
  for (std::size_t d = 0; d < rank; ++d) sizes[spatial - rank + d] = list[list.size() == 1 ? 0 : d];
  return sizes;
}
// The sizes behind the first two dimensions.
Size behind_channels(bp::Ints shape) {
  Size sizes{1, 1, 1};
  for (std::size_t d = 2; d < shape.size(); ++d) sizes[spatial - (shape.size() - d)] = shape[d];
  return sizes;
}
Index count(const Size& size) {
  return size[0] * size[1] * size[2];
}

// Calls visit(position, {z, y, x}) for each place of a block, row-major.
template <class Visit> void each(const Size& size, Visit visit) {
  Index at = 0;
  for (Index z = 0; z < size[0]; ++z)
    for (Index y = 0; y < size[1]; ++y)
      for (Index x = 0; x < size[2]; ++x) visit(at++, Size{z, y, x});
}

// How windows lie over a plane.
struct Windows {
  Size plane, kernel, stride, padding, dilation;

  // The position in the plane of element `k` of window `w`, or -1 outside.
  Index place(const Size& w, const Size& k) const {
    Index at = 0;
    for (std::size_t d = 0; d < spatial; ++d) {
      const Index i = w[d] * stride[d] - padding[d] + k[d] * dilation[d];
      if (i < 0 || i >= plane[d]) return -1;
      at = at * plane[d] + i;
    }
    return at;
  }
  // Calls visit(position in the plane, position in the window) for each element of window `w` that lies in the plane.
  template <class Visit> void each_inside(const Size& w, Visit visit) const {
    each(kernel, [&](Index tap, const Size& k) {
      if (const Index at = place(w, k); at >= 0) visit(at, tap);
    });
  }
};
// Of windows of so many elements over a plane behind the channels of `shape`.
Windows windows_over(bp::Ints shape, const Size& kernel, bp::Ints stride, bp::Ints padding,
                     bp::Ints dilation) {
  const std::size_t rank = shape.size() - 2;
  return {behind_channels(shape), kernel, per_dim(stride, rank, 1), per_dim(padding, rank, 0),
          per_dim(dilation, rank, 1)};
}

// ---- Convolutions

// Calls visit(position in large, position in the weight, position in small) for each product of a convolution from one to the
// other.
template <class Visit>
void each_product(const bp::AnyTensor& large, const bp::AnyTensor& small, const Windows& windows,
                  Index groups, Visit visit) {
  const Index from = large.size(1) / groups, to = small.size(1) / groups;  // of a group
  const Size results = behind_channels(small.shape());
  const Index plane = count(windows.plane), kernel = count(windows.kernel), all = count(results);
  for (Index n = 0; n < large.size(0); ++n)
    for (Index o = 0; o < groups * to; ++o)
      for (Index i = 0; i < from; ++i)
        each(results, [&](Index at, const Size& w) {
          windows.each_inside(w, [&](Index place, Index tap) {
            visit((n * groups * from + o / to * from + i) * plane + place,
                  (o * from + i) * kernel + tap, (n * groups * to + o) * all + at);
          });
        });
}

bp::Status convolution(bp::Stream, bp::In a, bp::In weight, std::optional<bp::In> bias,
                       bp::Ints stride, bp::Ints padding, bp::Ints dilation, bool transposed,
                       bp::Ints, Index groups, bp::Out out) {
  // A transposed one goes from out to a: the same products, summed into the other side.
  const bp::AnyTensor& large = transposed ? static_cast<const bp::AnyTensor&>(out) : a;
  const bp::AnyTensor& small = transposed ? static_cast<const bp::AnyTensor&>(a) : out;
  const Windows windows =
      windows_over(large.shape(), behind_channels(weight.shape()), stride, padding, dilation);
  in_class_of(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> input = read<T>(a), kernels = read<T>(weight);
    std::vector<T> result = room_for<T>(out);
    if (bias) {
      std::vector<T> start = read<T>(*bias);
      const Index plane = count(behind_channels(out.shape()));
      for (Index i = 0; i < out.numel(); ++i) at(result, i) = at(start, i / plane % out.size(1));
    }
    each_product(large, small, windows, groups,
                 [&](Index of_large, Index of_weight, Index of_small) {
                   if (transposed)
                     at(result, of_large) += product(at(input, of_small), at(kernels, of_weight));
                   else
                     at(result, of_small) += product(at(input, of_large), at(kernels, of_weight));
                 });
    write(out, result);
  });
  return bp::ok;
}

bp::Status convolution_backward_weight(bp::Stream, bp::In grad, bp::In a, bp::Ints weight_size,
                                       bp::Ints stride, bp::Ints padding, bp::Ints dilation,
                                       Index groups, bp::Out out) {
  const Windows windows =
      windows_over(a.shape(), behind_channels(weight_size), stride, padding, dilation);
  in_class_of(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> input = read<T>(a), gradient = read<T>(grad);
    std::vector<T> result = room_for<T>(out);
    each_product(a, grad, windows, groups, [&](Index of_a, Index of_weight, Index of_grad) {
      at(result, of_weight) += product(at(gradient, of_grad), at(input, of_a));
    });
    write(out, result);
  });
  return bp::ok;
}

// ---- Pools

// Calls visit(plane's first position in a, window's position in out, the window) for each window of each plane.
template <class Visit>
void each_window(Index planes, const Size& plane, const Size& results, Visit visit) {
  for (Index p = 0; p < planes; ++p)
    each(results,
         [&](Index at, const Size& w) { visit(p * count(plane), p * count(results) + at, w); });
}

// The largest of those that a window shows of a plane; NaN is the largest, of equal ones it is the first.
struct Largest {
  Real value = 0;
  Index place = -1;
  void see(Real candidate, Index at) {
    if (place >= 0 && (std::isnan(value) || !(std::isnan(candidate) || candidate > value))) return;
    value = candidate;
    place = at;
  }
};

// Calls walk(window, see) for each window of each plane, which calls see(place) for each that the window shows.
template <class Walk>
bp::Status largest_in_windows(bp::In a, bp::Out values_out, bp::Out indices_out, Walk walk) {
  const std::vector<Real> input = read<Real>(a);
  std::vector<Real> values = room_for<Real>(values_out);
  std::vector<Word> indices(values.size());
  each_window(a.size(0) * a.size(1), behind_channels(a.shape()),
              behind_channels(values_out.shape()), [&](Index plane, Index to, const Size& w) {
                Largest largest;
                walk(w, [&](Index place) { largest.see(at(input, plane + place), place); });
                at(values, to) = largest.value;
                at(indices, to) = static_cast<Word>(largest.place);
              });
  write(values_out, values);
  write(indices_out, indices);
  return bp::ok;
}

bp::Status max_pool(bp::Stream, bp::In a, bp::Ints kernel, bp::Ints stride, bp::Ints padding,
                    bp::Ints dilation, bool, bp::Out values_out, bp::Out indices_out) {
  const Size size = per_dim(kernel, static_cast<std::size_t>(a.ndim() - 2), 1);
  const Windows windows =
      windows_over(a.shape(), size, stride.empty() ? kernel : stride, padding, dilation);
  return largest_in_windows(a, values_out, indices_out, [&](const Size& w, auto see) {
    windows.each_inside(w, [&](Index place, Index) { see(place); });
  });
}

// Window i of n over `size` elements begins at floor(i * size / n) and ends before ceil((i + 1) * size / n).
bp::Status adaptive_max_pool(bp::Stream, bp::In a, bp::Ints, bp::Out values_out,
                             bp::Out indices_out) {
  const Size plane = behind_channels(a.shape()), results = behind_channels(values_out.shape());
  return largest_in_windows(a, values_out, indices_out, [&](const Size& w, auto see) {
    Size begin, size;
    for (std::size_t d = 0; d < spatial; ++d) {
      begin[d] = w[d] * plane[d] / results[d];
      size[d] = ((w[d] + 1) * plane[d] + results[d] - 1) / results[d] - begin[d];
    }
    each(size, [&](Index, const Size& k) {
      see(((begin[0] + k[0]) * plane[1] + begin[1] + k[1]) * plane[2] + begin[2] + k[2]);
    });
  });
}

// Each place's additions are summed in full before it is rounded, once.
bp::Status max_pool_backward(bp::Call call, bp::In grad, bp::In index, bp::Ints, bp::Out out) {
  const Size plane = behind_channels(out.shape());
  const Checked indices(call, index, count(plane));
  std::vector<Real> gradient = read<Real>(grad);
  std::vector<Real> result = room_for<Real>(out);
  each_window(out.size(0) * out.size(1), plane, behind_channels(grad.shape()),
              [&](Index first, Index from, const Size&) {
                Index place;
                if (indices.at(static_cast<std::size_t>(from), place))
                  at(result, first + place) += at(gradient, from);
              });
  write(out, result);
  return bp::ok;
}

// What divides the sum of a window: all of its places in the padded plane, or those in the plane itself.
struct Averages {
  Windows windows;
  bool count_padding;
  std::optional<Index> divisor;

  Real divisor_of(const Size& w) const {
    if (divisor) return Real(*divisor);
    Index all = 1;
    for (std::size_t d = 0; d < spatial; ++d) {
      Index begin = w[d] * windows.stride[d] - windows.padding[d];
      Index end = std::min(begin + windows.kernel[d], windows.plane[d] + windows.padding[d]);
      if (!count_padding) {
        begin = std::max<Index>(begin, 0);
        end = std::min(end, windows.plane[d]);
      }
      all *= end - begin;
    }
    return Real(all);
  }
};
Averages averages(bp::Ints plane, bp::Ints kernel, bp::Ints stride, bp::Ints padding,
                  bool count_padding, std::optional<Index> divisor) {
  const std::size_t rank = plane.size() - 2;
  return {{behind_channels(plane), per_dim(kernel, rank, 1),
           per_dim(stride.empty() ? kernel : stride, rank, 1), per_dim(padding, rank, 0),
           Size{1, 1, 1}},
          count_padding,
          divisor};
}

bp::Status avg_pool(bp::Stream, bp::In a, bp::Ints kernel, bp::Ints stride, bp::Ints padding, bool,
                    bool count_padding, std::optional<Index> divisor, bp::Out out) {
  const Averages pool = averages(a.shape(), kernel, stride, padding, count_padding, divisor);
  std::vector<Real> input = read<Real>(a);
  std::vector<Real> result = room_for<Real>(out);
  each_window(a.size(0) * a.size(1), pool.windows.plane, behind_channels(out.shape()),
              [&](Index plane, Index to, const Size& w) {
                Real& total = at(result, to);
                pool.windows.each_inside(
                    w, [&](Index place, Index) { total += at(input, plane + place); });
                total /= pool.divisor_of(w);
              });
  write(out, result);
  return bp::ok;
}

bp::Status avg_pool_backward(bp::Stream, bp::In grad, bp::Ints size, bp::Ints kernel,
                             bp::Ints stride, bp::Ints padding, bool, bool count_padding,
                             std::optional<Index> divisor, bp::Out out) {
  const Averages pool = averages(size, kernel, stride, padding, count_padding, divisor);
  std::vector<Real> gradient = read<Real>(grad);
  std::vector<Real> result = room_for<Real>(out);
  each_window(grad.size(0) * grad.size(1), pool.windows.plane, behind_channels(grad.shape()),
              [&](Index plane, Index from, const Size& w) {
                const Real share = at(gradient, from) / pool.divisor_of(w);
                pool.windows.each_inside(
                    w, [&](Index place, Index) { at(result, plane + place) += share; });
              });
  write(out, result);
  return bp::ok;
}

}  // namespace
}  // namespace oracle

BP_KERNELS(windows) {
  namespace o = oracle;
  o::exact(k.add<bp::op::convolution>(o::convolution), bp::numeric);
  o::exact(k.add<bp::op::convolution_backward_weight>(o::convolution_backward_weight), bp::numeric);
  o::exact(k.add<bp::op::max_pool_with_indices>(o::max_pool), bp::real);
  o::exact(k.add<bp::op::adaptive_max_pool_with_indices>(o::adaptive_max_pool), bp::real);
  o::exact(k.add<bp::op::max_pool_backward>(o::max_pool_backward), bp::floating).may_fault();
  o::exact(k.add<bp::op::avg_pool>(o::avg_pool), bp::floating);
  o::exact(k.add<bp::op::avg_pool_backward>(o::avg_pool_backward), bp::floating);
}
