// DLPack both ways.
#include <optional>

#include <backplane/runtime/dlpack.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

constexpr const char *plain = "dltensor", *versioned = "dltensor_versioned";
constexpr const char *used_plain = "used_dltensor", *used_versioned = "used_dltensor_versioned";

// Of a capsule that nobody took: our own tensor comes back, and goes.
template <class T> void end_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  try {
    from_dlpack(static_cast<T*>(PyCapsule_GetPointer(capsule, name)),
                {.device = {}, .accept_read_only = true});
  } catch (...) {
    set_python_error();
    PyErr_WriteUnraisable(capsule);
  }
}
void end_plain(PyObject* capsule) {
  end_unused<DLManagedTensor>(capsule, plain);
}
void end_versioned(PyObject* capsule) {
  end_unused<DLManagedTensorVersioned>(capsule, versioned);
}

nb::object capsule_of(const Tensor& self, std::optional<std::int64_t> stream,
                      std::optional<std::pair<int, int>> max_version,
                      std::optional<std::pair<int, int>> device, std::optional<bool> copies) {
  if (requires_grad(self) && is_grad_enabled())
    throw nb::buffer_error(
        "__dlpack__: the tensor requires grad, which the other side would not know; call detach() "
        "first");
  Tensor shown = detach(self);
  if (device && DlpackDevice{device->first, device->second} != dlpack_device(shown.device())) {
    if (device->first != 1)
      throw nb::buffer_error("__dlpack__: only a copy to the host (1, 0) is made");
    if (copies && !*copies)
      throw nb::buffer_error("__dlpack__: a tensor of another device takes a copy");
    shown = without_gil([&] { return cpu(shown); });
  } else if (copies && *copies) {
    shown = without_gil([&] { return clone(shown); });
  }
  DlpackExport options;
  if (stream && *stream != -1) options.consumer_stream = static_cast<std::uint64_t>(*stream);
  if (shown.device() != meta_device && device_record(shown.device()).host_readable) {
    without_gil([&] { synchronize(shown.device()); });
    options.consumer_stream.reset();
  }
  if (max_version && max_version->first >= 1) {
    auto* managed = to_dlpack_versioned(shown, options);
    return nb::steal(PyCapsule_New(managed, versioned, end_versioned));
  }
  return nb::steal(PyCapsule_New(to_dlpack(shown, options), plain, end_plain));
}

nb::object tensor_of_capsule(nb::handle capsule, bool accept_read_only) {
  DlpackImport options;
  options.accept_read_only = accept_read_only;
  Tensor made;
  if (PyCapsule_IsValid(capsule.ptr(), versioned)) {
    made = from_dlpack(
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), versioned)),
        options);
    PyCapsule_SetName(capsule.ptr(), used_versioned);
  } else if (PyCapsule_IsValid(capsule.ptr(), plain)) {
    made = from_dlpack(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), plain)),
                       options);
    PyCapsule_SetName(capsule.ptr(), used_plain);
  } else {
    throw nb::type_error("from_dlpack: give what __dlpack__ returned, which nobody has taken yet");
  }
  return nb::steal(wrap(std::move(made)));
}

}  // namespace

void add_exchange(nb::module_& module, nb::class_<Tensor>& tensor) {
  tensor.def("__dlpack__", &capsule_of, nb::kw_only(), nb::arg("stream") = nb::none(),
             nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
             nb::arg("copy") = nb::none());
  tensor.def("__dlpack_device__", [](const Tensor& self) {
    const DlpackDevice device = dlpack_device(self.device());
    return nb::make_tuple(device.type, device.id);
  });
  module.def("tensor_of_capsule", &tensor_of_capsule, nb::arg("capsule"),
             nb::arg("accept_read_only") = false);
}

}  // namespace bp::python
