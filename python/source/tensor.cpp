// The class Tensor: what it knows of itself, Python's arithmetic, and what comes out as Python's numbers.
#include <cstring>
#include <optional>

#include <backplane/core_ops/generated/rows.hpp>

#include "operators.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

PyTypeObject* tensor_type = nullptr;

nb::tuple tuple_of(IntList list) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (std::size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(list[i]));
  return nb::borrow<nb::tuple>(tuple);
}

nb::object number_object(const Scalar& value) {
  if (value.is_bool()) return nb::bool_(value.to_bool());
  if (value.is_complex()) {
    const std::complex<double> number = value.to_complex();
    return nb::steal(PyComplex_FromDoubles(number.real(), number.imag()));
  }
  if (value.is_floating()) return nb::float_(value.to_double());
  if (value.is_above_int())
    return nb::steal(PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(value.to_int())));
  return nb::steal(PyLong_FromLongLong(value.to_int()));
}

Scalar item_of(const Tensor& tensor) {
  return without_gil([&] { return item(tensor); });
}

nb::object list_of(const Tensor& tensor) {
  if (tensor.ndim() == 0) return number_object(item_of(tensor));
  nb::list list;
  if (tensor.ndim() == 1) {
    // One look at each element of a copy that the host reads.
    const Tensor here = without_gil([&] { return cpu(detach(tensor)); });
    for (std::int64_t i = 0; i < here.size(0); ++i)
      list.append(number_object(item(select(here, 0, i))));
    return list;
  }
  const Tensor here = without_gil([&] { return cpu(detach(tensor)); });
  for (std::int64_t i = 0; i < here.size(0); ++i) list.append(list_of(select(here, 0, i)));
  return list;
}

// --- Python's operators --------------------------------------------------------------------------------------------------

PyObject* not_implemented() {
  return nb::handle(Py_NotImplemented).inc_ref().ptr();
}

// Is it a tensor, or a number beside one? Others answer for themselves.
bool takes_part(PyObject* object) {
  if (tensor_in(object)) return true;
  Scalar number;
  return find_number(object, number);
}

