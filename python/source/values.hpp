// Python's values as arguments of operators.
#pragma once

#include <list>
#include <vector>

#include "objects.hpp"

namespace bp::python {

// A number that is not a tensor: Python's, NumPy's, or whatever says what it is by __index__, __float__ or __complex__. False: it is
// none. Throws OverflowError for an integer that no 64 bits hold.
bool find_number(PyObject* object, Scalar& out);
// Python's bool or NumPy's.
bool find_bool(PyObject* object, bool& out);
// An integer, and not a bool or a real number.
bool find_integer(PyObject* object, std::int64_t& out);

// The arguments of one call, and what they point to.
class Values {
 public:
  static constexpr std::size_t most = 40;

  bp_value* data() { return values_; }
  void set(std::size_t at, const bp_value& value) { values_[at] = value; }
  // Throws TypeError naming operator and argument for an object of another type.
  void set(std::size_t at, const bp::Operator& op, PyObject* object);
  // Integers that were given one by one, as in x.reshape(2, 3).
  void set_integers(std::size_t at, const bp::Operator& op, PyObject* const* objects,
                    std::size_t count);

 private:
  bool set_list(std::size_t at, const SchemaArgument& argument, bool may_be_number,
                PyObject* object);

  bp_value values_[most];
  Scalar numbers_[4];
  std::size_t num_numbers_ = 0;
  // Rarely needed.
  std::list<std::vector<std::int64_t>> integers_;
  std::list<std::vector<double>> reals_;
  std::list<std::vector<Tensor>> tensors_;
  std::list<TensorListValue> lists_;
  std::list<Scalar> more_numbers_;
};

}  // namespace bp::python
