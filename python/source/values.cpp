#include "values.hpp"

#include <complex>
#include <cstring>

namespace bp::python {
namespace {

const char* wanted(const SchemaArgument& argument) {
  switch (argument.type) {
    case ArgumentType::tensor: return "a Tensor";
    case ArgumentType::tensor_list:
      return argument.holes ? "a list of Tensors or None" : "a list of Tensors";
    case ArgumentType::scalar: return "a number";
    case ArgumentType::integer: return "an int";
    case ArgumentType::integer_list: return "an int or a list of ints";
    case ArgumentType::real: return "a float";
    case ArgumentType::real_list: return "a list of floats";
    case ArgumentType::boolean: return "a bool";
    case ArgumentType::string: return "a str";
    case ArgumentType::dtype: return "a dtype";
    case ArgumentType::device: return "a device or its name";
    case ArgumentType::generator: return "a Generator";
  }
  return "something else";
}

[[noreturn]] void throw_type(const bp::Operator& op, const SchemaArgument& argument,
                             PyObject* object) {
  PyErr_Format(PyExc_TypeError, "%s: %s must be %s%s, not %s", op.name(), argument.name.c_str(),
               wanted(argument), argument.optional ? " or None" : "", type_name(object));
  throw nb::python_error();
}

// NumPy's bool is not a bool of Python's, and says that it is neither an index nor a float.
bool is_numpy_bool(PyObject* object) {
  return std::strncmp(type_name(object), "numpy.bool", 10) == 0;
}

bool integer_of_long(PyObject* number, Scalar& out) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    out = Scalar(static_cast<std::int64_t>(value));
    return true;
  }
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(number) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_SetString(PyExc_OverflowError, "the integer does not fit into 64 bits");
    throw nb::python_error();
  }
  out = Scalar(static_cast<std::uint64_t>(large));
  return true;
}

// Another library's tensor may call itself a number, and then say in its own words that it is none.
[[noreturn]] void throw_no_number(PyObject* object) {
  const nb::python_error said;  // takes Python's error, so that the object can be asked
  if (!PyObject_HasAttrString(object, "__dlpack__")) throw said;
  PyErr_Format(PyExc_TypeError,
               "a %s is not a Tensor of backplane's; from_dlpack() gives one over its memory",
               type_name(object));
  throw nb::python_error();
}

nb::object index_of(PyObject* object) {
  PyObject* const number = PyNumber_Index(object);
  if (!number) throw_no_number(object);
  return nb::steal(number);
}

// One number of a sequence. False: it is none, and Python's error is not set.
bool find_real(PyObject* object, double& out) {
  Scalar number;
  if (!find_number(object, number) || number.is_complex()) return false;
  out = number.to_double();
  return true;
}

bool is_sequence(PyObject* object) {
  return PyList_Check(object) || PyTuple_Check(object) ||
         (PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
          !tensor_in(object));
}

Scalar complex_of(PyObject* number) {
  return std::complex<double>(PyComplex_RealAsDouble(number), PyComplex_ImagAsDouble(number));
}

// By its __complex__.
Scalar complex_by_method(PyObject* object) {
  auto* const type = reinterpret_cast<PyObject*>(&PyComplex_Type);
  const nb::object number = nb::steal(PyObject_CallFunctionObjArgs(type, object, nullptr));
  if (!number.is_valid()) throw nb::python_error();
  return complex_of(number.ptr());
}

// Calls `take` with each element; false as soon as it says so.
template <class F> bool each_element(PyObject* object, F take) {
  if (!is_sequence(object)) return false;
  const nb::object items = nb::steal(PySequence_Fast(object, "a sequence"));
  if (!items.is_valid()) throw nb::python_error();
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    // Reading a number may run code of Python's, which may shorten the list.
    if (i >= PySequence_Fast_GET_SIZE(items.ptr())) return false;
    const nb::object held = nb::borrow(PySequence_Fast_GET_ITEM(items.ptr(), i));
    if (!take(held.ptr())) return false;
  }
  return true;
}

}  // namespace

bool find_bool(PyObject* object, bool& out) {
  if (PyBool_Check(object)) {
    out = object == Py_True;
    return true;
  }
  if (!is_numpy_bool(object)) return false;
  out = PyObject_IsTrue(object) == 1;
  return true;
}

bool find_number(PyObject* object, Scalar& out) {
  if (PyFloat_Check(object)) {
    out = Scalar(PyFloat_AS_DOUBLE(object));
    return true;
  }
  bool truth = false;
  if (find_bool(object, truth)) {
    out = Scalar(truth);
    return true;
  }
  if (PyLong_Check(object)) return integer_of_long(object, out);
  if (PyComplex_Check(object)) {
    out = complex_of(object);
    return true;
  }
  if (PyUnicode_Check(object) || PyBytes_Check(object) || tensor_in(object) ||
      PySequence_Check(object))
    return false;
  if (PyIndex_Check(object)) {
    const nb::object number = index_of(object);
    return integer_of_long(number.ptr(), out);
  }
  const bool is_real = PyType_GetSlot(Py_TYPE(object), Py_nb_float) != nullptr;
  if (PyObject_HasAttrString(object, "__complex__") && !is_real) {
    out = complex_by_method(object);
    return true;
  }
  if (is_real) {
    const bool is_complex = std::strncmp(type_name(object), "numpy.complex", 13) == 0;
    if (is_complex) {
      out = complex_by_method(object);
      return true;
    }
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    out = Scalar(value);
    return true;
  }
  return false;
}

