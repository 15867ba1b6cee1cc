// What others need of the methods in facts.cpp.
#pragma once

#include "objects.hpp"

namespace bp::python {

// x.size(dim=None), as a function of C's with keywords.
PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords);

}  // namespace bp::python
