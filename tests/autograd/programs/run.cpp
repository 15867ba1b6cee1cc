#include <functional>

#include "autograd/programs/calls.hpp"
#include "autograd/programs/judge.hpp"

namespace bp::test::programs {
namespace {

class Running {
 public:
  Running(const Program& program, const std::map<std::int64_t, Seen>& seen, Device device)
      : program_(program), seen_(seen), device_(device) {}

  void forward() {
    tensors_.clear();
    leaves_.clear();
    for (const Step& step : program_.steps) run(step);
  }
  Tensor loss() {
    Tensor total;
    for (std::size_t k = 0; k < program_.loss.size(); ++k) {
      const Tensor& output = tensors_.at(program_.loss[k]);
      const Tensor part = sum(to(output, f64) * weights(output, loss_weight, k));
      total = total.defined() ? total + part : part;
    }
    return total;
  }
  // sum(gradient * weights) over the leaves; undefined if there is none.
  Tensor weighted(const std::vector<Tensor>& gradients) {
    Tensor total;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      if (!gradients[k].defined()) continue;
      const Tensor part = sum(to(gradients[k], f64) * weights(gradients[k], gradient_weight, k));
      total = total.defined() ? total + part : part;
    }
    return total;
  }
  void read_values(Outcome& outcome) {
    for (const auto& [variable, tensor] : tensors_) outcome.values[variable] = elements_of(tensor);
  }
  void read_retained(Outcome& outcome) {
    for (const Step& step : program_.steps)
      if (step.name == "retain_grad")
        outcome.retained[step.target()] =
            elements_or_zeros(grad(tensors_.at(step.target())), tensors_.at(step.target()));
  }
  std::vector<std::vector<double>> elements(const std::vector<Tensor>& gradients) {
    std::vector<std::vector<double>> all;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      all.push_back(elements_or_zeros(gradients[i], leaves_[i]));
    return all;
  }
  const std::vector<Tensor>& leaves() const { return leaves_; }
  bool lies_otherwise = false;

 private:
  static std::vector<double> elements_or_zeros(const Tensor& gradient, const Tensor& of) {
    if (gradient.defined() && gradient.shape() != of.shape()) return {};
    return gradient.defined() ? elements_of(gradient)
                              : std::vector<double>(static_cast<std::size_t>(of.numel()));
  }
  Tensor weights(const Tensor& like, double (*weight)(std::size_t, std::size_t), std::size_t k) {
    std::vector<double> values(static_cast<std::size_t>(like.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = weight(k, i);
    return to(make_tensor(f64, like.shape(), values), device_);
  }
  void run(const Step& step) {
    if (step.is_input()) {
      const Tensor made =
          to(make_tensor(step.args[0].dtype, IntList(step.args[1].integers()), input_values(step)),
             device_);
      if (step.is_leaf()) leaves_.push_back(set_requires_grad(made));
      tensors_[step.results[0]] = made;
    } else if (step.name == "retain_grad") {
      retain_grad(tensors_.at(step.target()));
    } else if (step.under_no_grad) {
      const NoGrad constant;
      call(step);
    } else {
      call(step);
    }
  }
  void call(const Step& step) {
    note_layout(step);
    std::vector<Tensor> results = call_step(
        step, [&](std::int64_t variable) -> const Tensor& { return tensors_.at(variable); });
    for (std::size_t i = 0; i < step.results.size(); ++i) tensors_[step.results[i]] = results.at(i);
  }
  // The interpreter's results are row-major. Rows may lay theirs out as their arguments lie, and what these
  // views show, or whether they copy, is then another question.
  void note_layout(const Step& step) {
    if (step.name != "view" && step.name != "reshape" && step.name != "flatten" &&
        step.name != "as_strided")
      return;
    const std::int64_t variable = step.args[0].integer;
    if (seen_.contains(variable) && !lies_as(seen_.at(variable), tensors_.at(variable)))
      lies_otherwise = true;
  }
  static bool lies_as(const Seen& seen, const Tensor& tensor) {
    std::int64_t step = numel_of(seen.shape);
    for (std::size_t d = 0; d < seen.shape.size(); ++d) {
      step /= seen.shape[d];
      if (seen.shape[d] > 1 &&
          seen.places[static_cast<std::size_t>(step)] - seen.places[0] != tensor.strides()[d])
        return false;
    }
    return true;
  }

  const Program& program_;
  const std::map<std::int64_t, Seen>& seen_;
  Device device_;
  std::map<std::int64_t, Tensor> tensors_;
  std::vector<Tensor> leaves_;
};

bool has_retained(const Program& program) {
  for (const Step& step : program.steps)
    if (step.name == "retain_grad") return true;
  return false;
}

void differentiate(Running& running, const Tensor& loss, Outcome& outcome) {
  outcome.phase = "first";
  const std::vector<Tensor> first =
      autograd::grad({loss}, running.leaves(), {}, {.retain_graph = true}, true);
  outcome.first = running.elements(first);
  outcome.phase = "second";
  const std::vector<Tensor> recorded =
      autograd::grad({loss}, running.leaves(), {}, {.create_graph = true}, true);
  const Tensor weighted = running.weighted(recorded);
  std::vector<Tensor> second(recorded.size());
  if (weighted.defined() && requires_grad(weighted))
    second = autograd::grad({weighted}, running.leaves(), {}, {}, true);
  outcome.second = running.elements(second);
}

}  // namespace

Outcome run_program(const Program& program, const std::map<std::int64_t, Seen>& seen,
                    Device device) {
  Outcome outcome;
  Running running(program, seen, device);
  try {
    outcome.phase = "forward";
    running.forward();
    const Tensor loss = running.loss();
    running.read_values(outcome);
    if (requires_grad(loss))
      differentiate(running, loss, outcome);
    else  // addmm with a beta of 0: whether that is right, differences say
      outcome.first = outcome.second =
          running.elements(std::vector<Tensor>(running.leaves().size()));
    outcome.phase = "backward";
    if (has_retained(program)) {
      running.forward();
      if (requires_grad(loss)) backward(running.loss());
      running.read_retained(outcome);
    }
    outcome.phase = "";
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  outcome.lies_otherwise = running.lies_otherwise;
  return outcome;
}

}  // namespace bp::test::programs
