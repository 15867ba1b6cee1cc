// needs: cpu reference
// What every optimizer promises of a step: few calls, nothing recorded, whatever parameters and gradients are like.
#include <cmath>

#include "optim/all_optimizers.hpp"

namespace bp::test {
namespace {

std::vector<Tensor> some_parameters(std::size_t count, Dtype dtype = f64) {
  std::vector<Tensor> params;
  for (std::size_t i = 0; i < count; ++i) {
    const auto rows = static_cast<std::int64_t>(2 + i % 2);
    const Tensor values = arange(0, rows * 3, 1, f64) * 0.25 - 0.5;
    params.push_back(set_requires_grad(clone(to(reshape(values, {rows, 3}), dtype))));
  }
  return params;
}

std::vector<Values> all_values(const std::vector<Tensor>& params) {
  std::vector<Values> values;
  for (const Tensor& each : params) {
    const Tensor plain = detach(each);
    values.push_back(values_of(to(is_complex(plain.dtype()) ? view_as_real(plain) : plain, f64)));
  }
  return values;
}

void expect_close(const std::vector<Values>& found, const std::vector<Values>& expected,
                  double room = 1e-12) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t k = 0; k < found[i].size(); ++k)
      EXPECT_NEAR(found[i][k], expected[i][k], room);
}

std::uint64_t calls_of_a_step(const OptimizerCase& how, std::size_t num_parameters) {
  const auto params = some_parameters(num_parameters);
  const auto optimizer = how.make(params);
  for (int i = 0; i < 2; ++i) {
    make_gradients(params);
    optimizer->step();
  }
  make_gradients(params);
  reset_call_counts();
  optimizer->step();
  std::uint64_t calls = 0;
  for (const CallCount& count : call_counts())
    for (std::uint32_t rung = 0; rung < num_rungs; ++rung)
      if (rung != static_cast<std::uint32_t>(Rung::view)) calls += count.calls[rung];
  return calls;
}

TEST_P(EachOptimizer, makes_as_many_calls_for_300_parameters_as_for_3) {
  const std::uint64_t few = calls_of_a_step(GetParam(), 3), many = calls_of_a_step(GetParam(), 300);
  EXPECT_GT(few, 0u);
  if (GetParam().has_row) {
    EXPECT_LE(few, 3u);
  }
  EXPECT_EQ(many, few);
}

TEST_P(EachOptimizer, goes_down_a_bowl) {
  const auto params = some_parameters(2);
  const auto optimizer = GetParam().make(params);
  const auto height = [&] {
    double all = 0;
    for (const Values& values : all_values(params))
      for (const double value : values) all += (value - 1) * (value - 1);
    return all;
  };
  const double before = height();
  for (int i = 0; i < 40; ++i) {
    make_gradients(params);
    optimizer->step();
  }
  EXPECT_LT(height(), before);
}

TEST_P(EachOptimizer, records_nothing_and_leaves_parameters_without_a_gradient) {
  const auto params = some_parameters(3);
  const auto optimizer = GetParam().make(params);
  make_gradients(params);
  set_grad(params[1], {});
  const auto before = all_values(params);
  optimizer->step();
  for (const Tensor& each : params) EXPECT_TRUE(is_leaf(each) && requires_grad(each));
  EXPECT_EQ(all_values(params)[1], before[1]);
  EXPECT_NE(all_values(params)[0], before[0]);
  optimizer->zero_grad();
  for (const Tensor& each : params) EXPECT_FALSE(grad(each).defined());
}

TEST_P(EachOptimizer, takes_parameters_one_by_one_as_together) {
  const auto together = some_parameters(4), alone = some_parameters(4);
  const auto all = GetParam().make(together);
  std::vector<std::unique_ptr<optim::Optimizer>> single;
  for (const Tensor& each : alone) single.push_back(GetParam().make({each}));
  for (int i = 0; i < 3; ++i) {
    make_gradients(together);
    make_gradients(alone);
    // One of them is a step behind.
    if (i == 1) {
      set_grad(together[2], {});
      set_grad(alone[2], {});
    }
    all->step();
    for (const auto& each : single) each->step();
  }
  expect_close(all_values(together), all_values(alone));
}

TEST_P(EachOptimizer, takes_complex_numbers_as_pairs_of_real_ones) {
  if (!GetParam().takes_complex) return;
  const Tensor real = set_requires_grad(reshape(arange(0, 8, 1, f64) * 0.3 - 1, {4, 2}));
  const Tensor complex = set_requires_grad(clone(view_as_complex(detach(real))));
  const auto by_real = GetParam().make({real}), by_complex = GetParam().make({complex});
  for (int i = 0; i < 3; ++i) {
    make_gradients({real, complex});
    by_real->step();
    by_complex->step();
  }
  expect_close({values_of(real)}, {values_of(view_as_real(detach(complex)))});
}

