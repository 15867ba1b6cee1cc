// needs: cpu reference
// Convolutions against loops in float64: values, gradients and what calls may look like.
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

// One convolution over three dimensions; fewer have size 1 in the others.
struct Layer {
  std::int64_t batch, from, to, groups;
  std::int64_t size[3], kernel[3], stride[3], padding[3], dilation[3];
  std::int64_t output_padding[3];
  bool transposed;

  std::int64_t windows(int d) const {
    const std::int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    return transposed ? (size[d] - 1) * stride[d] - 2 * padding[d] + reach + output_padding[d]
                      : (size[d] + 2 * padding[d] - reach) / stride[d] + 1;
  }
  Dims input() const { return {batch, from, size[0], size[1], size[2]}; }
  Dims weight() const {
    return transposed ? Dims{from, to / groups, kernel[0], kernel[1], kernel[2]}
                      : Dims{to, from / groups, kernel[0], kernel[1], kernel[2]};
  }
  Dims result() const { return {batch, to, windows(0), windows(1), windows(2)}; }
};

using Numbers = std::vector<double>;

std::size_t place(IntList shape, std::initializer_list<std::int64_t> index) {
  std::size_t at = 0, d = 0;
  for (std::int64_t i : index)
    at = at * static_cast<std::size_t>(shape[d++]) + static_cast<std::size_t>(i);
  return at;
}

// Calls body(input's place, weight's place, result's place) for every product of the convolution.
template <class Body> void for_each_product(const Layer& l, const Body& body) {
  const Dims input = l.input(), weight = l.weight(), result = l.result();
  // The small side is where windows are counted.
  const Dims& small = l.transposed ? input : result;
  const Dims& large = l.transposed ? result : input;
  const std::int64_t of_small = small[1] / l.groups, of_large = large[1] / l.groups;
  const std::int64_t places = l.kernel[0] * l.kernel[1] * l.kernel[2];
  for (std::int64_t n = 0; n < l.batch; ++n)
    for (std::int64_t s = 0; s < small[1]; ++s)
      for (std::int64_t c = 0; c < of_large; ++c)
        for (std::int64_t window = 0; window < small[2] * small[3] * small[4]; ++window)
          for (std::int64_t tap = 0; tap < places; ++tap) {
            const std::int64_t w[3] = {window / (small[3] * small[4]), window / small[4] % small[3],
                                       window % small[4]};
            const std::int64_t k[3] = {tap / (l.kernel[1] * l.kernel[2]),
                                       tap / l.kernel[2] % l.kernel[1], tap % l.kernel[2]};
            std::int64_t at[3];
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              at[d] = w[d] * l.stride[d] - l.padding[d] + k[d] * l.dilation[d];
              inside = inside && at[d] >= 0 && at[d] < large[static_cast<std::size_t>(d) + 2];
            }
            if (!inside) continue;
            const std::size_t in_large =
                place(large, {n, s / of_small * of_large + c, at[0], at[1], at[2]});
            const std::size_t in_small = place(small, {n, s, w[0], w[1], w[2]});
            const std::size_t in_weight = place(weight, {s, c, k[0], k[1], k[2]});
            l.transposed ? body(in_small, in_weight, in_large)
                         : body(in_large, in_weight, in_small);
          }
}

std::int64_t numel(IntList shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Numbers numbers(IntList shape, double phase) {
  Numbers values(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(phase + 1.7 * static_cast<double>(i));
  return values;
}

Tensor tensor_from(Numbers& values, IntList shape, Device where) {
  return to(clone(from_blob(values.data(), shape, f64)), where);
}

void expect_near(const Tensor& actual, const Numbers& expected, double room, const char* what) {
  const std::vector<double> values = to_vector<double>(to(cpu(actual), f64));
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], room) << what << " element " << i;
}

constexpr Layer layers[] = {
    {2, 3, 4, 1, {1, 1, 9}, {1, 1, 3}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {}, false},
    {2, 4, 6, 2, {1, 7, 8}, {1, 3, 2}, {1, 2, 3}, {0, 1, 2}, {1, 2, 1}, {}, false},
    {1, 3, 3, 3, {4, 5, 6}, {2, 3, 1}, {2, 1, 2}, {1, 0, 0}, {2, 2, 1}, {}, false},
    {1, 16, 32, 1, {1, 10, 10}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {}, false},
    {2, 16, 32, 1, {1, 9, 9}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}, {}, false},
    {1, 3, 16, 1, {1, 15, 15}, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}, {1, 1, 1}, {}, false},
    {2, 3, 4, 1, {1, 1, 5}, {1, 1, 3}, {1, 1, 2}, {0, 0, 1}, {1, 1, 1}, {0, 0, 1}, true},
    {2, 4, 6, 2, {1, 3, 4}, {1, 3, 2}, {1, 2, 1}, {0, 3, 1}, {1, 2, 3}, {0, 1, 2}, true},
    {1, 2, 2, 2, {2, 3, 2}, {2, 1, 3}, {3, 2, 1}, {1, 0, 0}, {1, 1, 2}, {2, 1, 1}, true},
};

