#include "optimizer_cases.hpp"

#include <cmath>
#include <stdexcept>

#include <backplane/tensors.hpp>

namespace bp::test {
namespace {

using nlohmann::json;
using optim::LRScheduler;
using optim::Optimizer;

json json_of_tensor(const Tensor& value) {
  const bool pairs = is_complex(value.dtype());
  const Tensor real = pairs ? view_as_real(detach(value)) : detach(value);
  return {{"tensor", to_vector<double>(clone(to(real, f64)))},
          {"shape", std::vector<std::int64_t>(value.shape().begin(), value.shape().end())},
          {"dtype", name(value.dtype())}};
}

Tensor tensor_of(const json& given) {
  auto shape = given["shape"].get<std::vector<std::int64_t>>();
  const bool pairs = given["dtype"] == "complex128";
  if (pairs) shape.push_back(2);
  const Tensor real = tensor(given["tensor"].get<std::vector<double>>(), shape);
  if (pairs) return clone(view_as_complex(real));
  return given["dtype"] == "float32" ? to(real, f32) : real;
}

template <class T>
std::unique_ptr<Optimizer> made(const std::vector<std::vector<Tensor>>& groups,
                                const typename T::Options& options = {}) {
  auto optimizer = std::make_unique<T>(groups[0], options);
  for (std::size_t i = 1; i < groups.size(); ++i) optimizer->add_param_group(groups[i], options);
  return optimizer;
}

std::unique_ptr<Optimizer> optimizer_named(const std::string& name, const json& line,
                                           const std::vector<std::vector<Tensor>>& groups) {
  if (name == "SGD") return made<optim::SGD>(groups);
  if (name == "Adam") return made<optim::Adam>(groups);
  if (name == "AdamW") return made<optim::AdamW>(groups);
  if (name == "NAdam") return made<optim::NAdam>(groups);
  if (name == "RAdam") return made<optim::RAdam>(groups);
  if (name == "Adamax") return made<optim::Adamax>(groups);
  if (name == "Adagrad") return made<optim::Adagrad>(groups);
  if (name == "Adadelta") return made<optim::Adadelta>(groups);
  if (name == "RMSprop") return made<optim::RMSprop>(groups);
  if (name == "Rprop") return made<optim::Rprop>(groups);
  if (name == "ASGD") return made<optim::ASGD>(groups);
  if (name == "Adafactor") return made<optim::Adafactor>(groups);
  if (name == "Muon")
    return made<optim::Muon>(groups, {.ns_dtype = line["exact"].get<bool>() ? f64 : bf16});
  if (name == "LBFGS") return made<optim::LBFGS>(groups);
  throw std::runtime_error("no optimizer " + name);
}

// LRSchedulers step by themselves.
class Stepping : public AnyScheduler {
 public:
  explicit Stepping(std::shared_ptr<LRScheduler> scheduler) : scheduler_(std::move(scheduler)) {}
  void step(const json&, std::int64_t) override { scheduler_->step(); }
  State state() const override { return scheduler_->state_dict(); }
  void load(const State& state) override { scheduler_->load_state_dict(state); }

 private:
  std::shared_ptr<LRScheduler> scheduler_;
};

// By a metric.
class Watching : public AnyScheduler {
 public:
  Watching(Optimizer& optimizer, const optim::ReduceLROnPlateauOptions& options)
      : scheduler_(optimizer, options) {}
  void step(const json& line, std::int64_t at) override {
    scheduler_.step(line["metrics"][static_cast<std::size_t>(at)].get<double>());
  }
  State state() const override { return scheduler_.state_dict(); }
  void load(const State& state) override { scheduler_.load_state_dict(state); }

