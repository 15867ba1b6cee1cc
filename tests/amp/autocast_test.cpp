// needs: cpu
// Autocast itself: who is cast, nesting, threads, other layers.
#include <thread>

#include <backplane/amp/autocast.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/core_ops/cast_rules.hpp>
#include <backplane/functional/vmap.hpp>

#include "amp/networks.hpp"

namespace bp::test {
namespace {

using amp::Autocast;

TEST(Autocast, casts_by_the_rule_of_each_row) {
  const Tensor a = waves({4, 4}), low = cast(a, bf16), vector = waves({4});
  const Autocast scope("cpu");
  EXPECT_EQ(matmul(a, a).dtype(), bf16);            // lower
  EXPECT_EQ(exp(low).dtype(), f32);                 // f32
  EXPECT_EQ(addcmul(low, low, a).dtype(), f32);     // widest
  EXPECT_EQ(addcmul(low, low, low).dtype(), bf16);  // widest, of alike
  EXPECT_EQ(batch_norm(low, vector, vector, {}, {}, true, 0.1, 1e-5).dtype(), bf16);  // first
  EXPECT_EQ(softmin(low, 1).dtype(), f32);  // parts: softmax
  EXPECT_EQ(relu(a).dtype(), f32);          // none
  EXPECT_EQ(relu(low).dtype(), bf16);
}

TEST(Autocast, leaves_all_as_it_was_behind_it) {
  const Tensor a = waves({4, 4});
  { const Autocast scope("cpu"); }
  EXPECT_EQ(matmul(a, a).dtype(), f32);
  EXPECT_EQ(thread_state().included_layers & key_of(Layer::autocast), 0u);
  EXPECT_FALSE(amp::is_autocast_enabled(device("cpu")));
}

TEST(Autocast, leaves_double_integers_and_other_backends_alone) {
  const Tensor a = waves({3, 3}, 0.7, f64), count = cast(a * 9, i64);
  const Tensor b = waves({3, 3});
  {
    const Autocast scope("cpu");
    EXPECT_EQ(matmul(a, a).dtype(), f64);
    EXPECT_EQ(matmul(count, count).dtype(), i64);
    EXPECT_EQ(sum(count).dtype(), i64);
  }
  const Autocast scope(meta_device);
  EXPECT_EQ(matmul(b, b).dtype(), f32);
}

TEST(Autocast, takes_the_dtype_that_it_is_told) {
  const Tensor a = waves({3, 3});
  const Autocast scope("cpu", {.dtype = f16});
  EXPECT_EQ(matmul(a, a).dtype(), f16);
  EXPECT_EQ(matmul(cast(a, bf16), a).dtype(), f16);
  EXPECT_EQ(amp::get_autocast_dtype(device("cpu")), f16);
}

TEST(Autocast, takes_float32_for_the_widest_of_two_halves) {
  const Tensor a = waves({3});
  const Autocast scope("cpu");
  EXPECT_EQ(atan2(cast(a, f16), cast(a, bf16)).dtype(), f32);
}

TEST(Autocast, refuses_other_dtypes_and_unknown_devices) {
  EXPECT_THAT(sentence_of([] { Autocast("cpu", {.dtype = f64}); }),
              HasSubstr("Autocast: the dtype is float64"));
  EXPECT_THAT(sentence_of([] { Autocast("no_such_device"); }), HasSubstr("no_such_device"));
  EXPECT_FALSE(amp::is_autocast_enabled(device("cpu")));
}

TEST(Autocast, nests) {
  const Tensor a = waves({3, 3});
  const Autocast outer("cpu");
  {
    const Autocast off("cpu", {.enabled = false});
    EXPECT_EQ(matmul(a, a).dtype(), f32);
    EXPECT_FALSE(amp::is_autocast_enabled(device("cpu")));
    {
      const Autocast inner("cpu", {.dtype = f16, .cache_enabled = false});
      EXPECT_EQ(matmul(a, a).dtype(), f16);
      EXPECT_FALSE(amp::is_autocast_cache_enabled());
    }
    EXPECT_EQ(matmul(a, a).dtype(), f32);
  }
  EXPECT_EQ(matmul(a, a).dtype(), bf16);
  EXPECT_TRUE(amp::is_autocast_cache_enabled());
}

TEST(Autocast, ends_where_an_exception_leaves_it) {
  const Tensor a = waves({3, 3}), b = waves({4, 4});
  EXPECT_ANY_THROW({
    const Autocast scope("cpu");
    matmul(a, b);
  });
  EXPECT_EQ(matmul(a, a).dtype(), f32);
}

TEST(Autocast, casts_composite_rows_once_and_nothing_inside) {
  const Tensor x = waves({2, 3}), target = waves({2, 3}, 0.3);
  const Autocast scope("cpu");
  // pow and exp are inside of them.
  EXPECT_EQ(mse_loss(cast(x, bf16), target).dtype(), f32);
  EXPECT_EQ(linear(x, x).dtype(), bf16);
  EXPECT_EQ(glu(cast(waves({2, 4}), bf16), 1).dtype(), bf16);
  EXPECT_EQ(fft_fft(x).dtype(), complex64);
}

TEST(Autocast, reaches_no_operator_inside_of_a_backends_decomposition) {
  // The primitive rows' backend has no gelu, and takes it apart on the device.
  const Tensor x = waves({64}, 0.7, bf16);
  const Values expected = numbers_in(gelu(x));
  const Autocast scope("cpu");
  const Tensor found = gelu(x);
  EXPECT_EQ(found.dtype(), bf16);
  EXPECT_EQ(numbers_in(found), expected);
}

TEST(Autocast, gives_calls_into_a_given_tensor_their_arguments_as_they_are) {
  const Tensor a = waves({1, 3, 3});
  const Tensor out = zeros({1, 3, 3}), low = cast(a, bf16);
  const Values exact = numbers_in(bmm(a, a));
  const Autocast scope("cpu");
  bmm_out(out, a, a);
  EXPECT_EQ(numbers_in(out), exact);
  exp_(low);
  EXPECT_EQ(low.dtype(), bf16);
}

TEST(Autocast, writes_running_statistics_themselves) {
  const Tensor x = waves({8, 3}, 0.7, bf16), mean = zeros({3}), variance = ones({3});
  const Autocast scope("cpu");
  EXPECT_EQ(batch_norm(x, ones({3}), zeros({3}), mean, variance, true, 0.1, 1e-5).dtype(), bf16);
  EXPECT_NE(numbers_in(mean), Values(3, 0));
  EXPECT_EQ(mean.dtype(), f32);
}

TEST(Autocast, gives_gradients_in_the_dtype_of_the_parameter) {
  const Tensor w = weight({4, 4}), x = waves({2, 4}, 0.2);
  {
    const Autocast scope("cpu");
    backward(sum(relu(linear(x, w))));
  }
  EXPECT_EQ(grad(w).dtype(), f32);
  const Tensor plain = weight({4, 4});
  backward(sum(relu(linear(x, plain))));
  const Values ours = numbers_in(grad(w)), exact = numbers_in(grad(plain));
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(ours[i], exact[i], 0.02) << i;
}

TEST(Autocast, computes_derivatives_in_the_dtypes_of_forward_wherever_backward_runs) {
  const Tensor w = weight({4, 4}), x = waves({2, 4}, 0.2);
  const auto gradient = [&](bool inside) {
    set_grad(w, {});
    Tensor loss;
    {
      const Autocast scope("cpu");
      loss = sum(exp(matmul(x, w)));
      if (inside) backward(loss);
    }
    if (!inside) backward(loss);
    return numbers_in(grad(w));
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST(Autocast, is_of_its_thread_unless_its_state_is_carried) {
  const Tensor a = waves({3, 3});
  const Autocast scope("cpu");
  Dtype alone{}, carried{};
  std::thread([&, state = amp::AutocastState::current()] {
    alone = matmul(a, a).dtype();
    const amp::UseAutocast as_there(state);
    carried = matmul(a, a).dtype();
  }).join();
  EXPECT_EQ(alone, f32);
  EXPECT_EQ(carried, bf16);
}

TEST(Autocast, casts_a_batch_of_vmap) {
  const Tensor x = waves({5, 3}), w = waves({3, 3}), vector = waves({3});
  using Tensors = std::vector<Tensor>;
  const auto run = [&](const BatchedFunction& function) {
    const Autocast scope("cpu");
    return vmap(function, Tensors{x}, std::vector<std::optional<std::int64_t>>{0})[0];
  };
  const Tensor products = run([&](auto in) { return Tensors{mv(w, in[0])}; });
  EXPECT_EQ(products.dtype(), bf16);
  EXPECT_EQ(to_string(products.shape()), "[5, 3]");
  const Tensor normed =
      run([&](auto in) { return Tensors{layer_norm(cast(in[0], bf16), {3}, vector, vector)}; });
  EXPECT_EQ(normed.dtype(), f32);
  const Autocast scope("cpu");
  const Values whole = numbers_in(linear(x, w)), each = numbers_in(products);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(each[i], whole[i], 0.02);
}

TEST(Autocast, works_within_a_function_of_vmap) {
  const Tensor x = waves({5, 3}), w = weight({3, 3});
  using Tensors = std::vector<Tensor>;
  const auto function = [&](std::span<const Tensor> in) {
    const Autocast scope("cpu");
    return Tensors{linear(in[0], w)};
  };
  EXPECT_EQ(vmap(function, Tensors{x}, std::vector<std::optional<std::int64_t>>{0})[0].dtype(),
            bf16);
}

TEST(Autocast, works_without_derivatives) {
  const Tensor a = waves({3, 3}), w = weight({3, 3});
  const Autocast scope("cpu");
  {
    const InferenceMode inference;
    EXPECT_EQ(linear(a, w).dtype(), bf16);
  }
  const NoGrad no_grad;
  EXPECT_FALSE(requires_grad(linear(a, w)));
}

TEST(Autocast, is_captured_with_the_work) {
  const Tensor x = waves({2, 3}), w = weight({3, 3}), out = zeros({2, 3}, bf16);
  const NoGrad no_grad;
  const Autocast scope("cpu");
  static_cast<void>(linear(x, w));  // whose cast of w is kept, and must not be captured
  Recording recording = capture(device("cpu"), [&] { copy_(out, linear(x, w)); });
  mul_(w, 2);
  recording.replay();
  EXPECT_EQ(numbers_in(out), numbers_in(linear(x, w)));
}

TEST(Autocast, casts_what_draws_before_it_counts_the_numbers) {
  const Tensor x = waves({3, 2, 4}, 0.7, bf16), h = zeros({2, 2, 5});
  const std::vector<Tensor> params{waves({5, 4}), waves({5, 5}), waves({5, 5}), waves({5, 5})};
  const Autocast scope("cpu");
  EXPECT_EQ(rnn_tanh(x, h, params, false, 2, 0.5, true, false, false).output.dtype(), bf16);
}

TEST(Autocast, knows_a_rule_for_every_row) {
  EXPECT_EQ(cast_rule_of(*find_operator("matmul")), Cast::lower);
  EXPECT_EQ(cast_rule_of(*find_operator("softmin")), Cast::parts);
  EXPECT_EQ(cast_rule_of(*find_operator("relu")), Cast::none);
  EXPECT_STREQ(name(Cast::widest), "widest");
  EXPECT_GT(cast_rules().size(), 400u);
}

}  // namespace
}  // namespace bp::test
