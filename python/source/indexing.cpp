// x[...]: NumPy's indexing, by views where only numbers and slices are given, else by the rows index and index_put.
#include <optional>
#include <vector>

#include "objects.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

[[noreturn]] void throw_index(const char* format, long long a, long long b = 0) {
  PyErr_Format(PyExc_IndexError, format, a, b);
  throw nb::python_error();
}

// Made of lists of Python's or arrays of others.
Tensor tensor_from(nb::handle object) {
  return *tensor_in(
      nb::object(nb::module_::import_("backplane._core").attr("tensor")(object)).ptr());
}

// Walks over the parts of an index, dimension by dimension.
class Walk {
 public:
  Walk(const Tensor& tensor, PyObject* index) : seen_(tensor) {
    take(PyTuple_Check(index) ? nb::borrow<nb::tuple>(index)
                              : nb::steal<nb::tuple>(PyTuple_Pack(1, index)));
  }

  // By numbers and slices alone: what is seen is a view.
  const Tensor& view() const { return seen_; }
  bool is_view() const { return chosen_.empty(); }
  // For the dimensions of the view: undefined where all of one is taken.
  std::vector<Tensor> chosen() const { return chosen_; }

 private:
  static bool is_bool(PyObject* part) { return PyBool_Check(part); }
  static bool is_mask(PyObject* part, const Tensor* tensor) {
    return is_bool(part) || (tensor && tensor->dtype() == boolean);
  }
  // Lists are tensors here, but not slices, numbers and the rest.
  static bool is_list(PyObject* part) {
    return PyList_Check(part) || PyTuple_Check(part) ||
           PyObject_HasAttrString(part, "__array_interface__");
  }

  void take(nb::tuple parts) {
    std::vector<nb::object> items;
    std::int64_t taken = 0;
    int ellipses = 0;
    for (nb::handle part : parts) {
      nb::object item = nb::borrow(part);
      if (!tensor_in(part.ptr()) && is_list(part.ptr()) && !is_numpy_number(part.ptr()))
        item = nb::cast(integers_if_empty(tensor_from(part)));
      const Tensor* tensor = tensor_in(item.ptr());
      if (part.ptr() == Py_Ellipsis)
        ++ellipses;
      else if (is_mask(item.ptr(), tensor))
        taken += tensor ? tensor->ndim() : 0;
      else if (!part.is_none())
        ++taken;
      items.push_back(std::move(item));
    }
    if (ellipses > 1)
      throw_index("an index can only have a single ellipsis ('...'), not %lld", ellipses);
    if (taken > seen_.ndim())
      throw_index("too many indices: the tensor has %lld dimensions, and %lld are indexed",
                  seen_.ndim(), taken);
    for (const nb::object& item : items) step(item, taken);
    while (!chosen_.empty() && !chosen_.back().defined()) chosen_.pop_back();
  }
  // A NumPy scalar has an interface too, and is a number.
  static bool is_numpy_number(PyObject* part) {
    return !PyList_Check(part) && !PyTuple_Check(part) && PyIndex_Check(part) &&
           nb::cast<std::int64_t>(nb::handle(part).attr("ndim")) == 0;
  }
  static Tensor integers_if_empty(Tensor tensor) {
    return tensor.numel() == 0 && is_floating(tensor.dtype()) ? to(tensor, i64) : tensor;
  }

  void step(const nb::object& part, std::int64_t taken) {
    PyObject* const object = part.ptr();
    if (object == Py_Ellipsis) return skip(seen_.ndim() - dim_ - (taken - done_));
    if (object == Py_None) {
      seen_ = unsqueeze(seen_, dim_);
      return skip(1);
    }
    if (PySlice_Check(object)) return take_slice(object);
    const Tensor* tensor = tensor_in(object);
    if (is_mask(object, tensor)) return tensor ? take_mask(*tensor) : take_bool(object == Py_True);
    if (tensor && !(tensor->ndim() == 0)) return take_tensor(*tensor);
    std::int64_t number = 0;
    if (!find_integer(object, number)) {
      PyErr_Format(PyExc_IndexError,
                   "an index is an int, a slice, ..., None, or a tensor or list of integers or "
                   "bools, not %s",
                   Py_TYPE(object)->tp_name);
      throw nb::python_error();
    }
    const std::int64_t size = seen_.size(dim_);
    if (number < -size || number >= size)
      throw_index("index %lld is out of bounds for a dimension of size %lld", number, size);
    seen_ = select(seen_, dim_, number);
    ++done_;
  }

