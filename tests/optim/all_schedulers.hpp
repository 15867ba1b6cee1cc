// Every scheduler with options under which a few steps change rates, for promises that all of them make.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <backplane/optim/optim.hpp>

namespace bp::test {

using MakeScheduler =
    std::function<std::shared_ptr<optim::LRScheduler>(optim::Optimizer& optimizer)>;

template <class T, class Options>
std::pair<const char*, MakeScheduler> scheduler_case(const char* name, const Options& options) {
  return {name, [options](optim::Optimizer& o) { return std::make_shared<T>(o, options); }};
}

inline std::vector<std::pair<const char*, MakeScheduler>> all_schedulers() {
  using namespace optim;
  const auto half = [](std::int64_t) { return 0.5; };
  const auto linear = [](optim::Optimizer& o) {
    return std::make_shared<LinearLR>(o, LinearLROptions{.total_iters = 3});
  };
  const auto powers = [](optim::Optimizer& o) {
    return std::make_shared<ExponentialLR>(o, ExponentialLROptions{.gamma = 0.9});
  };
  const auto steps = [](optim::Optimizer& o) {
    return std::make_shared<StepLR>(o, StepLROptions{.step_size = 2});
  };
  return {
      scheduler_case<StepLR>("StepLR", StepLROptions{.step_size = 2}),
      scheduler_case<MultiStepLR>("MultiStepLR", MultiStepLROptions{.milestones = {1, 4, 4}}),
      scheduler_case<ExponentialLR>("ExponentialLR", ExponentialLROptions{.gamma = 0.9}),
      scheduler_case<ConstantLR>("ConstantLR", ConstantLROptions{}),
      scheduler_case<LinearLR>("LinearLR", LinearLROptions{}),
      scheduler_case<PolynomialLR>("PolynomialLR", PolynomialLROptions{}),
      scheduler_case<LambdaLR>("LambdaLR", RateFunction(half)),
      scheduler_case<MultiplicativeLR>("MultiplicativeLR", RateFunction(half)),
      scheduler_case<CosineAnnealingLR>("CosineAnnealingLR", CosineAnnealingLROptions{.T_max = 4}),
      scheduler_case<CosineAnnealingWarmRestarts>(
          "CosineAnnealingWarmRestarts", CosineAnnealingWarmRestartsOptions{.T_0 = 2, .T_mult = 2}),
      scheduler_case<OneCycleLR>("OneCycleLR", OneCycleLROptions{.max_lr = 1.0, .total_steps = 10}),
      scheduler_case<CyclicLR>("CyclicLR",
                               CyclicLROptions{.base_lr = 0.1, .max_lr = 1.0, .step_size_up = 2}),
      scheduler_case<SWALR>("SWALR", SWALROptions{.swa_lr = 0.1}),
      {"SequentialLR",
       [=](optim::Optimizer& o) {
         return std::make_shared<SequentialLR>(o, Schedulers{linear(o), powers(o), steps(o)},
                                               std::vector<std::int64_t>{2, 4});
       }},
      {"ChainedScheduler", [=](optim::Optimizer& o) {
         return std::make_shared<ChainedScheduler>(Schedulers{linear(o), powers(o), steps(o)});
       }}};
}

}  // namespace bp::test
