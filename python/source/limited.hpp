// What CPython's stable ABI lacks, by the functions that it has: there, macros that read an object's fields are calls.
#pragma once

#include <Python.h>

#ifdef Py_LIMITED_API
#  define PyTuple_GET_SIZE PyTuple_Size
#  define PyTuple_GET_ITEM PyTuple_GetItem
#  define PyTuple_SET_ITEM PyTuple_SetItem
#  define PyList_GET_SIZE PyList_Size
#  define PyList_GET_ITEM PyList_GetItem
#  define PyList_SET_ITEM PyList_SetItem
#  define PyFloat_AS_DOUBLE PyFloat_AsDouble
#  define PyBytes_AS_STRING PyBytes_AsString
#  define PyBytes_GET_SIZE PyBytes_Size
#  define PyObject_CallMethodNoArgs(object, name) PyObject_CallMethodObjArgs(object, name, nullptr)

inline PyObject* PyMethod_New(PyObject* function, PyObject* self) {
  static PyObject* const type = [] {
    PyObject* module = PyImport_ImportModule("types");
    PyObject* found = module ? PyObject_GetAttrString(module, "MethodType") : nullptr;
    Py_XDECREF(module);
    return found;
  }();
  return type ? PyObject_CallFunctionObjArgs(type, function, self, nullptr) : nullptr;
}
#endif
