// needs: cpu
// Lion and LAMB, which PyTorch lacks, against their papers' algorithms in plain numbers.
#include <cmath>

#include <backplane/optim/optim.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

const std::vector<Values> starts{{1.0, -2.0, 0.5}, {0.25, 4.0}};

// The gradient of sum(sin(x) + x * x).
double slope(double x) {
  return std::cos(x) + 2 * x;
}

template <class T> std::vector<Values> after_steps(const typename T::Options& options, int count) {
  std::vector<Tensor> params;
  for (const Values& each : starts) params.push_back(leaf(each));
  T optimizer(params, options);
  for (int i = 0; i < count; ++i) {
    optimizer.zero_grad();
    for (const Tensor& each : params) backward(sum(sin(each) + square(each)));
    optimizer.step();
  }
  std::vector<Values> found;
  for (const Tensor& each : params) found.push_back(values_of(each));
  return found;
}

void expect_same(const std::vector<Values>& found, const std::vector<Values>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < expected[i].size(); ++k)
      EXPECT_NEAR(found[i][k], expected[i][k], 1e-12);
}

std::vector<Values> lion(const optim::LionOptions& o, int count) {
  std::vector<Values> x = starts;
  for (Values& values : x)
    for (double& value : values) {
      double m = 0;
      for (int step = 0; step < count; ++step) {
        const double g = o.maximize ? -slope(value) : slope(value);
        const double c = o.betas[0] * m + (1 - o.betas[0]) * g;
        value -= o.lr * ((c > 0) - (c < 0) + o.weight_decay * value);
        m = o.betas[1] * m + (1 - o.betas[1]) * g;
      }
    }
  return x;
}

double length(const Values& values) {
  double sum_of = 0;
  for (const double value : values) sum_of += value * value;
  return std::sqrt(sum_of);
}

std::vector<Values> lamb(const optim::LAMBOptions& o, int count) {
  std::vector<Values> x = starts;
  for (Values& values : x) {
    Values m(values.size()), v(values.size()), u(values.size());
    for (int step = 1; step <= count; ++step) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double g = o.maximize ? -slope(values[i]) : slope(values[i]);
        m[i] = o.betas[0] * m[i] + (1 - o.betas[0]) * g;
        v[i] = o.betas[1] * v[i] + (1 - o.betas[1]) * g * g;
        const double r = m[i] / (1 - std::pow(o.betas[0], step)) /
                         (std::sqrt(v[i] / (1 - std::pow(o.betas[1], step))) + o.eps);
        u[i] = r + o.weight_decay * values[i];
      }
      const double own = length(values), of_change = length(u);
      const double ratio = own > 0 && of_change > 0 ? own / of_change : 1;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= o.lr * ratio * u[i];
    }
  }
  return x;
}

TEST(Lion, follows_its_paper) {
  for (const optim::LionOptions& options : {optim::LionOptions{},
                                            {.lr = 0.01, .betas = {0.8, 0.95}, .weight_decay = 0.3},
                                            {.lr = 0.001, .maximize = true}})
    for (const int count : {1, 2, 50})
      expect_same(after_steps<optim::Lion>(options, count), lion(options, count));
}

TEST(Lamb, follows_its_paper) {
  for (const optim::LAMBOptions& options :
       {optim::LAMBOptions{},
        {.lr = 0.05, .betas = {0.8, 0.95}, .weight_decay = 0},
        {.lr = 0.01, .eps = 1e-3, .weight_decay = 0.5, .maximize = true}})
    for (const int count : {1, 2, 50})
      expect_same(after_steps<optim::LAMB>(options, count), lamb(options, count));
}

TEST(Lamb, moves_a_parameter_of_zeros_by_the_rate_alone) {
  const Tensor x = leaf({0.0, 0.0});
  optim::LAMB optimizer({x}, {.lr = 0.1, .eps = 0});
  set_grad(x, tensor(Values{3, -3}));
  optimizer.step();
  EXPECT_NEAR(values_of(x)[0], -0.1, 1e-12);
  EXPECT_NEAR(values_of(x)[1], 0.1, 1e-12);
}

}  // namespace
}  // namespace bp::test
