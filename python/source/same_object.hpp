// One object of Python's for one tensor, so that x.grad is x.grad.
#pragma once

#include "objects.hpp"

namespace bp::python {

// The object that remember_object saw for this tensor, if it still lives; else a new one, which is remembered. None for an
// undefined tensor. A new reference.
PyObject* object_of(const Tensor& tensor);
// Makes `object`, of the class Tensor, the one of its tensor. It is not kept alive.
void remember_object(PyObject* object);
// Called with the GIL for each remembered object that dies, which held this tensor.
void forget_object(PyObject* object, const TensorImpl* tensor);

// The object of grad() of this one's tensor; None if there is none. A new reference.
PyObject* gradient_object(PyObject* object);
// What is kept for the next look; called where the tensor loses its gradient, whose memory would stay otherwise.
void drop_gradient_object(PyObject* object);

}  // namespace bp::python
