// DLPack both ways: tensors over others' memory, and others' arrays over tensors'.
#include <dlpack/dlpack.h>
#include <optional>

#include <backplane/dispatcher/host_device.hpp>
#include <backplane/runtime/dlpack.hpp>
#include <backplane/runtime/interop.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

constexpr const char *plain = "dltensor", *versioned = "dltensor_versioned";
constexpr const char *used_plain = "used_dltensor", *used_versioned = "used_dltensor_versioned";
constexpr std::int32_t host_type = 1;   // kDLCPU
constexpr std::uint64_t is_copied = 2;  // DLPACK_FLAG_BITMASK_IS_COPIED

// What capsules hold, as DLPack defines it, so that no header of DLPack's is needed.
struct Managed {
  using Opaque = DLManagedTensor;
  bp_dl_tensor tensor;
  void* context;
  void (*deleter)(Opaque* self);
};
struct ManagedVersioned {
  using Opaque = DLManagedTensorVersioned;
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Opaque* self);
  std::uint64_t flags;
  bp_dl_tensor tensor;
};

template <class T> T& known(typename T::Opaque* managed) {
  return *reinterpret_cast<T*>(managed);
}

// Of a capsule that nobody took.
template <class T> void end_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<typename T::Opaque*>(PyCapsule_GetPointer(capsule, name));
  if (known<T>(managed).deleter) known<T>(managed).deleter(managed);
}
void end_plain(PyObject* capsule) {
  end_unused<Managed>(capsule, plain);
}
void end_versioned(PyObject* capsule) {
  end_unused<ManagedVersioned>(capsule, versioned);
}

template <class T>
nb::object capsule_around(typename T::Opaque* managed, const char* name, PyCapsule_Destructor end) {
  PyObject* capsule = PyCapsule_New(managed, name, end);
  if (!capsule) {
    known<T>(managed).deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

// --- To others -----------------------------------------------------------------------------------------------------------

struct Wishes {
  std::optional<std::int64_t> stream;
  bool takes_versioned = false;
  std::optional<DlpackDevice> device;
  std::optional<bool> copies;
};

std::int64_t integer_in(PyObject* object, const char* what) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "__dlpack__: %s must be of ints, not %s", what,
                 type_name(object));
    throw nb::python_error();
  }
  return value;
}

std::pair<std::int64_t, std::int64_t> pair_in(PyObject* object, const char* what) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    PyErr_Format(PyExc_TypeError, "__dlpack__: %s must be a tuple of two ints", what);
    throw nb::python_error();
  }
  return {integer_in(PyTuple_GET_ITEM(object, 0), what),
          integer_in(PyTuple_GET_ITEM(object, 1), what)};
}

void take(Wishes& wishes, PyObject* key, PyObject* value) {
  const std::string_view name = nb::borrow<nb::str>(key).c_str();
  const bool is_known =
      name == "stream" || name == "max_version" || name == "dl_device" || name == "copy";
  if (!is_known) {
    PyErr_Format(PyExc_TypeError, "__dlpack__: no argument '%U'", key);
    throw nb::python_error();
  }
  if (value == Py_None) return;
  if (name == "stream") {
    wishes.stream = integer_in(value, "stream");
  } else if (name == "max_version") {
    wishes.takes_versioned = pair_in(value, "max_version").first >= 1;
  } else if (name == "dl_device") {
    const auto [type, id] = pair_in(value, "dl_device");
    wishes.device = DlpackDevice{static_cast<std::int32_t>(type), static_cast<std::int32_t>(id)};
  } else {
    wishes.copies = PyObject_IsTrue(value) == 1;
  }
}

// `tensor` on the device that was asked for, or as a copy.
Tensor shown_as(const Tensor& tensor, const Wishes& wishes, bool& was_copied) {
  const bool wants_copy = wishes.copies.value_or(false);
  if (wishes.device && *wishes.device != dlpack_device(tensor.device())) {
    if (wishes.device->type != host_type)
      throw nb::buffer_error("from_dlpack: only a copy to the host, device (1, 0), is made");
    if (wishes.copies && !wants_copy)
      throw nb::buffer_error("from_dlpack: a tensor of another device takes a copy");
    was_copied = true;
    return without_gil([&] { return cpu(tensor); });
  }
  was_copied = wants_copy;
  return wants_copy ? without_gil([&] { return clone(tensor); }) : tensor;
}

