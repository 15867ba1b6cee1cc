// What a tensor says of itself as x.name. Descriptors of C's, which answer in half the time of nanobind's properties.
#include "objects.hpp"
#include "same_object.hpp"

namespace bp::python {
namespace {

PyObject* held(PyObject* object) {
  Py_INCREF(object);
  return object;
}

PyObject* truth(bool value) {
  return held(value ? Py_True : Py_False);
}

template <auto get> PyObject* getter(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return get(self_of(self)); });
}

PyObject* shape(const Tensor& self) {
  return tuple_of(self.shape());
}
PyObject* dtype(const Tensor& self) {
  const auto number = static_cast<std::size_t>(index(self.dtype()));
  if (number >= num_dtypes)
    throw nb::value_error("dtype: the elements are of the backend's own type");
  return held(dtype_objects[number]);
}
PyObject* device(const Tensor& self) {
  PyObject* known = device_objects[self.device().number];
  return known ? held(known) : device_object(self.device()).release().ptr();
}
PyObject* ndim(const Tensor& self) {
  return PyLong_FromLongLong(self.ndim());
}
PyObject* itemsize(const Tensor& self) {
  return PyLong_FromUnsignedLong(self.itemsize());
}
PyObject* nbytes(const Tensor& self) {
  return PyLong_FromUnsignedLongLong(self.nbytes());
}
PyObject* version(const Tensor& self) {
  return PyLong_FromUnsignedLong(self.version());
}
// Most tensors that are asked have nothing of autograd's, which is seen without a call into the library.
bool has_record(const Tensor& self) {
  return autograd_data(*self.impl()) != nullptr;
}
PyObject* leaf(const Tensor& self) {
  return truth(!has_record(self) || is_leaf(self));
}
PyObject* wants_grad(const Tensor& self) {
  return truth(has_record(self) && requires_grad(self));
}
PyObject* gradient(PyObject* self, void*) {
  return guarded([&] { return gradient_object(self); });
}
PyObject* data(const Tensor& self) {
  return wrap(detach(self));
}
PyObject* is_meta(const Tensor& self) {
  return truth(self.device() == meta_device);
}

PyObject* reversed(const Tensor& self) {
  Dims dims;
  for (std::int64_t i = self.ndim(); i-- > 0;) dims.push_back(i);
  return wrap(permute(self, dims));
}
PyObject* matrices_reversed(const Tensor& self) {
  return wrap(transpose(self, -2, -1));
}
PyObject* adjoint(const Tensor& self) {
  return wrap(conj(transpose(self, -2, -1)));
}
PyObject* adjoint_matrix(const Tensor& self) {
  if (self.ndim() == 0) return wrap(conj(self));
  if (self.ndim() != 2)
    throw nb::value_error("H: the tensor has not two dimensions; use mH for a batch of matrices");
  return adjoint(self);
}
// Zeros of a real tensor, as NumPy has it: libraries that ask whether an object is an array look for the name. One zero
// under every element, so that a write into it is refused.
PyObject* imaginary_part(const Tensor& self) {
  if (is_complex(self.dtype())) return wrap(imag(self));
  return wrap(expand(zeros({}, self.dtype(), self.device()), self.shape()));
}
PyObject* real_part(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = self_of(self);
    if (!is_complex(tensor.dtype())) return nb::handle(self).inc_ref().ptr();
    return wrap(real(tensor));
  });
}

int set_wants_grad(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        if (!value || !PyBool_Check(value)) throw nb::type_error("requires_grad must be a bool");
        set_requires_grad(self_of(self), value == Py_True);
        if (value == Py_False) drop_gradient_object(self);
        return 0;
      },
      -1);
}
int set_gradient(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        const bool is_none = !value || value == Py_None;
        set_grad(self_of(self), is_none ? Tensor() : tensor_of(value, "grad"));
        drop_gradient_object(self);
        if (!is_none) remember_object(value);
        return 0;
      },
      -1);
}
int set_memory(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        if (!value) throw nb::type_error("data cannot be deleted");
        set_data(self_of(self), tensor_of(value, "data"));
        return 0;
      },
      -1);
}

}  // namespace

PyGetSetDef attributes[] = {
    {"shape", getter<shape>, nullptr, "The sizes of all dimensions.", nullptr},
    {"dtype", getter<dtype>, nullptr, "The type of the elements.", nullptr},
    {"device", getter<device>, nullptr, "Where the elements are.", nullptr},
    {"ndim", getter<ndim>, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", getter<itemsize>, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", getter<nbytes>, nullptr, "Bytes of all elements.", nullptr},
    {"is_meta", getter<is_meta>, nullptr, "Whether it has a shape but no values.", nullptr},
    {"_version", getter<version>, nullptr, "Rises with every write into the memory.", nullptr},
    {"T", getter<reversed>, nullptr, "All dimensions in reverse order.", nullptr},
    {"mT", getter<matrices_reversed>, nullptr, "The last two dimensions exchanged.", nullptr},
    {"H", getter<adjoint_matrix>, nullptr, "Of a matrix: transposed and conjugate.", nullptr},
    {"mH", getter<adjoint>, nullptr, "The last two dimensions exchanged, and conjugated.", nullptr},
    {"real", real_part, nullptr, "The real parts, over the same memory; itself if it is real.",
     nullptr},
    {"imag", getter<imaginary_part>, nullptr,
     "The imaginary parts, over the same memory; zeros if it is real.", nullptr},
    {"is_leaf", getter<leaf>, nullptr, "Whether no recorded call made it.", nullptr},
    {"requires_grad", getter<wants_grad>, set_wants_grad,
     "Whether derivatives are recorded for it.", nullptr},
    {"grad", gradient, set_gradient, "The derivative that backward() has accumulated, or None.",
     nullptr},
    {"data", getter<data>, set_memory,
     "The same values outside of every record; assigned, the tensor has the other's memory.",
     nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

}  // namespace bp::python
