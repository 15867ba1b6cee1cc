// What a tensor says of itself as x.name(). Methods of C's, which answer in a third of the time of nanobind's with arguments.
#include "facts.hpp"

#include <algorithm>
#include <span>

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

// One without arguments.
template <auto get> PyObject* fact(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* { return get(self_of(self)); });
}

PyObject* dim(const Tensor& self) {
  return PyLong_FromLong(static_cast<long>(self.ndim()));
}
PyObject* numel(const Tensor& self) {
  return PyLong_FromLongLong(self.numel());
}
PyObject* element_size(const Tensor& self) {
  return PyLong_FromLong(static_cast<long>(self.itemsize()));
}
PyObject* storage_offset(const Tensor& self) {
  return PyLong_FromLongLong(self.storage_offset());
}
PyObject* data_ptr(const Tensor& self) {
  return PyLong_FromVoidPtr(self.data_ptr());
}
PyObject* is_floating_point(const Tensor& self) {
  return PyBool_FromLong(is_floating(self.dtype()));
}
PyObject* is_complex_fact(const Tensor& self) {
  return PyBool_FromLong(is_complex(self.dtype()));
}
PyObject* is_inference_fact(const Tensor& self) {
  return PyBool_FromLong(is_inference(self));
}

template <class F> PyCFunction method(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int with_arguments = METH_FASTCALL | METH_KEYWORDS;

PyObject* new_tuple(IntList list) {
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

#ifndef Py_GIL_DISABLED
// Shapes come again and again: a tuple that is known costs a third of a new one.
struct KnownTuple {
  static constexpr std::size_t longest = 4;
  std::int64_t entries[longest];
  std::size_t size;
  PyObject* tuple;
};
KnownTuple known_tuples[64];

KnownTuple& place_of(IntList list) {
  std::uint64_t mixed = list.size();
  for (const std::int64_t each : list) mixed = mixed * 31 + static_cast<std::uint64_t>(each);
  return known_tuples[(mixed ^ mixed >> 6) % 64];
}
#endif

}  // namespace

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  return guarded([&] {
    const IntList shape = self_of(self).shape();
    PyObject* const dim = only_argument("size", "dim", args, num_args, keywords);
    return dim ? entry_of("size", shape, dim) : tuple_of(shape);
  });
}

PyObject* tuple_of(IntList list) {
#ifdef Py_GIL_DISABLED
  return new_tuple(list);
#else
  if (list.size() > KnownTuple::longest) return new_tuple(list);
  KnownTuple& known = place_of(list);
  const bool is_known = known.tuple && known.size == list.size() &&
                        std::ranges::equal(list, std::span(known.entries, known.size));
  if (!is_known) {
    PyObject* const made = new_tuple(list);
    if (!made) return nullptr;
    std::ranges::copy(list, known.entries);
    known.size = list.size();
    Py_XDECREF(known.tuple);
    known.tuple = made;
  }
  return nb::handle(known.tuple).inc_ref().ptr();
#endif
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
    {"dim", fact<dim>, METH_NOARGS, "The number of dimensions."},
    {"ndimension", fact<dim>, METH_NOARGS, "The number of dimensions."},
    {"numel", fact<numel>, METH_NOARGS, "The number of elements."},
    {"nelement", fact<numel>, METH_NOARGS, "The number of elements."},
    {"element_size", fact<element_size>, METH_NOARGS, "Bytes of one element."},
    {"storage_offset", fact<storage_offset>, METH_NOARGS,
     "In elements, from the start of the storage."},
    {"data_ptr", fact<data_ptr>, METH_NOARGS,
     "The address of element 0, where the host can read the device's memory."},
    {"is_floating_point", fact<is_floating_point>, METH_NOARGS,
     "Is the dtype a floating-point one?"},
    {"is_complex", fact<is_complex_fact>, METH_NOARGS, "Is the dtype a complex one?"},
    {"is_inference", fact<is_inference_fact>, METH_NOARGS, "Was it made in inference mode?"},
    {}};

}  // namespace bp::python
