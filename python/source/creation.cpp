// Tensors of Python's values: nested lists, and arrays that show their memory.
#include <cstring>
#include <optional>
#include <vector>

#include <backplane/tensor/number_range.hpp>

#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

constexpr int deepest = static_cast<int>(max_rank);

enum class Category : std::uint8_t { none, boolean, integer, real, complex };

bool shows_memory(PyObject* object) {
  return PyObject_HasAttrString(object, "__dlpack__") ||
         PyObject_HasAttrString(object, "__array_interface__") ||
         PyObject_HasAttrString(object, "__array__");
}

bool is_list(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object)) return true;
  return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyDict_Check(object) && !tensor_in(object) && !shows_memory(object);
}

// The numbers of nested lists, row by row, as the widest category among them.
class Flattening {
 public:
  explicit Flattening(PyObject* data) { walk(data, 0); }

  Tensor made(std::optional<Dtype> dtype, std::optional<Device> device) const {
    const Dtype natural = natural_dtype();
    const Dtype wanted = dtype.value_or(natural);
    Tensor here;
    if (is_integral(wanted) && !is_complex(natural)) check_each(wanted);
    if (natural == boolean || is_integral(natural))
      here = from(whole_, above_ ? u64 : i64);
    else if (is_complex(natural))
      here = from(complex_, complex128);
    else
      here = from(real_, f64);
    without_gil([&] {
      here = bp::to(here, wanted);
      if (device) here = bp::to(here, *device);
    });
    return here;
  }

 private:
  // Refuses numbers that an integer dtype does not hold, where a cast would keep their low bits.
  void check_each(Dtype dtype) const {
    const bool are_whole = category_ <= Category::integer;
    if (are_whole && (above_ ? dtype == u64 : itemsize(dtype) == 8)) return;
    for (std::size_t i = 0; i < real_.size(); ++i)
      check_element("tensor", "a value", dtype,
                    are_whole && !above_ ? Scalar(whole_[i]) : Scalar(real_[i]));
  }
  Dtype natural_dtype() const {
    switch (category_) {
      case Category::boolean: return boolean;
      case Category::integer: return above_ ? u64 : i64;
      case Category::complex: return default_dtype() == f64 ? complex128 : complex64;
      default: return default_dtype();
    }
  }
  template <class T> Tensor from(const std::vector<T>& values, Dtype dtype) const {
    return detail::tensor_of_values(values.data(), dtype, shape_, {}, false);
  }

  void walk(PyObject* object, std::size_t level) {
    if (!is_list(object)) return add_leaf(object, level);
    if (level == static_cast<std::size_t>(deepest)) {
      PyErr_Format(PyExc_ValueError,
                   "tensor: lists are nested deeper than %d, the most dimensions that a tensor has",
                   deepest);
      throw nb::python_error();
    }
    const nb::object items = nb::steal(PySequence_Fast(object, "a sequence"));
    if (!items.is_valid()) throw nb::python_error();
    const auto size = static_cast<std::int64_t>(PySequence_Fast_GET_SIZE(items.ptr()));
    note_size(level, size);
    for (std::int64_t i = 0; i < size; ++i) {
      // Reading a number may run code of Python's, which may shorten the list.
      if (i >= PySequence_Fast_GET_SIZE(items.ptr()))
        throw nb::value_error("tensor: a list became shorter while it was read");
      const nb::object held =
          nb::borrow(PySequence_Fast_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)));
      walk(held.ptr(), level + 1);
    }
  }
  void note_size(std::size_t level, std::int64_t size) {
    if (known_ == level && !seen_leaf_) {
      shape_.push_back(size);
      ++known_;
    } else if (level >= known_ || shape_[level] != size) {
      throw nb::value_error("tensor: lists of one level differ in length");
    }
  }
  void add_leaf(PyObject* object, std::size_t level) {
    if (level != known_)
      throw nb::value_error(
          "tensor: numbers and lists are mixed, or lists of one level differ in length");
    seen_leaf_ = true;
    Scalar number;
    if (const Tensor* tensor = tensor_in(object)) {
      if (tensor->numel() != 1)
        throw nb::value_error("tensor: a tensor among numbers must have one element; use stack");
      number = item<Scalar>(*tensor);
    } else if (!find_number(object, number)) {
      PyErr_Format(PyExc_TypeError, "tensor: give numbers or nested lists of them, not %s",
                   type_name(object));
      throw nb::python_error();
    }
    add(number);
  }
  void add(const Scalar& number) {
    const Category category = number.is_bool()       ? Category::boolean
                              : number.is_integral() ? Category::integer
                              : number.is_complex()  ? Category::complex
                                                     : Category::real;
    category_ = std::max(category_, category);
    // All three, since a later number may widen the earlier ones.
    above_ |= number.is_above_int();
    whole_.push_back(number.is_complex() || number.is_floating() ? 0 : number.to_int());
    real_.push_back(number.to_double());
    if (category_ == Category::complex || !complex_.empty()) {
      while (complex_.size() + 1 < real_.size()) complex_.emplace_back(real_[complex_.size()]);
      complex_.push_back(number.to_complex());
    }
  }

  Dims shape_;
  std::size_t known_ = 0;  // levels whose size is known
  bool seen_leaf_ = false;
  Category category_ = Category::none;
  bool above_ = false;  // an integer from 2^63 on
  std::vector<std::int64_t> whole_;
  std::vector<double> real_;
  std::vector<std::complex<double>> complex_;
};

