// What comes out of tensors as Python's numbers, lists and text.
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/elements.hpp>
#include <backplane/tensor/printing.hpp>

#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

template <class T> PyObject* number_at(const std::byte* element, Dtype) {
  T value;
  std::memcpy(&value, element, sizeof value);
  if constexpr (std::is_floating_point_v<T>) return PyFloat_FromDouble(value);
  return PyLong_FromLongLong(value);
}
PyObject* any_number_at(const std::byte* element, Dtype dtype) {
  return number_object(load_number(element, dtype)).release().ptr();
}

// The common dtypes are read without a switch for each element.
auto reader_of(Dtype dtype) {
  switch (dtype) {
    case f32: return &number_at<float>;
    case f64: return &number_at<double>;
    case i32: return &number_at<std::int32_t>;
    case i64: return &number_at<std::int64_t>;
    default: return &any_number_at;
  }
}

// Reads the elements of a row-major tensor in host memory, one by one.
struct Elements {
  const std::byte* next;
  Dtype dtype;
  PyObject* (*read)(const std::byte*, Dtype);

  nb::object list(IntList shape) {
    if (shape.empty()) {
      PyObject* number = read(next, dtype);
      if (!number) throw nb::python_error();
      next += itemsize(dtype);
      return nb::steal(number);
    }
    nb::object made = nb::steal(PyList_New(static_cast<Py_ssize_t>(shape[0])));
    if (!made.is_valid()) throw nb::python_error();
    for (std::int64_t i = 0; i < shape[0]; ++i)
      PyList_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i),
                      list({shape.data() + 1, shape.size() - 1}).release().ptr());
    return made;
  }
};

// Can its elements be read where they are? While calls are recorded none can: reading them is an error then.
bool is_plain(const Tensor& tensor) {
  const std::uint64_t seen_by = tensor.impl()->keys & ~key_of(Layer::autograd);
  return seen_by == 0 && tensor.is_contiguous() && is_ready(tensor) && !is_capturing();
}

// The only element, where it can be read; null otherwise.
const std::byte* readable_element(const Tensor& tensor) {
  return tensor.numel() == 1 && is_plain(tensor) ? static_cast<const std::byte*>(tensor.data_ptr())
                                                 : nullptr;
}

// The only element, with `caller` in the errors' front.
Scalar number_in(const char* caller, const Tensor& tensor) {
  return named(caller, [&] { return item_of(tensor); });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& tensor = self_of(self);
    const std::byte* element = readable_element(tensor);
    return element ? reader_of(tensor.dtype())(element, tensor.dtype())
                   : number_object(item_of(tensor)).release().ptr();
  });
}

nb::object to_list(const Tensor& self) {
  if (self.device() == meta_device)
    throw nb::value_error(
        "tolist: a meta tensor has no values; call it on a tensor of another device");
  const Tensor here = is_plain(self) ? self : without_gil([&] {
    Tensor copy = contiguous(cpu(detach(self)));
    synchronize(copy.device());
    return copy;
  });
  // Without elements there is no memory, and nothing is read.
  const void* first = here.numel() == 0 ? nullptr : here.data_ptr();
  return Elements{static_cast<const std::byte*>(first), here.dtype(), reader_of(here.dtype())}.list(
      here.shape());
}

nb::object to_float(const Tensor& self) {
  const Scalar value = number_in("float", self);
  if (value.is_complex() && value.to_complex().imag() != 0)
    throw nb::type_error("float: the number has an imaginary part; take .real");
  return nb::float_(value.to_double());
}

nb::object to_int(const Tensor& self) {
  const Scalar value = number_in("int", self);
  if (value.is_complex() && value.to_complex().imag() != 0)
    throw nb::type_error("int: the number has an imaginary part; take .real");
  PyObject* number = nullptr;
  if (value.is_floating() || value.is_complex())
    number = PyLong_FromDouble(value.to_double());
  else
    number = PyNumber_Long(number_object(value).ptr());
  if (!number) throw nb::python_error();
  return nb::steal(number);
}

nb::object to_index(const Tensor& self) {
  if (self.numel() != 1 || (!is_integral(self.dtype()) && self.dtype() != boolean))
    throw nb::type_error("only integer tensors of one element are indices");
  return nb::steal(PyNumber_Long(number_object(item_of(self)).ptr()));
}

template <auto convert> PyObject* number_slot(PyObject* self) noexcept {
  return guarded([&] { return convert(self_of(self)).release().ptr(); });
}

