#include "index.hpp"

#include "values.hpp"

namespace bp::python {
namespace {

[[noreturn]] void throw_index(const char* format, long long a, long long b = 0) {
  PyErr_Format(PyExc_IndexError, format, a, b);
  throw nb::python_error();
}

}  // namespace

bool is_seen_by_layers(const Tensor& tensor) {
  const ThreadState& state = thread_state();
  return ((state.included_layers | tensor.impl()->keys) & ~state.excluded_layers) != 0;
}

Tensor tensor_from(nb::handle object) {
  return *tensor_in(
      nb::object(nb::module_::import_("backplane._core").attr("tensor")(object)).ptr());
}

Written::Written(PyObject* index) {
  if (!PyTuple_Check(index)) {
    read(index, parts_[size_++]);
    return;
  }
  const auto size = static_cast<std::size_t>(PyTuple_GET_SIZE(index));
  if (size > parts_.size())
    throw_index("an index has at most %lld parts, not %lld", static_cast<long long>(most),
                static_cast<long long>(size));
  for (; size_ < size; ++size_)
    read(PyTuple_GET_ITEM(index, static_cast<Py_ssize_t>(size_)), parts_[size_]);
}

void Written::read(PyObject* object, Part& part) {
  if (PySlice_Check(object)) {
    part.kind = Kind::slice;
    if (PySlice_Unpack(object, &part.start, &part.stop, &part.step) < 0) throw nb::python_error();
  } else if (PyLong_CheckExact(object)) {
    read_number(object, part);
  } else if (object == Py_None) {
    part.kind = Kind::none;
  } else if (object == Py_Ellipsis) {
    part.kind = Kind::ellipsis;
  } else {
    read_other(object, part);
  }
}

void Written::read_number(PyObject* object, Part& part) {
  part.kind = Kind::number;
  part.start = PyNumber_AsSsize_t(object, PyExc_IndexError);
  if (part.start == -1 && PyErr_Occurred()) throw nb::python_error();
}

void Written::read_other(PyObject* object, Part& part) {
  bool truth = false;
  if (find_bool(object, truth)) return set_bool(part, truth);
  if (const Tensor* tensor = tensor_in(object)) return read_tensor(*tensor, object, part);
  const bool is_list = PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object);
  const bool is_array = !is_list && (PyObject_HasAttrString(object, "__array_interface__") ||
                                     PyObject_HasAttrString(object, "__dlpack__"));
  if (is_array && PyIndex_Check(object) && nb::cast<int>(nb::handle(object).attr("ndim")) == 0 &&
      nb::hasattr(nb::handle(object).attr("dtype"), "kind"))
    return read_array_number(object, part);
  if (is_list || is_array) {
    Tensor tensor = tensor_from(object);
    // Of an empty list nobody can tell the type.
    if (is_list && tensor.numel() == 0) tensor = to(tensor, i64);
    return read_tensor(tensor, nullptr, part);
  }
  if (PyIndex_Check(object)) return read_number(object, part);
  PyErr_Format(PyExc_IndexError,
               "an index is an int, a slice, ..., None, or a tensor or list of integers or "
               "bools, not %s",
               type_name(object));
  throw nb::python_error();
}

void Written::read_array_number(PyObject* object, Part& part) {
  if (nb::cast<std::string>(nb::handle(object).attr("dtype").attr("kind")) == "b")
    return set_bool(part, PyObject_IsTrue(object) == 1);
  read_number(object, part);
}

void Written::read_tensor(const Tensor& tensor, PyObject* object, Part& part) {
  if (tensor.dtype() == boolean) {
    if (tensor.ndim() == 0)
      return set_bool(part, without_gil([&] { return item<Scalar>(tensor); }).to_bool());
    part.kind = Kind::mask;
  } else if (!is_integral(tensor.dtype())) {
    PyErr_Format(PyExc_IndexError, "a tensor of %s is not an index; give integers or bools",
                 std::string(name(tensor.dtype())).c_str());
    throw nb::python_error();
  } else if (tensor.ndim() == 0) {
    const nb::object number = object ? nb::borrow(object) : nb::cast(tensor);
    return read_number(number.ptr(), part);
  } else {
    part.kind = Kind::places;
  }
  is_basic_ = false;
  part.tensor = tensors_.size();
  tensors_.push_back(tensor);
}

void Written::set_bool(Part& part, bool truth) {
  is_basic_ = false;
  part.kind = Kind::boolean;
  part.truth = truth;
}

Meaning::Meaning(const Tensor& tensor, const Written& index)
    : tensor_(tensor), by_rows_(is_seen_by_layers(tensor)),
      lie_apart_(!index.is_basic() && lie_apart(index)),
      offset_(by_rows_ ? 0 : tensor.storage_offset()), seen_(by_rows_ ? tensor : Tensor()) {
  const std::int64_t hidden = hidden_dims(index);
  for (const Part& part : index) take(part, index, hidden);
  if (source_dim_ < tensor_.ndim()) take_whole(tensor_.ndim() - source_dim_);
  if (!by_rows_) seen_ = make_view(tensor_, shape_, strides_, offset_);
  while (!chosen_.empty() && !chosen_.back().defined()) chosen_.pop_back();
}

