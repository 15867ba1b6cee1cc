// needs: cpu
// Custom functions and checkpoints under Autocast.
#include <backplane/amp/functions.hpp>

#include "amp/networks.hpp"

namespace bp::test {
namespace {

using amp::Autocast;

// x @ w, which notes the dtypes that its own products come in.
struct Product {
  Dtype forward_dtype{}, backward_dtype{}, input_dtype{};

  autograd::Function function() {
    return {"product",
            [this](autograd::FunctionContext& context, std::span<const Tensor> in) {
              context.save({in[0], in[1]});
              input_dtype = in[0].dtype();
              const Tensor result = matmul(in[0], in[1]);
              forward_dtype = result.dtype();
              return std::vector{result};
            },
            [this](autograd::FunctionContext& context, std::span<const Tensor> gradients) {
              const std::vector<Tensor> saved = context.saved();
              const Tensor square = matmul(saved[1], saved[1]);
              backward_dtype = square.dtype();
              const Tensor gradient = cast(gradients[0], saved[0].dtype());
              const amp::UseAutocast off{amp::AutocastState()};
              return std::vector{matmul(gradient, transpose(saved[1], 0, 1)),
                                 matmul(transpose(saved[0], 0, 1), gradient)};
            }};
  }
};

TEST(CustomFunction, goes_back_under_the_autocast_of_forward) {
  Product product;
  const Tensor x = weight({3, 3}), w = weight({3, 3}, 0.3);
  Tensor result;
  {
    const Autocast scope("cpu");
    result = amp::apply(product.function(), {x, w})[0];
  }
  backward(sum(result));
  EXPECT_EQ(product.forward_dtype, bf16);
  EXPECT_EQ(product.backward_dtype, bf16);
  EXPECT_EQ(grad(w).dtype(), f32);
}

TEST(CustomFunction, casts_nothing_on_the_way_back_if_it_was_applied_as_usual) {
  Product product;
  const Tensor x = weight({3, 3}), w = weight({3, 3}, 0.3);
  const Autocast scope("cpu");
  backward(sum(autograd::apply(product.function(), {x, w})[0]));
  EXPECT_EQ(product.forward_dtype, bf16);
  EXPECT_EQ(product.backward_dtype, f32);
}

TEST(CustomFunction, gets_its_inputs_in_the_dtype_that_it_asks_for) {
  Product product;
  const Tensor x = weight({3, 3}, 0.7, bf16), w = weight({3, 3}, 0.3);
  {
    const Autocast scope("cpu");
    const Tensor result = amp::apply(product.function(), {x, w}, {.cast_inputs = f32})[0];
    EXPECT_EQ(result.dtype(), f32);
    backward(sum(result));
  }
  EXPECT_EQ(product.input_dtype, f32);
  EXPECT_EQ(product.forward_dtype, f32);
  EXPECT_EQ(product.backward_dtype, f32);
  EXPECT_EQ(grad(x).dtype(), bf16);
}

TEST(CustomFunction, is_called_as_usual_outside) {
  Product product;
  const Tensor x = weight({3, 3}), w = weight({3, 3}, 0.3);
  backward(sum(amp::apply(product.function(), {x, w}, {.cast_inputs = f16})[0]));
  EXPECT_EQ(product.input_dtype, f32);
  EXPECT_EQ(product.backward_dtype, f32);
  EXPECT_THAT(sentence_of([&] { amp::apply(autograd::Function(), {x}); }),
              HasSubstr("lacks forward"));
  const Autocast scope("cpu");
  EXPECT_THAT(sentence_of([&] {
                amp::apply(product.function(), {x, w}, {.cast_inputs = i32});
              }),
              HasSubstr("cast_inputs is int32"));
}

TEST(Checkpoint, computes_again_as_at_first) {
  const Tensor w = weight({4, 4}), x = weight({2, 4}, 0.3);
  const auto region = [&](std::span<const Tensor> in) {
    return std::vector{exp(linear(relu(linear(in[0], w)), w))};
  };
  const auto gradients = [&](bool kept) {
    set_grad(w, {});
    set_grad(x, {});
    Tensor result;
    {
      const Autocast scope("cpu");
      const std::vector<Tensor> inputs{x};
      result = kept ? region(inputs)[0] : autograd::checkpoint(amp::carried(region), {x})[0];
    }
    backward(sum(result));
    Values all = numbers_in(grad(w));
    for (double each : numbers_in(grad(x))) all.push_back(each);
    return all;
  };
  EXPECT_EQ(gradients(true), gradients(false));
  EXPECT_THAT(sentence_of([] { amp::carried({}); }), HasSubstr("the function is empty"));
}

}  // namespace
}  // namespace bp::test
