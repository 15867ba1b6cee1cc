// The gradients of windows' largest, added where these lay. A thread has whole planes, and adds to each in the order of the
// windows: sums are the same each time. All indices are looked at before anything is written.
#include <string>

#include "../constants.hpp"
#include "../rounding.hpp"
#include "../threads.hpp"
#include "indices.hpp"
#include "pooling.hpp"

namespace bp::cpu {
namespace {

// A tensor of planes, row-major or channels last; its strides follow from its shape.
template <class T> struct Planes {
  T* data;
  int64_t batch, channel, size, step;  // size: elements of a plane; step: between them

  explicit Planes(const bp_tensor& tensor) : data(data_of<T>(tensor)) {
    const int64_t channels = tensor.dl.shape[1];
    size = 1;
    for (int32_t dim = 2; dim < tensor.dl.ndim; ++dim) size *= tensor.dl.shape[dim];
    batch = channels * size;
    const bool is_row_major = (tensor.flags & BP_LAYOUT_CONTIGUOUS) != 0;
    channel = is_row_major ? size : 1;
    step = is_row_major ? 1 : channels;
  }
  T* at(int64_t n, int64_t c) const { return data + n * batch + c * channel; }
};

template <class T> struct MaxPoolGradient {
  int64_t batch, channels;
  Planes<const T> grad;
  Planes<const int64_t> indices;
  Planes<T> result;
};

template <class T> void add_to_plane(const MaxPoolGradient<T>& g, int64_t n, int64_t c) {
  const IndexRow<int64_t> places{g.indices.at(n, c), g.indices.step};
  const T* const from = g.grad.at(n, c);
  T* const to = g.result.at(n, c);
  std::fill_n(to, g.result.size, T(0));
  for (int64_t i = 0; i < g.indices.size; ++i) to[places[i]] += from[i * g.grad.step];
}

// The planes of channels that lie next to each other.
template <class T>
void add_to_channels(const MaxPoolGradient<T>& g, int64_t n, int64_t first, int64_t count) {
  T* const to = g.result.at(n, first);
  const int64_t step = g.result.step;
  for (int64_t i = 0; i < g.result.size; ++i) std::fill_n(to + i * step, count, T(0));
  for (int64_t i = 0; i < g.indices.size; ++i) {
    const IndexRow<int64_t> places{g.indices.at(n, first) + i * g.indices.step, g.indices.channel};
    const T* const from = g.grad.at(n, first) + i * g.grad.step;
    for (int64_t c = 0; c < count; ++c) to[places[c] * step + c] += from[c * g.grad.channel];
  }
}

template <class T> void add_all(const MaxPoolGradient<T>& g) {
  const bool by_planes = g.result.step == 1;
  const int64_t together = by_planes ? 1 : std::min(g.channels, constants::pooled_channels);
  const int64_t blocks = divide_up(g.channels, together);
  const int64_t work = together * (g.indices.size + g.result.size);
  parallel_for(g.batch * blocks, std::max<int64_t>(1, constants::pooled_elements / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t n = i / blocks, c = i % blocks * together;
                   if (by_planes)
                     add_to_plane(g, n, c);
                   else
                     add_to_channels(g, n, c, std::min(together, g.channels - c));
                 }
               });
}

// Names the first index that is outside of its plane; there is one.
Status refuse(const Planes<const int64_t>& indices, int64_t channels, int64_t plane) {
  for (int64_t i = 0;; ++i) {
    const int64_t at = i / indices.size, place = i % indices.size;
    const int64_t index = indices.at(at / channels, at % channels)[place * indices.step];
    if (index >= 0 && index < plane) continue;
    return Status::from_host(
        fail(BP_BAD_ARGUMENT, "max_pool_backward: index " + std::to_string(index) +
                                  " is out of range for planes of " + std::to_string(plane) +
                                  " elements; pass the indices that the pool returned"));
  }
}

Status run_max_pool_backward(Stream, In grad_output, In places, Ints, Out by_input) {
  const bp_tensor &grad = grad_output.abi(), &result = by_input.abi();
  const Planes<const int64_t> indices(places.abi());
  const int64_t batch = result.dl.shape[0], channels = result.dl.shape[1];
  const int64_t plane = result.numel / (batch * channels);
  if (!all_are_within<int64_t>(places.abi(), plane)) return refuse(indices, channels, plane);
  visit_dtype<pool_dtypes>(grad.dtype, [&]<class T>(Tag<T>) {
    add_all(MaxPoolGradient<T>{batch, channels, Planes<const T>(grad), indices, Planes<T>(result)});
  });
  return ok;
}

}  // namespace

void add_max_pooling_backward_kernels(Kernels& k) {
  constexpr DtypeSet dtypes{pool_dtypes};
  using place = op::max_pool_backward::place;
  k.add<op::max_pool_backward>(run_max_pool_backward)
      .dtypes(dtypes)
      .dtypes(place::indices, i64)
      .dtypes(place::out, dtypes)
      .layouts(contiguous, channels_last)
      .deterministic();
}

}  // namespace bp::cpu