PyObject* call_by_slot(bp::Operator& op, PyObject* a, PyObject* b) noexcept {
  try {
    if (!takes_part(a) || !takes_part(b)) return not_implemented();
    PyObject* const args[] = {a, b};
    return call_operator(op, args, 2);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// The common case of two tensors, or a tensor and a number: no names, no defaults but alpha.
PyObject* pointwise_by_slot(bp::Operator& op, PyObject* a, PyObject* b, bool has_alpha) noexcept {
  try {
    bp_value values[3];
    Scalar numbers[2];
    PyObject* const objects[] = {a, b};
    for (int i = 0; i < 2; ++i) {
      if (const Tensor* tensor = tensor_in(objects[i]))
        values[i] = value_of(*tensor);
      else if (find_number(objects[i], numbers[i]))
        values[i] = numbers[i].value();
      else
        return not_implemented();
    }
    if (has_alpha) values[2] = value_of(std::int64_t{1});
    return wrap(without_gil([&] { return call_pointwise(op, values, has_alpha ? 3 : 2); }));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* write_by_slot(bp::Operator& op, PyObject* a, PyObject* b, bool has_alpha) noexcept {
  try {
    const Tensor& target = *tensor_in(a);
    bp_value values[3] = {value_of(target)};
    Scalar number;
    if (const Tensor* tensor = tensor_in(b))
      values[1] = value_of(*tensor);
    else if (find_number(b, number))
      values[1] = number.value();
    else
      return not_implemented();
    if (has_alpha) values[2] = value_of(std::int64_t{1});
    without_gil([&] { call_pointwise_into(op, values, has_alpha ? 3 : 2, target); });
    return nb::handle(a).inc_ref().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* unary_by_slot(bp::Operator& op, PyObject* a) noexcept {
  try {
    bp_value value = value_of(*tensor_in(a));
    return wrap(without_gil([&] { return call_pointwise(op, &value, 1); }));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

#define BP_POINTWISE_SLOT(slot, row, alpha)          \
  PyObject* slot(PyObject* a, PyObject* b) {         \
    return pointwise_by_slot(ops::row, a, b, alpha); \
  }
#define BP_WRITING_SLOT(slot, row, alpha)        \
  PyObject* slot(PyObject* a, PyObject* b) {     \
    return write_by_slot(ops::row, a, b, alpha); \
  }
BP_POINTWISE_SLOT(slot_add, add, true)
BP_POINTWISE_SLOT(slot_subtract, sub, true)
BP_POINTWISE_SLOT(slot_multiply, mul, false)
BP_POINTWISE_SLOT(slot_divide, div, false)
BP_WRITING_SLOT(slot_add_to, add, true)
BP_WRITING_SLOT(slot_subtract_from, sub, true)
BP_WRITING_SLOT(slot_multiply_by, mul, false)
BP_WRITING_SLOT(slot_divide_by, div, false)
#undef BP_POINTWISE_SLOT
#undef BP_WRITING_SLOT

PyObject* slot_negative(PyObject* a) {
  return unary_by_slot(ops::neg, a);
}
PyObject* slot_absolute(PyObject* a) {
  return unary_by_slot(ops::abs, a);
}
PyObject* slot_positive(PyObject* a) {
  return nb::handle(a).inc_ref().ptr();
}
PyObject* slot_invert(PyObject* a) noexcept {
  const Tensor& tensor = *tensor_in(a);
  return unary_by_slot(tensor.dtype() == boolean ? ops::logical_not : ops::bitwise_not, a);
}
PyObject* slot_matmul(PyObject* a, PyObject* b) noexcept {
  if (!tensor_in(a) || !tensor_in(b)) return not_implemented();
  return call_by_slot(ops::matmul, a, b);
}
PyObject* slot_floor_divide(PyObject* a, PyObject* b) {
  return call_by_slot(ops::floor_divide, a, b);
}
PyObject* slot_remainder(PyObject* a, PyObject* b) {
  return call_by_slot(ops::remainder, a, b);
}
PyObject* slot_power(PyObject* a, PyObject* b, PyObject* modulo) {
  return modulo == Py_None ? call_by_slot(ops::pow, a, b) : not_implemented();
}
PyObject* slot_and(PyObject* a, PyObject* b) {
  return call_by_slot(ops::bitwise_and, a, b);
}
PyObject* slot_or(PyObject* a, PyObject* b) {
  return call_by_slot(ops::bitwise_or, a, b);
}
PyObject* slot_xor(PyObject* a, PyObject* b) {
  return call_by_slot(ops::bitwise_xor, a, b);
}
PyObject* slot_left(PyObject* a, PyObject* b) {
  return call_by_slot(ops::bitwise_left_shift, a, b);
}
PyObject* slot_right(PyObject* a, PyObject* b) {
  return call_by_slot(ops::bitwise_right_shift, a, b);
}

PyObject* slot_compare(PyObject* a, PyObject* b, int what) {
  bp::Operator* const rows[] = {&ops::lt, &ops::le, &ops::eq,
                                &ops::ne, &ops::gt, &ops::ge};  // as Py_LT, Py_LE, ...
  return pointwise_by_slot(*rows[what], a, b, false);
}

// By identity, as PyTorch's: tensors that are equal are not the same.
Py_hash_t slot_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
}

int slot_truth(PyObject* self) noexcept {
  try {
    const Tensor& tensor = *tensor_in(self);
    if (tensor.numel() != 1) {
      PyErr_Format(PyExc_ValueError,
                   "the truth of a tensor of %lld elements is not one bool; ask any() or all()",
                   static_cast<long long>(tensor.numel()));
      return -1;
    }
    return item_of(tensor).to_bool() ? 1 : 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

Py_ssize_t slot_length(PyObject* self) noexcept {
  try {
    const Tensor& tensor = *tensor_in(self);
    if (tensor.ndim() == 0) {
      PyErr_SetString(PyExc_TypeError, "len() of a tensor without dimensions");
      return -1;
    }
    return static_cast<Py_ssize_t>(tensor.size(0));
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// Python asks for one list.
PyType_Slot arithmetic_slots[] = {
    {Py_nb_add, reinterpret_cast<void*>(slot_add)},
    {Py_nb_subtract, reinterpret_cast<void*>(slot_subtract)},
    {Py_nb_multiply, reinterpret_cast<void*>(slot_multiply)},
    {Py_nb_true_divide, reinterpret_cast<void*>(slot_divide)},
    {Py_nb_inplace_add, reinterpret_cast<void*>(slot_add_to)},
    {Py_nb_inplace_subtract, reinterpret_cast<void*>(slot_subtract_from)},
    {Py_nb_inplace_multiply, reinterpret_cast<void*>(slot_multiply_by)},
    {Py_nb_inplace_true_divide, reinterpret_cast<void*>(slot_divide_by)},
    {Py_nb_negative, reinterpret_cast<void*>(slot_negative)},
    {Py_nb_positive, reinterpret_cast<void*>(slot_positive)},
    {Py_nb_absolute, reinterpret_cast<void*>(slot_absolute)},
    {Py_nb_invert, reinterpret_cast<void*>(slot_invert)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(slot_matmul)},
    {Py_nb_floor_divide, reinterpret_cast<void*>(slot_floor_divide)},
    {Py_nb_remainder, reinterpret_cast<void*>(slot_remainder)},
    {Py_nb_power, reinterpret_cast<void*>(slot_power)},
    {Py_nb_and, reinterpret_cast<void*>(slot_and)},
    {Py_nb_or, reinterpret_cast<void*>(slot_or)},
    {Py_nb_xor, reinterpret_cast<void*>(slot_xor)},
    {Py_nb_lshift, reinterpret_cast<void*>(slot_left)},
    {Py_nb_rshift, reinterpret_cast<void*>(slot_right)},
    {Py_nb_bool, reinterpret_cast<void*>(slot_truth)},
    {Py_tp_richcompare, reinterpret_cast<void*>(slot_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(slot_hash)},
    {Py_mp_length, reinterpret_cast<void*>(slot_length)},
    {Py_sq_length, reinterpret_cast<void*>(slot_length)}};

// --- Moves ---------------------------------------------------------------------------------------------------------------

// x.to(device), x.to(dtype), x.to(device, dtype), x.to(other), each also by name.
nb::object to_any(nb::handle self, nb::args args, nb::kwargs keywords) {
  const Tensor& tensor = *tensor_in(self.ptr());
  std::optional<Device> device;
  std::optional<Dtype> dtype;
  bool copies = false;
  const auto take = [&](nb::handle given) {
    Device where;
    Dtype what = f32;
    if (given.is_none()) return;
    if (const Tensor* other = tensor_in(given.ptr())) {
      device = other->device();
      dtype = other->dtype();
    } else if (find_device(given.ptr(), where)) {
      device = where;
    } else if (find_dtype(given.ptr(), what)) {
      dtype = what;
    } else if (!PyBool_Check(given.ptr())) {  // non_blocking, by position
      PyErr_Format(PyExc_TypeError, "to: give a device, a dtype or a tensor, not %s",
                   Py_TYPE(given.ptr())->tp_name);
      throw nb::python_error();
    }
  };
  for (nb::handle each : args) take(each);
  for (const auto& [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "device" || name == "dtype" || name == "other")
      take(value);
    else if (name == "copy")
      copies = nb::cast<bool>(value);
    else if (name != "non_blocking")
      throw nb::type_error(("to: no argument '" + name + "'").c_str());
  }
  Tensor moved = without_gil([&] {
    const Device where = device.value_or(tensor.device());
    const Dtype what = dtype.value_or(tensor.dtype());
    Tensor there = tensor;
    if (where != tensor.device() || what != tensor.dtype()) there = to(tensor, where, what);
    return copies && there.is_same(tensor) ? clone(tensor) : there;
  });
  if (moved.is_same(tensor)) return nb::borrow(self);
  return nb::steal(wrap(std::move(moved)));
}

MemoryFormat format_named(const std::string& name) {
  if (name == "contiguous_format") return MemoryFormat::contiguous;
  if (name == "channels_last") return MemoryFormat::channels_last;
  throw nb::value_error(
      ("no memory format '" + name + "'; there are contiguous_format and channels_last").c_str());
}

void add_facts(nb::class_<Tensor>& type) {
  type.def_prop_ro("shape", [](const Tensor& self) { return tuple_of(self.shape()); });
  type.def(
      "size",
      [](const Tensor& self, std::optional<std::int64_t> dim) -> nb::object {
        if (!dim) return tuple_of(self.shape());
        return nb::int_(self.size(*dim));
      },
      nb::arg("dim") = nb::none());
  type.def(
      "stride",
      [](const Tensor& self, std::optional<std::int64_t> dim) -> nb::object {
        if (!dim) return tuple_of(self.strides());
        const std::int64_t rank = self.ndim();
        if (*dim < -rank || *dim >= rank) throw nb::index_error("stride: no such dimension");
        return nb::int_(self.strides()[static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim)]);
      },
      nb::arg("dim") = nb::none(), "Steps in elements.");
  type.def_prop_ro("ndim", &Tensor::ndim);
  type.def("dim", &Tensor::ndim);
  type.def("numel", &Tensor::numel, "The number of elements.");
  type.def("nelement", &Tensor::numel);
  type.def_prop_ro("dtype", [](const Tensor& self) { return dtype_object(self.dtype()); });
  type.def_prop_ro("device", [](const Tensor& self) { return DeviceObject{self.device()}; });
  type.def_prop_ro("itemsize", &Tensor::itemsize);
  type.def("element_size", &Tensor::itemsize, "Bytes of one element.");
  type.def_prop_ro("nbytes", &Tensor::nbytes);
  type.def("storage_offset", &Tensor::storage_offset,
           "In elements, from the start of the storage.");
  type.def(
      "data_ptr",
      [](const Tensor& self) { return reinterpret_cast<std::uintptr_t>(self.data_ptr()); },
      "The address of element 0, where the host can read the device's memory.");
  type.def(
      "is_contiguous",
      [](const Tensor& self, const std::string& format) {
        return self.is_contiguous(format_named(format));
      },
      nb::arg("memory_format") = "contiguous_format");
  type.def(
      "contiguous",
      [](const Tensor& self, const std::string& format) {
        return without_gil([&] { return contiguous(self, format_named(format)); });
      },
      nb::arg("memory_format") = "contiguous_format");
  type.def("is_floating_point", [](const Tensor& self) { return is_floating(self.dtype()); });
  type.def("is_complex", [](const Tensor& self) { return is_complex(self.dtype()); });
  type.def_prop_ro("_version", &Tensor::version);
  type.def("shares_storage", &Tensor::shares_storage, nb::arg("other"));
  const auto turned = [](const Tensor& self) {
    Dims dims;
    for (std::int64_t i = self.ndim(); i-- > 0;) dims.push_back(i);
    return permute(self, dims);
  };
  type.def_prop_ro("T", turned, "All dimensions in reverse order.");
  type.def("t", [](const Tensor& self) {
    if (self.ndim() > 2)
      throw nb::value_error("t: the tensor has more than two dimensions; use transpose or mT");
    return self.ndim() < 2 ? self : transpose(self, 0, 1);
  });
  type.def_prop_ro("mT", [](const Tensor& self) { return transpose(self, -2, -1); });
  type.def_prop_ro("real",
                   [](const Tensor& self) { return is_complex(self.dtype()) ? real(self) : self; });
  type.def_prop_ro("imag", [](const Tensor& self) { return imag(self); });
}

void add_values(nb::class_<Tensor>& type) {
  type.def(
      "item", [](const Tensor& self) { return number_object(item_of(self)); },
      "The only element as a number of Python's.");
  type.def("tolist", &list_of, "Nested lists of numbers; a number where there are no dimensions.");
  type.def("__float__", [](const Tensor& self) {
    const Scalar value = item_of(self);
    if (value.is_complex() && value.to_complex().imag() != 0)
      throw nb::type_error("float: the number has an imaginary part; take .real");
    return value.to_double();
  });
  type.def("__int__", [](const Tensor& self) -> nb::object {
    const Scalar value = item_of(self);
    if (value.is_complex()) throw nb::type_error("int: the number is complex; take .real");
    if (value.is_floating()) return nb::steal(PyLong_FromDouble(value.to_double()));
    return nb::int_(number_object(value));
  });
  type.def("__complex__", [](const Tensor& self) {
    const std::complex<double> value = item_of(self).to_complex();
    return nb::steal(PyComplex_FromDoubles(value.real(), value.imag()));
  });
  type.def("__index__", [](const Tensor& self) -> nb::object {
    if (self.ndim() != 0 && self.numel() != 1)
      throw nb::type_error("only integer tensors of one element are indices");
    if (!is_integral(self.dtype()) && self.dtype() != boolean)
      throw nb::type_error("only integer tensors of one element are indices");
    return nb::int_(number_object(item_of(self)));
  });
  type.def("__repr__", [](const Tensor& self) {
    if (!self.defined()) return std::string("tensor()");
    std::string text =
        without_gil([&] { return to_string(self.device() == meta_device ? self : detach(self)); });
    if (requires_grad(self) && !text.empty() && text.back() == ')') {
      text.pop_back();
      text += is_leaf(self) ? ", requires_grad=True)" : ", grad_fn=<recorded>)";
    }
    return text;
  });
  type.def("__format__", [](nb::handle self, const std::string& how) -> nb::object {
    const Tensor& tensor = *tensor_in(self.ptr());
    if (how.empty() || tensor.ndim() != 0) return nb::str(self);
    return number_object(item_of(tensor)).attr("__format__")(how);
  });
}

void add_moves(nb::class_<Tensor>& type) {
  type.def("to", &to_any, "The tensor elsewhere, or as another dtype; itself if it is so already.");
  type.def("cpu", [](const Tensor& self) { return without_gil([&] { return cpu(self); }); });
  type.def("clone", [](const Tensor& self) { return without_gil([&] { return clone(self); }); });
  type.def(
      "type_as",
      [](const Tensor& self, const Tensor& other) {
        return without_gil([&] { return to(self, other.dtype()); });
      },
      nb::arg("other"));
  const std::pair<const char*, Dtype> casts[] = {
      {"float", f32}, {"double", f64}, {"half", f16},  {"bfloat16", bf16},
      {"int", i32},   {"long", i64},   {"short", i16}, {"bool", boolean}};
  for (const auto& [name, dtype] : casts)
    type.def(name, [dtype = dtype](const Tensor& self) {
      return without_gil([&] { return to(self, dtype); });
    });
  type.def(
      "copy_",
      [](nb::object self, const Tensor& source) {
        const Tensor& target = *tensor_in(self.ptr());
        without_gil([&] { copy_(target, source); });
        return self;
      },
      nb::arg("src"));
  type.def(
      "fill_",
      [](nb::object self, nb::handle value) {
        Scalar number;
        if (const Tensor* tensor = tensor_in(value.ptr()))
          number = item_of(*tensor);
        else if (!find_number(value.ptr(), number))
          throw nb::type_error("fill_: give a number");
        const Tensor& target = *tensor_in(self.ptr());
        without_gil([&] { fill_(target, number); });
        return self;
      },
      nb::arg("value"));
  type.def("zero_", [](nb::object self) {
    const Tensor& target = *tensor_in(self.ptr());
    without_gil([&] { fill_(target, 0); });
    return self;
  });
  type.def(
      "uniform_",
      [](nb::object self, double low, double high, Generator* generator) {
        const Tensor& target = *tensor_in(self.ptr());
        without_gil([&] { uniform_(target, low, high, generator); });
        return self;
      },
      nb::arg("from_") = 0.0, nb::arg("to") = 1.0, nb::arg("generator") = nb::none());
  type.def(
      "normal_",
      [](nb::object self, double mean, double std, Generator* generator) {
        const Tensor& target = *tensor_in(self.ptr());
        without_gil([&] { normal_(target, mean, std, generator); });
        return self;
      },
      nb::arg("mean") = 0.0, nb::arg("std") = 1.0, nb::arg("generator") = nb::none());
}

}  // namespace

Tensor* tensor_in(PyObject* object) {
  if (Py_TYPE(object) != tensor_type && !PyType_IsSubtype(Py_TYPE(object), tensor_type))
    return nullptr;
  if (!nb::inst_ready(object)) return nullptr;
  return nb::inst_ptr<Tensor>(object);
}

PyObject* wrap(Tensor&& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  nb::object object = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(tensor_type)));
  if (!object.is_valid()) return nullptr;
  new (nb::inst_ptr<Tensor>(object)) Tensor(std::move(tensor));
  nb::inst_mark_ready(object);
  return object.release().ptr();
}

const Tensor& tensor_of(nb::handle object, const char* what) {
  if (const Tensor* tensor = tensor_in(object.ptr())) return *tensor;
  PyErr_Format(PyExc_TypeError, "%s must be a Tensor, not %s", what,
               Py_TYPE(object.ptr())->tp_name);
  throw nb::python_error();
}

void add_tensor(nb::module_& module) {
  static std::vector<PyType_Slot> slots(std::begin(arithmetic_slots), std::end(arithmetic_slots));
  for (const PyType_Slot* slot = indexing_slots; slot->slot != 0; ++slot) slots.push_back(*slot);
  slots.push_back({0, nullptr});
  nb::class_<Tensor> tensor(
      module, "Tensor", nb::type_slots(slots.data()), nb::dynamic_attr(),
      nb::is_weak_referenceable(),
      "An array of numbers on a device. Made by tensor(), zeros() and others.");
  tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  tensor.attr("__array_priority__") = 1000;  // so that NumPy's arrays leave mixed operators to us
  tensor.attr("__array_ufunc__") = nb::none();
  // For subclasses, as parameters are: over the same memory.
  tensor.def(
      "__init__", [](Tensor* self, const Tensor& data) { new (self) Tensor(detach(data)); },
      nb::arg("data"));
  add_facts(tensor);
  add_values(tensor);
  add_moves(tensor);
  add_iteration(tensor);
  add_exchange(module, tensor);
  add_autograd(module, tensor);
}

}  // namespace bp::python
