// Samples of optimizers' steps.
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

class StepDraft {
 public:
  explicit StepDraft(Draft& draft) : draft_(draft) {
    draft.is("same");
    shapes_.push_back(draft.shape());
    if (draft.is("one")) return;
    shapes_.push_back({4});
    shapes_.push_back({});
  }

  void add_tensors() {
    std::vector<Tensor> list;
    for (const Dims& shape : shapes_) list.push_back(draft_.tensor(shape));
    draft_.add(list);
  }
  void add_positive(double least) {
    std::vector<Tensor> list;
    for (const Dims& shape : shapes_) list.push_back(draft_.between(shape, least, 1));
    draft_.add(list);
  }
  void add_steps(double first) {
    std::vector<Tensor> list;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      list.push_back(draft_.numbers({}, std::vector<double>{first + static_cast<double>(i)}));
    draft_.add(list);
  }
  void add_nothing() { draft_.add(std::vector<Tensor>()); }

  void add_scaling() {
    const bool is_scaled = draft_.is("grad_scale");
    const bool is_found = draft_.is("found_inf"), is_searched = draft_.is("not_found");
    if (is_scaled)
      draft_.add(draft_.numbers({}, std::vector<double>{4}));
    else
      draft_.add_none();
    if (is_found || is_searched)
      draft_.add(draft_.numbers({1}, std::vector<double>{is_found ? 1.0 : 0.0}));
    else
      draft_.add_none();
  }

 private:
  Draft& draft_;
  std::vector<Dims> shapes_;
};

void draft_sgd(Draft& draft, StepDraft& step) {
  const bool is_first = draft.is("first_step"), has_nesterov = draft.is("nesterov");
  const bool is_dampened = draft.is("dampening");
  const bool has_momentum =
      draft.is("momentum", "several_tiles") || is_first || has_nesterov || is_dampened;
  if (has_momentum)
    step.add_tensors();
  else
    step.add_nothing();
  draft.add_value(draft.is("decayed", "nesterov") ? 0.125 : 0.0);
  draft.add_value(has_momentum ? 0.75 : 0.0);
  draft.add_value(0.25);
  draft.add_value(is_dampened ? 0.5 : 0.0);
  draft.add_value(has_nesterov);
  draft.add_value(draft.is("maximized"));
  draft.add_value(is_first);
}

void draft_adam(Draft& draft, StepDraft& step) {
  const bool is_amsgrad = draft.is("amsgrad");
  step.add_tensors();
  step.add_positive(0.25);
  if (is_amsgrad)
    step.add_positive(0.25);
  else
    step.add_nothing();
  step.add_steps(2);
  draft.add_value(0.125);
  draft.add_value(0.75);
  draft.add_value(0.875);
  draft.add_value(draft.is("decayed", "several_tiles") ? 0.25 : 0.0);
  draft.add_value(0.0078125);
  draft.add_value(is_amsgrad);
  draft.add_value(draft.is("maximized"));
}

void draft_adagrad(Draft& draft, StepDraft& step) {
  step.add_positive(0.25);
  step.add_steps(draft.is("late") ? 40 : 1);
  draft.add_value(0.25);
  draft.add_value(draft.is("late") ? 0.125 : 0.0);
  draft.add_value(draft.is("decayed", "several_tiles") ? 0.25 : 0.0);
  draft.add_value(0.0078125);
  draft.add_value(draft.is("maximized"));
}

}  // namespace

void draft_optimizer(Draft& draft) {
  const std::string_view name = draft.op().name();
  StepDraft step(draft);
  step.add_tensors();
  step.add_tensors();
  if (name.find("sgd") != name.npos)
    draft_sgd(draft, step);
  else if (name.find("adam") != name.npos)
    draft_adam(draft, step);
  else
    draft_adagrad(draft, step);
  step.add_scaling();
}

}  // namespace bp
