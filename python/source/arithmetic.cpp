// Python's operators on tensors: x + y, -x, x < y, x @ y, x += y, and their reflected forms.
#include <backplane/core_ops/generated/rows.hpp>

#include "index.hpp"
#include "values.hpp"

namespace bp::python {
namespace {

PyObject* not_implemented() {
  return nb::handle(Py_NotImplemented).inc_ref().ptr();
}

PyObject* same(PyObject* object) {
  return nb::handle(object).inc_ref().ptr();
}

// A NumPy array, which leaves mixed operators to us (__array_ufunc__ is None), as a tensor. Undefined: it is none.
Tensor tensor_of_array(PyObject* object) {
  if (!PyObject_HasAttrString(object, "__array_interface__")) return {};
  return tensor_from(object);
}

// Two tensors, or a tensor and a number or an array, as arguments of a pointwise row; others are at their defaults.
class Operands {
 public:
  // False: one of them is neither, and may answer for itself.
  bool take(const bp::Operator& op, PyObject* a, PyObject* b) {
    if (!take(0, a) || !take(1, b)) return false;
    const std::vector<SchemaArgument>& arguments = op.schema->arguments;
    count = static_cast<std::uint32_t>(arguments.size());
    for (std::uint32_t i = 2; i < count; ++i) values[i] = arguments[i].default_value;
    return true;
  }

  bp_value values[4];
  std::uint32_t count = 0;

 private:
  bool take(int at, PyObject* object) {
    if (const Tensor* tensor = tensor_in(object)) {
      values[at] = value_of(*tensor);
      return true;
    }
    if (find_number(object, numbers_[at])) {
      values[at] = numbers_[at].value();
      return true;
    }
    arrays_[at] = tensor_of_array(object);
    values[at] = value_of(arrays_[at]);
    return arrays_[at].defined();
  }

  Scalar numbers_[2];
  Tensor arrays_[2];
};

PyObject* binary(bp::Operator& op, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    Operands operands;
    if (!operands.take(op, a, b)) return not_implemented();
    return wrap(without_gil([&] { return call_pointwise(op, operands.values, operands.count); }));
  });
}

PyObject* write(bp::Operator& op, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    Operands operands;
    if (!operands.take(op, a, b)) return not_implemented();
    const Tensor& target = self_of(a);
    without_gil([&] { call_pointwise_into(op, operands.values, operands.count, target); });
    return same(a);
  });
}

PyObject* unary(bp::Operator& op, PyObject* a) noexcept {
  return guarded([&]() -> PyObject* {
    bp_value value = value_of(self_of(a));
    return wrap(without_gil([&] { return call_pointwise(op, &value, 1); }));
  });
}

template <bp::Operator* op> PyObject* slot(PyObject* a, PyObject* b) {
  return binary(*op, a, b);
}
template <bp::Operator* op> PyObject* slot_into(PyObject* a, PyObject* b) {
  return write(*op, a, b);
}

PyObject* slot_power(PyObject* a, PyObject* b, PyObject* modulo) {
  return modulo == Py_None ? binary(ops::pow, a, b) : not_implemented();
}
PyObject* slot_power_into(PyObject* a, PyObject* b, PyObject*) {
  return write(ops::pow, a, b);
}
PyObject* slot_negative(PyObject* a) {
  return unary(ops::neg, a);
}
PyObject* slot_absolute(PyObject* a) {
  return unary(ops::abs, a);
}
PyObject* slot_positive(PyObject* a) {
  return same(a);
}
PyObject* slot_invert(PyObject* a) noexcept {
  return guarded([&] {
    return unary(self_of(a).dtype() == boolean ? ops::logical_not : ops::bitwise_not, a);
  });
}
PyObject* slot_matmul(PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    const Tensor *left = tensor_in(a), *right = tensor_in(b);
    const Tensor left_array = left ? Tensor() : tensor_of_array(a),
                 right_array = right ? Tensor() : tensor_of_array(b);
    if (!left) left = &left_array;
    if (!right) right = &right_array;
    if (!left->defined() || !right->defined()) return not_implemented();
    return wrap(without_gil([&] { return matmul(*left, *right); }));
  });
}

