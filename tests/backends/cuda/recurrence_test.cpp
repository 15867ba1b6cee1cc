// needs: cpu cuda
// Recurrent networks by cuDNN, against cpu in f64.
#include <functional>

#include <backplane/autograd/autograd.hpp>
#include <backplane/runtime/settings.hpp>

#include "backends/cuda/cudnn.hpp"

namespace bp::test {
namespace {

struct Network {
  std::int64_t steps = 5, batch = 3, size = 20, hidden = 16, layers = 1;
  bool has_biases = true, bidirectional = false, batch_first = false;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
};

using Results = std::vector<Tensor>;
using Place = std::function<Tensor(const Tensor&)>;

class CudnnRecurrence : public CudnnKernels {
 protected:
  struct Given {
    Tensor input, state, cell;
    std::vector<Tensor> params;
  };

  static Given random_of(const Network& n, std::int64_t gates, Dtype dtype) {
    const auto some = [&](const std::vector<std::int64_t>& shape) {
      return cast(mul(random(shape), 0.5), dtype);
    };
    Given made;
    made.input = some(n.batch_first ? std::vector{n.batch, n.steps, n.size}
                                    : std::vector{n.steps, n.batch, n.size});
    made.state = some({n.layers * n.directions(), n.batch, n.hidden});
    made.cell = some({n.layers * n.directions(), n.batch, n.hidden});
    for (std::int64_t run = 0; run < n.layers * n.directions(); ++run) {
      const std::int64_t from = run < n.directions() ? n.size : n.directions() * n.hidden;
      // So small that a difference does not grow from step to step.
      made.params.push_back(mul(some({gates * n.hidden, from}), 1 / std::sqrt(1.0 * from)));
      made.params.push_back(mul(some({gates * n.hidden, n.hidden}), 1 / std::sqrt(1.0 * n.hidden)));
      for (int i = 0; n.has_biases && i < 2; ++i) made.params.push_back(some({gates * n.hidden}));
    }
    return made;
  }

  static Results call(const std::string& row, const Network& n, const Given& g,
                      const Place& place) {
    std::vector<Tensor> params;
    for (const Tensor& param : g.params) params.push_back(place(param));
    const Tensor input = place(g.input), state = place(g.state);
    if (row == "lstm") {
      const auto made = lstm(input, {state, place(g.cell)}, params, n.has_biases, n.layers, 0,
                             false, n.bidirectional, n.batch_first);
      return {made.output, made.hidden, made.cell};
    }
    if (row == "gru") {
      const auto made = gru(input, state, params, n.has_biases, n.layers, 0, false, n.bidirectional,
                            n.batch_first);
      return {made.output, made.hidden};
    }
    if (row == "rnn_tanh") {
      const auto made = rnn_tanh(input, state, params, n.has_biases, n.layers, 0, false,
                                 n.bidirectional, n.batch_first);
      return {made.output, made.hidden};
    }
    const auto made = rnn_relu(input, state, params, n.has_biases, n.layers, 0, false,
                               n.bidirectional, n.batch_first);
    return {made.output, made.hidden};
  }

  void expect_network(const Network& n, Dtype dtype) {
    for (const std::string row : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
      SCOPED_TRACE(row + " in " + std::string(bp::name(dtype)));
      const std::int64_t gates = row == "lstm" ? 4 : row == "gru" ? 3 : 1;
      const Given given = random_of(n, gates, dtype);
      const Served served(row, "cuda");
      const Results made = call(row, n, given, [&](const Tensor& t) { return there(t); });
      expect_served(served, "native 1");
      const Results exact = call(row, n, given, [](const Tensor& t) { return cast(t, f64); });
      // Each step rounds, and the next one reads what came of it.
      for (std::size_t i = 0; i < exact.size(); ++i)
        EXPECT_LE(error_of(made[i], exact[i]), 4 * allowed(dtype));
    }
  }
};

TEST_F(CudnnRecurrence, agrees_with_cpu_in_every_dtype) {
  for (Dtype dtype : {f32, f16, bf16}) expect_network({}, dtype);
}

TEST_F(CudnnRecurrence, in_layers_and_both_directions) {
  expect_network({.layers = 2}, f32);
  expect_network({.bidirectional = true}, f32);
  expect_network({.layers = 3, .bidirectional = true}, f32);
}

TEST_F(CudnnRecurrence, without_biases_and_with_the_batch_first) {
  expect_network({.has_biases = false}, f32);
  expect_network({.batch_first = true}, f32);
  expect_network({.layers = 2, .bidirectional = true, .batch_first = true}, f32);
}

TEST_F(CudnnRecurrence, of_odd_sizes) {
  expect_network({.steps = 1, .batch = 1, .size = 1, .hidden = 1}, f32);
  expect_network({.steps = 33, .batch = 7, .size = 31, .hidden = 65}, f32);
}

TEST_F(CudnnRecurrence, nan_reaches_the_result) {
  const Network n;
  for (const std::string row : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
    const Given given = random_of(n, row == "lstm" ? 4 : row == "gru" ? 3 : 1, f32);
    fill_(select(select(given.input, 0, 2), 0, 1), std::nan(""));
    const Served served(row, "cuda");
    const Results made = call(row, n, given, [&](const Tensor& t) { return there(t); });
    expect_served(served, "native 1");
    for (const double each :
         to_vector<double>(cast(select(select(here(made[0]), 0, 4), 0, 1), f64)))
      EXPECT_TRUE(std::isnan(each)) << row;
  }
}

TEST_F(CudnnRecurrence, leaves_gradients_to_the_parts) {
  const Network n;
  Given given = random_of(n, 4, f32);
  const Tensor weight = there(given.params[0]);
  set_requires_grad(weight);
  const auto place = [&](const Tensor& t) {
    return t.impl() == given.params[0].impl() ? weight : there(t);
  };
  const Served served("lstm", "cuda");
  const Results made = call("lstm", n, given, place);
  expect_served(served, "not at all");
  backward(sum(made[0]));
  EXPECT_TRUE(grad(weight).defined());
}

}  // namespace
}  // namespace bp::test
