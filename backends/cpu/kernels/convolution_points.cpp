#include "convolution_points.hpp"

#include <algorithm>
#include <array>

#include "../constants.hpp"
#include "convolution_plan.hpp"
#include "matmul.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

// Of one side: pictures of the input, of which each point that the kernel meets counts, or the result's.
struct Points {
  int64_t pictures, channels;
  bool channels_last;
  int64_t rank = 0;
  int64_t large[3], count[3], step[3];

  Points(const int64_t* shape, int64_t order)
      : pictures(shape[0]), channels(shape[1]), channels_last(order == bp::cpu::channels_last) {}

  // Dimensions of which all points count are one.
  void add(int64_t size, int64_t points, int64_t stride) {
    if (rank > 0 && size == points && large[rank - 1] == count[rank - 1]) {
      large[rank - 1] = count[rank - 1] *= size;
      return;
    }
    large[rank] = size;
    count[rank] = points;
    step[rank++] = stride;
  }

  int64_t large_plane() const { return product({large, static_cast<size_t>(rank)}); }
  int64_t plane() const { return product({count, static_cast<size_t>(rank)}); }
  int64_t numel() const { return pictures * channels * plane(); }

  // A matrix as they lie: [point, channel] if channels are last, [channel, point] of one picture else.
  bool are_matrix() const { return large_plane() == plane() && (channels_last || pictures == 1); }
};

Points of_input(const ConvolutionKey& key) {
  Points p(key.large, key.large_order);
  for (int64_t dim = 0; dim < key.rank; ++dim)
    p.add(key.large[dim + 2], key.small[dim + 2], key.stride[dim]);
  return p;
}

Points of_result(const ConvolutionKey& key) {
  Points p(key.small, key.small_order);
  for (int64_t dim = 0; dim < key.rank; ++dim) p.add(key.small[dim + 2], key.small[dim + 2], 1);
  return p;
}

// As [point, channel] or [channel, point] of all pictures.
void copy_points(const Points& p, float* to, const float* from) {
  std::array<int64_t, 5> shape{}, to_strides{}, from_strides{};
  const auto set = [&](int64_t dim, int64_t size, int64_t to_stride, int64_t from_stride) {
    const auto at = static_cast<size_t>(dim);
    shape[at] = size;
    to_strides[at] = to_stride;
    from_strides[at] = from_stride;
  };
  const int64_t inner = p.channels_last ? p.channels : 1;
  const int64_t of_picture = p.channels * p.large_plane();
  if (p.channels_last) {
    set(0, p.pictures, p.plane() * p.channels, of_picture);
    set(p.rank + 1, p.channels, 1, 1);
  } else {
    set(0, p.channels, p.pictures * p.plane(), p.large_plane());
    set(1, p.pictures, p.plane(), of_picture);
  }
  const int64_t first = p.channels_last ? 1 : 2;
  int64_t to_step = inner, from_step = inner;
  for (int64_t dim = p.rank - 1; dim >= 0; --dim) {
    set(first + dim, p.count[dim], to_step, from_step * p.step[dim]);
    to_step *= p.count[dim];
    from_step *= p.large[dim];
  }
  copy_strided({shape.data(), static_cast<size_t>(p.rank + 2)}, to, to_strides.data(), from,
               from_strides.data());
}

bp_code points_as_matrix(const bp_call* call, const Points& p, const char* pictures,
                         Matrix& matrix) {
  char* data = const_cast<char*>(pictures);
  if (!p.are_matrix()) {
    const bp_code code = take_workspace(call, static_cast<uint64_t>(p.numel()) * 4, data);
    if (code != BP_OK) return code;
    copy_points(p, reinterpret_cast<float*>(data), reinterpret_cast<const float*>(pictures));
  }
  const int64_t points = p.pictures * p.plane();
  matrix = p.channels_last ? Matrix{data, p.channels, 1, 0} : Matrix{data, 1, points, 0};
  return BP_OK;
}

}  // namespace

bool pays_by_points(const ConvolutionKey& key) {
  if (key.way != to_weight || key.dtype != BP_F32 || key.groups != 1 ||
      key.large_order != key.small_order)
    return false;
  for (int64_t dim = 0; dim < key.rank; ++dim)
    if (key.weight[dim + 2] != 1 || key.padding[dim] != 0 || key.padding_behind[dim] != 0)
      return false;
  const int64_t from = key.weight[1], to = key.weight[0];
  if (std::min(from, to) < constants::channels_of_points) return false;
  if (is_on_amx() && from * to < constants::weights_of_points_on_amx) return false;
  // Multiplications for each number that is copied.
  int64_t copied = 0;
  if (!of_input(key).are_matrix()) copied += from;
  if (!of_result(key).are_matrix()) copied += to;
  return from * to >= copied * constants::reuse_of_points;
}

bp_code convolve_by_points(const bp_call* call, const ConvolutionKey& key, const Addresses& at) {
  const Points input = of_input(key), result = of_result(key);
  Matrix inputs{}, results{};
  bp_code code = points_as_matrix(call, input, at.large, inputs);
  if (code == BP_OK) code = points_as_matrix(call, result, at.small, results);
  if (code != BP_OK) return code;
  const Matrix turned{results.data, results.column_stride, results.row_stride, 0};
  return multiply(call,
                  {BP_F32, 1, key.weight[0], key.weight[1], input.pictures * input.plane(), turned,
                   inputs, at.weight},
                  4);
}

}  // namespace bp::cpu
