// The class Tensor: how it is made and held, and what of its metadata is a method.
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

// nanobind's own, which all its classes have.
destructor end_object = nullptr;
std::ptrdiff_t place_of_dict = 0;

PyObject*& dict_of(PyObject* object) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + place_of_dict);
}

void forget_and_end(PyObject* object) {
  Notes& notes = notes_of(object);
#ifndef Py_GIL_DISABLED
  if (notes.is_remembered) forget_object(object, held_by(object)->impl());
#endif
  if (notes.gradient) {
    PyObject_GC_UnTrack(object);
    Py_CLEAR(notes.gradient);
  }
  end_object(object);
}

int visit_parts(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(dict_of(object));
  Py_VISIT(notes_of(object).gradient);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int clear_parts(PyObject* object) {
  Py_CLEAR(dict_of(object));
  Py_CLEAR(notes_of(object).gradient);
  return 0;
}

void add_facts(TensorClass& type) {
  type.def("is_same", &Tensor::is_same, nb::arg("other"),
           "Whether it is the same tensor; Python may have several objects for one.");
  type.def("shares_storage", &Tensor::shares_storage, nb::arg("other"));
  type.def("t", [](const Tensor& self) {
    if (self.ndim() > 2)
      throw nb::value_error("t: the tensor has more than two dimensions; use transpose or mT");
    return self.ndim() < 2 ? self : transpose(self, 0, 1);
  });
}

}  // namespace

Notes& notes_of(PyObject* object) {
  return static_cast<TensorWithNotes*>(held_by(object))->notes;
}

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
  for (const PyMethodDef* part : {exchange_methods, fact_methods, number_methods, move_methods})
    for (; part->ml_name; ++part) methods.push_back(*part);
  methods.push_back({});
  slots.push_back({Py_tp_getset, attributes});
  slots.push_back({Py_tp_methods, methods.data()});
  slots.push_back({Py_tp_traverse, reinterpret_cast<void*>(visit_parts)});
  slots.push_back({Py_tp_clear, reinterpret_cast<void*>(clear_parts)});
  end_object = reinterpret_cast<destructor>(PyType_GetSlot(
      reinterpret_cast<PyTypeObject*>(nb::type<DtypeObject>().ptr()), Py_tp_dealloc));
  slots.push_back({Py_tp_dealloc, reinterpret_cast<void*>(forget_and_end)});
  slots.push_back({0, nullptr});
  TensorClass tensor(module, "Tensor", nb::type_slots(slots.data()), nb::dynamic_attr(),
                     nb::is_weak_referenceable(),
                     "An array of numbers on a device. Made by tensor(), zeros() and others.");
  tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  const nb::object first = nb::inst_alloc(tensor);
  place_in_object =
      reinterpret_cast<char*>(nb::inst_ptr<Tensor>(first)) - reinterpret_cast<char*>(first.ptr());
  place_of_dict = nb::cast<std::ptrdiff_t>(tensor.attr("__dictoffset__"));
  tensor.attr("__array_priority__") = 1000;  // so that NumPy's arrays leave mixed operators to us
  tensor.attr("__array_ufunc__") = nb::none();
  // For subclasses, as parameters are: over the same memory.
  tensor.def(
      "__init__", [](Tensor* self, const Tensor& data) { new (self) Tensor(detach(data)); },
      nb::arg("data"));
  add_facts(tensor);
  add_numbers(module, tensor);
  add_moves(tensor);
  add_host_memory(tensor);
  add_iteration(tensor);
  add_exchange(module);
  add_autograd(module, tensor);
}

}  // namespace bp::python