std::size_t Meaning::first_chosen() const {
  std::size_t first = 0;
  while (!chosen_[first].defined()) ++first;
  return first;
}

bool Meaning::common_comes_first_in_row() const {
  for (std::size_t i = first_chosen(); i < chosen_.size(); ++i)
    if (!chosen_[i].defined()) return true;
  return false;
}

std::int64_t Meaning::hidden_dims(const Written& index) const {
  std::int64_t taken = 0;
  int ellipses = 0;
  for (const Part& part : index) {
    if (part.kind == Kind::ellipsis) ++ellipses;
    if (part.kind == Kind::mask) taken += index.tensor_of(part).ndim();
    if (part.kind == Kind::number || part.kind == Kind::slice || part.kind == Kind::places) ++taken;
  }
  if (ellipses > 1)
    throw_index("an index can only have a single ellipsis ('...'), not %lld", ellipses);
  if (taken > tensor_.ndim())
    throw_index("too many indices: the tensor has %lld dimensions, and %lld are indexed",
                tensor_.ndim(), taken);
  return tensor_.ndim() - taken;
}

bool Meaning::lie_apart(const Written& index) {
  bool is_open = false, is_closed = false;
  for (const Part& part : index) {
    const bool is_index =
        part.kind != Kind::slice && part.kind != Kind::none && part.kind != Kind::ellipsis;
    if (is_index && is_closed) return true;
    is_closed |= is_open && !is_index;
    is_open |= is_index;
  }
  return false;
}

void Meaning::take(const Part& part, const Written& index, std::int64_t hidden) {
  switch (part.kind) {
    case Kind::number: return take_number(part.start);
    case Kind::slice: return take_slice(part);
    case Kind::none: return add_dim();
    case Kind::ellipsis: return take_whole(hidden);
    case Kind::boolean: choose(places_of_bool(part.truth)); return add_dim();
    case Kind::mask: return take_mask(index.tensor_of(part));
    case Kind::places:
      choose(to(index.tensor_of(part), tensor_.device(), i64));
      return take_whole(1);
  }
}

void Meaning::take_number(std::int64_t number) {
  const std::int64_t size = tensor_.shape()[here()];
  if (number < -size || number >= size)
    throw_index("index %lld is out of bounds for a dimension of size %lld", number, size);
  if (number < 0) number += size;
  if (lie_apart_) {  // as NumPy does: one more list, of one number
    choose(full({}, number, i64, tensor_.device()));
    return take_whole(1);
  }
  if (by_rows_)
    seen_ = select(seen_, seen_dim_, number);
  else
    offset_ += number * tensor_.strides()[here()];
  ++source_dim_;
}

void Meaning::take_slice(const Part& part) {
  const std::int64_t size = tensor_.shape()[here()], stride = tensor_.strides()[here()];
  Py_ssize_t start = part.start, stop = part.stop, step = part.step;
  const Py_ssize_t count =
      PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &start, &stop, step);
  if (step < 0 && count > 0) {  // from the other end
    start += (count - 1) * step;
    step = -step;
    if (count > 1) backwards_.push_back(seen_dim_);
  }
  if (count == 0) start = 0;
  if (count <= 1) step = 1;
  if (!by_rows_) {
    offset_ += start * stride;
    shape_.push_back(count);
    strides_.push_back(stride * step);
  } else if (count != size || step != 1) {
    seen_ = slice(seen_, seen_dim_, start, count == 0 ? 0 : start + (count - 1) * step + 1, step);
  }
  ++source_dim_;
  ++seen_dim_;
}

void Meaning::take_whole(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, ++source_dim_, ++seen_dim_) {
    if (by_rows_) continue;
    shape_.push_back(tensor_.shape()[here()]);
    strides_.push_back(tensor_.strides()[here()]);
  }
}

void Meaning::add_dim() {
  if (by_rows_) {
    seen_ = unsqueeze(seen_, seen_dim_);
  } else {
    shape_.push_back(1);
    strides_.push_back(1);
  }
  ++seen_dim_;
}

Tensor Meaning::places_of_bool(bool truth) const {
  return full({truth ? 1 : 0}, 0, i64, tensor_.device());
}

void Meaning::take_mask(const Tensor& mask) {
  for (std::int64_t i = 0; i < mask.ndim(); ++i) {
    const std::int64_t size = tensor_.shape()[here() + static_cast<std::size_t>(i)];
    if (mask.size(i) != size && mask.size(i) != 0)  // none fits all, as in NumPy
      throw_index("a mask's size %lld does not fit the dimension's %lld", mask.size(i), size);
  }
  const Tensor places = to(without_gil([&] { return nonzero(mask); }), tensor_.device());
  for (std::int64_t i = 0; i < mask.ndim(); ++i) {
    choose(select(places, 1, i));
    take_whole(1);
  }
}

void Meaning::choose(Tensor index) {
  chosen_.resize(static_cast<std::size_t>(seen_dim_));
  chosen_.push_back(std::move(index));
}

}  // namespace bp::python