 private:
  optim::ReduceLROnPlateau scheduler_;
};

optim::PerGroup per_group(const json& given) {
  if (given.is_array()) return given.get<std::vector<double>>();
  return given.get<double>();
}

std::shared_ptr<LRScheduler> cycle_named(const json& given, Optimizer& optimizer) {
  const std::string name = given["name"];
  if (name == "CosineAnnealingLR")
    return std::make_shared<optim::CosineAnnealingLR>(
        optimizer, optim::CosineAnnealingLROptions{.T_max = given["T_max"],
                                                   .eta_min = given.value("eta_min", 0.0)});
  if (name == "CosineAnnealingWarmRestarts")
    return std::make_shared<optim::CosineAnnealingWarmRestarts>(
        optimizer,
        optim::CosineAnnealingWarmRestartsOptions{.T_0 = given["T_0"],
                                                  .T_mult = given.value("T_mult", 1),
                                                  .eta_min = given.value("eta_min", 0.0)});
  if (name == "OneCycleLR")
    return std::make_shared<optim::OneCycleLR>(
        optimizer,
        optim::OneCycleLROptions{.max_lr = per_group(given["max_lr"]),
                                 .total_steps = given["total_steps"].get<std::int64_t>(),
                                 .pct_start = given.value("pct_start", 0.3),
                                 .anneal_strategy = given.value("anneal_strategy", "cos"),
                                 .cycle_momentum = given.value("cycle_momentum", true),
                                 .three_phase = given.value("three_phase", false)});
  if (name == "CyclicLR") {
    optim::CyclicLROptions options{.base_lr = per_group(given["base_lr"]),
                                   .max_lr = per_group(given["max_lr"]),
                                   .step_size_up = given["step_size_up"],
                                   .mode = given.value("mode", "triangular"),
                                   .gamma = given.value("gamma", 1.0),
                                   .cycle_momentum = given.value("cycle_momentum", true)};
    if (given.contains("step_size_down"))
      options.step_size_down = given["step_size_down"].get<std::int64_t>();
    return std::make_shared<optim::CyclicLR>(optimizer, options);
  }
  if (name == "SWALR")
    return std::make_shared<optim::SWALR>(
        optimizer, optim::SWALROptions{.swa_lr = per_group(given["swa_lr"]),
                                       .anneal_epochs = given.value("anneal_epochs", 10),
                                       .anneal_strategy = given.value("anneal_strategy", "cos")});
  throw std::runtime_error("no scheduler " + name);
}

std::shared_ptr<LRScheduler> scheduler_named(const json& given, Optimizer& optimizer) {
  const std::string name = given["name"];
  if (name == "StepLR")
    return std::make_shared<optim::StepLR>(
        optimizer,
        optim::StepLROptions{.step_size = given["step_size"], .gamma = given.value("gamma", 0.1)});
  if (name == "MultiStepLR")
    return std::make_shared<optim::MultiStepLR>(
        optimizer, optim::MultiStepLROptions{
                       .milestones = given["milestones"].get<std::vector<std::int64_t>>(),
                       .gamma = given.value("gamma", 0.1)});
  if (name == "ExponentialLR")
    return std::make_shared<optim::ExponentialLR>(
        optimizer, optim::ExponentialLROptions{.gamma = given["gamma"]});
  if (name == "ConstantLR")
    return std::make_shared<optim::ConstantLR>(
        optimizer, optim::ConstantLROptions{.factor = given.value("factor", 1.0 / 3),
                                            .total_iters = given.value("total_iters", 5)});
  if (name == "LinearLR")
    return std::make_shared<optim::LinearLR>(
        optimizer, optim::LinearLROptions{.start_factor = given.value("start_factor", 1.0 / 3),
                                          .end_factor = given.value("end_factor", 1.0),
                                          .total_iters = given.value("total_iters", 5)});
  if (name == "PolynomialLR")
    return std::make_shared<optim::PolynomialLR>(
        optimizer, optim::PolynomialLROptions{.total_iters = given.value("total_iters", 5),
                                              .power = given.value("power", 1.0)});
  if (name == "LambdaLR" || name == "MultiplicativeLR") {
    std::vector<optim::RateFunction> functions;
    for (const double base : given["bases"].get<std::vector<double>>())
      functions.push_back([base](std::int64_t epoch) {
        return base + (1 - base) / (1 + static_cast<double>(epoch));
      });
    if (name == "LambdaLR") return std::make_shared<optim::LambdaLR>(optimizer, functions);
    return std::make_shared<optim::MultiplicativeLR>(optimizer, functions);
  }
  if (name == "SequentialLR" || name == "ChainedScheduler") {
    optim::Schedulers parts;
    for (const json& each : given["schedulers"]) parts.push_back(scheduler_named(each, optimizer));
    if (name == "ChainedScheduler") return std::make_shared<optim::ChainedScheduler>(parts);
    return std::make_shared<optim::SequentialLR>(
        optimizer, parts, given["milestones"].get<std::vector<std::int64_t>>());
  }
  return cycle_named(given, optimizer);
}

}  // namespace

json json_of(const State& state) {
  if (state.is_tensor()) return json_of_tensor(state.as_tensor());
  if (state.is_bool()) return state.as_bool();
  if (state.is_int()) return state.as_int();
  if (state.is_double() && std::isinf(state.as_double()))
    return state.as_double() > 0 ? "inf" : "-inf";
  if (state.is_double()) return state.as_double();
  if (state.is_text()) return state.as_text();
  if (state.is_none()) return nullptr;
  json all = state.is_list() ? json::array() : json::object();
  if (state.is_list())
    for (const State& each : state.as_list()) all.push_back(json_of(each));
  else
    for (const auto& [key, value] : state.entries()) all[key] = json_of(value);
  return all;
}

State state_of(const json& given) {
  if (given.is_null()) return {};
  if (given.is_boolean()) return given.get<bool>();
  if (given.is_number_integer()) return given.get<std::int64_t>();
  if (given.is_number()) return given.get<double>();
  if (given == "inf" || given == "-inf") return given == "inf" ? HUGE_VAL : -HUGE_VAL;
  if (given.is_string()) return given.get<std::string>();
  if (given.is_array()) {
    State::List list;
    for (const json& each : given) list.push_back(state_of(each));
    return list;
  }
  if (given.contains("tensor")) return tensor_of(given);
  State dict = State::dict();
  for (const auto& [key, value] : given.items()) dict.set(key, state_of(value));
  return dict;
}

std::unique_ptr<Optimizer> make_optimizer(const json& line,
                                          const std::vector<std::vector<Tensor>>& groups) {
  auto optimizer = optimizer_named(line["optimizer"], line, groups);
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const auto& [name, value] : line["groups"][group].items())
      optimizer->set_option(group, name, state_of(value));
  return optimizer;
}

std::unique_ptr<AnyScheduler> make_scheduler(const json& line, Optimizer& optimizer) {
  if (line["scheduler"].is_null()) return nullptr;
  const json& given = line["scheduler"];
  if (given["name"] != "ReduceLROnPlateau")
    return std::make_unique<Stepping>(scheduler_named(given, optimizer));
  return std::make_unique<Watching>(
      optimizer,
      optim::ReduceLROnPlateauOptions{.mode = given.value("mode", "min"),
                                      .factor = given.value("factor", 0.1),
                                      .patience = given.value("patience", 10),
                                      .threshold = given.value("threshold", 1e-4),
                                      .threshold_mode = given.value("threshold_mode", "rel"),
                                      .cooldown = given.value("cooldown", 0),
                                      .min_lr = per_group(given.value("min_lr", json(0.0))),
                                      .eps = given.value("eps", 1e-8)});
}

}  // namespace bp::test
