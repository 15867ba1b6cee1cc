// C++'s errors as Python's: what the call did wrong is a ValueError, what a device did a DeviceError.
#include <new>

#include "objects.hpp"

namespace bp::python {
namespace {

PyObject *error_class = nullptr, *device_error = nullptr, *out_of_memory = nullptr,
         *unsupported = nullptr;

PyObject* make_class(nb::module_& module, const char* name, const char* doc, nb::object bases) {
  const std::string full = std::string("backplane.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (!made) throw nb::python_error();
  module.attr(name) = nb::borrow(made);
  return made;
}

PyObject* class_of(ErrorClass error) {
  switch (error) {
    case ErrorClass::bad_argument: return PyExc_ValueError;
    case ErrorClass::out_of_memory: return out_of_memory;
    case ErrorClass::unsupported: return unsupported;
    case ErrorClass::timed_out: return PyExc_TimeoutError;
    default: return device_error;
  }
}

PyObject* class_of(nb::exception_type type) {
  switch (type) {
    case nb::exception_type::stop_iteration: return PyExc_StopIteration;
    case nb::exception_type::index_error: return PyExc_IndexError;
    case nb::exception_type::key_error: return PyExc_KeyError;
    case nb::exception_type::value_error: return PyExc_ValueError;
    case nb::exception_type::type_error: return PyExc_TypeError;
    case nb::exception_type::buffer_error: return PyExc_BufferError;
    case nb::exception_type::import_error: return PyExc_ImportError;
    case nb::exception_type::attribute_error: return PyExc_AttributeError;
    case nb::exception_type::next_overload: return PyExc_TypeError;
    default: return PyExc_RuntimeError;
  }
}

// `is_late` tells those that names of calls must not be put before (_named.py).
void set_error(const Error& error) {
  PyObject* const type = class_of(error.error_class());
  const nb::object made = nb::steal(PyObject_CallFunction(type, "s", error.what()));
  if (!made.is_valid()) return;
  if (error.is_late() && PyObject_SetAttrString(made.ptr(), "is_late", Py_True) != 0) return;
  PyErr_SetObject(type, made.ptr());
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    set_error(error);
  } catch (const nb::builtin_exception& error) {  // nb::type_error and the like
    PyErr_SetString(class_of(error.type()), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(out_of_memory, "the host's memory ran out");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of an unknown type");
  }
}

const char* type_name(nb::handle object) {
#ifdef Py_LIMITED_API
  thread_local std::string name;  // as tp_name has it: without a module for what Python itself has
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
  const auto text = [&](const char* attribute) {
    const nb::object value = nb::getattr(type, attribute, nb::none());
    return PyUnicode_Check(value.ptr()) ? nb::cast<std::string>(value) : std::string();
  };
  const std::string module = text("__module__");
  name = module.empty() || module == "builtins" ? "" : module + ".";
  name += text("__qualname__");
  return name.c_str();
#else
  return Py_TYPE(object.ptr())->tp_name;
#endif
}

void add_errors(nb::module_& module) {
  error_class = make_class(module, "Error", "What a device, a plugin or the runtime could not do.",
                           nb::borrow(PyExc_RuntimeError));
  device_error = make_class(module, "DeviceError",
                            "A device is lost, or its driver failed; use another, or call again.",
                            nb::borrow(error_class));
  out_of_memory =
      make_class(module, "OutOfMemoryError",
                 "Memory of a device, or of the host, ran out; free something and call again.",
                 nb::make_tuple(nb::borrow(device_error), nb::borrow(PyExc_MemoryError)));
  unsupported = make_class(
      module, "UnsupportedError", "No kernel serves the call, and the policy allows no fallback.",
      nb::make_tuple(nb::borrow(error_class), nb::borrow(PyExc_NotImplementedError)));
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      set_error(error);
    }
  });
}

}  // namespace bp::python
