// Mixed precision: which calls of a thread are cast.
#include <optional>
#include <utility>

#include <backplane/amp/autocast.hpp>

#include "objects.hpp"

namespace bp::python {
namespace {

Device device_of(nb::handle object, const char* what) {
  Device device;
  if (!find_device(object.ptr(), device)) {
    PyErr_Format(PyExc_TypeError, "%s: device_type must be a device or its name, not %s", what,
                 type_name(object.ptr()));
    throw nb::python_error();
  }
  return device;
}

// C++'s Autocast is a scope of a thread; Python's `with` keeps one open. They end in the reverse order of their beginning.
struct OpenAutocast {
  OpenAutocast(const amp::AutocastState& state, OpenAutocast* before)
      : used(state), around(before), depth(before ? before->depth + 1 : 1) {}
  amp::UseAutocast used;
  OpenAutocast* around;
  std::size_t depth;
};

// This thread's. A plain pointer, since a thread that ends within one has no other order to put things back.
constinit thread_local OpenAutocast* innermost = nullptr;

std::size_t enter(const amp::AutocastState& state) {
  innermost = new OpenAutocast(state, innermost);
  return innermost->depth;
}

// Also those within it that nobody has left, as of a generator that was dropped.
void leave(std::size_t depth) {
  while (innermost && depth > 0 && innermost->depth >= depth)
    delete std::exchange(innermost, innermost->around);
}

}  // namespace

void add_amp(nb::module_& module) {
  module.def(
      "_enter_autocast",
      [](nb::handle device_type, nb::handle dtype, bool enabled,
         std::optional<bool> cache_enabled) {
        std::optional<Dtype> lower;
        if (Dtype found = f32; !dtype.is_none()) {
          if (!find_dtype(dtype.ptr(), found))
            throw nb::type_error("autocast: dtype must be a dtype");
          lower = found;
        }
        amp::AutocastState state = amp::AutocastState::current();
        state.set(device_of(device_type, "autocast"), enabled, lower);
        if (cache_enabled) state.set_cache_enabled(*cache_enabled);
        return enter(state);
      },
      nb::arg("device_type"), nb::arg("dtype").none(), nb::arg("enabled"),
      nb::arg("cache_enabled").none());
  // Nothing is cast.
  module.def("_enter_uncast", [] { return enter(amp::AutocastState()); });
  module.def("_leave_autocast", &leave);
  // An optimizer's calls are neither recorded nor cast. For restore_layers.
  module.def("_exclude_for_step", [] {
    ThreadState& state = thread_state();
    const auto before = nb::make_tuple(state.excluded_layers, state.new_tensor_keys);
    state.excluded_layers |= key_of(Layer::autograd) | key_of(Layer::autocast);
    return before;
  });
  module.def("_autocast_device", [](nb::handle device_type) {
    return DeviceObject{device_of(device_type, "autocast")};
  });
  module.def(
      "is_autocast_enabled",
      [](nb::handle device_type) {
        return amp::is_autocast_enabled(device_of(device_type, "is_autocast_enabled"));
      },
      nb::arg("device_type") = "cpu", "Whether this thread casts calls on the device.");
  module.def(
      "get_autocast_dtype",
      [](nb::handle device_type) {
        return dtype_object(amp::get_autocast_dtype(device_of(device_type, "get_autocast_dtype")));
      },
      nb::arg("device_type") = "cpu", "The dtype that calls on the device are cast to.");
  module.def("is_autocast_cache_enabled", &amp::is_autocast_cache_enabled);
  module.def("clear_autocast_cache", &amp::clear_autocast_cache,
             "Forgets the casts of weights that this thread keeps.");
}

}  // namespace bp::python
