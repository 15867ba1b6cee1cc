// x[...]: NumPy's indexing. Numbers and slices are one view; lists, integer tensors and masks go through the rows index
// and index_put.
#include <optional>
#include <vector>

#include <backplane/dispatcher/named.hpp>
#include <backplane/tensor/check.hpp>

#include "index.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

// What errors begin with.
constexpr const char *reading = "x[index]", *assignment = "x[index] = value";

// Indices and masks that do not fit are IndexErrors, as those of numbers are.
template <class F> auto naming_index(F&& call) {
  try {
    return without_gil(call);
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::bad_argument) throw;
    PyErr_SetString(PyExc_IndexError, error.what());
    throw nb::python_error();
  }
}

Dims joined(const Dims& a, const Dims& b) {
  Dims both = a;
  for (const std::int64_t size : IntList(b)) both.push_back(size);
  return both;
}

Dims common_shape(const std::vector<Tensor>& chosen) {
  Dims common;
  for (const Tensor& each : chosen)
    if (each.defined()) common = broadcast_shapes("index", common, each.shape());
  return common;
}

// The shape of x[index].
Dims shape_of_chosen(const Meaning& meaning) {
  const std::vector<Tensor>& chosen = meaning.chosen();
  const IntList sizes = meaning.view().shape();
  const Dims common = common_shape(chosen);
  Dims shape;
  const std::size_t place = meaning.common_comes_first() ? 0 : meaning.first_chosen();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == place) shape = joined(shape, common);
    if (i >= chosen.size() || !chosen[i].defined()) shape.push_back(sizes[i]);
  }
  return shape;
}

// Where NumPy puts the common dimensions first, and the row does not: moves them, or back. `rank` is the result's.
std::optional<Dims> order_of_result(const Meaning& meaning, std::size_t rank, bool goes_back) {
  if (!meaning.common_comes_first() || meaning.common_comes_first_in_row()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(common_shape(meaning.chosen()).size()),
             first = static_cast<std::int64_t>(meaning.first_chosen());
  Dims order;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (goes_back)
      order.push_back(i < first ? i + count : i < first + count ? i - first : i);
    else
      order.push_back(i < count ? i + first : i < count + first ? i - count : i);
  return order;
}

// Where the result has no elements no kernel looks at the indices. If these are none themselves, NumPy does not either.
void check_unread(const Tensor& view, const std::vector<Tensor>& chosen) {
  for (const Tensor& each : chosen)
    if (each.defined() && each.numel() == 0) return;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i].defined()) continue;
    const std::int64_t size = view.shape()[i];
    const bool fits =
        item<Scalar>(all(logical_and(ge(chosen[i], -size), lt(chosen[i], size)))).to_bool();
    BP_CHECK(fits, "index: an index is out of bounds for a dimension of size {}", size);
  }
}

// `view` is the meaning's, or what its backward slices made of it.
Tensor read_chosen(const Meaning& meaning, const Tensor& view) {
  return naming_index([&] {
    const Tensor result = named(reading, [&] { return bp::index(view, meaning.chosen()); });
    if (result.numel() == 0 && result.device() != meta_device) check_unread(view, meaning.chosen());
    const auto order = order_of_result(meaning, static_cast<std::size_t>(result.ndim()), false);
    return order ? permute(result, *order) : result;
  });
}

PyObject* get(PyObject* self, PyObject* index) noexcept {
  return guarded([&]() -> PyObject* {
    const Written written(index);
    const Tensor& tensor = self_of(self);
    const Meaning meaning(tensor, written);
    Tensor seen = meaning.view();
    if (!meaning.backwards().empty())
      seen = without_gil([&] { return flip(seen, meaning.backwards()); });
    if (!meaning.is_view())
      seen = read_chosen(meaning, seen);
    else if (seen.is_same(tensor))
      seen = bp::view(tensor, tensor.shape());
    return wrap(std::move(seen));
  });
}

