// x.size is a number to the array API standard and a method to PyTorch. An attribute that is both: Python calls a method's
// descriptor without reading it first, so that x.size() never makes the number.
#include <Python.h>
#include <cstddef>
#include <structmember.h>

#include "facts.hpp"

namespace bp::python {
namespace {

struct SizeAttribute {
  PyObject_HEAD vectorcallfunc call;
  PyObject* number;  // a function of the tensor, for x.size
};

PyObject* call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) {
  const Py_ssize_t num_args = PyVectorcall_NARGS(count);
  if (num_args == 0 || !tensor_in(args[0])) {
    PyErr_Format(PyExc_TypeError, "size: the first argument must be a Tensor, not %s",
                 num_args == 0 ? "missing" : type_name(args[0]));
    return nullptr;
  }
  (void)self;
  return size(args[0], args + 1, num_args - 1, keywords);
}

PyObject* read(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) return nb::handle(self).inc_ref().ptr();
  return PyObject_CallFunctionObjArgs(reinterpret_cast<SizeAttribute*>(self)->number, object,
                                      nullptr);
}

PyObject* make(PyObject*, PyObject* number) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(SizeAttribute, call), READONLY, nullptr}, {}};
  static PyType_Slot slots[] = {
      {Py_tp_descr_get, reinterpret_cast<void*>(read)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>("The number of elements; called, the shape, or the size of one "
                                    "dimension, `dim`.")},
      {0, nullptr}};
  static PyType_Spec spec = {
      "backplane._core._SizeAttribute", sizeof(SizeAttribute), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  PyObject* const type = PyType_FromSpec(&spec);
  if (!type) return nullptr;
  PyObject* const made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0);
  Py_DECREF(type);  // the object holds it
  if (!made) return nullptr;
  auto* attribute = reinterpret_cast<SizeAttribute*>(made);
  attribute->call = call;
  attribute->number = nb::handle(number).inc_ref().ptr();
  return made;
}

}  // namespace

void add_size(nb::module_& module) {
  static PyMethodDef method = {"_size_attribute", make, METH_O, nullptr};
  module.attr("_size_attribute") = nb::steal(PyCFunction_NewEx(&method, nullptr, nullptr));
}

}  // namespace bp::python
