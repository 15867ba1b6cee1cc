// needs: cpu
// Convolutions by packed weights are those by plain ones, by the kernel of float32 and by the decomposition of other dtypes.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include <backplane/tensors.hpp>

#include "core_ops/peer_values.hpp"

namespace bp::packed_convolution_test {
namespace {

Tensor pictures_of(const Tensor& input) {
  return contiguous(permute(input, {0, 2, 3, 1}));
}

double farthest(const Tensor& a, const Tensor& b) {
  return item<double>(to(max(abs(cast(a, f64) - cast(b, f64))), f64));
}

struct Layer {
  std::int64_t channels, to, kernel, size, stride, padding, dilation, groups;
};

TEST(PackedConvolution, equals_the_plain_one) {
  const Layer layers[] = {
      {3, 40, 7, 30, 2, 3, 1, 1},  {16, 16, 3, 17, 1, 1, 1, 1},  {64, 33, 1, 9, 1, 0, 1, 1},
      {12, 24, 3, 11, 1, 2, 2, 4}, {20, 20, 3, 13, 2, 1, 1, 20}, {128, 64, 3, 28, 1, 1, 1, 1},
      {1, 1, 3, 8, 1, 1, 1, 1},    {256, 512, 3, 7, 1, 1, 1, 1}, {1100, 13, 1, 5, 1, 0, 1, 1},
      {1030, 9, 3, 4, 1, 1, 1, 1}, {2060, 42, 3, 4, 1, 1, 1, 2},
  };
  for (const Layer& l : layers)
    for (const Dtype dtype : {f32, f64}) {
      const Tensor input = randn({2, l.channels, l.size, l.size}, dtype),
                   weight = randn({l.to, l.channels / l.groups, l.kernel, l.kernel}, dtype) *
                            std::sqrt(1.0 * l.groups / (l.channels * l.kernel * l.kernel)),
                   bias = randn({l.to}, dtype);
      const Tensor plain = convolution(input, weight, bias, {l.stride}, {l.padding}, {l.dilation},
                                       false, {0}, l.groups);
      const Tensor other = randn(plain.shape(), dtype);
      const Dims size = weight.shape(), padding(4, l.padding);
      const Tensor packed = packed_convolution(
          pictures_of(input), pack_convolution(weight, l.groups), bias, pictures_of(other), size,
          {l.stride}, padding, {l.dilation}, l.groups, -1, 6);
      EXPECT_LE(farthest(permute(packed, {0, 3, 1, 2}), clamp(plain + other, -1, 6)),
                dtype == f64 ? 1e-12 : 4e-5)
          << l.channels << " to " << l.to << ", " << name(dtype);
    }
}

TEST(PackedConvolution, an_input_without_elements_gives_the_bias) {
  const Tensor weight = pack_convolution(zeros({3, 0, 1, 1}, {.dtype = f32}));
  const Tensor bias = tensor(std::vector<double>{1, 2, 3}, {.dtype = f32});
  const Tensor made = packed_convolution(zeros({1, 2, 2, 0}, {.dtype = f32}), weight, bias, {},
                                         {3, 0, 1, 1}, {1}, {0, 0, 0, 0}, {1}, 1);
  EXPECT_EQ(made.shape(), IntList({1, 2, 2, 3}));
  EXPECT_EQ(farthest(made, expand(bias, {1, 2, 2, 3})), 0);
}

TEST(PackedConvolution, says_what_is_wrong) {
  const Tensor input = zeros({1, 5, 5, 2}, {.dtype = f32});
  const Tensor weight = pack_convolution(zeros({4, 2, 3, 3}, {.dtype = f32}));
  const auto call = [&](const Tensor& x, const Tensor& w, IntList size, IntList padding,
                        const Tensor& bias = {}, const Tensor& other = {}) {
    return test::error_of(
        [&] { packed_convolution(x, w, bias, other, size, {1}, padding, {1}, 1); });
  };
  EXPECT_EQ(call(input, weight, {4, 2, 3, 3}, {0, 0, 0, 0}), "no error");
  EXPECT_EQ(call(input, weight, {4, 3, 3, 3}, {0, 0, 0, 0}),
            "packed_convolution: the input has 2 channels and the weight, of size [4, 3, 3, 3], "
            "takes 3 in 1 groups; make them "
            "equal");
  EXPECT_EQ(call(input, zeros({4, 2, 3, 3}, {.dtype = f32}), {4, 2, 3, 3}, {0, 0, 0, 0}),
            "packed_convolution: weight has shape [4, 2, 3, 3]; it must be [1, 1, 3, 3, 2, 32]");
  EXPECT_EQ(call(input, weight, {4, 2, 3, 3}, {1, 1}),
            "packed_convolution: padding [1, 1] has 2 elements for 4 dimensions; give one, or one "
            "for each");
  EXPECT_EQ(call(input, weight, {4, 2, 3, 3}, {0, 0, 0, 0}, zeros({3}, {.dtype = f32})),
            "packed_convolution: bias has shape [3]; it must be [4]");
  EXPECT_EQ(
      call(input, weight, {4, 2, 3, 3}, {0, 0, 0, 0}, {}, zeros({1, 4, 3, 3}, {.dtype = f32})),
      "packed_convolution: other has shape [1, 4, 3, 3]; it must be [1, 3, 3, 4]");
  EXPECT_EQ(test::error_of([] {
              pack_convolution(zeros({4, 2, 3}, {.dtype = f32}));
            }),
            "pack_convolution: the weight has shape [4, 2, 3]; it needs results, channels, height "
            "and width");
}

}  // namespace
}  // namespace bp::packed_convolution_test