Tensor convolve(const Layer& l, const Tensor& a, const Tensor& weight, const Tensor& bias) {
  return convolution(a, weight, bias, {l.stride, 3}, {l.padding, 3}, {l.dilation, 3}, l.transposed,
                     {l.output_padding, 3}, l.groups);
}

void expect_layer_right(const Layer& l, Dtype dtype, Device where, double room) {
  Numbers a = numbers(l.input(), 0.3), weight = numbers(l.weight(), 1.1);
  Numbers bias = numbers({l.to}, 2.2), gradient = numbers(l.result(), 0.9);
  Numbers result(gradient.size()), by_a(a.size()), by_weight(weight.size()), by_bias(bias.size());
  const std::size_t plane = result.size() / static_cast<std::size_t>(l.batch * l.to);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t channel = i / plane % static_cast<std::size_t>(l.to);
    result[i] = bias[channel];
    by_bias[channel] += gradient[i];
  }
  for_each_product(l, [&](std::size_t in, std::size_t w, std::size_t out) {
    result[out] += a[in] * weight[w];
    by_a[in] += gradient[out] * weight[w];
    by_weight[w] += gradient[out] * a[in];
  });
  const Tensor x = to(tensor_from(a, l.input(), where), dtype);
  const Tensor w = to(tensor_from(weight, l.weight(), where), dtype);
  const Tensor b = to(tensor_from(bias, {l.to}, where), dtype);
  for (const Tensor& leaf : {x, w, b}) set_requires_grad(leaf);
  const Tensor y = convolve(l, x, w, b);
  ASSERT_EQ(to_string(y.shape()), to_string(l.result()));
  expect_near(y, result, room, "result");
  const Tensor upstream = to(tensor_from(gradient, l.result(), where), dtype);
  const std::vector<Tensor> found = autograd::grad({y}, std::vector<Tensor>{x, w, b}, {upstream});
  expect_near(found[0], by_a, room, "by the input");
  expect_near(found[1], by_weight, room * 10, "by the weight");
  expect_near(found[2], by_bias, room * 10, "by the bias");
}

TEST(Convolution, matches_loops_on_the_cpu) {
  for (const Layer& layer : layers) {
    expect_layer_right(layer, f64, device("cpu"), 1e-11);
    expect_layer_right(layer, f32, device("cpu"), 2e-4);
  }
}

TEST(Convolution, matches_loops_on_the_reference_device) {
  for (const Layer& layer : layers) expect_layer_right(layer, f64, device("reference:0"), 1e-11);
}

TEST(Convolution, takes_pictures_with_channels_last) {
  const Layer& l = layers[1];
  Numbers a = numbers(l.input(), 0.3), weight = numbers(l.weight(), 1.1);
  Numbers result(static_cast<std::size_t>(numel(l.result())));
  for_each_product(
      l, [&](std::size_t in, std::size_t w, std::size_t out) { result[out] += a[in] * weight[w]; });
  const Tensor x = to(squeeze(tensor_from(a, l.input(), device("cpu")), 2), f32);
  const Tensor w = to(squeeze(tensor_from(weight, l.weight(), device("cpu")), 2), f32);
  for (const Tensor& input : {x, contiguous(x, MemoryFormat::channels_last)})
    for (const Tensor& kernels : {w, contiguous(w, MemoryFormat::channels_last)})
      expect_near(conv2d(input, kernels, {}, {2, 3}, {1, 2}, {2, 1}, 2), result, 1e-4, "result");
}

// As PyTorch's do, so that a network's pictures are laid out once.
TEST(Convolution, leaves_channels_last_where_they_were) {
  const Tensor a = contiguous(rand({2, 8, 9, 9}), MemoryFormat::channels_last);
  const Tensor b = conv2d(a, rand({16, 8, 3, 3}));
  EXPECT_EQ(b.strides(), (IntList{16 * 49, 1, 16 * 7, 16}));
  EXPECT_EQ(max_pool2d(b, {2}).strides()[1], 1);
  EXPECT_EQ(avg_pool2d(b, {2}).strides()[1], 1);
  EXPECT_EQ(conv2d(contiguous(a), rand({16, 8, 3, 3})).strides()[3], 1);
}

TEST(Convolution, of_one_element_lists_means_all_dimensions) {
  const Tensor a = rand({2, 3, 6, 7}), weight = rand({4, 3, 2, 2});
  EXPECT_EQ(to_vector<float>(conv2d(a, weight, {}, {2}, {1})),
            to_vector<float>(conv2d(a, weight, {}, {2, 2}, {1, 1})));
  EXPECT_EQ(conv_transpose2d(a, rand({3, 4, 2, 2}), {}, {2}, {0}, {1}).shape(),
            (IntList{2, 4, 13, 15}));
}