nb::object capsule_of(const Tensor& self, const Wishes& wishes) {
  if (requires_grad(self) && is_grad_enabled())
    throw nb::buffer_error(
        "from_dlpack: the tensor requires grad, which the other library cannot record; call "
        "detach() first");
  if (self.device() == meta_device)
    throw nb::buffer_error("from_dlpack: a tensor of the device meta has no memory");
  bool was_copied = false;
  const Tensor shown = shown_as(self, wishes, was_copied);
  DlpackExport options;
  if (wishes.stream && *wishes.stream != -1)
    options.consumer_stream = static_cast<std::uint64_t>(*wishes.stream);
  if (device_record(shown.device()).host_readable) {
    if (!is_ready(shown)) without_gil([&] { synchronize(shown.device()); });
    options.consumer_stream.reset();
  }
  if (!wishes.takes_versioned)
    return capsule_around<Managed>(to_dlpack(shown, options), plain, end_plain);
  DLManagedTensorVersioned* managed = to_dlpack_versioned(shown, options);
  if (was_copied) known<ManagedVersioned>(managed).flags |= is_copied;
  return capsule_around<ManagedVersioned>(managed, versioned, end_versioned);
}

PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (num_args != 0) throw nb::type_error("__dlpack__: all arguments are by name");
    Wishes wishes;
    const Py_ssize_t count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) take(wishes, PyTuple_GET_ITEM(keywords, i), args[i]);
    try {
      return capsule_of(self_of(self), wishes).release().ptr();
    } catch (const Error& error) {
      if (error.error_class() != ErrorClass::bad_argument &&
          error.error_class() != ErrorClass::unsupported)
        throw;
      throw nb::buffer_error(error.what());
    }
  });
}

PyObject* device_of_dlpack(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const DlpackDevice device = dlpack_device(self_of(self).device());
    return nb::make_tuple(device.type, device.id).release().ptr();
  });
}

// --- From others ---------------------------------------------------------------------------------------------------------

// Its plugin may not be loaded yet.
void find_device_of(const bp_dl_tensor& tensor) {
  static bool has_host = false;  // under the GIL
  if (tensor.device.device_type == host_type) {
    if (!has_host) has_host = without_gil([] { return host_device() != meta_device; });
    return;
  }
  for (const DeviceRecord* record : registered_devices()) {
    if (!record->backend) continue;
    const DlpackDevice known = dlpack_device(record->device);
    if (known.type == static_cast<std::int32_t>(tensor.device.device_type) &&
        known.id == tensor.device.device_id)
      return;
  }
  without_gil([] { load_all_plugins(); });
}

template <class T>
Tensor taken(PyObject* capsule, const char* name, const char* used, const DlpackImport& options) {
  auto* managed = static_cast<typename T::Opaque*>(PyCapsule_GetPointer(capsule, name));
  find_device_of(known<T>(managed).tensor);
  Tensor made = from_dlpack(managed, options);
  PyCapsule_SetName(capsule, used);
  return made;
}

nb::object tensor_of_capsule(nb::handle capsule, bool accept_read_only) {
  const DlpackImport options{.device = {}, .accept_read_only = accept_read_only};
  PyObject* const object = capsule.ptr();
  if (PyCapsule_IsValid(object, versioned))
    return nb::steal(wrap(taken<ManagedVersioned>(object, versioned, used_versioned, options)));
  if (PyCapsule_IsValid(object, plain))
    return nb::steal(wrap(taken<Managed>(object, plain, used_plain, options)));
  throw nb::type_error(
      "from_dlpack: give an array that has __dlpack__, or what that returned and nobody has taken "
      "yet");
}

