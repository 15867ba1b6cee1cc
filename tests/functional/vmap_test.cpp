// needs: cpu
// vmap itself: dimensions, nesting, writing, what is refused.
#include <backplane/functional/vmap.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<Tensor>;
using InDims = std::vector<std::optional<std::int64_t>>;

Tensor numbered(IntList shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return reshape(arange(0, count, 1, f64), shape);
}

TEST(vmap, takes_the_batch_from_any_dimension) {
  const Tensor a = numbered({2, 3, 4}), b = numbered({3});
  const Tensors sums = vmap([](std::span<const Tensor> x) { return Tensors{sum(x[0], 0) * x[1]}; },
                            Tensors{a, b}, InDims{1, 0});
  EXPECT_EQ(values_of(sums[0]), values_of(sum(a, 0) * unsqueeze(b, 1)));
}

TEST(vmap, shows_one_element_inside) {
  vmap(
      [](std::span<const Tensor> x) {
        EXPECT_EQ(to_string(x[0].shape()), "[3]");
        EXPECT_EQ(to_string(outer(x[0], x[0]).shape()), "[3, 3]");
        return Tensors{x[0]};
      },
      Tensors{numbered({2, 3})}, InDims{0});
}

TEST(vmap, repeats_results_that_do_not_depend_on_the_batch) {
  const Tensors results = vmap([](std::span<const Tensor> x) { return Tensors{ones_like(x[0])}; },
                               Tensors{numbered({2, 3})}, InDims{0});
  EXPECT_EQ(values_of(results[0]), Values(6, 1));
}

TEST(vmap, nests) {
  const Tensor a = numbered({2, 3}), b = numbered({4, 3});
  const Tensors products = vmap(
      [&](std::span<const Tensor> x) {
        return vmap([&](std::span<const Tensor> y) { return Tensors{matmul(x[0], y[0])}; },
                    Tensors{b}, InDims{0});
      },
      Tensors{a}, InDims{0});
  EXPECT_EQ(values_of(products[0]), values_of(matmul(a, transpose(b, 0, 1))));
}

TEST(vmap, is_recorded_for_derivatives) {
  const Tensor a = leaf({1, 2, 3});
  const Tensors squares =
      vmap([](std::span<const Tensor> x) { return Tensors{x[0] * x[0]}; }, Tensors{a}, InDims{0});
  backward(sum(squares[0]));
  EXPECT_EQ(values_of(grad(a)), (Values{2, 4, 6}));
}

TEST(vmap, writes_to_tensors_of_the_batch) {
  const Tensor a = numbered({2, 3});
  vmap([](std::span<const Tensor> x) { return Tensors{add_(x[0], 1)}; }, Tensors{a}, InDims{0});
  EXPECT_EQ(values_of(a), (Values{1, 2, 3, 4, 5, 6}));
}

TEST(vmap, lets_tensors_that_were_made_inside_join_the_batch) {
  const Tensor a = numbered({2, 3});
  const auto write = [](std::span<const Tensor> x) {
    const Tensor made = zeros({2, 3}, f64), row = select(made, 0, 1), older = select(made, 0, 0);
    copy_(row, x[0]);
    return Tensors{made, older};
  };
  const Tensors results = vmap(write, Tensors{a}, InDims{0});
  EXPECT_EQ(values_of(results[0]), (Values{0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 4, 5}));
  EXPECT_EQ(values_of(results[1]), Values(6, 0));
}

