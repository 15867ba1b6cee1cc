#include "same_object.hpp"

#include <array>
#include <mutex>
#include <vector>

namespace bp::python {
namespace {

// Weak references by the tensor. A strong one would hold the memory of a gradient that C++ has dropped, and hide from the
// garbage collector a cycle through it.
struct Entry {
  const TensorImpl* tensor;
  PyObject*
      object;  // with the GIL borrowed, since the class forgets an object that dies; without it a weak reference
};

// By address. The arrays are never freed: the objects outlive static destructors.
using Entries = std::vector<Entry>;
constexpr std::size_t num_lists = 1024;
auto& lists = *new std::array<Entries, num_lists>;

Entries& list_of(const TensorImpl* tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor);
  return lists[(address >> 6 ^ address >> 16) % num_lists];
}

Entry* find(Entries& list, const TensorImpl* tensor) {
  for (Entry& each : list)
    if (each.tensor == tensor) return &each;
  return nullptr;
}

void erase(Entries& list, Entry* entry) {
  *entry = list.back();
  list.pop_back();
}

#ifdef Py_GIL_DISABLED

// Without the GIL an object may die while it is looked at, which only a weak reference tells. Dead ones go with the next entry
// of their list.
std::mutex mutex;
using Locked = std::lock_guard<std::mutex>;

// A new reference; null: it is dead.
PyObject* target_of(const Entry& entry) {
  PyObject* target = nullptr;
  PyWeakref_GetRef(entry.object, &target);
  return target;
}

PyObject* reference_to(PyObject* object) {
  return PyWeakref_NewRef(object, nullptr);
}

void drop(const Entry& entry) {
  Py_DECREF(entry.object);
}

void sweep(Entries& list) {
  for (std::size_t i = list.size(); i-- > 0;) {
    PyObject* target = target_of(list[i]);
    if (!target) {
      drop(list[i]);
      erase(list, &list[i]);
    }
    Py_XDECREF(target);
  }
}

#else

struct Locked {
  explicit Locked(int) {}
};
constexpr int mutex = 0;

// One whose finalizer runs has no reference left, and is not the object of anything any more.
PyObject* target_of(const Entry& entry) {
  return Py_REFCNT(entry.object) > 0 ? nb::handle(entry.object).inc_ref().ptr() : nullptr;
}

PyObject* reference_to(PyObject* object) {
  return object;
}

void drop(const Entry&) {}
void sweep(Entries&) {}

#endif

void note_that_it_is_remembered(PyObject* object) {
  notes_of(object).is_remembered = true;
}

}  // namespace

void remember_object(PyObject* object) {
  const TensorImpl* const tensor = self_of(object).impl();
  PyObject* const reference = reference_to(object);
  if (!reference) return PyErr_Clear();  // no memory: the next look makes another object
  note_that_it_is_remembered(object);
  const Locked lock(mutex);
  Entries& list = list_of(tensor);
  sweep(list);
  if (Entry* entry = find(list, tensor)) {
    drop(*entry);
    entry->object = reference;
  } else {
    list.push_back({tensor, reference});
  }
}

void forget_object(PyObject* object, const TensorImpl* tensor) {
  Entries& list = list_of(tensor);
  if (Entry* entry = find(list, tensor); entry && entry->object == object) erase(list, entry);
}

PyObject* object_of(const Tensor& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  {
    const Locked lock(mutex);
    if (const Entry* entry = find(list_of(tensor.impl()), tensor.impl()))
      if (PyObject* target = target_of(*entry)) {
        if (self_of(target).is_same(tensor)) return target;
        Py_DECREF(target);
      }
  }
  PyObject* made = wrap(Tensor(tensor));
  if (made) remember_object(made);
  return made;
}

PyObject* gradient_object(PyObject* object) {
  const nb::ft_object_guard alone(object);
  const Tensor& tensor = self_of(object);
  if (PyObject* kept = notes_of(object).gradient) {
    if (is_grad(tensor, self_of(kept))) return nb::handle(kept).inc_ref().ptr();
    Py_CLEAR(notes_of(object).gradient);
  } else if (!autograd_data(*tensor.impl())) {
    Py_RETURN_NONE;
  }
  PyObject* found = object_of(grad(tensor));
  if (found && found != Py_None && is_grad(tensor, self_of(found)))
    notes_of(object).gradient = nb::handle(found).inc_ref().ptr();
  return found;
}

void drop_gradient_object(PyObject* object) {
  const nb::ft_object_guard alone(object);
  Py_CLEAR(notes_of(object).gradient);
}

}  // namespace bp::python
