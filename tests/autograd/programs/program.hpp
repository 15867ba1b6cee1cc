// Programs for autograd: a list of calls as data, with a line of text for each. The text is Python's
// as well, but for the prefix `nograd:`, so that PyTorch can be asked what a program should give.
//
//   v0 = leaf(f64, [2, 3], 7)        requires grad; values from a seed, between 0.5 and 2
//   v1 = data(i64, [2], [1, 0])      does not; values given
//   v2 = mul(v0, 2.5)                a row, its arguments in the schema's order
//   v3, v4 = split(v2, 1, 0)         several results
//   mul_(v3, v4)                     in place
//   nograd: mul_out(v2, v3, 2)       under NoGrad; the output comes first
//   retain_grad(v2)
//   loss(v2, v4)                     sum(v * weights) over these; comes last
//   throws()                         PyTorch refuses the program, and so must we
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test::programs {

struct Argument {
  enum class Kind { none, variable, variables, integer, real, boolean, text, numbers, dtype };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // also a variable, a boolean
  double real = 0;
  Dtype dtype = Dtype::f64;
  std::string text;
  std::vector<std::int64_t> variables;
  std::vector<double> numbers;
  bool has_fractions = false;  // of numbers

  static Argument of_variable(std::int64_t variable);
  static Argument of_variables(std::vector<std::int64_t> variables);
  static Argument of_integer(std::int64_t value);
  static Argument of_real(double value);
  static Argument of_boolean(bool value);
  static Argument of_text(std::string value);
  static Argument of_integers(const std::vector<std::int64_t>& values);
  static Argument of_reals(std::vector<double> values);
  static Argument of_dtype(Dtype dtype);

  bool is_variable() const { return kind == Kind::variable; }
  std::vector<std::int64_t> integers() const { return {numbers.begin(), numbers.end()}; }
};

struct Step {
  bool under_no_grad = false;
  std::string name;  // "mul", "mul_", "mul_out", "leaf", "retain_grad", ...
  std::vector<std::int64_t> results;
  std::vector<Argument> args;

  bool is_leaf() const { return name == "leaf"; }
  bool is_input() const { return name == "leaf" || name == "data"; }
  bool is_in_place() const;
  bool is_out() const { return name.ends_with("_out"); }
  bool is_call() const;     // of a row or a form, in place and out= as well
  std::string row() const;  // "mul" of "mul_"
  std::int64_t target() const { return args[0].integer; }  // of in place, out= and retain_grad
};

struct Program {
  std::vector<Step> steps;
  std::vector<std::int64_t> loss;
  bool throws = false;
};

std::string text_of(const Step& step);
std::string text_of(const Program& program);
// Throws std::runtime_error with the line.
Program parse_program(const std::string& text);

// All variables that a step reads.
std::vector<std::int64_t> variables_of(const Step& step);

// The elements of leaf() and data(): given, or from the seed; of indices and masks 0.
std::vector<double> input_values(const Step& step);

// What element i of output k of the loss is multiplied by, and element i of the gradient of leaf k for
// the second derivative: numbers between -1 and 1 that no symmetry makes equal.
double loss_weight(std::size_t output, std::size_t element);
double gradient_weight(std::size_t leaf, std::size_t element);

}  // namespace bp::test::programs