TEST(vmap, lets_tensors_join_the_run_that_made_them_alone) {
  const Tensor a = numbered({2, 3}), b = numbered({4, 3});
  const auto inside = [](std::span<const Tensor> y) {
    const Tensor made = zeros_like(y[0]), empty = zeros({3}, f64);
    copy_(made, y[0]);
    return Tensors{made, copy_(empty, y[0])};
  };
  const auto nested = [&](std::span<const Tensor> x) {
    const Tensors results = vmap(inside, Tensors{b}, InDims{0});
    return Tensors{results[0] + x[0], results[1] + x[0]};
  };
  const Tensors sums = vmap(nested, Tensors{a}, InDims{0});
  for (const Tensor& each : sums)
    EXPECT_EQ(values_of(each), values_of(unsqueeze(b, 0) + unsqueeze(a, 1)));

  const auto write_outside = [&](std::span<const Tensor> x) {
    const Tensor of_outer = zeros_like(x[0]);
    return vmap([&](std::span<const Tensor> y) { return Tensors{copy_(of_outer, y[0])}; },
                Tensors{b}, InDims{0});
  };
  EXPECT_THAT(sentence_of([&] { vmap(write_outside, Tensors{a}, InDims{0}); }),
              HasSubstr("written to a tensor that all of them share"));

  Tensor leaked;
  vmap(
      [&](std::span<const Tensor> x) {
        leaked = zeros({3}, f64);
        return Tensors{x[0]};
      },
      Tensors{a}, InDims{0});
  const auto write_leaked = [&](std::span<const Tensor> x) { return Tensors{add_(leaked, x[0])}; };
  EXPECT_THAT(sentence_of([&] { vmap(write_leaked, Tensors{a}, InDims{0}); }),
              HasSubstr("written to a tensor that all of them share"));
}

TEST(vmap, writes_what_a_call_without_a_batch_would) {
  const Tensor integers = cast(numbered({2, 3}), i64);
  const auto add_half = [](std::span<const Tensor> x) { return Tensors{add_(x[0], 0.5)}; };
  EXPECT_THAT(sentence_of([&] { vmap(add_half, Tensors{integers}, InDims{0}); }),
              HasSubstr("cannot be written to"));
  EXPECT_EQ(values_of(cast(integers, f64)), (Values{0, 1, 2, 3, 4, 5}));
  const auto grow = [](std::span<const Tensor> x) { return Tensors{add_(x[0], x[1])}; };
  EXPECT_THAT(sentence_of([&] {
                vmap(grow, Tensors{numbered({2, 3}), numbered({2, 4, 3})}, InDims{0, 0});
              }),
              HasSubstr("shape [3]"));
}

TEST(vmap, gives_results_that_can_be_written_to) {
  const auto write = [](std::span<const Tensor> x) {
    const Tensor made = ones_like(x[0]), flags = zeros_like(x[0]);
    return Tensors{add_(made, x[0]), mul_(add_(flags, 2), x[0])};
  };
  const Tensors results = vmap(write, Tensors{numbered({2, 3})}, InDims{0});
  EXPECT_EQ(values_of(results[0]), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(results[1]), (Values{0, 2, 4, 6, 8, 10}));
}

