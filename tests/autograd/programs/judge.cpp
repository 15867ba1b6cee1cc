#include "autograd/programs/judge.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bp::test::programs {
namespace {

using Shifts = std::vector<Interpreter::Shift>;

double loss_at(const Program& program, Shifts shifts) {
  Interpreter interpreter(std::move(shifts));
  interpreter.run(program);
  return interpreter.loss(program.loss);
}

// Central differences with a step and with half of it. `loss` is a function of the distance.
template <class Loss> Expected::Derivative derivative(double here, const Loss& loss) {
  constexpr double step = 1e-3;
  const double above = loss(step), below = loss(-step), half_above = loss(step / 2),
               half_below = loss(-step / 2);
  const double whole = (above - below) / (2 * step), half = (half_above - half_below) / step;
  const double bend = (above + below - 2 * here) / (step * step),
               half_bend = (half_above + half_below - 2 * here) / (step * step / 4);
  Expected::Derivative found;
  found.value = (4 * half - whole) / 3;
  found.doubt = std::abs(whole - half);
  // At a corner of the function the two do not come closer.
  found.is_sure = found.doubt < 1e-3 * (1 + std::abs(found.value)) &&
                  std::abs(bend - half_bend) < 0.1 * (1 + std::abs(half_bend));
  return found;
}

std::size_t place_of(const Program& program, const Step& step) {
  return static_cast<std::size_t>(&step - program.steps.data());
}

std::vector<Expected::Derivative> derivatives_by(const Program& program, double here,
                                                 std::size_t after_step, std::int64_t variable,
                                                 std::size_t numel) {
  std::vector<Expected::Derivative> found;
  for (std::size_t i = 0; i < numel; ++i)
    found.push_back(derivative(here, [&](double distance) {
      std::vector<double> by(numel, 0.0);
      by[i] = distance;
      return loss_at(program, {{after_step, variable, std::move(by)}});
    }));
  return found;
}

double direction_at(std::size_t leaf, std::size_t element) {
  return std::cos(1.7 * static_cast<double>(element) + 0.3 * static_cast<double>(leaf) + 1.1);
}

Expected::Derivative mixed_derivative(const Program& program) {
  const auto at = [&](double along_weights, double along_direction) {
    Shifts shifts;
    std::size_t k = 0;
    for (const Step* leaf : leaves_of(program)) {
      std::vector<double> by(input_values(*leaf).size());
      for (std::size_t i = 0; i < by.size(); ++i)
        by[i] = along_weights * gradient_weight(k, i) + along_direction * direction_at(k, i);
      shifts.push_back({place_of(program, *leaf), leaf->results[0], std::move(by)});
      ++k;
    }
    return loss_at(program, std::move(shifts));
  };
  const auto mixed = [&](double step) {
    return (at(step, step) - at(step, -step) - at(-step, step) + at(-step, -step)) /
           (4 * step * step);
  };
  constexpr double step = 4e-3;
  const double whole = mixed(step), half = mixed(step / 2);
  Expected::Derivative found;
  found.value = (4 * half - whole) / 3;
  found.doubt = std::abs(whole - half);
  found.is_sure = found.doubt < 1e-3 * (1 + std::abs(found.value));
  return found;
}

// An error's text without what differs from program to program: numbers and shapes.
std::string without_numbers(const std::string& text) {
  std::string kind;
  bool is_in_shape = false;
  for (const char c : text) {
    is_in_shape = c == '[' || (is_in_shape && c != ']');
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_in_shape && !is_digit) kind += c;
  }
  return kind;
}

// What is judged, and with how much allowance.
class Judging {
 public:
  Judging(const Expected& expected, Verdict& verdict) : expected_(expected), verdict_(verdict) {}

  void values(const Outcome& outcome) {
    for (const auto& [variable, wanted] : expected_.values) {
      const std::vector<double>& found = outcome.values.at(variable);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double allowed =
            (expected_.is_narrow ? 1e-4 : 1e-9) * std::max(1.0, std::abs(wanted[i]));
        if (i >= found.size() || !(std::abs(found[i] - wanted[i]) <= allowed))
          return fail("values", fmt::format("v{}, element {}: {} instead of {}", variable, i,
                                            i < found.size() ? found[i] : NAN, wanted[i]));
      }
    }
  }
  void derivatives(const std::string& what, const std::string& by,
                   const std::vector<Expected::Derivative>& wanted,
                   const std::vector<double>& found) {
    if (found.size() != wanted.size())
      return fail(what, fmt::format("by {}: a gradient of another shape", by));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double allowed =
          (expected_.is_narrow ? 3e-3 : 1e-6) * (1 + std::abs(wanted[i].value)) + wanted[i].doubt;
      if (std::isfinite(found[i]) && !wanted[i].is_sure) continue;
      if (!(std::abs(found[i] - wanted[i].value) <= allowed))
        return fail(what, fmt::format("by {}, element {}: {} instead of {}", by, i, found[i],
                                      wanted[i].value));
    }
  }
  void second(const Outcome& outcome) {
    double along = 0;
    for (std::size_t k = 0; k < outcome.second.size(); ++k)
      for (std::size_t i = 0; i < outcome.second[k].size(); ++i)
        along += outcome.second[k][i] * expected_.direction[k][i];
    const Expected::Derivative& wanted = expected_.second;
    if (std::isfinite(along) && !wanted.is_sure) return;
    const double allowed =
        (expected_.is_narrow ? 1e-2 : 1e-4) * (1 + std::abs(wanted.value)) + 3 * wanted.doubt;
    if (!(std::abs(along - wanted.value) <= allowed))
      fail("second derivative",
           fmt::format("along a direction {} instead of {}", along, wanted.value));
  }
  void fail(const std::string& what, const std::string& text) {
    if (!verdict_.wrong.empty()) return;
    verdict_.wrong = what + ": " + text;
    verdict_.kind = what;
  }

 private:
  const Expected& expected_;
  Verdict& verdict_;
};