  void take_slice(PyObject* object) {
    Py_ssize_t start = 0, stop = 0, stride = 0;
    if (PySlice_Unpack(object, &start, &stop, &stride) < 0) throw nb::python_error();
    if (stride < 0) {
      PyErr_SetString(PyExc_ValueError,
                      "a slice's step must be above 0; use flip for the other direction");
      throw nb::python_error();
    }
    const std::int64_t size = seen_.size(dim_);
    PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &start, &stop, stride);
    if (start != 0 || stop != size || stride != 1)
      seen_ = slice(seen_, dim_, start, std::max(start, stop), stride);
    ++done_;
    skip(1);
  }
  void take_bool(bool wanted) {
    seen_ = unsqueeze(seen_, dim_);
    choose(to(full({1}, wanted, boolean), seen_.device()));
  }
  void take_mask(const Tensor& mask) {
    if (mask.ndim() == 0) return take_bool(item(mask).to_bool());
    for (std::int64_t i = 0; i < mask.ndim(); ++i)
      if (mask.size(i) != seen_.size(dim_ + i))
        throw_index("a mask's size %lld does not fit the dimension's %lld", mask.size(i),
                    seen_.size(dim_ + i));
    done_ += mask.ndim();
    const Tensor places = nonzero(mask);
    for (std::int64_t i = 0; i < mask.ndim(); ++i) choose(to(select(places, 1, i), seen_.device()));
  }
  void take_tensor(const Tensor& tensor) {
    if (!is_integral(tensor.dtype())) {
      PyErr_Format(PyExc_IndexError, "a tensor of %s is no index; give integers or bools",
                   std::string(name(tensor.dtype())).c_str());
      throw nb::python_error();
    }
    ++done_;
    choose(to(tensor, seen_.device(), i64));
  }
  void choose(Tensor index) {
    chosen_.resize(static_cast<std::size_t>(dim_));
    chosen_.push_back(std::move(index));
    ++dim_;
  }
  void skip(std::int64_t count) { dim_ += count; }

  Tensor seen_;
  std::vector<Tensor> chosen_;
  std::int64_t dim_ = 0;   // of seen_, next to be looked at
  std::int64_t done_ = 0;  // dimensions of the tensor that were indexed
};

PyObject* get(PyObject* self, PyObject* index) noexcept {
  try {
    const Tensor& tensor = *tensor_in(self);
    const Walk walk(tensor, index);
    if (walk.is_view()) {
      Tensor seen = walk.view();
      return wrap(seen.is_same(tensor) ? bp::view(tensor, tensor.shape()) : std::move(seen));
    }
    return wrap(without_gil([&] { return bp::index(walk.view(), walk.chosen()); }));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// `value` for a place of so many dimensions: leading ones of size 1 more than it has mean nothing.
Tensor fitted(Tensor value, std::int64_t rank) {
  while (value.ndim() > rank && value.size(0) == 1) value = select(value, 0, 0);
  return value;
}

void put(const Tensor& tensor, PyObject* index, PyObject* value) {
  const Walk walk(tensor, index);
  Scalar number;
  const bool is_number = !tensor_in(value) && find_number(value, number);
  const Tensor& target = walk.view();
  if (walk.is_view()) {
    if (is_number) return without_gil([&] { fill_(target, number); });
    const Tensor source = tensor_in(value) ? *tensor_in(value) : tensor_from(value);
    return without_gil([&] { copy_(target, fitted(source, target.ndim())); });
  }
  Tensor source = is_number ? full({}, number, tensor.dtype(), tensor.device())
                            : (tensor_in(value) ? *tensor_in(value) : tensor_from(value));
  const std::vector<Tensor> chosen = walk.chosen();
  without_gil([&] { index_put_(target, chosen, to(source, tensor.device(), tensor.dtype())); });
}

int set(PyObject* self, PyObject* index, PyObject* value) noexcept {
  try {
    if (!value) {
      PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted");
      return -1;
    }
    put(*tensor_in(self), index, value);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

}  // namespace

PyType_Slot indexing_slots[] = {{Py_mp_subscript, reinterpret_cast<void*>(get)},
                                {Py_mp_ass_subscript, reinterpret_cast<void*>(set)},
                                {0, nullptr}};

void add_iteration(nb::class_<Tensor>& tensor) {
  tensor.def("__iter__", [](const Tensor& self) {
    if (self.ndim() == 0)
      throw nb::type_error("a tensor without dimensions has nothing to go over");
    return nb::iter(nb::cast(unbind(self, 0)));
  });
  tensor.def(
      "__contains__",
      [](const Tensor& self, nb::handle value) {
        Scalar number;
        if (const Tensor* other = tensor_in(value.ptr()))
          return item(any(eq(self, *other))).to_bool();
        if (!find_number(value.ptr(), number))
          throw nb::type_error("in: give a number or a tensor");
        return item(any(eq(self, number))).to_bool();
      },
      nb::arg("value"));
}

}  // namespace bp::python
