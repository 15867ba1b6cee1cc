// needs: cpu
// Normalizations against plain loops in float64, their gradients against compositions, and PyTorch's numbers.
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

using Numbers = std::vector<double>;

Numbers numbers_of(const Tensor& a) {
  return to_vector<double>(to(a, f64));
}

void expect_numbers(const Tensor& actual, const Numbers& expected, double room) {
  const Numbers values = numbers_of(actual);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], room * std::max(1.0, std::abs(expected[i])))
        << "element " << i << " of " << to_string(actual.shape()) << " " << name(actual.dtype());
}

double room_for(Dtype dtype) {
  return dtype == f64 ? 1e-13 : dtype == f32 ? 2e-6 : dtype == f16 ? 2e-3 : 1.6e-2;
}

// (a - mean) / sqrt(variance + eps) * weight + bias of each row of `count`; rms: without the mean.
Numbers norm_by_loops(const Numbers& a, std::size_t count, const Numbers& weight,
                      const Numbers& bias, double eps, bool has_mean) {
  Numbers result;
  for (std::size_t row = 0; row < a.size(); row += count) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < count; ++i) mean += a[row + i] / static_cast<double>(count);
    if (!has_mean) mean = 0;
    for (std::size_t i = 0; i < count; ++i)
      variance += (a[row + i] - mean) * (a[row + i] - mean) / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i)
      result.push_back((a[row + i] - mean) / std::sqrt(variance + eps) *
                           (weight.empty() ? 1 : weight[i]) +
                       (bias.empty() ? 0 : bias[i]));
  }
  return result;
}

TEST(Norm, of_rows_of_many_lengths_is_what_loops_say) {
  manual_seed(5);
  for (const std::int64_t count : {1, 2, 15, 17, 64, 1000, 5000}) {
    for (Dtype dtype : {f32, f64, f16, bf16}) {
      const Tensor a = to(randn({3, count}) * 2 + 0.5, dtype);
      const Tensor weight = to(randn({count}), dtype), bias = to(randn({count}), dtype);
      const auto size = static_cast<std::size_t>(count);
      expect_numbers(
          layer_norm(a, {count}, weight, bias, 1e-3),
          norm_by_loops(numbers_of(a), size, numbers_of(weight), numbers_of(bias), 1e-3, true),
          room_for(dtype) * 4);
      expect_numbers(layer_norm(a, {count}), norm_by_loops(numbers_of(a), size, {}, {}, 1e-5, true),
                     room_for(dtype) * 4);
      expect_numbers(rms_norm(a, {count}, weight, 1e-3),
                     norm_by_loops(numbers_of(a), size, numbers_of(weight), {}, 1e-3, false),
                     room_for(dtype) * 4);
    }
  }
}

// Values far from 0 would lose their variance in a sum of squares.
TEST(Norm, keeps_the_variance_of_values_far_from_zero) {
  const Tensor a = randn({4, 1024}) + 1e4;
  expect_numbers(layer_norm(a, {1024}), norm_by_loops(numbers_of(a), 1024, {}, {}, 1e-5, true),
                 2e-3);
}

TEST(Norm, of_several_dimensions_and_any_strides) {
  manual_seed(6);
  const Tensor a = transpose(randn({4, 5, 6, 3}), 1, 3);
  const Tensor weight = transpose(randn({5, 6}), 0, 1), bias = randn({6, 5});
  expect_numbers(layer_norm(a, {6, 5}, weight, bias),
                 norm_by_loops(numbers_of(a), 30, numbers_of(weight), numbers_of(bias), 1e-5, true),
                 1e-5);
}

// The gradients of a sum with changing weights.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& inputs,
                                 const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  for (const Tensor& a : inputs) set_grad(set_requires_grad(a), {});
  const Tensor result = f(inputs);
  const Tensor factors = cos(reshape(arange(0, result.numel()), result.shape()));
  backward(sum(result * to(factors, result.dtype())));
  std::vector<Tensor> found;
  for (const Tensor& a : inputs) found.push_back(grad(a));
  return found;
}

void expect_gradients(const std::vector<Tensor>& inputs,
                      const std::function<Tensor(const std::vector<Tensor>&)>& f,
                      const std::function<Tensor(const std::vector<Tensor>&)>& by_parts,
                      double room) {
  std::vector<Tensor> wide;
  for (const Tensor& a : inputs) wide.push_back(detach(to(a, f64)));
  const std::vector<Tensor> expected = gradients_of(wide, by_parts);
  const std::vector<Tensor> actual = gradients_of(inputs, f);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expect_numbers(actual[i], numbers_of(expected[i]), room);
}

