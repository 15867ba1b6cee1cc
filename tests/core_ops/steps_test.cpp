// needs: cpu reference reference_primitives
// Steps of optimizers against their formulas in plain numbers, by kernels and by parts; what they refuse.
#include <cmath>

#include <backplane/capture/capture.hpp>

#include "autograd/tensors.hpp"

namespace bp::steps_test {
namespace {

using namespace bp::test;
using Tensors = std::vector<Tensor>;

struct Options {
  double lr = 0.05, beta1 = 0.9, beta2 = 0.99, weight_decay = 0, eps = 1e-6;
  bool amsgrad = false, maximize = false, is_decoupled = true;
  double grad_scale = 1;
};

// All tensors of a step, and what they should hold in double.
struct State {
  std::vector<Values> all, grads, means, squares, largest;
};

Tensor number(double value) {
  return full({}, value, f32);
}

Values wave(std::size_t count, double phase, double low = -1) {
  Values made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(low + 1 + std::sin(phase + 0.7 * static_cast<double>(i)));
  return made;
}

const std::vector<Dims> shapes = {{5, 7}, {}, {0, 3}, {40'003}, {16}, {1}};

State start() {
  State state;
  double phase = 0;
  for (const Dims& shape : shapes) {
    const auto count = static_cast<std::size_t>(checked_numel("start", shape));
    state.all.push_back(wave(count, phase += 0.3));
    state.grads.push_back(wave(count, phase += 0.3));
    state.means.push_back(wave(count, phase += 0.3));
    state.squares.push_back(wave(count, phase += 0.3, 0.5));
    state.largest.push_back(wave(count, phase += 0.3, 0.6));
  }
  return state;
}

Tensors tensors_of(const std::vector<Values>& all, Dtype dtype, Device device) {
  Tensors made;
  for (std::size_t i = 0; i < all.size(); ++i)
    made.push_back(to(reshape(tensor(all[i]), shapes[i]), device, dtype));
  return made;
}

void expect_near(const Tensors& found, const std::vector<Values>& expected, double room) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Values values = values_of(to(found[i], f64));
    ASSERT_EQ(values.size(), expected[i].size());
    for (std::size_t k = 0; k < values.size(); ++k)
      ASSERT_NEAR(values[k], expected[i][k], room) << "element " << k << " of tensor " << i;
  }
}

void adam_in_doubles(State& state, const Options& o, double step) {
  for (std::size_t i = 0; i < state.all.size(); ++i)
    for (std::size_t k = 0; k < state.all[i].size(); ++k) {
      double &p = state.all[i][k], &m = state.means[i][k], &v = state.squares[i][k];
      double g = state.grads[i][k] / o.grad_scale * (o.maximize ? -1 : 1);
      if (o.is_decoupled)
        p -= o.lr * o.weight_decay * p;
      else
        g += o.weight_decay * p;
      m = o.beta1 * m + (1 - o.beta1) * g;
      v = o.beta2 * v + (1 - o.beta2) * g * g;
      double largest = v;
      if (o.amsgrad) largest = state.largest[i][k] = std::max(state.largest[i][k], v);
      const double root = std::sqrt(largest) / std::sqrt(1 - std::pow(o.beta2, step));
      p -= o.lr / (1 - std::pow(o.beta1, step)) * m / (root + o.eps);
    }
}

void expect_adam(const Options& o, Dtype dtype, Device device, double room) {
  State state = start();
  const Tensors all = tensors_of(state.all, dtype, device);
  const Tensors grads = tensors_of(state.grads, dtype, device);
  const Tensors means = tensors_of(state.means, dtype, device);
  const Tensors squares = tensors_of(state.squares, dtype, device);
  const Tensors largest = o.amsgrad ? tensors_of(state.largest, dtype, device) : Tensors();
  const Tensors steps(all.size(), to(number(3.0), device));
  const Tensor scale = o.grad_scale == 1 ? Tensor() : to(number(o.grad_scale), device);
  const auto run = o.is_decoupled ? &_fused_adamw_ : &_fused_adam_;
  run(all, grads, means, squares, largest, steps, o.lr, o.beta1, o.beta2, o.weight_decay, o.eps,
      o.amsgrad, o.maximize, scale, {});
  adam_in_doubles(state, o, 3);
  expect_near(all, state.all, room);
  expect_near(means, state.means, room);
  expect_near(squares, state.squares, room);
  expect_near(largest, state.largest, room);
}

TEST(Steps, adam_follows_its_formula_on_every_way) {
  for (const char* name : {"cpu", "reference:0", "reference_primitives:0"})
    for (const bool is_decoupled : {true, false}) {
      const Device on = device(name);
      expect_adam({.is_decoupled = is_decoupled}, f64, on, 1e-12);
      expect_adam({.weight_decay = 0.1, .is_decoupled = is_decoupled}, f64, on, 1e-12);
      expect_adam({.weight_decay = 0.1,
                   .amsgrad = true,
                   .maximize = true,
                   .is_decoupled = is_decoupled,
                   .grad_scale = 4},
                  f32, on, 3e-6);
      expect_adam({.weight_decay = 0.1, .is_decoupled = is_decoupled}, f16, on, 4e-3);
    }
}

TEST(Steps, sgd_follows_its_formula) {
  for (const char* name : {"cpu", "reference:0"})
    for (const bool nesterov : {false, true})
      for (const bool is_first : {false, true}) {
        State state = start();
        const Device on = device(name);
        const Tensors all = tensors_of(state.all, f64, on),
                      grads = tensors_of(state.grads, f64, on);
        const Tensors buffers = tensors_of(state.means, f64, on);
        _fused_sgd_(all, grads, buffers, 0.1, 0.8, 0.05, 0.25, nesterov, true, is_first);
        for (std::size_t i = 0; i < state.all.size(); ++i)
          for (std::size_t k = 0; k < state.all[i].size(); ++k) {
            double &p = state.all[i][k], &b = state.means[i][k];
            const double g = 0.1 * p - state.grads[i][k];
            b = is_first ? g : 0.8 * b + 0.75 * g;
            p -= 0.05 * (nesterov ? g + 0.8 * b : b);
          }
        expect_near(all, state.all, 1e-12);
        expect_near(buffers, state.means, 1e-12);
      }
}

TEST(Steps, adagrad_follows_its_formula) {
  for (const char* name : {"cpu", "reference:0"}) {
    State state = start();
    const Device on = device(name);
    const Tensors all = tensors_of(state.all, f64, on), grads = tensors_of(state.grads, f64, on);
    const Tensors sums = tensors_of(state.squares, f64, on);
    const Tensors steps(all.size(), to(number(5.0), on));
    _fused_adagrad_(all, grads, sums, steps, 0.05, 0.5, 0.1, 1e-6, false);
    for (std::size_t i = 0; i < state.all.size(); ++i)
      for (std::size_t k = 0; k < state.all[i].size(); ++k) {
        double &p = state.all[i][k], &s = state.squares[i][k];
        const double g = state.grads[i][k] + 0.1 * p;
        s += g * g;
        p -= 0.05 / (1 + 4 * 0.5) * g / (std::sqrt(s) + 1e-6);
      }
    expect_near(all, state.all, 1e-12);
    expect_near(sums, state.squares, 1e-12);
  }
}

Tensor ones_of(IntList shape) {
  return ones(shape, f32);
}

void adamw(const Tensors& all, const Tensors& grads, const Tensors& means, const Tensors& squares,
           const Tensor& found_inf = {}) {
  const Tensors steps(all.size(), number(1.0));
  _fused_adamw_(all, grads, means, squares, {}, steps, 0.1, 0.9, 0.99, 0, 1e-8, false, false, {},
                found_inf);
}

TEST(Steps, nothing_is_written_where_an_infinity_was_found) {
  for (const bool is_strided : {false, true}) {
    const Tensor p = is_strided ? slice(ones_of({8}), 0, {}, {}, 2) : ones_of({4});
    const Tensor m = ones_of({4}), v = ones_of({4});
    adamw({p}, {ones_of({4})}, {m}, {v}, number(1.0));
    for (const Tensor& each : {p, m, v})
      EXPECT_THAT(values_of(to(each, f64)), ElementsAre(1, 1, 1, 1));
    adamw({p}, {ones_of({4})}, {m}, {v}, number(0.0));
    EXPECT_LT(values_of(to(p, f64))[0], 1);
  }
}

TEST(Steps, versions_rise_and_gradients_stay) {
  const Tensor p = ones_of({3}), g = ones_of({3}), m = ones_of({3}), v = ones_of({3});
  const std::uint32_t of_p = p.version(), of_g = g.version(), of_v = v.version();
  adamw({p}, {g}, {m}, {v});
  EXPECT_GT(p.version(), of_p);
  EXPECT_GT(v.version(), of_v);
  EXPECT_EQ(g.version(), of_g);
}

TEST(Steps, empty_lists_are_a_step_of_nothing) {
  adamw({}, {}, {}, {});
  _fused_sgd_(Tensors{}, Tensors{}, Tensors{}, 0, 0, 0.1, 0, false, false, false);
}

TEST(Steps, a_replay_steps_again) {
  const Tensor p = ones_of({3}), twin = ones_of({3}), g = ones_of({3});
  Recording graph = capture(
      host_device(), [&] { _fused_sgd_({p}, {g}, {}, 0, 0, 0.125, 0, false, false, false); });
  const std::uint32_t version = p.version();
  graph.replay();
  graph.replay();
  EXPECT_THAT(values_of(to(p, f64)), ElementsAre(0.75, 0.75, 0.75));
  EXPECT_GT(p.version(), version);
}

TEST(Steps, leaves_are_written_under_no_grad_alone) {
  const Tensor p = set_requires_grad(ones_of({3}));
  const Tensor m = ones_of({3}), v = ones_of({3});
  EXPECT_THAT(sentence_of([&] { adamw({p}, {ones_of({3})}, {m}, {v}); }),
              testing::StartsWith("_fused_adamw_: "));
  EXPECT_THAT(values_of(to(m, f64)), ElementsAre(1, 1, 1));
  const NoGrad constant;
  adamw({p}, {ones_of({3})}, {m}, {v});
  EXPECT_LT(values_of(to(p, f64))[0], 1);
}

TEST(Steps, lists_of_leaves_are_checked_as_others) {
  const Tensor p = set_requires_grad(ones_of({3}));
  EXPECT_EQ(sentence_of([&] { _fused_sgd_({p}, {}, {}, 0, 0, 0.1, 0, false, false, false); }),
            "_fused_sgd_: 'self' has 1 tensors and 'grads' has 0; pass one for each");
}

TEST(Steps, tensors_within_the_span_of_another_are_compared_with_it) {
  const Tensor base = zeros({4, 4}, f32), g = ones_of({1});
  const Tensor column = select(base, 1, 0), row = select(base, 0, 0);
  const Tensor beside = narrow(row, 0, 1, 1), within = narrow(select(base, 0, 1), 0, 0, 1);
  const Tensors grads{ones_of({4}), g, g};
  const auto step = [&](const Tensor& last) {
    _fused_sgd_({column, beside, last}, grads, {}, 0, 0, 0.125, 0, false, false, false);
  };
  EXPECT_EQ(sentence_of([&] { step(within); }),
            "_fused_sgd_: tensor 0 of 'self' and tensor 2 of 'self' share memory; each that is "
            "written needs its own");
  step(narrow(row, 0, 2, 1));
  EXPECT_EQ(values_of(to(base, f64))[4], -0.125);
}

TEST(Steps, meta_tensors_are_checked_alone) {
  const Tensor p = to_device(ones_of({3}), meta_device);
  const Tensor step = to_device(number(1.0), meta_device);
  _fused_adamw_({p}, {p}, {p}, {p}, {}, {step}, 0.1, 0.9, 0.99, 0, 1e-8, false, false);
}

TEST(Steps, lists_that_do_not_fit_are_refused) {
  const Tensor p = ones_of({3}), m = ones_of({3}), v = ones_of({3}), g = ones_of({3});
  const Tensor wide = ones({3}, f64), elsewhere = to_device(g, device("reference:0"));
  EXPECT_EQ(sentence_of([&] {
              adamw({p}, {g, g}, {m}, {v});
            }),
            "_fused_adamw_: 'self' has 1 tensors and 'grads' has 2; pass one for each");
  EXPECT_EQ(sentence_of([&] { adamw({p}, {wide}, {m}, {v}); }),
            "_fused_adamw_: tensor 0 of 'self' is float32 and that of 'grads' is float64; cast one "
            "of them");
  EXPECT_EQ(
      sentence_of([&] { adamw({p}, {ones_of({4})}, {m}, {v}); }),
      "_fused_adamw_: tensor 0 of 'self' has shape [3] and that of 'grads' has [4]; they must "
      "be alike");
  EXPECT_EQ(sentence_of([&] {
              adamw({p, wide}, {g, wide}, {m, m}, {v, v});
            }),
            "_fused_adamw_: tensor 0 of 'self' is float32 and tensor 1 is float64; make a call for "
            "each dtype");
  EXPECT_EQ(sentence_of([&] { adamw({p}, {elsewhere}, {m}, {v}); }),
            "_fused_adamw_: 'self' is on cpu:0 and 'grads' is on reference:0; move one with to()");
  EXPECT_EQ(sentence_of([&] {
              adamw({p, p}, {g, g}, {m, ones_of({3})}, {v, ones_of({3})});
            }),
            "_fused_adamw_: tensor 0 of 'self' and tensor 1 of 'self' share memory; each that is "
            "written needs its own");
  EXPECT_EQ(sentence_of([&] { adamw({expand(ones_of({1}), {3})}, {g}, {m}, {v}); }),
            "_fused_adamw_: several elements of tensor 0 of 'self' share one place in memory; pass "
            "a copy");
  EXPECT_EQ(sentence_of([&] { adamw({p}, {g}, {m}, {v}, g); }),
            "_fused_adamw_: a tensor of 'found_inf' is float32 of shape [3]; pass floating-point "
            "ones of one element");
  EXPECT_EQ(
      sentence_of([&] { _fused_sgd_({p}, {g}, {}, 0, 0.5, 0.1, 0, false, false, false); }),
      "_fused_sgd_: 'self' has 1 tensors and 'momentum_buffer_list' has 0; pass one for each");
}

}  // namespace
}  // namespace bp::steps_test