TEST_P(EachOptimizer, takes_slices_of_one_memory_and_overlapping_ones) {
  const Tensor memory = arange(0, 12, 1, f64) * 0.25, copy_of = clone(memory);
  const auto slice_of = [](const Tensor& from, std::int64_t start) {
    return set_requires_grad(detach(narrow(from, 0, start, 4)));
  };
  // Two slices beside each other, and one over both, which goes its way after the first.
  const std::vector<Tensor> params{slice_of(memory, 0), slice_of(memory, 4), slice_of(memory, 2)};
  const std::vector<Tensor> expected{slice_of(copy_of, 0), slice_of(copy_of, 4),
                                     slice_of(copy_of, 2)};
  make_gradients(params);
  make_gradients(expected);
  GetParam().make(params)->step();
  for (const Tensor& each : expected) GetParam().make({each})->step();
  expect_close({values_of(memory)}, {values_of(copy_of)});
}

TEST_P(EachOptimizer, steps_by_divided_gradients_and_skips_where_inf_was_found) {
  const auto plain = some_parameters(2), scaled = some_parameters(2);
  const auto by_plain = GetParam().make(plain), by_scaled = GetParam().make(scaled);
  const optim::GradScaling fine{tensor(4.0f), tensor(0.0f)}, found{tensor(4.0f), tensor(1.0f)};
  for (int i = 0; i < 4; ++i) {
    make_gradients(plain);
    make_gradients(scaled);
    for (const Tensor& each : scaled) mul_(grad(each), 4);
    if (i == 0 || i == 2) {  // what is skipped changes nothing, and is not counted
      const auto before = all_values(scaled);
      by_scaled->step(found);
      EXPECT_EQ(all_values(scaled), before);
    }
    by_plain->step();
    by_scaled->step(fine);
    EXPECT_EQ(values_of(grad(scaled[0]))[0], 4 * values_of(grad(plain[0]))[0]);
  }
  expect_close(all_values(scaled), all_values(plain));
}

TEST_P(EachOptimizer, goes_on_on_another_device_and_in_another_dtype) {
  const auto run = [&](const std::function<void(const Tensor&)>& move) {
    const auto params = some_parameters(2);
    const auto optimizer = GetParam().make(params);
    for (int i = 0; i < 4; ++i) {
      if (i == 2)
        for (const Tensor& each : params) move(each);
      make_gradients(params);
      optimizer->step();
    }
    return all_values(params);
  };
  const auto expected = run([](const Tensor&) {});
  const auto moving = [](auto... to_where) {
    return [=](const Tensor& each) {
      set_grad(each, {});
      set_data(each, to(detach(each), to_where...));
    };
  };
  expect_close(run(moving(device("reference:0"))), expected, 1e-9);
  expect_close(run(moving(f32)), expected, 1e-4);
}

TEST_P(EachOptimizer, takes_parameters_without_elements_and_of_16_bits) {
  const Tensor none = set_requires_grad(zeros({0, 3}, f64));
  const auto narrow_ones = some_parameters(1, bf16);
  const auto optimizer = GetParam().make({none, narrow_ones[0]});
  make_gradients({none, narrow_ones[0]});
  optimizer->step();
  EXPECT_EQ(narrow_ones[0].dtype(), bf16);
  const auto after = all_values(narrow_ones);
  for (const double value : after[0]) EXPECT_TRUE(std::isfinite(value));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EachOptimizer, testing::ValuesIn(all_optimizers()),
                         name_of_case);

TEST(Steps, of_the_fused_rows_run_in_kernels_of_the_device) {
  const auto params = some_parameters(5, f32);
  optim::AdamW optimizer(params, {});
  make_gradients(params);
  optimizer.step();
  reset_call_counts();
  optimizer.step();
  for (const CallCount& count : call_counts())
    if (count.op == "_fused_adamw_") {
      EXPECT_EQ(count.calls[static_cast<int>(Rung::native)], 1u);
      return;
    }
  ADD_FAILURE() << "no call of _fused_adamw_";
}

TEST(Steps, stack_muons_matrices_by_shape) {
  const auto calls_of = [](std::size_t count) {
    std::vector<Tensor> params = some_parameters(count);
    optim::Muon optimizer(params, {.ns_dtype = f64});
    make_gradients(params);
    optimizer.step();
    reset_call_counts();
    optimizer.step();
    std::uint64_t calls = 0;
    for (const CallCount& each : call_counts())
      for (const std::uint64_t number : each.calls) calls += number;
    return calls;
  };
  EXPECT_LE(calls_of(60), calls_of(4) * 60 / 4);
}

TEST(Steps, of_muon_make_a_matrix_nearly_orthogonal) {
  const Tensor p = set_requires_grad(zeros({3, 5}, f64));
  optim::Muon optimizer({p}, {.lr = 1, .weight_decay = 0});
  set_grad(p, reshape(sin(arange(0, 15, 1, f64) * 1.7), {3, 5}));
  optimizer.step();
  const Tensor u = detach(p);
  const Values gram = values_of(matmul(u, transpose(u, 0, 1)));
  for (std::size_t i = 0; i < 9; ++i) {
    if (i % 4 == 0)
      EXPECT_NEAR(gram[i], 1, 0.6);
    else
      EXPECT_NEAR(gram[i], 0, 0.35);
  }
}

}  // namespace
}  // namespace bp::test