// What PyTorch prints for these calls.
TEST(Convolution, gives_pytorchs_numbers) {
  const Tensor a = reshape(arange(0, 12, 1, f32), {1, 3, 4});  // no batch: channels and length
  EXPECT_EQ(conv1d(a, ones({2, 3, 2})).shape(), (IntList{1, 2, 3}));
  EXPECT_EQ(to_vector<float>(conv1d(squeeze(a, 0), ones({1, 3, 2}), tensor({0.5f}), {2}, {1})),
            (std::vector<float>{12.5f, 33.5f, 21.5f}));
  const Tensor picture = reshape(arange(0, 4, 1, f32), {1, 1, 2, 2});
  EXPECT_EQ(to_vector<float>(conv_transpose2d(picture, ones({1, 1, 2, 2}), {}, {1})),
            (std::vector<float>{0, 1, 1, 2, 6, 4, 2, 5, 3}));
}

TEST(Convolution, of_no_batch_or_no_channels_is_empty_or_the_bias) {
  EXPECT_EQ(conv2d(zeros({0, 3, 5, 5}), ones({4, 3, 3, 3})).shape(), (IntList{0, 4, 3, 3}));
  const Tensor bias = tensor({1.0f, 2.0f});
  EXPECT_EQ(to_vector<float>(conv1d(zeros({1, 0, 3}), zeros({2, 0, 2}), bias)),
            (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(to_vector<float>(conv1d(zeros({1, 0, 3}), zeros({2, 0, 2}))),
            (std::vector<float>{0, 0, 0, 0}));
  const Tensor weight = set_requires_grad(ones({4, 3, 3, 3}));
  const Tensor none = set_requires_grad(zeros({0, 3, 5, 5}));
  const std::vector<Tensor> found =
      autograd::grad({sum(conv2d(none, weight))}, std::vector<Tensor>{none, weight});
  EXPECT_EQ(found[0].shape(), none.shape());
  EXPECT_EQ(item<float>(sum(found[1])), 0.0f);
}

TEST(Convolution, of_small_floats_is_that_of_wide_ones_rounded) {
  const Tensor a = rand({2, 8, 9, 9}), weight = rand({16, 4, 3, 3}), bias = rand({16});
  for (const auto& [dtype, room] : {std::pair{bf16, 0.04}, {f16, 0.005}}) {
    const Tensor x = to(a, dtype), w = to(weight, dtype), b = to(bias, dtype);
    const std::vector<float> exact =
        to_vector<float>(conv2d(to(x, f32), to(w, f32), to(b, f32), {2}, {1}, {1}, 2));
    const std::vector<float> found = to_vector<float>(to(conv2d(x, w, b, {2}, {1}, {1}, 2), f32));
    for (std::size_t i = 0; i < exact.size(); ++i)
      ASSERT_NEAR(found[i], exact[i], room * std::abs(exact[i])) << i;
  }
}

TEST(Convolution, spreads_a_nan_over_the_windows_that_have_it) {
  Numbers values{1, 2, std::nan(""), 4, 5, 6};
  const Tensor result =
      conv1d(to(tensor_from(values, {1, 1, 6}, device("cpu")), f32), ones({1, 1, 2}));
  const std::vector<float> found = to_vector<float>(result);
  EXPECT_EQ(found[0], 3.0f);
  EXPECT_TRUE(std::isnan(found[1]) && std::isnan(found[2]));
  EXPECT_EQ(found[3], 9.0f);
}

std::string sentence_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Convolution, says_what_does_not_fit) {
  const Tensor a = zeros({1, 4, 5, 5});
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({2, 3, 3, 3}));
            }).find("4 channels"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({3, 2, 3, 3}), {}, {1}, {0}, {1}, 2);
            }).find("3 kernels for 2 groups"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({2, 4, 6, 3}));
            }).find("reaches over 6 elements and the padded input has 5"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({2, 4, 3, 3}), zeros({3}));
            }).find("[3]"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({2, 4, 3, 3}), {}, {0});
            }).find("stride [0]"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({2, 4, 3, 3}), {}, {1, 1, 1});
            }).find("3 elements"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(zeros({5, 5}), zeros({2, 4, 3, 3}));
            }).find("rank 2"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv2d(a, zeros({2, 4, 3, 3}, f64));
            }).find("float64"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] {
              conv_transpose2d(a, zeros({4, 2, 3, 3}), {}, {2}, {0}, {2});
            }).find("output_padding is 2"),
            std::string::npos);
}

}  // namespace
}  // namespace bp
