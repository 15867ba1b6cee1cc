// One object of Python's for one tensor, so that x.grad is x.grad.
#pragma once

#include "objects.hpp"

namespace bp::python {

// The object that remember_object saw for this tensor, if it still lives; else a new one, which is remembered. None for an
// undefined tensor. A new reference.
PyObject* object_of(const Tensor& tensor);
// Makes `object`, of the class Tensor, the one of its tensor. It is not kept alive.
void remember_object(PyObject* object);
// Called with the GIL for each object that dies, which held this tensor.
void forget_object(PyObject* object, const TensorImpl* tensor);

}  // namespace bp::python
