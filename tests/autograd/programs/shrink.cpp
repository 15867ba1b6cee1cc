#include "autograd/programs/shrink.hpp"

#include <algorithm>
#include <map>

namespace bp::test::programs {
namespace {

using IsFound = std::function<bool(const Program&)>;

bool reads(const Step& step, std::int64_t variable) {
  const auto read = variables_of(step);
  return std::find(read.begin(), read.end(), variable) != read.end();
}

void replace(Program& program, std::int64_t from, std::int64_t by) {
  for (Step& step : program.steps)
    for (Argument& argument : step.args) {
      if (argument.is_variable() && argument.integer == from) argument.integer = by;
      for (std::int64_t& variable : argument.variables)
        if (variable == from) variable = by;
    }
  std::replace(program.loss.begin(), program.loss.end(), from, by);
}

// Without a step, and without what reads its results.
Program without(Program program, std::size_t at) {
  std::vector<std::int64_t> gone = program.steps[at].results;
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t i = at; i < program.steps.size();) {
    const Step& step = program.steps[i];
    if (std::none_of(gone.begin(), gone.end(),
                     [&](std::int64_t variable) { return reads(step, variable); })) {
      ++i;
      continue;
    }
    gone.insert(gone.end(), step.results.begin(), step.results.end());
    program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::erase_if(program.loss, [&](std::int64_t variable) {
    return std::find(gone.begin(), gone.end(), variable) != gone.end();
  });
  return program;
}

// Programs that are a little simpler in one step.
class Simpler {
 public:
  Simpler(const Program& program, std::size_t at)
      : program_(program), at_(at), step_(program.steps[at]) {}

  std::vector<Program> all() {
    found_.push_back(without(program_, at_));
    replace_by_arguments();
    replace_call();
    for (std::size_t i = 0; i < step_.args.size(); ++i)
      step_.is_input() ? shrink_shape(i) : shrink_argument(i);
    return std::move(found_);
  }

 private:
  template <class Change> void with(Change&& change) {
    found_.push_back(program_);
    change(found_.back().steps[at_]);
  }
  // Its result is what it was made of.
  void replace_by_arguments() {
    if (step_.results.size() != 1) return;
    for (std::int64_t variable : variables_of(step_)) {
      Program made = program_;
      made.steps.erase(made.steps.begin() + static_cast<std::ptrdiff_t>(at_));
      replace(made, step_.results[0], variable);
      found_.push_back(std::move(made));
    }
  }
  void replace_call() {
    if (step_.under_no_grad) with([](Step& step) { step.under_no_grad = false; });
    const std::vector<std::int64_t> read = variables_of(step_);
    if (read.empty() || !step_.is_call() || step_.is_out()) return;
    const std::string name = step_.is_in_place() ? "mul_" : "mul";
    if (step_.name == name || step_.results.size() > 1) return;
    with([&](Step& step) {
      step.name = name;
      step.args = {Argument::of_variable(read[0]), Argument::of_real(2)};
    });
  }
  void shrink_argument(std::size_t i) {
    const Argument& argument = step_.args[i];
    if (argument.is_variable() && i > 0)
      with([&](Step& step) { step.args[i] = Argument::of_real(2); });
    if (argument.kind == Argument::Kind::integer && argument.integer > 0)
      with([&](Step& step) { step.args[i].integer -= 1; });
    for (std::size_t k = 0; k < argument.numbers.size(); ++k)
      if (argument.numbers[k] > 1) with([&](Step& step) { step.args[i].numbers[k] -= 1; });
  }
  // A smaller leaf, or one of fewer dimensions, with values of its own.
  void shrink_shape(std::size_t i) {
    if (i != 1) return;
    const auto with_shape = [&](auto&& change) {
      with([&](Step& step) {
        change(step.args[1].numbers);
        if (step.args[2].kind == Argument::Kind::numbers) step.args[2] = Argument::of_integer(1);
      });
    };
    for (std::size_t k = 0; k < step_.args[1].numbers.size(); ++k) {
      with_shape([&](auto& sizes) { sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(k)); });
      if (step_.args[1].numbers[k] > 1) with_shape([&](auto& sizes) { sizes[k] -= 1; });
    }
  }

  const Program& program_;
  std::size_t at_;
  const Step& step_;
  std::vector<Program> found_;
};

// Variables by the order of their making.
Program renumbered(Program program) {
  std::map<std::int64_t, std::int64_t> numbers;
  const auto renumber = [&](std::int64_t& variable) {
    variable =
        numbers.try_emplace(variable, static_cast<std::int64_t>(numbers.size())).first->second;
  };
  for (Step& step : program.steps) {
    for (Argument& argument : step.args) {
      if (argument.is_variable()) renumber(argument.integer);
      for (std::int64_t& variable : argument.variables) renumber(variable);
    }
    for (std::int64_t& variable : step.results) renumber(variable);
  }
  for (std::int64_t& variable : program.loss) renumber(variable);
  return program;
}

}  // namespace

Program shrink(Program program, const IsFound& is_found) {
  constexpr int most_tries = 3'000;
  int tries = 0;
  for (bool changed = true; changed && tries < most_tries;) {
    changed = false;
    for (std::size_t k = 0; program.loss.size() > 1 && k < program.loss.size(); ++k) {
      Program smaller = program;
      smaller.loss.erase(smaller.loss.begin() + static_cast<std::ptrdiff_t>(k));
      ++tries;
      if (!is_found(smaller)) continue;
      program = std::move(smaller);
      changed = true;
      break;
    }
    for (std::size_t at = program.steps.size(); at-- > 0 && !changed;)
      for (Program& simpler : Simpler(program, at).all()) {
        if (++tries > most_tries || !is_found(simpler)) continue;
        program = std::move(simpler);
        changed = true;
        break;
      }
  }
  return renumbered(std::move(program));
}

}  // namespace bp::test::programs
