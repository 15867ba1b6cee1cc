#include "same_object.hpp"

#include <mutex>
#include <unordered_map>

namespace bp::python {
namespace {

// Weak references, by the tensor. An object holds its tensor, so that an address is nobody else's while the object lives; entries
// of dead ones stay until the next sweep. A strong reference would hold the memory of a gradient that C++ has dropped.
struct Known {
  std::mutex mutex;  // for builds without the GIL
  std::unordered_map<const TensorImpl*, PyObject*> references;
  std::size_t next_sweep = 256;
};

Known& known() {
  static auto* made = new Known;  // the objects outlive static destructors
  return *made;
}

// A new reference; null: it is dead.
PyObject* target_of(PyObject* reference) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* target = nullptr;
  PyWeakref_GetRef(reference, &target);
  return target;
#else
  PyObject* target = PyWeakref_GetObject(reference);
  return target == Py_None ? nullptr : nb::handle(target).inc_ref().ptr();
#endif
}

void sweep(Known& all) {
  for (auto each = all.references.begin(); each != all.references.end();) {
    PyObject* target = target_of(each->second);
    if (target) {
      Py_DECREF(target);
      ++each;
    } else {
      Py_DECREF(each->second);
      each = all.references.erase(each);
    }
  }
  all.next_sweep = 2 * all.references.size() + 256;
}

}  // namespace

void remember_object(PyObject* object) {
  PyObject* reference = PyWeakref_NewRef(object, nullptr);
  if (!reference) return PyErr_Clear();  // no memory: the next look makes another object
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  if (all.references.size() >= all.next_sweep) sweep(all);
  PyObject*& place = all.references[self_of(object).impl()];
  Py_XDECREF(place);
  place = reference;
}

PyObject* object_of(const Tensor& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  {
    Known& all = known();
    const std::lock_guard lock(all.mutex);
    const auto found = all.references.find(tensor.impl());
    if (found != all.references.end())
      if (PyObject* target = target_of(found->second)) {
        if (self_of(target).is_same(tensor)) return target;
        Py_DECREF(target);
      }
  }
  PyObject* made = wrap(Tensor(tensor));
  if (made) remember_object(made);
  return made;
}

}  // namespace bp::python
