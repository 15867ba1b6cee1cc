// needs: cpu cuda
// Convolutions and their gradients by cuDNN, against cpu in f64.
#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/runtime/settings.hpp>

#include "backends/cuda/cudnn.hpp"

namespace bp::test {
namespace {

struct Windows {
  std::vector<std::int64_t> a, weight;
  std::vector<std::int64_t> stride = {1}, padding = {0}, dilation = {1};
  std::int64_t groups = 1;
  std::vector<std::int64_t> output_padding = {0};
};

class Convolutions : public CudnnKernels {
 protected:
  static Tensor convolved(const Windows& w, const Tensor& a, const Tensor& weight,
                          const Tensor& bias = {}, bool transposed = false) {
    return convolution(a, weight, bias, w.stride, w.padding, w.dilation, transposed,
                       w.output_padding, w.groups);
  }

  Tensor there_in(const Tensor& tensor, MemoryFormat format) const {
    return contiguous(there(tensor), format);
  }

  // Both ways: the result, and the gradients by the weight and, where it has that shape, the input.
  void expect_convolution(const Windows& w, Dtype dtype, MemoryFormat format,
                          const std::string& rung = "native 1") {
    SCOPED_TRACE(std::string(bp::name(dtype)) + " " + to_string(IntList(w.a)) + " by " +
                 to_string(IntList(w.weight)) +
                 (format == MemoryFormat::channels_last ? ", channels last" : ""));
    const Tensor a = random(w.a, dtype), weight = random(w.weight, dtype),
                 bias = random({w.weight[0]}, dtype);
    const Tensor exact = convolved(w, cast(a, f64), cast(weight, f64), cast(bias, f64));
    const Tensor large = there_in(a, format), kernel = there_in(weight, format);
    const Served served("convolution", "cuda");
    const Tensor result = convolved(w, large, kernel, there(bias));
    expect_served(served, rung);
    EXPECT_LE(error_of(result, exact), allowed(dtype));
    if (has_card() && format == MemoryFormat::channels_last && w.weight[0] > 1) {
      EXPECT_EQ(result.strides()[1], 1);
    }

    const Tensor grad =
        random(std::vector<std::int64_t>(exact.shape().begin(), exact.shape().end()), dtype);
    const Tensor by_weight = convolution_backward_weight(there_in(grad, format), large, w.weight,
                                                         w.stride, w.padding, w.dilation, w.groups);
    EXPECT_LE(
        error_of(by_weight, convolution_backward_weight(cast(grad, f64), cast(a, f64), w.weight,
                                                        w.stride, w.padding, w.dilation, w.groups)),
        allowed(dtype));
    EXPECT_LE(error_of(convolved(w, there_in(grad, format), kernel, {}, true),
                       convolved(w, cast(grad, f64), cast(weight, f64), {}, true)),
              allowed(dtype));
  }
};

TEST_F(Convolutions, agree_with_cpu_in_one_two_and_three_dimensions) {
  for (Dtype dtype : {f32, f64, f16, bf16}) {
    const auto plain = MemoryFormat::contiguous;
    expect_convolution({{2, 8, 30}, {16, 8, 3}}, dtype, plain);
    expect_convolution({{2, 8, 12, 13}, {16, 8, 3, 5}}, dtype, plain);
    expect_convolution({{2, 8, 6, 7, 8}, {16, 8, 3, 2, 3}}, dtype, plain);
    expect_convolution({{2, 8, 12, 13}, {16, 8, 3, 5}}, dtype, MemoryFormat::channels_last);
  }
}

TEST_F(Convolutions, take_stride_padding_dilation_and_groups) {
  for (Dtype dtype : {f32, bf16})
    for (MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      expect_convolution({{2, 8, 15, 13}, {8, 8, 3, 3}, {2, 3}, {1, 2}}, dtype, format);
      expect_convolution({{2, 8, 16, 17}, {8, 8, 3, 3}, {1}, {2}, {2, 3}}, dtype, format);
      expect_convolution({{2, 8, 9, 9}, {16, 4, 3, 3}, {1}, {1}, {1}, 2}, dtype, format);
      expect_convolution({{2, 16, 9, 9}, {16, 1, 3, 3}, {1}, {1}, {1}, 16}, dtype, format);
      expect_convolution({{2, 8, 9, 9}, {8, 8, 1, 1}, {2}}, dtype, format);
    }
  for (Dtype dtype : {f32, bf16}) {
    expect_convolution({{2, 8, 31}, {8, 4, 5}, {2}, {3}, {2}, 2}, dtype, MemoryFormat::contiguous);
    expect_convolution({{1, 4, 9, 8, 7}, {6, 2, 3, 3, 3}, {2, 1, 2}, {1}, {1}, 2}, dtype,
                       MemoryFormat::contiguous);
  }
}

TEST_F(Convolutions, odd_numbers_of_channels) {
  for (Dtype dtype : {f32, f16, bf16})
    for (MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      expect_convolution({{3, 3, 17, 19}, {7, 3, 3, 3}, {1}, {1}}, dtype, format);
      expect_convolution({{1, 1, 8, 8}, {1, 1, 2, 2}}, dtype, format);
    }
}

TEST_F(Convolutions, transposed_with_output_padding_and_bias) {
  for (Dtype dtype : {f32, bf16})
    for (MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      const Windows w{{2, 8, 7, 6}, {8, 4, 3, 3}, {2, 3}, {1}, {1}, 2, {1, 2}};
      const Tensor a = random(w.a, dtype), weight = random(w.weight, dtype),
                   bias = random({8}, dtype);
      const Served served("convolution", "cuda");
      const Tensor result =
          convolved(w, there_in(a, format), there_in(weight, format), there(bias), true);
      expect_served(served, "native 1");
      EXPECT_LE(
          error_of(result, convolved(w, cast(a, f64), cast(weight, f64), cast(bias, f64), true)),
          allowed(dtype));
    }
}

// Sums that cancel show what was rounded before.
TEST_F(Convolutions, add_a_bias_before_anything_is_rounded) {
  for (Dtype dtype : {f16, bf16})
    for (const bool transposed : {false, true})
      for (MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
        const Windows w{{2, 8, 6, 7}, {8, 8, 3, 3}, {1}, {1}};
        const Tensor a = random(w.a, dtype), weight = random(w.weight, dtype);
        const Tensor first = narrow(
            reshape(convolved(w, cast(a, f64), cast(weight, f64), {}, transposed), {2, 8, 42}), 2,
            0, 1);
        const Tensor bias = cast(neg(reshape(narrow(first, 0, 0, 1), {8})), dtype);
        const Tensor exact =
            convolved(w, cast(a, f64), cast(weight, f64), cast(bias, f64), transposed);
        const Tensor result = to_device(
            convolved(w, there_in(a, format), there_in(weight, format), there(bias), transposed),
            host_device());
        const double unit = dtype == f16 ? 0x1p-10 : 0x1p-7;
        const Tensor error = abs(sub(cast(result, f64), exact));
        const Tensor room = add(mul(abs(exact), unit), 1e-5);
        const std::vector<double> over = values<double>(sub(error, room));
        EXPECT_LE(*std::max_element(over.begin(), over.end()), 0)
            << bp::name(dtype) << (transposed ? " transposed" : "");
      }
}

// The library counts windows by its own rule, which has no place for more room than a stride.
TEST_F(Convolutions, more_output_padding_than_a_stride_goes_another_way) {
  const Windows w{{1, 2, 5, 5}, {2, 2, 3, 3}, {1}, {0}, {3}, 1, {2}};
  const Tensor a = random(w.a), weight = random(w.weight);
  EXPECT_LE(error_of(convolved(w, there(a), there(weight), {}, true),
                     convolved(w, cast(a, f64), cast(weight, f64), {}, true)),
            allowed(f32));
}

TEST_F(Convolutions, mixed_orders_follow_the_first_tensor) {
  for (Dtype dtype : {f32, f64, bf16}) {
    const Windows w{{2, 40, 9, 11}, {33, 40, 3, 3}, {1}, {1}};
    const Tensor a = random(w.a, dtype), weight = random(w.weight, dtype);
    const Tensor exact = convolved(w, cast(a, f64), cast(weight, f64));
    const Tensor last = convolved(w, there_in(a, MemoryFormat::channels_last), there(weight));
    EXPECT_LE(error_of(last, exact), allowed(dtype));
    const Tensor first = convolved(w, there(a), there_in(weight, MemoryFormat::channels_last));
    EXPECT_LE(error_of(first, exact), allowed(dtype));
    if (!has_card()) continue;
    EXPECT_EQ(last.strides()[1], 1);
    EXPECT_EQ(first.strides()[3], 1);
  }
}

TEST_F(Convolutions, views_are_copied_first) {
  const Tensor a = random({2, 8, 20, 20}), weight = random({8, 8, 3, 3});
  const auto part = [](const Tensor& t) { return slice(t, 2, 1, 20, 2); };
  EXPECT_LE(error_of(convolution(part(there(a)), there(weight), {}, {1}, {0}, {1}, false, {0}, 1),
                     convolution(cast(part(a), f64), cast(weight, f64), {}, {1}, {0}, {1}, false,
                                 {0}, 1)),
            allowed(f32));
}

TEST_F(Convolutions, begin_at_any_address) {
  for (Dtype dtype : {f32, bf16}) {
    const Tensor all = random({4, 3, 5, 5}, dtype), weight = random({3, 3, 3, 3}, dtype);
    const auto rest = [](const Tensor& t) { return narrow(t, 0, 1, 3); };
    EXPECT_LE(
        error_of(
            convolution(rest(there(all)), there(weight), {}, {1}, {1}, {1}, false, {0}, 1),
            convolution(cast(rest(all), f64), cast(weight, f64), {}, {1}, {1}, {1}, false, {0}, 1)),
        allowed(dtype));
  }
}

TEST_F(Convolutions, empty_ones_are_zeros_or_the_bias) {
  EXPECT_EQ(convolution(there(zeros({0, 3, 5, 5})), there(zeros({4, 3, 3, 3})), {}, {1}, {0}, {1},
                        false, {0}, 1)
                .numel(),
            0);
  const Tensor bias = given(std::vector<float>{1, 2});
  EXPECT_EQ(values(convolution(there(zeros({1, 0, 2})), there(zeros({2, 0, 1})), there(bias), {1},
                               {0}, {1}, false, {0}, 1)),
            (std::vector<float>{1, 1, 2, 2}));
}

TEST_F(Convolutions, nan_stays_in_the_windows_that_have_it) {
  Tensor a = ones({1, 8, 32, 32});
  copy_into(narrow(narrow(narrow(a, 1, 3, 1), 2, 10, 1), 3, 20, 1), full({1, 1, 1, 1}, NAN));
  const Tensor weight = random({8, 8, 3, 3});
  const Tensor wanted = convolution(a, weight, {}, {1}, {1}, {1}, false, {0}, 1);
  const std::vector<float> expected = values(wanted),
                           got = values(here(convolution(there(a), there(weight), {}, {1}, {1}, {1},
                                                         false, {0}, 1)));
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(std::isnan(got[i]), std::isnan(expected[i])) << "element " << i;
}

TEST_F(Convolutions, f32_is_not_rounded_unless_that_is_allowed) {
  if (!has_card()) GTEST_SKIP() << "only a card has TF32";
  const Windows w{{4, 64, 28, 28}, {64, 64, 3, 3}, {1}, {1}};
  const Tensor a = random(w.a), weight = random(w.weight);
  const Tensor exact = convolved(w, cast(a, f64), cast(weight, f64));
  EXPECT_LE(error_of(convolved(w, there(a), there(weight)), exact), allowed(f32));
  set_allow_tf32(true);
  const double rounded = error_of(convolved(w, there(a), there(weight)), exact);
  set_allow_tf32(false);
  EXPECT_LE(rounded, 1e-2);
}

TEST_F(Convolutions, the_same_arguments_give_the_same_bits) {
  set_deterministic(true);
  const Windows w{{8, 64, 28, 28}, {64, 64, 3, 3}, {1}, {1}};
  const Tensor a = there(random(w.a, bf16)), grad = there(random({8, 64, 28, 28}, bf16));
  const auto by_weight = [&] {
    return here(
        convolution_backward_weight(grad, a, w.weight, w.stride, w.padding, w.dilation, w.groups));
  };
  const Tensor first = by_weight();
  for (int i = 0; i < 3; ++i) expect_same(by_weight(), first);
  set_deterministic(false);
}

TEST_F(Convolutions, are_replayed_with_new_pictures) {
  const Windows w{{2, 8, 9, 9}, {8, 8, 3, 3}, {1}, {1}};
  const Tensor a = random(w.a), weight = random(w.weight), other = random(w.a);
  const Tensor large = there(a), kernel = there(weight);
  Tensor result;
  Recording graph = capture(card_, [&] { result = convolved(w, large, kernel); });
  graph.replay();
  EXPECT_LE(error_of(result, convolved(w, cast(a, f64), cast(weight, f64))), allowed(f32));
  copy_into(large, there(other));
  graph.replay();
  EXPECT_LE(error_of(result, convolved(w, cast(other, f64), cast(weight, f64))), allowed(f32));
}

TEST_F(Convolutions, large_ones_agree_after_their_ways_were_measured) {
  for (Dtype dtype : {f32, bf16})
    for (MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      const Windows w{{4, 64, 28, 28}, {128, 64, 3, 3}, {2}, {1}};
      const Tensor a = random(w.a, dtype), weight = random(w.weight, dtype);
      const Tensor exact = convolved(w, cast(a, f64), cast(weight, f64));
      for (int i = 0; i < 2; ++i)
        EXPECT_LE(error_of(convolved(w, there_in(a, format), there_in(weight, format)), exact),
                  allowed(dtype));
    }
}

TEST_F(Convolutions, from_threads_at_once) {
  const Windows w{{2, 16, 14, 14}, {16, 16, 3, 3}, {1}, {1}};
  const Tensor a = there(random(w.a)), weight = there(random(w.weight));
  const Tensor expected = here(convolved(w, a, weight));
  synchronize(card_);
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& result : results)
    threads.emplace_back([&] {
      const StreamGuard guard{Stream(card_)};
      for (int i = 0; i < 20; ++i) result = here(convolved(w, a, weight));
    });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) expect_same(result, expected);
}

}  // namespace
}  // namespace bp::test
