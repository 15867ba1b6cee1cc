// Every optimizer with options that use all that it keeps, for promises that all of them make.
#pragma once

#include <functional>
#include <memory>

#include <backplane/optim/optim.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {

struct OptimizerCase {
  const char* name;
  std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)> make;
  bool takes_complex = true;
  bool has_row = false;  // one call is a step
};

inline void PrintTo(const OptimizerCase& each, std::ostream* out) {
  *out << each.name;
}

template <class T>
OptimizerCase optimizer_case(const char* name, const typename T::Options& options) {
  return {name, [options](const std::vector<Tensor>& params) {
            return std::make_unique<T>(params, options);
          }};
}

inline OptimizerCase with_row(OptimizerCase made) {
  made.has_row = true;
  return made;
}

// But LBFGS, whose step needs a closure, and Muon, which takes matrices alone.
inline std::vector<OptimizerCase> all_optimizers() {
  using namespace optim;
  return {
      with_row(optimizer_case<SGD>("SGD", {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.1})),
      with_row(optimizer_case<Adam>("Adam", {.lr = 0.05, .weight_decay = 0.1, .amsgrad = true})),
      with_row(optimizer_case<AdamW>("AdamW", {.lr = 0.05, .amsgrad = true})),
      optimizer_case<NAdam>("NAdam", {.lr = 0.05, .weight_decay = 0.1}),
      optimizer_case<RAdam>("RAdam", {.lr = 0.05, .weight_decay = 0.1}),
      optimizer_case<Adamax>("Adamax", {.lr = 0.05, .weight_decay = 0.1}),
      with_row(
          optimizer_case<Adagrad>("Adagrad", {.lr = 0.05, .lr_decay = 0.1, .weight_decay = 0.1})),
      optimizer_case<Adadelta>("Adadelta", {.lr = 0.5, .weight_decay = 0.1}),
      optimizer_case<RMSprop>("RMSprop",
                              {.lr = 0.01, .weight_decay = 0.1, .momentum = 0.5, .centered = true}),
      optimizer_case<Rprop>("Rprop", {.lr = 0.05}),
      optimizer_case<ASGD>("ASGD", {.lr = 0.05, .t0 = 1, .weight_decay = 0.1}),
      optimizer_case<Lion>("Lion", {.lr = 0.01, .weight_decay = 0.1}),
      optimizer_case<LAMB>("LAMB", {.lr = 0.05}),
      {"Adafactor",
       [](const std::vector<Tensor>& params) {
         return std::make_unique<Adafactor>(params, AdafactorOptions{.lr = 0.05});
       },
       false},
  };
}

// And these two.
inline std::vector<OptimizerCase> all_and_special_optimizers() {
  using namespace optim;
  std::vector<OptimizerCase> all = all_optimizers();
  all.push_back(optimizer_case<Muon>("Muon", {.lr = 0.05}));
  all.push_back(optimizer_case<LBFGS>("LBFGS", {.lr = 0.1, .max_iter = 3}));
  all.push_back(optimizer_case<LBFGS>(
      "SearchingLBFGS", {.max_iter = 3, .history_size = 2, .line_search_fn = "strong_wolfe"}));
  return all;
}

// Gradients of a bowl around 1, left in the parameters.
inline void make_gradients(const std::vector<Tensor>& params) {
  for (const Tensor& each : params) {
    set_grad(each, {});
    const Tensor p = is_complex(each.dtype()) ? view_as_real(each) : each;
    backward(sum(square(p - 1)) * 0.5);
  }
}

class EachOptimizer : public testing::TestWithParam<OptimizerCase> {};

inline std::string name_of_case(const testing::TestParamInfo<OptimizerCase>& info) {
  return info.param.name;
}

}  // namespace bp::test
