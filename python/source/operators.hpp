// Operators of the table as Python's functions and methods, made from their schemas when the module is imported.
#pragma once

#include "objects.hpp"

namespace bp::python {

// Calls a row with Python's arguments, as the function `bp.<name>` does. A new reference; null with Python's error set.
PyObject* call_operator(bp::Operator& op, PyObject* const* args, std::size_t num_args);

}  // namespace bp::python
