// The class Tensor: how it is made and held, its metadata, and moves of it to other devices and dtypes.
#include <optional>

#include "objects.hpp"
#include "same_object.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

PyTypeObject* tensor_type = nullptr;

// The place of the C++ tensor in an object of Python's, the same in all: nanobind's own look-up costs as much as an attribute.
std::ptrdiff_t place_in_object = 0;

// One whose __init__ has not run is undefined, since Python clears what it allocates.
Tensor* held_by(PyObject* object) {
  return reinterpret_cast<Tensor*>(reinterpret_cast<char*>(object) + place_in_object);
}

#ifndef Py_GIL_DISABLED
// nanobind's own, which all its classes have.
destructor end_object = nullptr;

void forget_and_end(PyObject* object) {
  if (const Tensor* tensor = held_by(object); tensor->defined())
    forget_object(object, tensor->impl());
  end_object(object);
}
#endif

// The object itself where nothing had to be done, as PyTorch gives it.
nb::object same_or_new(nb::handle self, Tensor&& made) {
  if (made.is_same(self_of(self.ptr()))) return nb::borrow(self);
  return nb::steal(wrap(std::move(made)));
}

nb::object as_dtype(nb::handle self, Dtype dtype) {
  const Tensor& tensor = self_of(self.ptr());
  if (tensor.dtype() == dtype) return nb::borrow(self);
  return nb::steal(wrap(without_gil([&] { return to(tensor, dtype); })));
}

// x.to(device), x.to(dtype), x.to(device, dtype), x.to(other), each also by name.
nb::object to_any(nb::handle self, nb::args args, nb::kwargs keywords) {
  const Tensor& tensor = self_of(self.ptr());
  std::optional<Device> device;
  std::optional<Dtype> dtype;
  std::optional<MemoryFormat> format;
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
                   type_name(given.ptr()));
      throw nb::python_error();
    }
  };
  for (nb::handle each : args) take(each);
  for (const auto& [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "dtype" && PyUnicode_Check(value.ptr())) {
      dtype = dtype_from_name(nb::cast<std::string>(value));  // by position it is a device's name
    } else if (name == "device" || name == "dtype" || name == "other") {
      take(value);
    } else if (name == "copy") {
      copies = nb::cast<bool>(value);
    } else if (name == "memory_format") {
      if (!value.is_none()) format = format_named(nb::cast<std::string>(value));
    } else if (name != "non_blocking") {
      throw nb::type_error(("to: no argument '" + name + "'").c_str());
    }
  }
  Tensor moved = without_gil([&] {
    const Device where = device.value_or(tensor.device());
    const Dtype what = dtype.value_or(tensor.dtype());
    Tensor there = tensor;
    if (where != tensor.device() || what != tensor.dtype()) there = to(tensor, where, what);
    if (copies && there.is_same(tensor)) there = clone(tensor);
    return format ? contiguous(there, *format) : there;
  });
  return same_or_new(self, std::move(moved));
}

void add_facts(nb::class_<Tensor>& type) {
  type.def("dim", &Tensor::ndim, "The number of dimensions.");
  type.def("ndimension", &Tensor::ndim, "The number of dimensions.");
  type.def("numel", &Tensor::numel, "The number of elements.");
  type.def("nelement", &Tensor::numel, "The number of elements.");
  type.def("element_size", &Tensor::itemsize, "Bytes of one element.");
  type.def("storage_offset", &Tensor::storage_offset,
           "In elements, from the start of the storage.");
  type.def(
      "data_ptr",
      [](const Tensor& self) { return reinterpret_cast<std::uintptr_t>(self.data_ptr()); },
      "The address of element 0, where the host can read the device's memory.");
  type.def("is_floating_point", [](const Tensor& self) { return is_floating(self.dtype()); });
  type.def("is_complex", [](const Tensor& self) { return is_complex(self.dtype()); });
  type.def("is_inference", [](const Tensor& self) { return is_inference(self); });
  type.def("is_same", &Tensor::is_same, nb::arg("other"),
           "Whether it is the same tensor; Python may have several objects for one.");
  type.def("shares_storage", &Tensor::shares_storage, nb::arg("other"));
  type.def("t", [](const Tensor& self) {
    if (self.ndim() > 2)
      throw nb::value_error("t: the tensor has more than two dimensions; use transpose or mT");
    return self.ndim() < 2 ? self : transpose(self, 0, 1);
  });
}

