#include <cstring>

#include <backplane/tensor/promotion.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

PyTypeObject* dtype_type = nullptr;

bool is_unsigned(Dtype dtype) {
  return dtype == u8 || dtype == u16 || dtype == u32 || dtype == u64;
}

// NumPy's letter, which says a type's kind to libraries that take any arrays.
const char* kind_of(Dtype dtype) {
  if (dtype == boolean) return "b";
  if (is_complex(dtype)) return "c";
  if (is_floating(dtype) || is_storage_only(dtype)) return "f";
  return is_unsigned(dtype) ? "u" : "i";
}

bool is_known_to_numpy(Dtype dtype) {
  return dtype != bf16 && !is_storage_only(dtype);
}

// numpy.float32, which NumPy's users give where a dtype is asked for.
bool is_numpy_class(PyObject* object) {
  if (!PyType_Check(object)) return false;
  const nb::object home = nb::getattr(object, "__module__", nb::none());
  return nb::isinstance<nb::str>(home) &&
         std::strcmp(nb::borrow<nb::str>(home).c_str(), "numpy") == 0;
}

}  // namespace

PyObject* dtype_objects[num_dtypes] = {};

nb::object dtype_object(Dtype dtype) {
  if (static_cast<std::size_t>(index(dtype)) >= num_dtypes)
    throw nb::value_error("dtype: the elements are of the backend's own type");
  return nb::borrow(dtype_objects[index(dtype)]);
}

bool find_dtype(PyObject* object, Dtype& out) {
  if (PyObject_TypeCheck(object, dtype_type)) {
    out = nb::inst_ptr<DtypeObject>(object)->dtype;
    return true;
  }
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type))
    out = default_dtype();
  else if (object == reinterpret_cast<PyObject*>(&PyLong_Type))
    out = i64;
  else if (object == reinterpret_cast<PyObject*>(&PyBool_Type))
    out = boolean;
  else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type))
    out = default_dtype() == f64 ? complex128 : complex64;
  else if (PyUnicode_Check(object))
    out = dtype_from_name(nb::cast<std::string>(nb::handle(object)));
  else if (std::strncmp(type_name(object), "numpy.dtype", 11) ==
           0)  // with the dtype's name behind it
    out = dtype_from_name(nb::cast<std::string>(nb::handle(object).attr("name")));
  else if (is_numpy_class(object))
    out = dtype_from_name(nb::cast<std::string>(nb::handle(object).attr("__name__")));
  else
    return false;
  return true;
}

void add_dtypes(nb::module_& module) {
  nb::class_<DtypeObject> type(module, "dtype", "The type of a tensor's elements.");
  dtype_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def_prop_ro(
      "name", [](const DtypeObject& self) { return std::string(name(self.dtype)); }, "As float32.");
  type.def_prop_ro(
      "itemsize", [](const DtypeObject& self) { return itemsize(self.dtype); },
      "Bytes of one element.");
  type.def_prop_ro("is_floating_point", [](const DtypeObject& self) {
    return is_floating(self.dtype) || (is_storage_only(self.dtype));
  });
  type.def_prop_ro("is_complex", [](const DtypeObject& self) { return is_complex(self.dtype); });
  type.def_prop_ro("is_signed", [](const DtypeObject& self) {
    return self.dtype != boolean && !is_unsigned(self.dtype);
  });
  type.def_prop_ro(
      "kind", [](const DtypeObject& self) { return kind_of(self.dtype); },
      "NumPy's letter: b, i, u, f or c.");
  type.def_prop_ro(
      "__numpy_dtype__",
      [](const DtypeObject& self) {
        if (!is_known_to_numpy(self.dtype))
          throw nb::attribute_error(("NumPy has no " + std::string(name(self.dtype))).c_str());
        return nb::module_::import_("numpy").attr("dtype")(std::string(name(self.dtype)));
      },
      "NumPy's dtype of this name; numpy.dtype() asks for it from NumPy 2.4 on.");
  type.def("__repr__",
           [](const DtypeObject& self) { return "backplane." + std::string(name(self.dtype)); });
  type.def("__reduce__", [](const DtypeObject& self) { return std::string(name(self.dtype)); });
  type.def("__copy__", [](nb::object self) { return self; });
  type.def("__deepcopy__", [](nb::object self, nb::handle) { return self; });
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const nb::object object = nb::cast(DtypeObject{dtype});
    dtype_objects[i] = nb::borrow(object).release().ptr();
    module.attr(std::string(name(dtype)).c_str()) = object;
  }
  const std::pair<const char*, Dtype> aliases[] = {
      {"float", f32}, {"double", f64}, {"half", f16},         {"short", i16},
      {"int", i32},   {"long", i64},   {"cfloat", complex64}, {"cdouble", complex128}};
  for (const auto& [alias, dtype] : aliases) module.attr(alias) = dtype_object(dtype);
  module.def("get_default_dtype", [] { return dtype_object(default_dtype()); });
  module.def(
      "set_default_dtype",
      [](nb::handle dtype) {
        Dtype found = f32;
        if (!find_dtype(dtype.ptr(), found))
          throw nb::type_error("set_default_dtype: give a dtype");
        set_default_dtype(found);
      },
      nb::arg("dtype"));
  module.def(
      "promote_types",
      [](nb::handle a, nb::handle b) {
        Dtype first = f32, second = f32;
        if (!find_dtype(a.ptr(), first) || !find_dtype(b.ptr(), second))
          throw nb::type_error("promote_types: give two dtypes");
        return dtype_object(promote(first, second));
      },
      nb::arg("type1"), nb::arg("type2"));
}

}  // namespace bp::python
