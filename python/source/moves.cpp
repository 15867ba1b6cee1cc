// Tensors on other devices, as other dtypes, and copied: x.to(), x.cpu(), x.float(), x.clone(), x.copy_().
#include <optional>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/named.hpp>

#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

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

// What x.to() is asked for.
class Wishes {
 public:
  // x.to(device), x.to(dtype), x.to(device, dtype), x.to(other), and then non_blocking and copy.
  void take(nb::handle given) {
    Device where;
    Dtype what = f32;
    if (given.is_none()) return;
    if (const Tensor* other = tensor_in(given.ptr())) {
      device_ = other->device();
      dtype_ = other->dtype();
    } else if (find_device(given.ptr(), where)) {
      device_ = where;
    } else if (find_dtype(given.ptr(), what)) {
      dtype_ = what;
    } else if (PyBool_Check(given.ptr())) {
      if (++num_flags_ == 2) copies_ = given.ptr() == Py_True;
    } else {
      PyErr_Format(PyExc_TypeError, "to: give a device, a dtype or a tensor, not %s",
                   type_name(given.ptr()));
      throw nb::python_error();
    }
  }

  void take(const std::string& name, nb::handle value) {
    if (name == "dtype" && PyUnicode_Check(value.ptr())) {
      dtype_ = dtype_from_name(nb::cast<std::string>(value));  // by position it is a device's name
    } else if (name == "device" || name == "dtype" || name == "other") {
      take(value);
    } else if (name == "copy") {
      copies_ = nb::cast<bool>(value);
    } else if (name == "memory_format") {
      if (!value.is_none()) format_ = format_named(nb::cast<std::string>(value));
    } else if (name != "non_blocking") {
      throw nb::type_error(("to: no argument '" + name + "'").c_str());
    }
  }

  bool are_met_by(const Tensor& tensor) const {
    return device_.value_or(tensor.device()) == tensor.device() &&
           dtype_.value_or(tensor.dtype()) == tensor.dtype() && !copies_ && !format_;
  }

  Tensor applied(const Tensor& tensor) const {
    const Device where = device_.value_or(tensor.device());
    const Dtype what = dtype_.value_or(tensor.dtype());
    Tensor there = tensor;
    if (where != tensor.device() || what != tensor.dtype()) there = bp::to(tensor, where, what);
    if (copies_ && there.is_same(tensor)) there = clone(tensor);
    return format_ ? contiguous(there, *format_) : there;
  }

 private:
  std::optional<Device> device_;
  std::optional<Dtype> dtype_;
  std::optional<MemoryFormat> format_;
  bool copies_ = false;
  int num_flags_ = 0;
};

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = self_of(self);
    Wishes wishes;
    for (Py_ssize_t i = 0; i < num_args; ++i) wishes.take(args[i]);
    const Py_ssize_t num_named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < num_named; ++i)
      wishes.take(nb::cast<std::string>(nb::handle(PyTuple_GET_ITEM(keywords, i))),
                  args[num_args + i]);
    if (wishes.are_met_by(tensor)) return nb::handle(self).inc_ref().ptr();
    return same_or_new(self, without_gil([&] { return wishes.applied(tensor); })).release().ptr();
  });
}

PyObject* to_cpu(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = self_of(self);
    if (tensor.device() == host_device()) return nb::handle(self).inc_ref().ptr();
    return wrap(without_gil([&] { return cpu(tensor); }));
  });
}

}  // namespace

PyMethodDef move_methods[] = {
    {"to", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to)),
     METH_FASTCALL | METH_KEYWORDS,
     "The tensor elsewhere, or as another dtype; itself if it is so already."},
    {"cpu", to_cpu, METH_NOARGS, "The tensor on cpu:0; itself if it is there already."},
    {}};

void add_moves(TensorClass& type) {
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
          number =
              named("fill_", [&] { return without_gil([&] { return item<Scalar>(*tensor); }); });
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

}  // namespace bp::python