void add_moves(nb::class_<Tensor>& type) {
  type.def("to", &to_any, "The tensor elsewhere, or as another dtype; itself if it is so already.");
  type.def("cpu", [](nb::handle self) {
    const Tensor& tensor = self_of(self.ptr());
    return same_or_new(self, without_gil([&] { return cpu(tensor); }));
  });
  type.def(
      "clone",
      [](const Tensor& self, const std::string& format) {
        const auto wanted = format_named(format);
        return without_gil([&] {
          return wanted && !self.is_contiguous(*wanted) ? contiguous(self, *wanted) : clone(self);
        });
      },
      nb::kw_only(), nb::arg("memory_format") = "preserve_format", "A copy, which is recorded.");
  type.def(
      "type_as", [](nb::handle self, const Tensor& other) { return as_dtype(self, other.dtype()); },
      nb::arg("other"));
  const std::pair<const char*, Dtype> casts[] = {
      {"float", f32}, {"double", f64},   {"half", f16},         {"bfloat16", bf16},
      {"int", i32},   {"long", i64},     {"short", i16},        {"char", i8},
      {"byte", u8},   {"bool", boolean}, {"cfloat", complex64}, {"cdouble", complex128}};
  for (const auto& [name, dtype] : casts)
    type.def(name, [dtype = dtype](nb::handle self) { return as_dtype(self, dtype); });
  type.def(
      "copy_",
      [](nb::object self, const Tensor& source, bool) {
        const Tensor& target = self_of(self.ptr());
        without_gil([&] { copy_(target, source); });
        return self;
      },
      nb::arg("src"), nb::arg("non_blocking") = false);
  type.def(
      "fill_",
      [](nb::object self, nb::handle value) {
        Scalar number;
        if (const Tensor* tensor = tensor_in(value.ptr()))
          number = without_gil([&] { return item<Scalar>(*tensor); });
        else if (!find_number(value.ptr(), number))
          throw nb::type_error("fill_: give a number");
        const Tensor& target = self_of(self.ptr());
        without_gil([&] { fill_(target, number); });
        return self;
      },
      nb::arg("value"));
  type.def("zero_", [](nb::object self) {
    const Tensor& target = self_of(self.ptr());
    without_gil([&] { fill_(target, 0); });
    return self;
  });
}

}  // namespace

Tensor* tensor_in(PyObject* object) {
  if (Py_TYPE(object) != tensor_type && !PyType_IsSubtype(Py_TYPE(object), tensor_type))
    return nullptr;
  Tensor* tensor = held_by(object);
  return tensor->defined() ? tensor : nullptr;
}

PyObject* wrap(Tensor&& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  nb::object object = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(tensor_type)));
  if (!object.is_valid()) return nullptr;
  new (held_by(object.ptr())) Tensor(std::move(tensor));
  nb::inst_mark_ready(object);
  return object.release().ptr();
}

Tensor& self_of(PyObject* object) {
  Tensor* tensor = held_by(object);
  if (!tensor->defined())
    throw nb::type_error("the tensor is not made yet: call __init__ of Tensor first");
  return *tensor;
}

nb::object object_or_none(const Tensor& tensor) {
  return nb::steal(wrap(Tensor(tensor)));
}

const Tensor& tensor_of(nb::handle object, const char* what) {
  if (const Tensor* tensor = tensor_in(object.ptr())) return *tensor;
  PyErr_Format(PyExc_TypeError, "%s must be a Tensor, not %s", what, type_name(object.ptr()));
  throw nb::python_error();
}

std::vector<Tensor> tensors_of(nb::handle given, const char* what) {
  if (given.is_none()) return {};
  if (const Tensor* one = tensor_in(given.ptr())) return {*one};
  if (!PySequence_Check(given.ptr()) && !PyObject_HasAttrString(given.ptr(), "__iter__")) {
    PyErr_Format(PyExc_TypeError, "%s must be Tensors, not %s", what, type_name(given.ptr()));
    throw nb::python_error();
  }
  std::vector<Tensor> list;
  for (nb::handle each : nb::borrow(given))
    list.push_back(each.is_none() ? Tensor() : tensor_of(each, what));
  return list;
}

void add_tensor(nb::module_& module) {
  static std::vector<PyType_Slot> slots;
  for (const PyType_Slot* part : {arithmetic_slots, number_slots, indexing_slots})
    for (; part->slot != 0; ++part) slots.push_back(*part);
  static std::vector<PyMethodDef> methods;
  for (const PyMethodDef* part : {exchange_methods, fact_methods})
    for (; part->ml_name; ++part) methods.push_back(*part);
  methods.push_back({});
  slots.push_back({Py_tp_getset, attributes});
  slots.push_back({Py_tp_methods, methods.data()});
#ifndef Py_GIL_DISABLED
  end_object = reinterpret_cast<destructor>(PyType_GetSlot(
      reinterpret_cast<PyTypeObject*>(nb::type<DtypeObject>().ptr()), Py_tp_dealloc));
  slots.push_back({Py_tp_dealloc, reinterpret_cast<void*>(forget_and_end)});
#endif
  slots.push_back({0, nullptr});
  nb::class_<Tensor> tensor(
      module, "Tensor", nb::type_slots(slots.data()), nb::dynamic_attr(),
      nb::is_weak_referenceable(),
      "An array of numbers on a device. Made by tensor(), zeros() and others.");
  tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  const nb::object first = nb::inst_alloc(tensor);
  place_in_object =
      reinterpret_cast<char*>(nb::inst_ptr<Tensor>(first)) - reinterpret_cast<char*>(first.ptr());
  tensor.attr("__array_priority__") = 1000;  // so that NumPy's arrays leave mixed operators to us
  tensor.attr("__array_ufunc__") = nb::none();
  // For subclasses, as parameters are: over the same memory.
  tensor.def(
      "__init__", [](Tensor* self, const Tensor& data) { new (self) Tensor(detach(data)); },
      nb::arg("data"));
  add_facts(tensor);
  add_numbers(module, tensor);
  add_moves(tensor);
  add_iteration(tensor);
  add_exchange(module);
  add_autograd(module, tensor);
}

}  // namespace bp::python