// A corner of the first derivative is none of the function's, and shows as a slower approach.
bool all_smooth(const Expected& expected) {
  for (const auto& leaf : expected.first)
    for (const Expected::Derivative& one : leaf)
      if (!one.is_sure || one.doubt > 4e-5 * (1 + std::abs(one.value))) return false;
  return true;
}

bool all_sure(const Expected& expected) {
  for (const auto& leaf : expected.first)
    for (const Expected::Derivative& one : leaf)
      if (!one.is_sure) return false;
  return true;
}

// Differences judge what is retained only where it is a memory of its own: what flows around a view of
// it is not part of the view's.
void expect_retained(const Program& program, const Interpreter& interpreter, double here,
                     Expected& expected) {
  for (const Step& step : program.steps) {
    if (step.name != "retain_grad") continue;
    const std::int64_t variable = step.target();
    const Seen& seen = interpreter.seen(variable);
    if (seen.is_view || interpreter.has_other_ways(variable)) continue;
    expected.retained[variable] = derivatives_by(program, here, interpreter.last_write(variable),
                                                 variable, seen.places.size());
  }
}

}  // namespace

std::vector<const Step*> leaves_of(const Program& program) {
  std::vector<const Step*> leaves;
  for (const Step& step : program.steps)
    if (step.is_leaf()) leaves.push_back(&step);
  return leaves;
}

Expected expect(const Program& program) {
  Expected expected;
  Interpreter interpreter;
  try {
    interpreter.run(program);
    for (std::int64_t variable : program.loss) interpreter.seen(variable);
  } catch (const Refused& refused) {
    expected.is_error = expected.is_refused = refused.is_error_in_pytorch() && program.throws;
    if (!expected.is_error) expected.invalid = refused.what();
    return expected;
  } catch (const std::out_of_range&) {
    expected.invalid = "a variable that nobody made";
    return expected;
  }
  bool any = false;
  for (std::int64_t variable : program.loss) any |= interpreter.requires_grad(variable);
  if (!any) expected.invalid = "a loss without derivative";
  for (std::int64_t variable : program.loss)
    if (interpreter.is_outdated_part(variable)) expected.invalid = "a loss that no record takes";
  expected.is_error = program.throws;
  expected.may_fail = interpreter.wrote_what_was_kept();
  expected.seen = interpreter.all();
  for (const auto& [variable, seen] : expected.seen) {
    expected.values[variable] = interpreter.values(variable);
    expected.is_narrow |= seen.dtype == Dtype::f32;
  }
  if (any && !program.throws) {
    const double here = interpreter.loss(program.loss);
    std::size_t k = 0;
    for (const Step* leaf : leaves_of(program)) {
      const std::size_t numel = input_values(*leaf).size();
      expected.first.push_back(
          derivatives_by(program, here, place_of(program, *leaf), leaf->results[0], numel));
      std::vector<double>& direction = expected.direction.emplace_back(numel);
      for (std::size_t i = 0; i < numel; ++i) direction[i] = direction_at(k, i);
      ++k;
    }
    expected.second = mixed_derivative(program);
    expected.second.is_sure &= all_smooth(expected);
    expect_retained(program, interpreter, here, expected);
  }
  return expected;
}

Verdict judge(const Program& program, const Expected& expected, const Outcome& outcome) {
  Verdict verdict;
  Judging judging(expected, verdict);
  if (expected.is_error) {
    if (outcome.error.empty()) judging.fail("no error", "PyTorch refuses this");
    verdict.was_judged = true;
    return verdict;
  }
  if (outcome.lies_otherwise) return verdict;
  const auto says = [&](const char* text) { return outcome.error.find(text) != std::string::npos; };
  if (expected.may_fail && says("was written in place after the call")) return verdict;
  // PyTorch finds the way of a view that was made before anything of its memory took part; we refuse the
  // write: see Views.that_would_not_hear_of_a_recorded_write_forbid_it.
  if (says("made before it took part in derivatives")) return verdict;
  if (!outcome.error.empty()) {
    judging.fail("error", outcome.phase + ": " + outcome.error);
    verdict.kind = without_numbers(verdict.wrong);
    return verdict;
  }
  judging.values(outcome);
  const std::vector<const Step*> leaves = leaves_of(program);
  for (std::size_t k = 0; k < leaves.size(); ++k)
    judging.derivatives("first derivative", fmt::format("v{}", leaves[k]->results[0]),
                        expected.first[k], outcome.first[k]);
  for (const auto& [variable, wanted] : expected.retained)
    judging.derivatives("retained gradient", fmt::format("v{}", variable), wanted,
                        outcome.retained.at(variable));
  judging.second(outcome);
  verdict.was_judged = all_sure(expected);
  verdict.was_second_judged = expected.second.is_sure;
  return verdict;
}

}  // namespace bp::test::programs
