// needs: cpu reference
// L-BFGS: valleys that it finds the bottom of, states, and what it refuses.
#include <cmath>

#include <backplane/optim/lbfgs.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

// Rosenbrock's valley, whose bottom is at (1, 1).
optim::Optimizer::Closure valley(optim::LBFGS& optimizer, const Tensor& x) {
  return [&optimizer, x] {
    optimizer.zero_grad();
    const Tensor a = select(x, 0, 0), b = select(x, 0, 1);
    const Tensor loss = square(1 - a) + 100 * square(b - square(a));
    backward(loss);
    return loss;
  };
}

TEST(Lbfgs, finds_the_bottom_of_a_curved_valley) {
  const Tensor x = leaf({-1.2, 1.0});
  optim::LBFGS optimizer({x}, {.line_search_fn = "strong_wolfe"});
  for (int i = 0; i < 10; ++i) optimizer.step(valley(optimizer, x));
  EXPECT_NEAR(values_of(x)[0], 1, 1e-4);
  EXPECT_NEAR(values_of(x)[1], 1, 1e-4);
}

TEST(Lbfgs, goes_on_from_a_state_with_the_same_bits) {
  const Tensor x = leaf({-1.2, 1.0});
  const optim::LBFGSOptions options{.max_iter = 3, .line_search_fn = "strong_wolfe"};
  optim::LBFGS first({x}, options);
  for (int i = 0; i < 3; ++i) first.step(valley(first, x));
  const Tensor y = set_requires_grad(clone(detach(x)));
  optim::LBFGS second({y});
  second.load_state_dict(first.state_dict());
  for (int i = 0; i < 3; ++i) {
    first.step(valley(first, x));
    second.step(valley(second, y));
    EXPECT_EQ(values_of(y), values_of(x));
  }
}

TEST(Lbfgs, goes_on_after_its_parameters_moved) {
  const Tensor x = leaf({-1.2, 1.0});
  optim::LBFGS optimizer({x}, {.line_search_fn = "strong_wolfe"});
  optimizer.step(valley(optimizer, x));
  optimizer.zero_grad();
  set_data(x, to(detach(x), device("reference:0")));
  for (int i = 0; i < 6; ++i) optimizer.step(valley(optimizer, x));
  EXPECT_NEAR(values_of(x)[1], 1, 1e-4);
}

TEST(Lbfgs, ends_where_the_loss_is_not_a_number) {
  for (const char* search : {"", "strong_wolfe"}) {
    const Tensor x = leaf({1.0});
    optim::LBFGS optimizer({x}, {.line_search_fn = search});
    optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor loss = sum(log(x - 2));
      backward(loss);
      return loss;
    });
  }
}

TEST(Lbfgs, says_what_it_needs) {
  const Tensor x = leaf({1.0});
  optim::LBFGS optimizer({x});
  optim::Optimizer& base = optimizer;
  EXPECT_THAT(sentence_of([&] { base.step(); }), HasSubstr("LBFGS: step() got no closure"));
  EXPECT_THAT(sentence_of([&] { optimizer.step(optim::Optimizer::Closure{}); }),
              HasSubstr("empty closure"));
  EXPECT_THAT(sentence_of([&] { optimizer.step([] { return Tensor(); }); }),
              HasSubstr("the closure returned nothing; return the loss"));
  EXPECT_THAT(sentence_of([&] { optimizer.add_param_group({leaf({1.0})}, {}); }),
              HasSubstr("pass them in one group"));
  optim::LBFGS mixed({x, set_requires_grad(tensor({1.0f}))});
  EXPECT_THAT(sentence_of([&] { mixed.step([] { return Tensor(); }); }),
              HasSubstr("move them to one device and dtype"));
}

TEST(Lbfgs, refuses_the_state_of_another_model) {
  const Tensor x = leaf({-1.2, 1.0}), y = leaf({1.0});
  optim::LBFGS first({x}), second({y});
  first.step(valley(first, x));
  EXPECT_THAT(sentence_of([&] { second.load_state_dict(first.state_dict()); }),
              HasSubstr("the state has vectors of shape [2] and the parameters have 1 numbers"));
}

TEST(Lbfgs, refuses_gradients_and_vectors_of_other_shapes_and_complex_losses) {
  const Tensor x = set_requires_grad(zeros({2, 2}, f64));
  optim::LBFGS optimizer({x}, {.max_iter = 2});
  const auto step_with = [&](const Tensor& gradient) {
    return sentence_of([&] {
      optimizer.step([&] {
        set_grad(x, ones({2, 2}, f64));
        set_data(grad(x), gradient);
        return sum(detach(x));
      });
    });
  };
  EXPECT_THAT(step_with(ones({4, 1}, f64)),
              HasSubstr("LBFGS: parameter 0 is float64 of shape [2, 2] on cpu:0, and its gradient "
                        "float64 of shape [4, 1]"));
  EXPECT_THAT(step_with(ones({2, 2}, f32)), HasSubstr("its gradient float32"));
  EXPECT_THAT(sentence_of([&] { optimizer.step([] { return ones({}, complex128); }); }),
              HasSubstr("LBFGS: the closure returned complex128 of shape []"));
  EXPECT_EQ(values_of(x), (Values{0, 0, 0, 0}));
  EXPECT_EQ(step_with(ones({2, 2}, f64)), "no error");
  optimizer.zero_grad();
  set_data(x, ones({1}, f64));
  EXPECT_THAT(sentence_of([&] {
                optimizer.step([&] {
                  set_grad(x, ones({1}, f64));
                  return sum(detach(x));
                });
              }),
              HasSubstr("LBFGS: its parameters have 1 numbers, and had 4 at the last step"));
}

}  // namespace
}  // namespace bp::test
