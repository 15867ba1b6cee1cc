// L-BFGS: steps by an estimate of the curvature, made of the last gradients.
#pragma once

#include <memory>

#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

struct LBFGSOptions {
  double lr = 1;
  std::int64_t max_iter = 20;
  std::optional<std::int64_t> max_eval = {};  // absent: max_iter * 5 / 4
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;
  std::int64_t history_size = 100;
  std::string line_search_fn{};  // empty, or "strong_wolfe"
  bool maximize = false;
};

// Nocedal and Wright, "Numerical Optimization", 2006: algorithm 7.5, and 3.5 and 3.6 for the line search. The parameters are one
// long vector: all are of one device and dtype, in one group. The history is up to history_size times twice their memory.
// A step evaluates the closure up to max_eval times, and waits for the device each time.
class BP_API LBFGS : public OptimizerOf<LBFGSOptions> {
 public:
  // Throws bad_argument for a negative lr, a max_iter or history_size below 1, another line_search_fn, and a second group.
  explicit LBFGS(std::vector<Tensor> parameters, const LBFGSOptions& options = {});
  ~LBFGS() override;
  // The closure clears the gradients, computes the loss and calls backward. Returns the first loss. step() without one
  // throws bad_argument. Throws bad_argument if the parameters' devices or dtypes differ.
  Tensor step(const Closure& closure) override;
  std::string type_name() const override { return "LBFGS"; }

 protected:
  void check_options(const LBFGSOptions& options) const override;
  void check_parameter(std::size_t index, const Tensor& parameter) const override;
  std::vector<State::Entry> switches() const override { return {}; }
  Fields fields(std::size_t group) const override;
  const Layout& layout() const override;
  void update(std::size_t group, Batch& batch, const GradScaling& scaling) override;
  void step_groups(const GradScaling& scaling) override;
  void save_more(State& state) const override;
  void load_more(const State& state) override;

 private:
  class Flat;
  struct History;
  struct Run;
  Tensor take_step(const Closure& closure);
  std::unique_ptr<History> history_;
};

}  // namespace bp::optim
