// needs: cpu
// Recurrent networks: the cpu's kernels against the decomposition, and what a wrong call is told.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"
#include "dispatcher/calls.hpp"

namespace bp::recurrence_test {
namespace {

using test::Served;

struct Network {
  std::string row = "lstm";
  std::int64_t steps = 5, batch = 3, size = 7, hidden = 6, layers = 1;
  bool has_biases = true, bidirectional = false, batch_first = false, train = false;
  double dropout = 0;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
  std::int64_t gates() const { return row == "lstm" ? 4 : row == "gru" ? 3 : 1; }
};

struct Given {
  Tensor input, state, cell;
  std::vector<Tensor> params;
};

Tensor some(IntList shape, Dtype dtype = f32) {
  return cast(mul(randn(shape, f32), 0.5), dtype);
}

// So small that a difference does not grow from step to step.
Tensor weight(IntList shape, Dtype dtype) {
  return mul(some(shape, dtype), 1 / std::sqrt(static_cast<double>(shape[1])));
}

Given random_of(const Network& n, Dtype dtype = f32) {
  Given made;
  made.input =
      some(n.batch_first ? Dims{n.batch, n.steps, n.size} : Dims{n.steps, n.batch, n.size}, dtype);
  made.state = some({n.layers * n.directions(), n.batch, n.hidden}, dtype);
  made.cell = some({n.layers * n.directions(), n.batch, n.hidden}, dtype);
  for (std::int64_t run = 0; run < n.layers * n.directions(); ++run) {
    const std::int64_t from = run < n.directions() ? n.size : n.directions() * n.hidden;
    made.params.push_back(weight({n.gates() * n.hidden, from}, dtype));
    made.params.push_back(weight({n.gates() * n.hidden, n.hidden}, dtype));
    for (int i = 0; n.has_biases && i < 2; ++i)
      made.params.push_back(some({n.gates() * n.hidden}, dtype));
  }
  return made;
}

// By the row, or by its decomposition.
std::vector<Tensor> call(const Network& n, const Given& g, bool in_parts = false) {
  Operator& op = *find_operator(n.row);
  const std::vector<Tensor> states{g.state, g.cell};
  const TensorListValue params{g.params}, hx{states};
  std::vector<bp_value> args{
      value_of(g.input),      n.row == "lstm" ? hx.value() : value_of(g.state),
      params.value(),         value_of(n.has_biases),
      value_of(n.layers),     value_of(n.dropout),
      value_of(n.train),      value_of(n.bidirectional),
      value_of(n.batch_first)};
  std::vector<Tensor> results(n.row == "lstm" ? 3 : 2);
  const Call made{op, args.data(), static_cast<std::uint32_t>(args.size()), results.data(),
                  static_cast<std::uint32_t>(results.size())};
  if (in_parts)
    run_decomposition(op, made);
  else
    dispatch(made);
  return results;
}

void expect_close(const std::vector<Tensor>& made, const std::vector<Tensor>& wanted,
                  double distance) {
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(to_string(made[i].shape()), to_string(wanted[i].shape()));
    const auto a = to_vector<double>(to(made[i], f64)), b = to_vector<double>(to(wanted[i], f64));
    for (std::size_t at = 0; at < a.size(); ++at) {
      if (std::isnan(a[at]) && std::isnan(b[at])) continue;
      ASSERT_NEAR(a[at], b[at], distance) << "result " << i << ", element " << at;
    }
  }
}

const char* const all_rows[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
const char* const rows_with_kernels[] = {"lstm", "gru", "rnn_tanh"};

void expect_kernel(Network n) {
  for (const char* row : rows_with_kernels) {
    SCOPED_TRACE(row);
    n.row = row;
    const Given given = random_of(n);
    const Served served(row, "cpu");
    const std::vector<Tensor> made = call(n, given);
    EXPECT_EQ(served.since(), "native 1");
    expect_close(made, call(n, given, true), 2e-5);
  }
}

TEST(Recurrence, kernels_do_what_the_parts_do) {
  expect_kernel({});
  expect_kernel({.layers = 3});
  expect_kernel({.bidirectional = true});
  expect_kernel({.layers = 2, .bidirectional = true});
  expect_kernel({.layers = 2, .has_biases = false, .batch_first = true});
  expect_kernel({.layers = 2, .bidirectional = true, .batch_first = true});
}

TEST(Recurrence, at_sizes_that_fill_threads_and_tiles) {
  expect_kernel({.steps = 2, .batch = 1, .size = 1, .hidden = 1});
  expect_kernel({.steps = 5, .batch = 17, .size = 33, .hidden = 129});
  expect_kernel({.steps = 20, .batch = 1, .size = 300, .hidden = 256});
}

TEST(Recurrence, in_training_without_dropout) {
  expect_kernel({.layers = 2, .train = true});
  expect_kernel({.layers = 1, .train = true, .dropout = 0.5});
}

TEST(Recurrence, weights_that_changed_are_read_anew) {
  const Network n;
  Given given = random_of(n);
  const std::vector<Tensor> before = call(n, given);
  mul_(given.params[1], 0.0);
  expect_close(call(n, given), call(n, given, true), 1e-5);
}

TEST(Recurrence, tensors_that_lie_otherwise) {
  for (const char* row : all_rows) {
    const Network n{.row = row};
    Given given = random_of(n), other = given;
    other.input = transpose(contiguous(transpose(given.input, 0, 2)), 0, 2);
    other.state = transpose(contiguous(transpose(given.state, 0, 2)), 0, 2);
    for (Tensor& param : other.params)
      if (param.ndim() == 2) param = transpose(contiguous(transpose(param, 0, 1)), 0, 1);
    expect_close(call(n, other), call(n, given), 1e-5);
  }
}

TEST(Recurrence, nan_and_infinity_reach_the_result) {
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const char* row : all_rows) {
      SCOPED_TRACE(std::string(row) + " of " + std::to_string(odd));
      const Network n{.row = row};
      const Given given = random_of(n);
      fill_(select(select(given.input, 0, 2), 0, 1), odd);
      const auto made = to_vector<double>(to(call(n, given)[0], f64));
      const auto wanted = to_vector<double>(to(call(n, given, true)[0], f64));
      for (std::size_t i = 0; i < made.size(); ++i)
        EXPECT_EQ(std::isnan(made[i]), std::isnan(wanted[i])) << i;
    }
}

TEST(Recurrence, a_single_step_is_left_to_the_parts) {
  const Network n{.steps = 1};
  const Given given = random_of(n);
  const Served served("lstm", "cpu");
  expect_close(call(n, given), call(n, given, true), 1e-5);
  EXPECT_EQ(served.since(), "not at all");
}

TEST(Recurrence, dropout_and_gradients_are_left_to_the_parts) {
  const Network n{.layers = 2, .train = true, .dropout = 0.5};
  const Served served("lstm", "cpu");
  call(n, random_of(n));
  const Network plain;
  const Given given = random_of(plain);
  set_requires_grad(given.params[0]);
  backward(sum(call(plain, given)[0]));
  EXPECT_TRUE(grad(given.params[0]).defined());
  EXPECT_EQ(served.since(), "not at all");
}

TEST(Recurrence, gives_nothing_for_no_sequence) {
  const Network n{.batch = 0};
  EXPECT_EQ(to_string(call(n, random_of(n))[0].shape()), "[5, 0, 6]");
}

template <class Change> std::string message_of(Network n, Change change) {
  Given given = random_of(n);
  change(n, given);
  try {
    call(n, given);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recurrence, says_what_does_not_fit) {
  const auto expect = [](const std::string& part, const auto& change) {
    for (const char* row : all_rows)
      EXPECT_NE(message_of({.row = row}, change).find(part), std::string::npos)
          << row << ": " << message_of({.row = row}, change);
  };
  expect("both need three dimensions", [](Network&, Given& g) { g.input = select(g.input, 0, 0); });
  expect("pass 1 or more", [](Network& n, Given&) { n.layers = 0; });
  expect("4 weights", [](Network& n, Given&) { n.layers = std::int64_t{1} << 62; });
  expect("5 weights", [](Network&, Given& g) { g.params.push_back(g.params[0]); });
  expect("cast one of them", [](Network&, Given& g) { g.params[3] = to(g.params[3], f64); });
  expect("weight 1 has shape", [](Network&, Given& g) { g.params[1] = g.params[0]; });
  expect("a state of shape", [](Network&, Given& g) { g.state = g.cell = some({2, 3, 6}); });
  expect("one step or more", [](Network&, Given& g) { g.input = some({0, 3, 7}); });
  expect("not a probability", [](Network& n, Given&) {
    n.train = true;
    n.dropout = -1;
  });
}

}  // namespace
}  // namespace bp::recurrence_test
