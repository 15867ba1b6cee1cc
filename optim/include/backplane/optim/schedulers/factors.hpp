// Schedulers that multiply rates: by steps, along lines and powers, and by functions of the caller.
#pragma once

#include <backplane/optim/schedulers/scheduler.hpp>

namespace bp::optim {

struct StepLROptions {
  std::int64_t step_size;
  double gamma = 0.1;
  std::int64_t last_epoch = -1;
};

// Times gamma every step_size steps. Throws bad_argument for a step_size below 1.
class BP_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, const StepLROptions& options);
  std::string type_name() const override { return "StepLR"; }

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  StepLROptions options_;
};

struct MultiStepLROptions {
  std::vector<std::int64_t> milestones;
  double gamma = 0.1;
  std::int64_t last_epoch = -1;
};

// Times gamma at each of the milestones; a number that is listed twice counts twice.
class BP_API MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, const MultiStepLROptions& options);
  std::string type_name() const override { return "MultiStepLR"; }
  // Milestones are a dict of step and how often, as PyTorch has them.
  State state_dict() const override;
  void load_state_dict(const State& dict) override;

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;

 private:
  MultiStepLROptions options_;
};

struct ExponentialLROptions {
  double gamma;
  std::int64_t last_epoch = -1;
};

// Times gamma every step.
class BP_API ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, const ExponentialLROptions& options);
  std::string type_name() const override { return "ExponentialLR"; }

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;

 private:
  ExponentialLROptions options_;
};

struct ConstantLROptions {
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;
  std::int64_t last_epoch = -1;
};

// Times factor until step total_iters. Throws bad_argument unless 0 < factor <= 1.
class BP_API ConstantLR : public LRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, const ConstantLROptions& options);
  std::string type_name() const override { return "ConstantLR"; }

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  ConstantLROptions options_;
};

struct LinearLROptions {
  double start_factor = 1.0 / 3;
  double end_factor = 1;
  std::int64_t total_iters = 5;
  std::int64_t last_epoch = -1;
};

// From start_factor to end_factor in total_iters steps: a warm-up. Throws bad_argument unless 0 < start_factor <= 1 and
// 0 <= end_factor <= 1, and for a total_iters below 1.
class BP_API LinearLR : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, const LinearLROptions& options);
  std::string type_name() const override { return "LinearLR"; }

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  LinearLROptions options_;
};

struct PolynomialLROptions {
  std::int64_t total_iters = 5;
  double power = 1;
  std::int64_t last_epoch = -1;
};

// Times (1 - step / total_iters)^power, 0 from total_iters on. Throws bad_argument for a total_iters below 1.
class BP_API PolynomialLR : public LRScheduler {
 public:
  PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options);
  std::string type_name() const override { return "PolynomialLR"; }

 protected:
  std::vector<double> get_lr() override;
  std::vector<double> get_closed_form_lr() override;
  Fields fields() const override;
  void check() const override;

 private:
  PolynomialLROptions options_;
};

using RateFunction = std::function<double(std::int64_t epoch)>;

// The first rate times the value of a function of the step; one for all groups, or one for each.
// Throws bad_argument for another number of functions, and for an empty one.
class BP_API LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, RateFunction lr_lambda, std::int64_t last_epoch = -1);
  LambdaLR(Optimizer& optimizer, std::vector<RateFunction> lr_lambdas,
           std::int64_t last_epoch = -1);
  std::string type_name() const override { return "LambdaLR"; }

 protected:
  std::vector<double> get_lr() override;

 private:
  std::vector<RateFunction> functions_;
};

// The previous rate times the value of a function of the step.
class BP_API MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& optimizer, RateFunction lr_lambda, std::int64_t last_epoch = -1);
  MultiplicativeLR(Optimizer& optimizer, std::vector<RateFunction> lr_lambdas,
                   std::int64_t last_epoch = -1);
  std::string type_name() const override { return "MultiplicativeLR"; }

 protected:
  std::vector<double> get_lr() override;

 private:
  std::vector<RateFunction> functions_;
};

}  // namespace bp::optim