// A list of arrays of NumPy, which NumPy itself joins.
bool holds_arrays(PyObject* object) {
  for (int level = 0; level < deepest; ++level) {
    const bool is_nonempty =
        (PyList_Check(object) || PyTuple_Check(object)) && PySequence_Fast_GET_SIZE(object) > 0;
    if (!is_nonempty) return false;
    object = PySequence_Fast_GET_ITEM(object, 0);
    if (std::strcmp(type_name(object), "numpy.ndarray") == 0) return true;
  }
  return false;
}

struct Wanted {
  std::optional<Dtype> dtype;
  std::optional<Device> device;
};
Wanted wanted(nb::handle dtype, nb::handle device, const char* what) {
  Wanted found;
  Dtype type = f32;
  Device where;
  if (!dtype.is_none()) {
    if (!find_dtype(dtype.ptr(), type))
      throw nb::type_error((std::string(what) + ": dtype must be a dtype").c_str());
    found.dtype = type;
  }
  if (!device.is_none()) {
    if (!find_device(device.ptr(), where))
      throw nb::type_error((std::string(what) + ": device must be a device or its name").c_str());
    found.device = where;
  }
  return found;
}

Tensor moved(const Tensor& tensor, const Wanted& to) {
  return without_gil([&] {
    return bp::to(tensor, to.device.value_or(tensor.device()), to.dtype.value_or(tensor.dtype()));
  });
}

// Over the memory of another's array, if it shows it.
Tensor over(nb::handle data, bool copies) {
  const nb::object borrow = nb::module_::import_("backplane._exchange").attr("borrow");
  return tensor_of(nb::object(borrow(data, copies)), "what borrow returns");
}

nb::object make(nb::handle data, nb::handle dtype, nb::handle device, bool wants_grad,
                bool copies) {
  Wanted to = wanted(dtype, device, copies ? "tensor" : "as_tensor");
  Tensor made;
  if (const Tensor* tensor = tensor_in(data.ptr())) {
    made = moved(detach(*tensor), to);
    if (copies && made.shares_storage(*tensor)) made = clone(made);
  } else if (holds_arrays(data.ptr()) || (!is_list(data.ptr()) && shows_memory(data.ptr()))) {
    const Tensor borrowed = over(data, copies);
    // The host's memory becomes a tensor of the default device, as Python numbers do.
    Device usual;
    if (!to.device && device_record(borrowed.device()).host_readable && get_default_device(usual))
      to.device = usual;
    made = moved(borrowed, to);
    if (copies && made.shares_storage(borrowed)) made = clone(made);
  } else {
    made = Flattening(data.ptr()).made(to.dtype, to.device);
  }
  if (wants_grad) set_requires_grad(made);
  return nb::steal(wrap(std::move(made)));
}

}  // namespace

void add_creation(nb::module_& module) {
  module.def(
      "tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device, bool wants_grad) {
        return make(data, dtype, device, wants_grad, true);
      },
      nb::arg("data").none(), nb::kw_only(), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none(), nb::arg("requires_grad") = false,
      "A new tensor of numbers, nested lists, or another's array, which is copied.");
  module.def(
      "as_tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device) {
        return make(data, dtype, device, false, false);
      },
      nb::arg("data").none(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "A tensor of the values, over the same memory if possible.");
  module.def(
      "bytes_of",
      [](const Tensor& tensor) {
        without_gil([&] { synchronize(tensor.device()); });
        return nb::bytes(tensor.numel() == 0 ? "" : tensor.data_ptr(), tensor.nbytes());
      },
      "The elements of a contiguous tensor that the host can read.");
  module.def("tensor_of_bytes", [](const nb::bytes& raw, nb::handle dtype,
                                   const std::vector<std::int64_t>& shape) {
    const Dtype type = wanted(dtype, nb::none(), "tensor_of_bytes").dtype.value_or(f32);
    if (static_cast<std::uint64_t>(checked_numel("tensor_of_bytes", shape)) * itemsize(type) !=
        raw.size())
      throw nb::value_error("tensor_of_bytes: the shape needs another number of bytes");
    return detail::tensor_of_values(raw.data(), type, shape, {}, false);
  });
}

}  // namespace bp::python