Tensor by_means(const Tensor& a, const DimList& dims, double eps, bool has_mean) {
  const Tensor centered = has_mean ? a - mean(a, dims, true) : a;
  return centered / sqrt(mean(centered * centered, dims, true) + eps);
}

TEST(Norm, gradients_are_those_of_its_parts) {
  manual_seed(7);
  for (const std::int64_t count : {1, 7, 32, 1500}) {
    for (Dtype dtype : {f32, f64, bf16}) {
      const double room = dtype == bf16 ? 0.1 : dtype == f32 ? 3e-5 : 1e-12;
      const std::vector<Tensor> inputs = {to(randn({5, count}), dtype), to(randn({count}), dtype),
                                          to(randn({count}), dtype)};
      expect_gradients(
          inputs, [&](const auto& in) { return layer_norm(in[0], {count}, in[1], in[2], 1e-2); },
          [&](const auto& in) { return by_means(in[0], 1, 1e-2, true) * in[1] + in[2]; }, room);
      expect_gradients(
          {inputs[0], inputs[1]},
          [&](const auto& in) { return rms_norm(in[0], {count}, in[1], 1e-2); },
          [&](const auto& in) { return by_means(in[0], 1, 1e-2, false) * in[1]; }, room);
    }
  }
}

TEST(Norm, of_groups_and_images_is_layer_norm_of_their_rows) {
  manual_seed(8);
  const Tensor a = randn({3, 6, 4, 5}), weight = randn({6}), bias = randn({6});
  const auto parts = [&](std::int64_t groups) {
    return [=](const std::vector<Tensor>& in) {
      const Tensor flat = by_means(reshape(in[0], {3, groups, -1}), 2, 1e-5, true);
      return reshape(flat, {3, 6, 4, 5}) * reshape(in[1], {6, 1, 1}) + reshape(in[2], {6, 1, 1});
    };
  };
  const std::vector<Tensor> inputs = {a, weight, bias};
  expect_numbers(group_norm(a, 2, weight, bias), numbers_of(parts(2)(inputs)), 1e-5);
  expect_numbers(instance_norm(a, weight, bias), numbers_of(parts(6)(inputs)), 1e-5);
  expect_gradients(
      inputs, [](const auto& in) { return group_norm(in[0], 3, in[1], in[2]); }, parts(3), 3e-5);
}

TEST(Norm, of_a_batch_has_the_gradients_of_its_parts_in_every_layout) {
  manual_seed(9);
  const auto parts = [](const std::vector<Tensor>& in) {
    const Tensor flat = by_means(in[0], {0, 2, 3}, 1e-3, true);
    return flat * reshape(in[1], {6, 1, 1}) + reshape(in[2], {6, 1, 1});
  };
  const auto whole = [](const auto& in) {
    return batch_norm(in[0], in[1], in[2], {}, {}, true, 0.1, 1e-3);
  };
  const Tensor weight = randn({6}), bias = randn({6});
  const Tensor images = randn({4, 6, 5, 7});
  expect_numbers(whole(std::vector{images, weight, bias}),
                 numbers_of(parts({images, weight, bias})), 1e-5);
  expect_gradients({images, weight, bias}, whole, parts, 3e-5);
  const auto from_channels_last = [](const auto& f) {
    return [f](const std::vector<Tensor>& in) {
      return f(std::vector{permute(in[0], {0, 3, 1, 2}), in[1], in[2]});
    };
  };
  expect_gradients({randn({4, 5, 7, 6}), weight, bias}, from_channels_last(whole),
                   from_channels_last(parts), 3e-5);
}

TEST(Norm, of_a_batch_takes_values_far_from_zero_and_large_pictures) {
  manual_seed(10);
  const Tensor far = randn({3, 2, 20, 30}) + 1e3;
  const Tensor expected = by_means(to(far, f64), {0, 2, 3}, 1e-5, true);
  expect_numbers(batch_norm(far, {}, {}, {}, {}, true, 0.1, 1e-5), numbers_of(expected), 2e-3);
  const auto whole = [](const auto& in) {
    return batch_norm(in[0], in[1], {}, {}, {}, true, 0.1, 1e-3);
  };
  const auto parts = [](const auto& in) {
    return by_means(in[0], {0, 2, 3}, 1e-3, true) * reshape(in[1], {3, 1, 1});
  };
  expect_gradients({randn({2, 3, 37, 41}), randn({3})}, whole, parts, 3e-4);
  expect_gradients({randn({2, 3, 37, 41}, f64), randn({3}, f64)}, whole, parts, 1e-11);
}

