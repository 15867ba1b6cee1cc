// For backends that compile: the table of "bp.compiler" from a backend's own classes. Not part of plugin.hpp: include it
// where it is needed.
#ifndef BACKPLANE_PLUGIN_COMPILER_HPP
#define BACKPLANE_PLUGIN_COMPILER_HPP

#include <memory>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/status.hpp>

namespace bp {
inline namespace plugin BP_HIDDEN {

namespace detail {

template <class Module> bp_code give_module(Result<std::unique_ptr<Module>> made, bp_module** out) {
  *out = reinterpret_cast<bp_module*>(made.value().release());
  return made.status().code();
}

}  // namespace detail

// What a backend must have; what these throw becomes a code:
//   Device& Device::of(bp_device*), with compiler().describe(bp_compiler_info&) -> Status
//   Module: static compile(Device&, const bp_source&) and load(Device&, name, binary, bytes) -> Result<unique_ptr<Module>>;
//     static of(bp_module*); binary(uint64_t& bytes, void* to) -> Status; find(name) -> Result<Function*>
// How a function is launched is the backend's own.
template <class Device, class Module, class Function>
constexpr bp_compiler compiler_of(decltype(bp_compiler::launch) launch) {
  bp_compiler table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.describe = [](bp_device* device, bp_compiler_info* info) {
    return guarded([=] { return Device::of(device).compiler().describe(*info); });
  };
  table.compile = [](bp_device* device, const bp_source* source, bp_module** out) {
    return guarded([=] {
      return Status::from_host(
          detail::give_module(Module::compile(Device::of(device), *source), out));
    });
  };
  table.binary = [](bp_device*, bp_module* module, uint64_t* bytes, void* to) {
    return guarded([=] { return Module::of(module).binary(*bytes, to); });
  };
  table.load = [](bp_device* device, const char* name, const void* binary, uint64_t bytes,
                  bp_module** out) {
    return guarded([=] {
      return Status::from_host(
          detail::give_module(Module::load(Device::of(device), name, binary, bytes), out));
    });
  };
  table.release = [](bp_device*, bp_module* module) { delete &Module::of(module); };
  table.find = [](bp_device*, bp_module* module, const char* kernel, bp_function** out) {
    return guarded([=] {
      Result<Function*> found = Module::of(module).find(kernel);
      *out = reinterpret_cast<bp_function*>(found.value());
      return found.status();
    });
  };
  table.launch = launch;
  return table;
}

}  // namespace BP_HIDDEN
}  // namespace bp

#endif  // BACKPLANE_PLUGIN_COMPILER_HPP
