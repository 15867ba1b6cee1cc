// Optimizers and schedulers by PyTorch's names and options, and their states as JSON.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include <backplane/optim/optim.hpp>

namespace bp::test {

// Tensors are {"tensor": numbers, "shape": sizes, "dtype": name}; complex ones are pairs of numbers.
nlohmann::json json_of(const State& state);
State state_of(const nlohmann::json& json);

// With the options of `line["groups"]`.
std::unique_ptr<optim::Optimizer> make_optimizer(const nlohmann::json& line,
                                                 const std::vector<std::vector<Tensor>>& groups);

// Of either kind.
class AnyScheduler {
 public:
  virtual ~AnyScheduler() = default;
  virtual void step(const nlohmann::json& line, std::int64_t at) = 0;
  virtual State state() const = 0;
  virtual void load(const State& state) = 0;
};

// Null for a line without a "scheduler".
std::unique_ptr<AnyScheduler> make_scheduler(const nlohmann::json& line,
                                             optim::Optimizer& optimizer);

}  // namespace bp::test
