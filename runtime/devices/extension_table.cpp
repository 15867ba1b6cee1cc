#include "devices/extension_table.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/runtime/plugin_steps.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

[[noreturn]] void throw_fault(const bp_plugin& plugin, const char* name, std::string_view fault) {
  throw_error(
      ErrorClass::internal,
      fmt::format("register_backend: the extension '{}' {} (plugin {})", name, fault, plugin.name));
}

// One extension of the plugin being asked.
template <class Table> class Asked {
 public:
  Asked(const bp_plugin& plugin, const char* name, std::uint32_t version, Table& into)
      : plugin_(plugin), name_(name), table_(into) {
    const bp_header* found = plugin.extension(plugin.self, name, version);
    if (!found) return;
    if (found->type != BP_TYPE_EXTENSION || found->size < sizeof(bp_header))
      throw_fault(plugin, name,
                  fmt::format("has type {} and {} bytes; {} and at least {} are expected",
                              found->type, found->size, BP_TYPE_EXTENSION, sizeof(bp_header)));
    std::memcpy(&table_, found, std::min<std::size_t>(found->size, sizeof table_));
    table_.h = {sizeof table_, BP_TYPE_EXTENSION, nullptr};
    is_offered_ = true;
  }

  template <class... Function> Asked& needs(const char* which, Function Table::*... functions) {
    if (is_offered_ && !(... && (table_.*functions)))
      throw_fault(plugin_, name_, fmt::format("needs {}", which));
    return *this;
  }
  template <class One, class Other>
  Asked& both_or_neither(const char* which, One Table::*one, Other Table::*other) {
    if (!(table_.*one) != !(table_.*other))
      throw_fault(plugin_, name_, fmt::format("has one of {}; give both or neither", which));
    return *this;
  }

 private:
  const bp_plugin& plugin_;
  const char* name_;
  Table& table_;
  bool is_offered_ = false;
};

}  // namespace

Extensions ask_for_extensions(const bp_plugin& plugin) {
  Extensions all;
  if (!BP_HAS(&plugin, bp_plugin, extension) || !plugin.extension) return all;
  at_plugin_step("bp_plugin.extension");
  Asked(plugin, BP_CAPTURE, BP_CAPTURE_VERSION, all.capture)
      .needs("begin, end, replay and release", &bp_capture::begin, &bp_capture::end,
             &bp_capture::replay, &bp_capture::release);
  Asked(plugin, BP_COMPILER, BP_COMPILER_VERSION, all.compiler)
      .needs("describe, compile, release, find and launch", &bp_compiler::describe,
             &bp_compiler::compile, &bp_compiler::release, &bp_compiler::find, &bp_compiler::launch)
      .both_or_neither("binary and load", &bp_compiler::binary, &bp_compiler::load);
  Asked(plugin, BP_HOST_CALLS, BP_HOST_CALLS_VERSION, all.host_calls)
      .needs("call", &bp_host_calls::call);
  Asked(plugin, BP_HOST_MEMORY, BP_HOST_MEMORY_VERSION, all.host_memory)
      .needs("allocate and release", &bp_host_memory::allocate, &bp_host_memory::release)
      .both_or_neither("adopt and forget", &bp_host_memory::adopt, &bp_host_memory::forget);
  Asked(plugin, BP_INTEROP, BP_INTEROP_VERSION, all.interop)
      .both_or_neither("adopt_stream and forget_stream", &bp_interop::adopt_stream,
                       &bp_interop::forget_stream)
      .both_or_neither("adopt_memory and forget_memory", &bp_interop::adopt_memory,
                       &bp_interop::forget_memory);
  Asked(plugin, BP_PEER, BP_PEER_VERSION, all.peer).needs("copy", &bp_peer::copy);
  Asked(plugin, BP_PROGRAM, BP_PROGRAM_VERSION, all.program).needs("make", &bp_program::make);
  Asked(plugin, BP_SEMAPHORES, BP_SEMAPHORES_VERSION, all.semaphores)
      .needs("take, release, wait and signal", &bp_semaphores::take, &bp_semaphores::release,
             &bp_semaphores::wait, &bp_semaphores::signal)
      .both_or_neither("create and give", &bp_semaphores::create, &bp_semaphores::give);
  Asked(plugin, BP_STREAM_MEMORY, BP_STREAM_MEMORY_VERSION, all.stream_memory)
      .needs("allocate and release", &bp_stream_memory::allocate, &bp_stream_memory::release);
  return all;
}

const Extensions& extensions_of(const Backend& backend) {
  return static_cast<const BackendState&>(backend).extensions;
}
const Extensions& extensions_of(const DeviceRecord& record) {
  static constexpr Extensions none{};
  return record.backend ? extensions_of(*record.backend) : none;
}

}  // namespace bp