bool find_integer(PyObject* object, std::int64_t& out) {
  if (PyBool_Check(object)) return false;
  if (!PyLong_Check(object)) {
    const Tensor* tensor = tensor_in(object);
    if (tensor ? tensor->ndim() != 0 || !is_integral(tensor->dtype()) : !PyIndex_Check(object))
      return false;
  }
  const nb::object number = index_of(object);
  int overflow = 0;
  out = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) {
    PyErr_SetString(PyExc_OverflowError, "the integer does not fit into 64 bits");
    throw nb::python_error();
  }
  return true;
}

// False: the object is not a list of the kind.
bool Values::set_list(std::size_t at, const SchemaArgument& argument, bool may_be_number,
                      PyObject* object) {
  switch (argument.type) {
    case ArgumentType::integer_list: {
      std::int64_t one = 0;
      if (find_integer(object, one)) {
        std::vector<std::int64_t>& list = integers_.emplace_back(1, one);
        set(at, value_of(IntList(list.data(), 1)));
        return true;
      }
      std::vector<std::int64_t>& list = integers_.emplace_back();
      const bool fits = each_element(
          object, [&](PyObject* element) { return find_integer(element, list.emplace_back()); });
      if (fits) set(at, value_of(IntList(list.data(), list.size())));
      return fits;
    }
    case ArgumentType::real_list: {
      std::vector<double>& list = reals_.emplace_back();
      if (!each_element(object,
                        [&](PyObject* element) { return find_real(element, list.emplace_back()); }))
        return false;
      bp_value value{};
      value.tag = BP_DOUBLE_LIST;
      value.aux = static_cast<std::uint32_t>(list.size());
      value.u.ptr = list.data();
      set(at, value);
      return true;
    }
    case ArgumentType::tensor_list: {
      Scalar number;
      if (may_be_number && find_number(object, number)) {
        Scalar& kept = more_numbers_.emplace_back(number);
        set(at, kept.value());
        return true;
      }
      std::vector<Tensor>& list = tensors_.emplace_back();
      const bool fits = each_element(object, [&](PyObject* element) {
        const Tensor* tensor = tensor_in(element);
        if (!tensor && !(element == Py_None && argument.holes)) return false;
        list.push_back(tensor ? *tensor : Tensor());
        return true;
      });
      if (fits) set(at, lists_.emplace_back(list).value());
      return fits;
    }
    default: return false;
  }
}

void Values::set(std::size_t at, const bp::Operator& op, PyObject* object) {
  const SchemaArgument& argument = op.schema->arguments[at];
  const bool may_be_number = (op.scalar_ok >> at & 1) != 0;
  if (object == Py_None && argument.optional) return set(at, bp_value{});
  switch (argument.type) {
    case ArgumentType::tensor:
    case ArgumentType::scalar: {
      if (const Tensor* tensor = tensor_in(object)) {
        if (argument.type == ArgumentType::tensor) return set(at, value_of(*tensor));
        if (tensor->numel() != 1) break;
      } else if (argument.type == ArgumentType::tensor && !may_be_number) {
        break;
      }
      Scalar& number = num_numbers_ < std::size(numbers_) ? numbers_[num_numbers_++]
                                                          : more_numbers_.emplace_back();
      if (const Tensor* tensor = tensor_in(object))
        number = item<Scalar>(*tensor);
      else if (!find_number(object, number))
        break;
      return set(at, number.value());
    }
    case ArgumentType::integer: {
      std::int64_t value = 0;
      if (!find_integer(object, value)) break;
      return set(at, value_of(value));
    }
    case ArgumentType::boolean: {
      bool value = false;
      if (!find_bool(object, value)) break;
      return set(at, value_of(value));
    }
    case ArgumentType::real: {
      double value = 0;
      if (const Tensor* tensor = tensor_in(object); tensor && tensor->numel() == 1)
        value = item<double>(*tensor);
      else if (!find_real(object, value))
        break;
      return set(at, value_of(value));
    }
    case ArgumentType::string: {
      if (!PyUnicode_Check(object)) break;
      Py_ssize_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(object, &size);
      if (!text) throw nb::python_error();
      return set(at, value_of(std::string_view(text, static_cast<std::size_t>(size))));
    }
    case ArgumentType::dtype: {
      Dtype dtype = f32;
      if (!find_dtype(object, dtype)) break;
      return set(at, value_of(dtype));
    }
    case ArgumentType::device: {
      Device device;
      if (!find_device(object, device)) break;
      return set(at, value_of(device));
    }
    case ArgumentType::generator: {
      Generator* generator = nullptr;
      if (!nb::try_cast<Generator*>(nb::handle(object), generator) || !generator) break;
      return set(at, value_of(generator));
    }
    case ArgumentType::integer_list:
    case ArgumentType::real_list:
    case ArgumentType::tensor_list:
      if (set_list(at, argument, may_be_number, object)) return;
  }
  throw_type(op, argument, object);
}

void Values::set_integers(std::size_t at, const bp::Operator& op, PyObject* const* objects,
                          std::size_t count) {
  std::vector<std::int64_t>& list = integers_.emplace_back();
  for (std::size_t i = 0; i < count; ++i)
    if (!find_integer(objects[i], list.emplace_back()))
      throw_type(op, op.schema->arguments[at], objects[i]);
  set(at, value_of(IntList(list.data(), list.size())));
}

}  // namespace bp::python
