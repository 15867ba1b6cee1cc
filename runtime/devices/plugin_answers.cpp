#include "devices/plugin_answers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/plugin_steps.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

constexpr std::size_t max_name = 64;
constexpr std::uint32_t max_spaces = 32;  // bp_arg.spaces has a bit for each

[[noreturn]] void throw_fault(std::string_view plugin, std::string_view fault) {
  throw_error(ErrorClass::internal, fmt::format("register_backend: {} (plugin {})", fault, plugin));
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

// What the plugin said with a code that is not BP_OK, before there is a device to name.
[[noreturn]] void throw_said(const bp_plugin& plugin, bp_code code) {
  const ThreadState& state = thread_state();
  std::string message =
      state.error_message.empty() ? "the plugin gave no message" : state.error_message;
  const bool known = is_error_class(code);
  if (!known) message += fmt::format(" (it returned {}, which is not a bp_code)", code);
  clear_plugin_error();
  throw_error(known ? static_cast<ErrorClass>(code) : ErrorClass::internal,
              fmt::format("register_backend: {} (plugin {})", message, plugin.name));
}

template <class T> T complete(const T& table) {
  T whole{};
  std::memcpy(&whole, &table, std::min<std::size_t>(table.h.size, sizeof table));
  whole.h.size = sizeof whole;
  whole.h.next = nullptr;
  return whole;
}

void check_tables(const bp_plugin& plugin) {
  const bp_memory memory = complete_table(*plugin.memory);
  const bp_queue queue = complete_table(*plugin.queue);
  if (!memory.allocate || !memory.release || !memory.copy)
    throw_fault(plugin.name, "bp_memory needs allocate, release and copy");
  if (memory.allocate_in && !memory.describe_space)
    throw_fault(plugin.name, "bp_memory has allocate_in, which needs describe_space");
  if (!queue.synchronize) throw_fault(plugin.name, "bp_queue needs synchronize");
  const int streams = !!queue.create_stream + !!queue.destroy_stream + !!queue.query_stream;
  if (streams != 0 && streams != 3)
    throw_fault(plugin.name, "bp_queue has some of the stream functions; give all or none");
  const int events = !!queue.create_event + !!queue.destroy_event + !!queue.record_event +
                     !!queue.wait_event + !!queue.query_event + !!queue.synchronize_event;
  if (events != 0 && events != 6)
    throw_fault(plugin.name, "bp_queue has some of the event functions; give all or none");
}

void check_info(const bp_plugin& plugin, std::uint32_t index, const bp_device_info& info) {
  const auto check_text = [&](std::string_view field, const char* text, std::size_t size) {
    if (!std::memchr(text, 0, size))
      throw_fault(plugin.name, fmt::format("the {} of device {} is not terminated", field, index));
  };
  check_text("name", info.name, sizeof info.name);
  check_text("bus", info.bus, sizeof info.bus);
  check_text("driver", info.driver, sizeof info.driver);
  if (info.num_spaces > max_spaces)
    throw_fault(plugin.name, fmt::format("device {} has {} memory spaces; at most {} are possible",
                                         index, info.num_spaces, max_spaces));
  if (info.num_spaces > 1 && !complete_table(*plugin.memory).allocate_in)
    throw_fault(
        plugin.name,
        fmt::format("device {} has {} memory spaces, but bp_memory has no describe_space and "
                    "allocate_in",
                    index, info.num_spaces));
  if (info.greatest_priority > info.least_priority)
    throw_fault(
        plugin.name,
        fmt::format("device {} has priorities from {} down to {}; the greatest priority is the "
                    "smallest number",
                    index, info.least_priority, info.greatest_priority));
  if (info.offset_alignment != 0 && !std::has_single_bit(info.offset_alignment))
    throw_fault(plugin.name,
                fmt::format("device {} has offset_alignment {}, which is not a power of two", index,
                            info.offset_alignment));
  if (info.offset_alignment > std::uint64_t{1} << 21)
    throw_fault(plugin.name,
                fmt::format("device {} has offset_alignment {}; at most 2 MiB is taken", index,
                            info.offset_alignment));
}

[[noreturn]] void throw_fault(const bp_plugin& plugin, const char* name, std::string_view fault) {
  throw_fault(plugin.name, fmt::format("the extension '{}' {}", name, fault));
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

bp_memory complete_table(const bp_memory& table) {
  return complete(table);
}
bp_queue complete_table(const bp_queue& table) {
  return complete(table);
}

bool has_devices(const bp_plugin& plugin) {
  return plugin.devices || plugin.open || plugin.close || plugin.memory || plugin.queue;
}

void check_plugin(const bp_plugin& plugin) {
  if (!plugin.name) throw_fault("without a name", "bp_plugin.name is NULL");
  const std::string_view name(plugin.name, strnlen(plugin.name, max_name + 1));
  if (name.size() > max_name || !is_name(name))
    throw_fault(name.substr(0, max_name),
                "bp_plugin.name must have 1 to 64 letters, digits, '_', '-' or '.'");
  if (!has_devices(plugin)) return;
  if (!plugin.devices || !plugin.open || !plugin.close)
    throw_fault(name, "bp_plugin needs devices, open and close");
  if (!plugin.memory || !plugin.queue) throw_fault(name, "bp_plugin needs memory and queue");
  check_tables(plugin);
}

std::vector<bp_device_info> ask_for_devices(const bp_plugin& plugin) {
  std::uint32_t count = 0;
  clear_plugin_error();
  at_plugin_step("bp_plugin.devices");
  if (const bp_code code = plugin.devices(plugin.self, &count, nullptr); code != BP_OK)
    throw_said(plugin, code);
  if (count > max_devices_of_plugin)
    throw_fault(plugin.name, fmt::format("it says that it has {} devices; at most {} are believed",
                                         count, max_devices_of_plugin));
  std::vector<bp_device_info> infos(count);
  for (bp_device_info& info : infos) {
    info.h = {sizeof(bp_device_info), BP_TYPE_DEVICE_INFO, nullptr};
    info.numa_node = -1;
  }
  std::uint32_t filled = count;
  if (count != 0) {
    if (const bp_code code = plugin.devices(plugin.self, &filled, infos.data()); code != BP_OK)
      throw_said(plugin, code);
  }
  if (filled > count)
    throw_fault(plugin.name,
                fmt::format("it said that it has {} devices and then filled {}", count, filled));
  infos.resize(filled);
  if (filled == 0)
    throw_error(ErrorClass::unsupported,
                fmt::format("register_backend: plugin {} has no device here", plugin.name));
  for (std::uint32_t i = 0; i < filled; ++i) check_info(plugin, i, infos[i]);
  return infos;
}

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
