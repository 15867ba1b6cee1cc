// needs: cpu
// Convolutions of random sizes and layouts, and both gradients, against the same in float64, which goes another way: small pictures
// with many channels among them, past every bound by which cpu chooses how.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include <backplane/tensors.hpp>

namespace bp::random_convolutions {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Drawn {
  Tensor input, weight, bias;  // the last is undefined now and then
  Numbers stride, padding, dilation;
  std::int64_t groups = 1;
};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  // One whose work is worth a thread, and no more.
  Drawn layer() {
    for (;;)
      if (Drawn drawn; draw(drawn)) return drawn;
  }

 private:
  std::int64_t of(std::initializer_list<std::int64_t> values) {
    return *(values.begin() + random_() % values.size());
  }
  bool once_in(std::uint32_t count) { return random_() % count == 0; }

  bool draw(Drawn& drawn) {
    constexpr std::int64_t most_work = 20'000'000;
    drawn.groups = once_in(8) ? of({2, 4}) : 1;
    Numbers input{of({1, 1, 2, 3, 5, 8, 16, 17}), 4 * of({1, 4, 8, 16, 18, 32, 64, 128})};
    Numbers weight{4 * of({1, 2, 8, 16, 17, 32, 64, 128}), input[1] / drawn.groups};
    std::int64_t work = input[0] * weight[0] * weight[1];
    for (std::int64_t rank = of({1, 2, 2, 3}); rank > 0; --rank) {
      const std::int64_t size = of({1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 33}),
                         kernel = of({1, 1, 2, 3, 3, 5, 7});
      const std::int64_t stride = of({1, 1, 1, 2, 3, 5}), padding = of({0, 1, 2}),
                         dilation = of({1, 1, 1, 2});
      const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
      if (room < 0) return false;
      input.push_back(size);
      weight.push_back(kernel);
      drawn.stride.push_back(stride);
      drawn.padding.push_back(padding);
      drawn.dilation.push_back(dilation);
      work *= kernel * (room / stride + 1);
    }
    if (work > most_work) return false;
    drawn.input = laid_out(randn(input, f32));
    drawn.weight = laid_out(randn(weight, f32));
    if (once_in(2)) drawn.bias = randn({weight[0]}, f32);
    return true;
  }

  Tensor laid_out(const Tensor& tensor) {
    if (tensor.ndim() == 4 && once_in(3)) return contiguous(tensor, MemoryFormat::channels_last);
    if (once_in(3)) return transpose(contiguous(transpose(tensor, 0, 1)), 0, 1);
    return tensor;
  }

  std::mt19937 random_;
};

Tensor wide(const Tensor& tensor) {
  return tensor.defined() ? cast(tensor, f64) : tensor;
}
Tensor size_of(const Tensor& tensor) {
  return tensor.defined() ? abs(wide(tensor)) : tensor;
}

// Of the result of `compute`, in units of 2^-24 of the sums of its terms' sizes.
template <class F, class... Tensors> double error_of(const F& compute, const Tensors&... of) {
  const Tensor distance = abs(sub(wide(compute(of...)), compute(wide(of)...)));
  return item<double>(max(div(distance, add(compute(size_of(of)...), 1e-30)))) * 0x1p24;
}

TEST(RandomConvolutions, are_as_near_as_their_sums_allow) {
  const auto seed = static_cast<std::uint32_t>(testing::UnitTest::GetInstance()->random_seed());
  manual_seed(seed);
  Draw draw(seed);
  double worst = 0;
  for (int i = 0; i < 100; ++i) {
    const Drawn it = draw.layer();
    const auto rank = it.stride.size();
    const Numbers none(rank, 0);
    Numbers beyond(rank);
    for (std::size_t d = 0; d < rank; ++d)
      beyond[d] = (it.input.shape()[d + 2] + 2 * it.padding[d] -
                   it.dilation[d] * (it.weight.shape()[d + 2] - 1) - 1) %
                  it.stride[d];
    const auto forwards = [&](const Tensor& x, const Tensor& w, const Tensor& bias) {
      return convolution(x, w, bias, it.stride, it.padding, it.dilation, false, none, it.groups);
    };
    const auto to_input = [&](const Tensor& grad, const Tensor& w) {
      return convolution(grad, w, {}, it.stride, it.padding, it.dilation, true, beyond, it.groups);
    };
    const auto to_weight = [&](const Tensor& grad, const Tensor& x) {
      return convolution_backward_weight(grad, x, it.weight.shape(), it.stride, it.padding,
                                         it.dilation, it.groups);
    };
    const Tensor grad = randn(forwards(it.input, it.weight, it.bias).shape(), f32);
    const double errors[] = {error_of(forwards, it.input, it.weight, it.bias),
                             error_of(to_input, grad, it.weight),
                             error_of(to_weight, grad, it.input)};
    for (const double error : errors) {
      // A comparison that a NaN fails.
      EXPECT_TRUE(error <= 16) << error << " units; number " << i << " of seed " << seed << ": "
                               << to_string(it.input.shape()) << " by "
                               << to_string(it.weight.shape()) << ", groups " << it.groups;
      worst = std::max(worst, error);
    }
  }
  EXPECT_GT(worst, 0);
}

}  // namespace
}  // namespace bp::random_convolutions
