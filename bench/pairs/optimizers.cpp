#include "optimizers.hpp"

#include <string>

#include <backplane/optim/optim.hpp>
#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"

namespace {

// 200 parameters as of a network with many small layers: vectors of 64 and matrices up to 32 x 32.
std::vector<bp::Tensor> small_parameters() {
  std::vector<bp::Tensor> made;
  const std::vector<std::int64_t> shapes[] = {{64}, {16, 16}, {32, 32}, {8, 32}};
  for (int i = 0; i < 200; ++i) {
    const bp::Tensor each = bp::set_requires_grad(bp::randn(shapes[i % 4]));
    bp::set_grad(each, bp::randn(shapes[i % 4]));
    made.push_back(each);
  }
  return made;
}

void report_step(const char* name, bp::optim::Optimizer& optimizer) {
  bench::report(name, bench::median_ns([&] { optimizer.step(); }) / 1e3, "us");
}

}  // namespace

void measure_optimizers() {
  bp::set_num_threads(1);
  const std::vector<bp::Tensor> parameters = small_parameters();
  bp::optim::AdamW adamw(parameters);
  report_step("adamw_200_small", adamw);
  bp::optim::SGD sgd(parameters, {.lr = 1e-6, .momentum = 0.9});
  report_step("sgd_200_small", sgd);
  bp::optim::NAdam nadam(parameters, {.lr = 1e-6});
  report_step("nadam_200_small", nadam);
}