TEST(vmap, keeps_the_rank_of_a_reduction_over_all) {
  const auto largest = [](std::span<const Tensor> x) {
    const Tensor place = argmax(x[0], std::nullopt, true);
    EXPECT_EQ(to_string(place.shape()), "[1, 1]");
    return Tensors{place, argmin(x[0], std::nullopt, false)};
  };
  const Tensors places = vmap(largest, Tensors{numbered({2, 2, 3})}, InDims{0});
  EXPECT_EQ(to_string(places[0].shape()), "[2, 1, 1]");
  EXPECT_EQ(to_string(places[1].shape()), "[2]");
  EXPECT_EQ(to_vector<std::int64_t>(places[0]), (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(to_vector<std::int64_t>(places[1]), (std::vector<std::int64_t>{0, 0}));
}

TEST(vmap, leaves_elements_without_dimensions_to_the_row) {
  const auto pool = [](std::span<const Tensor> x) {
    return Tensors{adaptive_avg_pool2d(x[0], {1, 1})};
  };
  const std::string alone = sentence_of([&] { adaptive_avg_pool2d(numbered({}), {1, 1}); });
  EXPECT_EQ(sentence_of([&] { vmap(pool, Tensors{numbered({2})}, InDims{0}); }), alone);
  EXPECT_NE(alone, "");
}

TEST(vmap, steps_parameters_that_were_made_inside) {
  const auto step = [](std::span<const Tensor> g) {
    const Tensor p = ones_like(g[0]);
    _fused_sgd_({p}, {g[0]}, {}, 0, 0, 0.5, 0, false, false, false);
    return Tensors{p};
  };
  const Tensors results = vmap(step, Tensors{numbered({2, 2})}, InDims{0});
  EXPECT_EQ(values_of(results[0]), (Values{1, 0.5, 0, -0.5}));
}

TEST(vmap, refuses_what_it_cannot_serve) {
  const Tensor a = numbered({2, 3});
  const auto first = [](std::span<const Tensor> x) { return Tensors{x[0]}; };
  EXPECT_THAT(sentence_of([&] { vmap(first, Tensors{a}, InDims{std::nullopt}); }),
              HasSubstr("no input has a batch"));
  EXPECT_THAT(sentence_of([&] {
                vmap(first, Tensors{a, numbered({3})}, InDims{0, 0});
              }),
              HasSubstr("the batch has 3 elements in input 1 and 2 in an earlier one"));
  EXPECT_THAT(sentence_of([&] { vmap(first, Tensors{a}, InDims{}); }),
              HasSubstr("1 inputs and 0 in_dims"));
  EXPECT_THAT(sentence_of([&] {
                vmap(first, Tensors{numbered({0, 3})}, InDims{0});
              }),
              HasSubstr("the batch is empty"));
  const Tensor shared = numbered({3});
  const auto write = [&](std::span<const Tensor> x) { return Tensors{add_(shared, x[0])}; };
  EXPECT_THAT(sentence_of([&] { vmap(write, Tensors{a}, InDims{0}); }),
              HasSubstr("written to a tensor that all of them share"));
  const auto read = [](std::span<const Tensor> x) {
    to_vector<double>(x[0]);
    return Tensors{};
  };
  EXPECT_THAT(sentence_of([&] { vmap(read, Tensors{a}, InDims{0}); }),
              HasSubstr("copy to the host: the tensor belongs to a level"));
}

TEST(vmap, says_which_results_differ_in_shape) {
  const Tensor a = tensor(Values{1, 0, 1, 1});
  const auto places = [](std::span<const Tensor> x) { return Tensors{nonzero(x[0])}; };
  EXPECT_THAT(
      sentence_of([&] {
        vmap(places, Tensors{reshape(a, {2, 2})}, InDims{0});
      }),
      HasSubstr("nonzero: element 1 of the batch gives a result of shape [2, 1] and element 0 "
                "one of [1, 1]"));
}

// Their decompositions write in place what derivatives would keep.
TEST(vmap, of_factorizations_has_derivatives) {
  const Tensor a = numbered({3, 2, 2}) + eye(2, {}, f64) * 20, b = numbered({3, 2, 1});
  const auto sum_of_all = [](std::span<const Tensor> x) {
    const LinalgQrResult of = linalg_qr(x[0]);
    return Tensors{sum(of.Q * of.R) + sum(linalg_solve(x[0], x[1])) +
                   sum(linalg_solve_triangular(x[0], x[1], true)) +
                   sum(cholesky_solve(x[1], x[0])) + sum(linalg_lstsq(x[0], x[1]).solution)};
  };
  const Tensor at_once = set_requires_grad(clone(a)), one_by_one = set_requires_grad(clone(a));
  backward(sum(vmap(sum_of_all, Tensors{at_once, b}, InDims{0, 0})[0]));
  for (std::int64_t i = 0; i < 3; ++i)
    backward(sum_of_all(Tensors{select(one_by_one, 0, i), select(b, 0, i)})[0]);
  EXPECT_LE(values_of(max(abs(grad(at_once) - grad(one_by_one))))[0], 1e-12);
}

TEST(vmap, leaves_no_tensor_behind_that_could_be_used) {
  Tensor escaped;
  vmap(
      [&](std::span<const Tensor> x) {
        escaped = x[0];
        return Tensors{};
      },
      Tensors{numbered({2, 3})}, InDims{0});
  EXPECT_THAT(sentence_of([&] { neg(escaped); }), HasSubstr("not active here"));
}

}  // namespace
}  // namespace bp::test