// PyTorch 2.15: x = arange(12).reshape(3, 2, 2) ** 1.5 / 7, running mean [0.5, -1], running variance [2, 3].
TEST(Norm, of_a_batch_moves_the_running_statistics_as_pytorch_does) {
  const Tensor x = pow(reshape(arange(0, 12, 1, f64), {3, 2, 2}), 1.5) / 7;
  const Tensor running_mean = tensor({0.5, -1.0}, {.dtype = f64});
  const Tensor running_var = tensor({2.0, 3.0}, {.dtype = f64});
  const Tensor weight = tensor({1.5, 0.5}, {.dtype = f64}),
               bias = tensor({0.1, 0.2}, {.dtype = f64});
  set_requires_grad(x);
  expect_numbers(batch_norm(x, weight, bias, running_mean, running_var, true, 0.2, 1e-3),
                 {-1.61805282778647, -1.47038561390318, -0.41749989169549, -0.322536495708232,
                  -0.43671511672019, 0.032916813668658, 0.0585156926995275, 0.211859292104373,
                  1.72327479767897, 2.36896194706221, 0.737367699544658, 0.932293703055163},
                 1e-12);
  expect_numbers(running_mean, {0.732417889930802, -0.279297969156204}, 1e-12);
  expect_numbers(running_var, {2.10515334402984, 3.16097147249169}, 1e-12);
  EXPECT_FALSE(requires_grad(running_mean));
  expect_numbers(batch_norm(x, weight, bias, running_mean, running_var, false, 0.2, 1e-3),
                 {-0.657016261765389, -0.509361238944447, 0.392149801840507, 0.487259390857215,
                  0.524223920802143, 0.993817079469151, 0.868898196594973, 1.02247786343518,
                  2.68403551144876, 3.32966935440003, 1.54879527381061, 1.74402135950199},
                 1e-12);
  expect_numbers(instance_norm(x, weight, bias, running_mean, running_var),
                 {-1.39853215737657, 1.59853215737657, -0.299912618480661, 0.699912618480661,
                  -1.39985468610296, 1.59985468610296, -0.299966482551714, 0.699966482551715,
                  -1.39992312098307, 1.59992312098307, -0.299979256628705, 0.699979256628707},
                 1e-12);
  expect_numbers(running_var, {1.9049216980315, 2.85978739954389}, 1e-12);
}

TEST(Norm, without_eps_of_rms_takes_the_smallest_step_of_its_statistics) {
  const Tensor a = full({1, 4}, 1e-3);
  const double expected = 1e-3 / std::sqrt(1e-6 + 0x1p-23);
  EXPECT_NEAR(to_vector<double>(to(rms_norm(a, {4}), f64))[0], expected, 1e-6);
  EXPECT_NEAR(to_vector<double>(to(rms_norm(to(a, bf16), {4}), f64))[0], expected, 4e-3);
}

TEST(Norm, of_nothing_is_nothing_and_of_no_rows_has_no_gradient) {
  EXPECT_EQ(layer_norm(zeros({0, 3}), {3}).numel(), 0);
  EXPECT_EQ(layer_norm(zeros({2, 0}), {0}).numel(), 0);
  EXPECT_EQ(batch_norm(zeros({0, 3}), {}, {}, {}, {}, true, 0.1, 1e-5).numel(), 0);
  const Tensor weight = set_requires_grad(ones({3}));
  backward(sum(layer_norm(zeros({0, 3}), {3}, weight)));
  EXPECT_EQ(to_vector<float>(grad(weight)), (std::vector<float>{0, 0, 0}));
}

TEST(Norm, says_what_does_not_fit) {
  const Tensor a = zeros({2, 6});
  EXPECT_THROW(layer_norm(a, {5}), Error);
  EXPECT_THROW(layer_norm(a, {}), Error);
  EXPECT_THROW(layer_norm(a, {6}, zeros({5})), Error);
  EXPECT_THROW(layer_norm(a, {6}, zeros({6}, f64)), Error);
  EXPECT_THROW(group_norm(a, 4), Error);
  EXPECT_THROW(batch_norm(zeros({1, 6}), {}, {}, {}, {}, true, 0.1, 1e-5), Error);
  EXPECT_THROW(batch_norm(a, {}, {}, {}, {}, false, 0.1, 1e-5), Error);
  EXPECT_THROW(batch_norm(a, zeros({5}), {}, {}, {}, true, 0.1, 1e-5), Error);
  EXPECT_THROW(instance_norm(zeros({2, 6, 1})), Error);
}

}  // namespace
}  // namespace bp
