// For backends that compile: the table of "bp.compiler" from a backend's own classes, and what most of them
// report. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_COMPILER_HPP
#define BACKPLANE_PLUGIN_COMPILER_HPP

#include <cstdlib>
#include <cstring>
#include <memory>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

namespace detail {

template <class Module> bp_code give_module(Result<std::unique_ptr<Module>> made, bp_module** out) {
  *out = reinterpret_cast<bp_module*>(made.value().release());
  return made.status().code();
}

}  // namespace detail

// The dtypes that kernels in C compute in: all but the 8-bit floats, and the 16-bit and 64-bit ones where the device has
// them. bf16 is only stored.
constexpr bp_dtype_set dtypes_of_c(bool has_f16, bool has_f64) {
  bp_dtype_set set = 1u << BP_BOOL | 1u << BP_U8 | 1u << BP_I8 | 1u << BP_I16 | 1u << BP_I32 |
                     1u << BP_I64 | 1u << BP_U16 | 1u << BP_U32 | 1u << BP_U64 | 1u << BP_F32 |
                     1u << BP_COMPLEX64;
  if (has_f16) set |= 1u << BP_F16;
  if (has_f64) set |= 1u << BP_F64 | 1u << BP_COMPLEX128;
  return set;
}

// BP_SHAPE_*: what the environment variable says, cpu or gpu, so that kernels for GPUs can be tried on processors;
// else the device's own.
inline uint32_t shape_asked_for(const char* variable, uint32_t own) {
  const char* asked = std::getenv(variable);
  if (asked == nullptr) return own;
  return std::strcmp(asked, "gpu") == 0 ? BP_SHAPE_GPU : BP_SHAPE_CPU;
}

// A backend must have these; what they throw becomes a code:
//   Device& Device::of(bp_device*), with compiler().describe(bp_compiler_info&) -> Status and queue_of(bp_stream*) ->
//     Queue&
//   Module: static compile(Device&, const bp_source&) and load(Device&, name, binary, bytes) ->
//     Result<unique_ptr<Module>>; static of(bp_module*); binary(uint64_t& bytes, void* to) -> Status; find(name) ->
//     Result<Function*>
//   Function: launch(const bp_launch&, Device&, Queue&) -> Status
template <class Device, class Module, class Function> constexpr bp_compiler compiler_of() {
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
  table.launch = [](bp_device* device, const bp_launch* launch, bp_stream* stream) {
    return guarded([=] {
      Device& on = Device::of(device);
      return reinterpret_cast<Function*>(launch->function)
          ->launch(*launch, on, on.queue_of(stream));
    });
  };
  return table;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_COMPILER_HPP
