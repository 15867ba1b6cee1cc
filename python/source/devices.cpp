// Devices, plugins, generators, and what ran where.
#include <cstdlib>
#include <deque>
#include <optional>

#include "objects.hpp"

namespace bp::python {
namespace {

PyTypeObject* device_type = nullptr;

// The devices that `with` has entered on this thread.
std::deque<DeviceGuard>& entered() {
  thread_local std::deque<DeviceGuard> guards;
  return guards;
}

std::pair<std::string, int> parts_of(Device device) {
  const std::string full = device_name(device);
  const std::size_t colon = full.rfind(':');
  if (colon == std::string::npos) return {full, 0};
  return {full.substr(0, colon), std::atoi(full.c_str() + colon + 1)};
}

nb::dict counts_of(const CallCount& count) {
  nb::dict row;
  row["op"] = count.op;
  row["backend"] = count.backend;
  for (const Rung rung : {Rung::native, Rung::legalized, Rung::generated, Rung::decomposed,
                          Rung::host, Rung::view, Rung::none})
    row[name(rung)] = count.calls[static_cast<int>(rung)];
  return row;
}

void add_device_class(nb::module_& module) {
  nb::class_<DeviceObject> type(
      module, "device",
      "A device by name, such as \"cpu:0\"; its plugin is loaded if necessary. "
      "In a with statement it is the "
      "one on which new tensors of this thread are made.");
  device_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def(
      "__init__",
      [](DeviceObject* self, nb::handle given, std::optional<int> index) {
        Device device;
        if (index && nb::isinstance<nb::str>(given)) {
          const std::string name = nb::cast<std::string>(given) + ":" + std::to_string(*index);
          device = device_named(name);
        } else if (!find_device(given.ptr(), device)) {
          throw nb::type_error("device: give a name, as \"cpu:0\"");
        }
        new (self) DeviceObject{device};
      },
      nb::arg("name"), nb::arg("index") = nb::none());
  type.def_prop_ro(
      "type", [](const DeviceObject& self) { return parts_of(self.device).first; },
      "The backend's name, as \"cpu\".");
  type.def_prop_ro("index", [](const DeviceObject& self) { return parts_of(self.device).second; });
  type.def_prop_ro("name", [](const DeviceObject& self) { return device_name(self.device); });
  type.def("__str__", [](const DeviceObject& self) { return device_name(self.device); });
  type.def("__repr__",
           [](const DeviceObject& self) { return "device('" + device_name(self.device) + "')"; });
  type.def(
      "__eq__",
      [](const DeviceObject& self, nb::handle other) {
        return PyObject_TypeCheck(other.ptr(), device_type) &&
               nb::inst_ptr<DeviceObject>(other)->device == self.device;
      },
      nb::arg().none());
  type.def("__hash__",
           [](const DeviceObject& self) { return static_cast<Py_ssize_t>(self.device.number); });
  type.def("__reduce__", [](nb::handle self) {
    return nb::make_tuple(nb::borrow(self.type()), nb::make_tuple(nb::str(self)));
  });
  type.def("__enter__", [](nb::object self) {
    entered().emplace_back(nb::inst_ptr<DeviceObject>(self)->device);
    return self;
  });
  type.def("__exit__", [](DeviceObject&, nb::args) {
    if (!entered().empty()) entered().pop_back();
  });
}

void add_settings(nb::module_& module) {
  module.def("get_num_threads", &num_threads);
  module.def(
      "set_num_threads",
      [](std::int64_t count) {
        if (count < 1 || count > 4096)
          throw nb::value_error("set_num_threads: give a number from 1 to 4096");
        set_num_threads(static_cast<std::uint32_t>(count));
      },
      nb::arg("num"));
  module.def("use_deterministic_algorithms", &set_deterministic, nb::arg("mode"));
  module.def("are_deterministic_algorithms_enabled", &deterministic);
  module.def(
      "manual_seed", [](nb::int_ seed) { manual_seed(PyLong_AsUnsignedLongLongMask(seed.ptr())); },
      nb::arg("seed"), "Seeds the generators of all devices.");
}

void add_generator(nb::module_& module) {
  nb::class_<Generator>(module, "Generator", "A stream of random numbers.")
      .def(nb::init<>())
      .def(
          "manual_seed",
          [](nb::object self, nb::int_ seed) {
            nb::cast<Generator&>(self).manual_seed(PyLong_AsUnsignedLongLongMask(seed.ptr()));
            return self;
          },
          nb::arg("seed"))
      .def("initial_seed", &Generator::initial_seed)
      .def("get_state",
           [](const Generator& self) {
             return nb::make_tuple(self.state().seed, self.state().offset);
           })
      .def(
          "set_state",
          [](Generator& self, std::pair<std::uint64_t, std::uint64_t> state) {
            self.set_state({state.first, state.second});
          },
          nb::arg("state"));
  module.def(
      "_default_generator",
      [](nb::handle device) { return &default_generator(device_argument(device)); },
      nb::arg("device") = nb::none(), nb::rv_policy::reference);
}

}  // namespace

Device device_argument(nb::handle object) {
  Device device;
  if (object.is_none()) return default_device();
  if (!find_device(object.ptr(), device)) {
    PyErr_Format(PyExc_TypeError, "device must be a device or its name, not %s",
                 type_name(object.ptr()));
    throw nb::python_error();
  }
  return device;
}

bool is_ready(const Tensor& tensor) {
  if (tensor.device() == meta_device) return false;
  const DeviceRecord& record = device_record(tensor.device());
  return record.host_readable && record.synchronous && tensor.impl()->abi.space == 0;
}

PyObject* device_objects[max_devices] = {};

nb::object device_object(Device device) {
  PyObject*& object = device_objects[device.number];
  if (!object) object = nb::cast(DeviceObject{device}).release().ptr();
  return nb::borrow(object);
}

bool find_device(PyObject* object, Device& out) {
  if (PyObject_TypeCheck(object, device_type)) {
    out = nb::inst_ptr<DeviceObject>(object)->device;
    return true;
  }
  if (!PyUnicode_Check(object)) return false;
  const std::string name = nb::cast<std::string>(nb::handle(object));
  if (const DeviceRecord* record = bp::find_device(name)) {
    out = record->device;
    return true;
  }
  out = device_named(name);
  return true;
}

void add_devices(nb::module_& module) {
  add_device_class(module);
  module.def(
      "devices",
      [] {
        without_gil([] { load_all_plugins(); });
        load_installed_plugins(nb::none());
        std::vector<DeviceObject> devices;
        for (const DeviceRecord* record : registered_devices())
          if (record->backend) devices.push_back({record->device});
        return devices;
      },
      "All devices of the plugins that can be found here.");
  module.def(
      "load_backend",
      [](const std::string& path) { return without_gil([&] { return load_plugin(path).name; }); },
      nb::arg("path"), "Loads a plugin from a file. Returns the name of its backend.");
  module.def(
      "unload_backend",
      [](const std::string& name) {
        Backend* backend = find_backend(name);
        if (!backend)
          throw nb::value_error(("unload_backend: no backend '" + name + "' is loaded").c_str());
        without_gil([&] { unload_plugin(*backend); });
      },
      nb::arg("name"), "Unloads a backend. Fails if it is in use, naming by what.");
  module.def(
      "synchronize",
      [](nb::handle device) {
        const Device found = device_argument(device);
        without_gil([&] { synchronize(found); });
      },
      nb::arg("device") = nb::none(), "Waits for all work of a device.");
  module.def(
      "set_default_device", [](nb::handle device) { set_default_device(device_argument(device)); },
      nb::arg("device"), "The device on which new tensors of this process are made.");
  module.def("get_default_device", []() -> nb::object {
    Device device;
    return get_default_device(device) ? nb::cast(DeviceObject{device}) : nb::none();
  });
  module.def(
      "call_counts",
      [] {
        nb::list rows;
        for (const CallCount& count : call_counts()) rows.append(counts_of(count));
        return rows;
      },
      "What ran where: for each operator and backend the number of calls that each rung of the "
      "ladder served.");
  module.def("reset_call_counts", &reset_call_counts);
  module.def("format_call_counts", &format_call_counts);
  module.def(
      "set_policy",
      [](nb::handle device, const std::string& rung, const std::string& policy) {
        static constexpr Rung rungs[] = {Rung::native, Rung::legalized, Rung::generated,
                                         Rung::decomposed, Rung::host};
        static constexpr const char* policies[] = {"allow", "warn_once", "forbid"};
        const Device found = device_argument(device);
        for (const Rung each : rungs)
          for (int i = 0; i < 3; ++i)
            if (rung == name(each) && policy == policies[i])
              return set_policy(found, each, static_cast<Policy>(i));
        throw nb::value_error(("set_policy: no rung '" + rung + "', or no policy '" + policy +
                               "'; they are native, legalized, generated, decomposed, host, and "
                               "allow, warn_once, forbid")
                                  .c_str());
      },
      nb::arg("device"), nb::arg("rung"), nb::arg("policy"));
  add_settings(module);
  add_generator(module);
}

}  // namespace bp::python