std::string text_of(const Tensor& self) {
  std::string text =
      without_gil([&] { return to_string(self.device() == meta_device ? self : detach(self)); });
  if (requires_grad(self) && !text.empty() && text.back() == ')') {
    text.pop_back();
    text += is_leaf(self) ? ", requires_grad=True)" : ", grad_fn=<recorded>)";
  }
  return text;
}

nb::dict options_as_dict() {
  const PrintOptions options = print_options();
  nb::dict found;
  found["precision"] = options.precision;
  found["threshold"] = options.threshold;
  found["edgeitems"] = options.edgeitems;
  found["linewidth"] = options.linewidth;
  found["sci_mode"] = options.sci_mode ? nb::object(nb::bool_(*options.sci_mode)) : nb::none();
  return found;
}

}  // namespace

Scalar item_of(const Tensor& tensor) {
  if (const std::byte* element = readable_element(tensor))
    return load_number(element, tensor.dtype());
  return without_gil([&] { return bp::item<Scalar>(tensor); });
}

PyMethodDef number_methods[] = {{"item", item, METH_NOARGS, "The only element as a Python number."},
                                {}};

PyType_Slot number_slots[] = {{Py_nb_float, reinterpret_cast<void*>(number_slot<to_float>)},
                              {Py_nb_int, reinterpret_cast<void*>(number_slot<to_int>)},
                              {Py_nb_index, reinterpret_cast<void*>(number_slot<to_index>)},
                              {0, nullptr}};

nb::object number_object(const Scalar& value) {
  PyObject* number = nullptr;
  if (value.is_bool()) {
    number = PyBool_FromLong(value.to_bool());
  } else if (value.is_complex()) {
    const std::complex<double> parts = value.to_complex();
    number = PyComplex_FromDoubles(parts.real(), parts.imag());
  } else if (value.is_floating()) {
    number = PyFloat_FromDouble(value.to_double());
  } else if (value.is_above_int()) {
    number = PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(value.to_int()));
  } else {
    number = PyLong_FromLongLong(value.to_int());
  }
  if (!number) throw nb::python_error();
  return nb::steal(number);
}

void add_numbers(nb::module_& module, TensorClass& type) {
  module.def("get_printoptions", &options_as_dict, "What set_printoptions set, by name.");
  module.def(
      "set_printoptions",
      [](std::optional<int> precision, std::optional<std::int64_t> threshold,
         std::optional<std::int64_t> edgeitems, std::optional<std::int64_t> linewidth,
         const std::optional<std::string>& profile, std::optional<bool> sci_mode) {
        PrintOptions options = print_options();
        if (profile) {
          if (*profile != "default" && *profile != "short" && *profile != "full")
            throw nb::value_error(("set_printoptions: no profile '" + *profile +
                                   "'; there are default, short and full")
                                      .c_str());
          options = PrintOptions();
          if (*profile == "short") options.precision = 2, options.edgeitems = 2;
          if (*profile == "full") options.threshold = std::numeric_limits<std::int64_t>::max();
        }
        options.precision = precision.value_or(options.precision);
        options.threshold = threshold.value_or(options.threshold);
        options.edgeitems = edgeitems.value_or(options.edgeitems);
        options.linewidth = linewidth.value_or(options.linewidth);
        options.sci_mode = sci_mode;
        set_print_options(options);
      },
      nb::arg("precision") = nb::none(), nb::arg("threshold") = nb::none(),
      nb::arg("edgeitems") = nb::none(), nb::arg("linewidth") = nb::none(),
      nb::arg("profile") = nb::none(), nb::arg("sci_mode") = nb::none(),
      "How tensors are written as text: digits after the point, the number of elements from which "
      "a tensor is summarized, those shown at each end then, characters of a line, and whether "
      "numbers are in scientific notation, which is decided for each tensor if it is None.");
  type.def("tolist", &to_list, "Nested lists of numbers; a number where there are no dimensions.");
  type.def("__complex__", [](const Tensor& self) {
    const std::complex<double> value = number_in("complex", self).to_complex();
    return nb::steal(PyComplex_FromDoubles(value.real(), value.imag()));
  });
  type.def("__repr__", &text_of);
  type.def("__format__", [](nb::handle self, const std::string& how) -> nb::object {
    const Tensor& tensor = self_of(self.ptr());
    if (tensor.ndim() != 0 || tensor.device() == meta_device) return nb::str(self);
    return number_object(item_of(tensor)).attr("__format__")(how);
  });
}

}  // namespace bp::python
