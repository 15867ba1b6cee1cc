// What is wrong with what the library makes of a program: against the interpreter's values, and against
// differences of them for the first and the second derivative.
#pragma once

#include "autograd/programs/interpreter.hpp"

namespace bp::test::programs {

// What the library makes of it. Gradients are by leaf in the program's order; zeros where none came.
struct Outcome {
  std::string error, phase;  // "forward", "first", "second" or "backward", where it was thrown
  std::map<std::int64_t, std::vector<double>> values;  // of all variables, at the end
  std::vector<std::vector<double>> first, second;
  std::map<std::int64_t, std::vector<double>> retained;
  bool lies_otherwise = false;  // a view asked for strides that are not as thought
};
Outcome run_program(const Program& program, const std::map<std::int64_t, Seen>& seen,
                    Device device);

struct Expected {
  std::string invalid;  // not empty: this is not a program
  bool is_error = false;
  bool is_refused = false;  // by the rules, and not by what backward finds
  bool may_fail = false;    // what was written may be needed by backward
  bool is_narrow = false;
  std::map<std::int64_t, Seen> seen;
  std::map<std::int64_t, std::vector<double>> values;
  struct Derivative {
    double value = 0, doubt = 0;
    bool is_sure = false;
  };
  std::vector<std::vector<Derivative>> first;
  std::map<std::int64_t, std::vector<Derivative>> retained;
  Derivative second;                           // along these:
  std::vector<std::vector<double>> direction;  // by leaf
};
Expected expect(const Program& program);

struct Verdict {
  std::string wrong;  // empty: nothing
  std::string kind;   // without numbers and names of variables, to group by
  bool was_judged = false, was_second_judged = false;
};
Verdict judge(const Program& program, const Expected& expected, const Outcome& outcome);

std::vector<const Step*> leaves_of(const Program& program);

}  // namespace bp::test::programs
