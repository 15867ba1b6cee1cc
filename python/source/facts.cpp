// What a tensor says of itself as x.name(). Methods of C's, which answer in a third of the time of nanobind's with arguments.
#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

// The one argument that a method may have, by position or by its name. Null: it was not given, or is None.
PyObject* only_argument(const char* method, const char* name, PyObject* const* args,
                        Py_ssize_t num_args, PyObject* keywords) {
  const Py_ssize_t num_named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (num_args + num_named > 1) {
    PyErr_Format(PyExc_TypeError, "%s: takes one argument, '%s', and was given %zd", method, name,
                 num_args + num_named);
    throw nb::python_error();
  }
  if (num_named == 1 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), name) != 0) {
    PyErr_Format(PyExc_TypeError, "%s: no argument '%U'; there is '%s'", method,
                 PyTuple_GET_ITEM(keywords, 0), name);
    throw nb::python_error();
  }
  return num_args + num_named == 0 || args[0] == Py_None ? nullptr : args[0];
}

// The entry of a dimension, which may be counted from the end.
PyObject* entry_of(const char* method, IntList list, PyObject* dim) {
  std::int64_t given = 0;
  if (!find_integer(dim, given)) {
    PyErr_Format(PyExc_TypeError, "%s: dim must be an int, not %s", method, type_name(dim));
    throw nb::python_error();
  }
  const auto rank = static_cast<std::int64_t>(list.size());
  if (given < -rank || given >= rank) {
    PyErr_Format(PyExc_IndexError, "%s: the tensor has %lld dimensions, and none is %lld", method,
                 static_cast<long long>(rank), static_cast<long long>(given));
    throw nb::python_error();
  }
  return PyLong_FromLongLong(list[static_cast<std::size_t>(given < 0 ? given + rank : given)]);
}

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  return guarded([&] {
    const IntList shape = self_of(self).shape();
    PyObject* const dim = only_argument("size", "dim", args, num_args, keywords);
    return dim ? entry_of("size", shape, dim) : tuple_of(shape);
  });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  return guarded([&] {
    const IntList strides = self_of(self).strides();
    PyObject* const dim = only_argument("stride", "dim", args, num_args, keywords);
    return dim ? entry_of("stride", strides, dim) : tuple_of(strides);
  });
}

std::optional<MemoryFormat> format_argument(const char* method, PyObject* given) {
  if (!given) return MemoryFormat::contiguous;
  if (!PyUnicode_Check(given)) {
    PyErr_Format(PyExc_TypeError, "%s: memory_format must be a name, not %s", method,
                 type_name(given));
    throw nb::python_error();
  }
  return format_named(nb::borrow<nb::str>(given).c_str());
}

PyObject* is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t num_args,
                        PyObject* keywords) {
  return guarded([&] {
    PyObject* const named =
        only_argument("is_contiguous", "memory_format", args, num_args, keywords);
    const auto format = format_argument("is_contiguous", named);
    return PyBool_FromLong(self_of(self).is_contiguous(format.value_or(MemoryFormat::contiguous)));
  });
}

PyObject* contiguous(PyObject* self, PyObject* const* args, Py_ssize_t num_args,
                     PyObject* keywords) {
  return guarded([&] {
    const Tensor& tensor = self_of(self);
    PyObject* const named = only_argument("contiguous", "memory_format", args, num_args, keywords);
    const auto format = format_argument("contiguous", named);
    if (!format || tensor.is_contiguous(*format)) return nb::handle(self).inc_ref().ptr();
    return wrap(without_gil([&] { return bp::contiguous(tensor, *format); }));
  });
}

template <class F> PyCFunction method(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int with_arguments = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyObject* tuple_of(IntList list) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(list.size()));
  if (!tuple) return nullptr;
  for (std::size_t i = 0; i < list.size(); ++i) {
    PyObject* each = PyLong_FromLongLong(list[i]);
    if (!each) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), each);
  }
  return tuple;
}

std::optional<MemoryFormat> format_named(std::string_view name) {
  if (name == "contiguous_format") return MemoryFormat::contiguous;
  if (name == "channels_last") return MemoryFormat::channels_last;
  if (name == "preserve_format") return std::nullopt;
  throw nb::value_error(("no memory format '" + std::string(name) +
                         "'; there are contiguous_format, channels_last and preserve_format")
                            .c_str());
}

PyMethodDef fact_methods[] = {
    {"size", method(size), with_arguments, "The shape, or the size of one dimension, `dim`."},
    {"stride", method(stride), with_arguments,
     "Steps in elements from one index to the next: all, or that of one dimension, `dim`."},
    {"is_contiguous", method(is_contiguous), with_arguments,
     "Are the elements one after the other, in row-major order or that of `memory_format`?"},
    {"contiguous", method(contiguous), with_arguments,
     "The tensor without gaps, in row-major order or that of `memory_format`; itself if it is so."},
    {}};

}  // namespace bp::python