// `value` for a place of so many dimensions: leading ones of size 1 more than it has mean nothing.
Tensor fitted(Tensor value, std::int64_t rank) {
  while (value.ndim() > rank && value.size(0) == 1) value = select(value, 0, 0);
  return value;
}

void put_chosen(const Meaning& meaning, const Tensor& value) {
  const std::vector<Tensor>& chosen = meaning.chosen();
  const bool goes_back = !meaning.backwards().empty();
  Dims shape;
  naming_index([&] { shape = shape_of_chosen(meaning); });
  const Tensor source = without_gil([&] {
    const Tensor target = goes_back ? flip(meaning.view(), meaning.backwards()) : meaning.view();
    const Tensor fitting = fitted(value, static_cast<std::int64_t>(shape.size()));
    const Tensor whole = named(
        assignment, [&] { return expand(to(fitting, target.device(), target.dtype()), shape); });
    const auto order = order_of_result(meaning, shape.size(), true);
    return order ? permute(whole, *order) : whole;
  });
  naming_index([&] {
    if (source.numel() == 0) return check_unread(meaning.view(), chosen);
    if (!goes_back) {
      named(assignment, [&] { index_put_(meaning.view(), chosen, source); });
      return;
    }
    const Tensor changed = named(assignment, [&] {
      return index_put(flip(meaning.view(), meaning.backwards()), chosen, source);
    });
    copy_(meaning.view(), flip(changed, meaning.backwards()));
  });
}

void put_view(const Meaning& meaning, Tensor value) {
  const Tensor& target = meaning.view();
  without_gil([&] {
    value = fitted(value, target.ndim());
    // Only what differs from element to element has a direction.
    if (!meaning.backwards().empty() && value.numel() != 1)
      value = named(assignment,
                    [&] { return flip(expand(value, target.shape()), meaning.backwards()); });
    if (value.shares_storage(target) && !value.is_same(target)) value = clone(value);
    named(assignment, [&] { copy_(target, value); });
  });
}

int set(PyObject* self, PyObject* index, PyObject* value) noexcept {
  return guarded(
      [&] {
        if (!value) throw nb::type_error("elements of a tensor cannot be deleted");
        Scalar number;
        const bool is_number = !tensor_in(value) && find_number(value, number);
        const Tensor source = is_number          ? Tensor()
                              : tensor_in(value) ? *tensor_in(value)
                                                 : tensor_from(value);
        const Written written(index);
        const Tensor& tensor = self_of(self);
        const Meaning meaning(tensor, written);
        if (meaning.is_view() && is_number)
          without_gil([&] { fill_(meaning.view(), number); });
        else if (meaning.is_view())
          put_view(meaning, source);
        else
          put_chosen(meaning,
                     is_number ? full({}, number, tensor.dtype(), tensor.device()) : source);
        return 0;
      },
      -1);
}

}  // namespace

PyType_Slot indexing_slots[] = {{Py_mp_subscript, reinterpret_cast<void*>(get)},
                                {Py_mp_ass_subscript, reinterpret_cast<void*>(set)},
                                {0, nullptr}};

void add_iteration(TensorClass& tensor) {
  tensor.def("__iter__", [](const Tensor& self) {
    if (self.ndim() == 0)
      throw nb::type_error("a tensor without dimensions cannot be iterated over");
    return nb::iter(nb::cast(unbind(self, 0)));
  });
  tensor.def(
      "__contains__",
      [](const Tensor& self, nb::handle value) {
        Scalar number;
        const Tensor* other = tensor_in(value.ptr());
        if (!other && !find_number(value.ptr(), number))
          throw nb::type_error("in: give a number or a tensor");
        return without_gil([&] {
          return item<Scalar>(any(other ? eq(self, *other) : eq(self, number))).to_bool();
        });
      },
      nb::arg("value"));
}

}  // namespace bp::python
