#include "bit_view.hpp"

#include "index.hpp"
#include "operators.hpp"

namespace bp::python {
namespace {

PyObject* view_row = nullptr;

[[noreturn]] void refuse(const Tensor& tensor, Dtype dtype, const std::string& why) {
  throw nb::value_error(("view: " + std::string(name(tensor.dtype())) + " of shape " +
                         to_string(tensor.shape()) + " cannot be seen as " +
                         std::string(name(dtype)) + ": " + why)
                            .c_str());
}

// Strides of `dtype`, and the size of the last dimension.
void scale(const Tensor& tensor, Dtype dtype, Dims& shape, Dims& strides) {
  const auto from = static_cast<std::int64_t>(tensor.itemsize());
  const auto to = static_cast<std::int64_t>(itemsize(dtype));
  if (from == to) return;
  if (shape.empty()) refuse(tensor, dtype, "there is no dimension to scale; call reshape(1) first");
  const std::size_t last = shape.size() - 1;
  if (strides[last] != 1 && shape[last] != 1)
    refuse(tensor, dtype,
           "elements of the last dimension do not follow one another; call contiguous() first");
  if (from < to && (shape[last] * from) % to != 0)
    refuse(tensor, dtype,
           "the last dimension has " + std::to_string(shape[last] * from) + " bytes, which " +
               std::to_string(to) + " does not divide");
  if (from < to && (tensor.storage_offset() * from) % to != 0)
    refuse(tensor, dtype, "it begins within an element; call clone() first");
  shape[last] = shape[last] * from / to;
  strides[last] = 1;
  for (std::size_t d = 0; d < last; ++d) {
    if (from < to && shape[d] > 1 && (strides[d] * from) % to != 0)
      refuse(tensor, dtype, "a row begins within an element; call contiguous() first");
    strides[d] = strides[d] * from / to;
  }
}

bool find_exact_dtype(PyObject* object, Dtype& out) {
  return nb::isinstance<DtypeObject>(nb::handle(object)) && find_dtype(object, out);
}

PyObject* view(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t num_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    Dtype dtype = f32;
    const bool is_named =
        num_keywords == 1 && num_args == 0 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "dtype") == 0;
    if (num_args + num_keywords == 1 && (num_keywords == 0 || is_named) &&
        find_exact_dtype(args[0], dtype)) {
      const Tensor& tensor = self_of(self);
      if (tensor.dtype() == dtype) return wrap(bp::view(tensor, tensor.shape()));
      return wrap(view_of_bits(tensor, dtype));
    }
    PyObject* all[16];
    if (num_args + num_keywords >= 15)
      throw nb::type_error("view: too many arguments; give the sizes as one list");
    all[0] = self;
    for (Py_ssize_t i = 0; i < num_args + num_keywords; ++i) all[i + 1] = args[i];
    return PyObject_Vectorcall(view_row, all, static_cast<std::size_t>(num_args) + 1, keywords);
  });
}

}  // namespace

Tensor view_of_bits(const Tensor& tensor, Dtype dtype) {
  Dims shape(tensor.shape()), strides(tensor.strides());
  scale(tensor, dtype, shape, strides);
  const Tensor base = detach(tensor);
  if (is_seen_by_layers(base))
    throw Error(
        ErrorClass::unsupported,
        "view: a layer records or changes the calls with this tensor, and bits are seen by none");
  Tensor made = make_view(base, shape, strides, base.storage_offset());
  TensorImpl& impl = *made.impl();
  impl.abi.dtype = index(dtype);
  impl.abi.dl.dtype = dl_dtype(dtype);
  impl.abi.itemsize = itemsize(dtype);
  update_layout(impl);
  return made;
}

void add_bit_view(nb::module_& module) {
  static PyMethodDef method = {
      "view", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(view)),
      METH_FASTCALL | METH_KEYWORDS,
      "view(*shape) or view(dtype): the same memory with another shape, or as elements of another "
      "dtype.\n\n"
      "With a dtype of another size the last dimension grows or shrinks: [2, 3] of float32 is [2, "
      "6] of int16. Its\n"
      "elements must follow one another. What a dtype makes is not part of a derivative.\n\n"
      "Raises ValueError where the shape or the bytes do not fit."};
  const nb::object tensor = module.attr("Tensor");
  view_row = nb::object(module.attr("operators")["view"]).release().ptr();
  auto* type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  tensor.attr("view") = nb::steal(PyDescr_NewMethod(type, &method));
}

}  // namespace bp::python