PyObject* slot_compare(PyObject* a, PyObject* b, int what) {
  bp::Operator* const rows[] = {&ops::lt, &ops::le, &ops::eq,
                                &ops::ne, &ops::gt, &ops::ge};  // as Py_LT, Py_LE, ...
  return binary(*rows[what], a, b);
}

// By identity, as PyTorch's: tensors that are equal are not the same.
Py_hash_t slot_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
}

int slot_truth(PyObject* self) noexcept {
  return guarded(
      [&] {
        const Tensor& tensor = self_of(self);
        if (tensor.numel() != 1) {
          PyErr_Format(PyExc_ValueError,
                       "a tensor of %lld elements has no single truth value; use any() or all()",
                       static_cast<long long>(tensor.numel()));
          throw nb::python_error();
        }
        return item_of(tensor).to_bool() ? 1 : 0;
      },
      -1);
}

Py_ssize_t slot_length(PyObject* self) noexcept {
  return guarded(
      [&] {
        const Tensor& tensor = self_of(self);
        if (tensor.ndim() == 0) throw nb::type_error("len() of a tensor without dimensions");
        return static_cast<Py_ssize_t>(tensor.size(0));
      },
      Py_ssize_t{-1});
}

template <class F> void* pointer(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

// Python asks for one list.
PyType_Slot arithmetic_slots[] = {
    {Py_nb_add, pointer(slot<&ops::add>)},
    {Py_nb_subtract, pointer(slot<&ops::sub>)},
    {Py_nb_multiply, pointer(slot<&ops::mul>)},
    {Py_nb_true_divide, pointer(slot<&ops::div>)},
    {Py_nb_floor_divide, pointer(slot<&ops::floor_divide>)},
    {Py_nb_remainder, pointer(slot<&ops::remainder>)},
    {Py_nb_power, pointer(slot_power)},
    {Py_nb_and, pointer(slot<&ops::bitwise_and>)},
    {Py_nb_or, pointer(slot<&ops::bitwise_or>)},
    {Py_nb_xor, pointer(slot<&ops::bitwise_xor>)},
    {Py_nb_lshift, pointer(slot<&ops::bitwise_left_shift>)},
    {Py_nb_rshift, pointer(slot<&ops::bitwise_right_shift>)},
    {Py_nb_inplace_add, pointer(slot_into<&ops::add>)},
    {Py_nb_inplace_subtract, pointer(slot_into<&ops::sub>)},
    {Py_nb_inplace_multiply, pointer(slot_into<&ops::mul>)},
    {Py_nb_inplace_true_divide, pointer(slot_into<&ops::div>)},
    {Py_nb_inplace_floor_divide, pointer(slot_into<&ops::floor_divide>)},
    {Py_nb_inplace_remainder, pointer(slot_into<&ops::remainder>)},
    {Py_nb_inplace_power, pointer(slot_power_into)},
    {Py_nb_inplace_and, pointer(slot_into<&ops::bitwise_and>)},
    {Py_nb_inplace_or, pointer(slot_into<&ops::bitwise_or>)},
    {Py_nb_inplace_xor, pointer(slot_into<&ops::bitwise_xor>)},
    {Py_nb_inplace_lshift, pointer(slot_into<&ops::bitwise_left_shift>)},
    {Py_nb_inplace_rshift, pointer(slot_into<&ops::bitwise_right_shift>)},
    {Py_nb_negative, pointer(slot_negative)},
    {Py_nb_positive, pointer(slot_positive)},
    {Py_nb_absolute, pointer(slot_absolute)},
    {Py_nb_invert, pointer(slot_invert)},
    {Py_nb_matrix_multiply, pointer(slot_matmul)},
    {Py_nb_bool, pointer(slot_truth)},
    {Py_tp_richcompare, pointer(slot_compare)},
    {Py_tp_hash, pointer(slot_hash)},
    {Py_mp_length, pointer(slot_length)},
    {Py_sq_length, pointer(slot_length)},
    {0, nullptr}};

}  // namespace bp::python