struct Texts {
  PyObject *dlpack = PyUnicode_InternFromString("__dlpack__"),
           *device = PyUnicode_InternFromString("__dlpack_device__");
  PyObject* version = Py_BuildValue("(ii)", 1, 0);
  PyObject* version_only = Py_BuildValue("(s)", "max_version");
  PyObject* version_and_stream = Py_BuildValue("(ss)", "max_version", "stream");
};
const Texts& texts() {
  static const auto* all = new Texts;  // as long as the process
  return *all;
}

// The queue that the producer shall make wait for its work: the current one of our device. None: there is none to name.
nb::object stream_for(nb::handle data) {
  const nb::object named = nb::steal(PyObject_CallMethodNoArgs(data.ptr(), texts().device));
  if (!named.is_valid()) throw nb::python_error();
  const auto [type, id] = pair_in(named.ptr(), "what __dlpack_device__ returns");
  if (type == host_type) return nb::none();
  for (const DeviceRecord* record : registered_devices()) {
    const bool is_it = record->backend && dlpack_device(record->device) ==
                                              DlpackDevice{static_cast<std::int32_t>(type),
                                                           static_cast<std::int32_t>(id)};
    if (!is_it || native_kinds(record->device).stream.empty()) continue;
    const std::uint64_t queue = native_handle(Stream::current(record->device)).value;
    return nb::int_(queue == 0 ? 1 : queue);  // 1: the default queue, in DLPack's words
  }
  return nb::none();
}

// With the arguments of the versioned form; where these are not known, without.
nb::object capsule_from(nb::handle data) {
  const bool is_numpys = std::string_view(type_name(data.ptr())) == "numpy.ndarray";
  const nb::object stream = is_numpys ? nb::none() : stream_for(data);
  PyObject* const args[] = {data.ptr(), texts().version, stream.ptr()};
  nb::object capsule = nb::steal(PyObject_VectorcallMethod(
      texts().dlpack, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
      stream.is_none() ? texts().version_only : texts().version_and_stream));
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = nb::steal(PyObject_CallMethodNoArgs(data.ptr(), texts().dlpack));
  }
  if (!capsule.is_valid()) throw nb::python_error();
  return capsule;
}

nb::object import(nb::handle data, nb::handle device, std::optional<bool> copies,
                  bool accept_read_only) {
  const bool wants_copy = copies.value_or(false);
  const bool is_array =
      !PyCapsule_CheckExact(data.ptr()) && PyObject_HasAttr(data.ptr(), texts().dlpack);
  nb::object made = tensor_of_capsule(is_array ? capsule_from(data) : nb::borrow(data),
                                      accept_read_only || wants_copy);
  if (device.is_none() && !wants_copy) return made;
  const Tensor& tensor = self_of(made.ptr());
  Device wanted = tensor.device();
  if (!device.is_none() && !find_device(device.ptr(), wanted))
    throw nb::type_error("from_dlpack: device must be a device or its name");
  if (wanted == tensor.device() && !wants_copy) return made;
  if (copies && !wants_copy)
    throw nb::value_error("from_dlpack: a tensor on another device takes a copy");
  return nb::steal(wrap(
      without_gil([&] { return wanted == tensor.device() ? clone(tensor) : to(tensor, wanted); })));
}

}  // namespace

PyMethodDef exchange_methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dlpack)),
     METH_FASTCALL | METH_KEYWORDS,
     "A capsule over the tensor's memory, as DLPack and the array API define it."},
    {"__dlpack_device__", device_of_dlpack, METH_NOARGS, "DLPack's type and number of the device."},
    {}};

void add_exchange(nb::module_& module) {
  module.def("from_dlpack", &import, nb::arg("data"), nb::kw_only(), nb::arg("device") = nb::none(),
             nb::arg("copy") = nb::none(), nb::arg("accept_read_only") = false,
             "A tensor over the memory of another's array, by DLPack.\n\n"
             "`data` has `__dlpack__`, or is a capsule that this returned. Memory that may only be "
             "read is refused, unless `accept_read_only` promises that nobody writes into the "
             "tensor. With `device` the tensor is there; with `copy` it has memory of its "
             "own.\n\nRaises BufferError or ValueError if the memory is of a device or of "
             "elements that are not known here, or may not be written.");
}

}  // namespace bp::python
