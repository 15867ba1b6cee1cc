#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <backplane/loading/plugin_check.hpp>
#include <backplane/runtime/generated/abi_sizes.hpp>

namespace bp::loading {
namespace {

// No struct of this interface is near it; a larger size is garbage.
constexpr uint32_t max_size = 1 << 16;

struct Function {
  const char* name;
  bool there;
};

std::string number(uint64_t value) {
  return std::to_string(value);
}

std::string range(uint32_t from, uint32_t to) {
  return from == to ? number(from) : number(from) + " to " + number(to);
}

std::string check_header(const bp_header& h, const char* name, uint32_t type) {
  const uint32_t floor = abi_size(name, 1);  // in 1.0: what its writer must have at the least
  if (h.size < floor || h.size > max_size)
    return std::string(name) + ".h.size is " + number(h.size) + ", but " + name + " has at least " +
           number(floor) + " bytes; set it to sizeof(" + name + ")";
  if (h.type != type)
    return std::string(name) + ".h.type is " + number(h.type) + " instead of " + number(type);
  return {};
}

template <typename T> std::string check_pointer(const T* pointer, const char* name) {
  if (pointer == nullptr) return std::string(name) + " is NULL";
  if (reinterpret_cast<uintptr_t>(pointer) % alignof(T) != 0)
    return std::string(name) + " is not aligned to " + number(alignof(T)) + " bytes";
  return {};
}

std::string check_text(const char* text, const char* name, bool may_be_empty) {
  constexpr size_t max_length = 256;
  if (text == nullptr) return std::string(name) + " is NULL; give a string";
  const size_t length = strnlen(text, max_length + 1);
  if (length > max_length)
    return std::string(name) + " is longer than " + number(max_length) + " bytes";
  if (length == 0 && !may_be_empty) return std::string(name) + " is empty";
  for (size_t i = 0; i < length; i++)
    if (static_cast<unsigned char>(text[i]) < 0x20)
      return std::string(name) + " holds control characters";
  return {};
}

// Devices are called "acme:0", so ':' and spaces would make names that cannot be read back.
std::string check_name(const char* name) {
  std::string fault = check_text(name, "bp_plugin.name", false);
  if (!fault.empty()) return fault;
  for (const char* c = name; *c != 0; c++) {
    const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    const bool other = (*c >= '0' && *c <= '9') || *c == '_' || *c == '-' || *c == '.';
    if (!letter && (!other || c == name))
      return std::string("bp_plugin.name is \"") + name +
             "\"; it must begin with a letter and have letters, digits, '_', '-' and '.' only";
  }
  return {};
}

std::string check_required(std::initializer_list<Function> functions) {
  for (const Function& function : functions)
    if (!function.there)
      return std::string(function.name) +
             " is NULL; the eight required functions are bp_get_plugin_v1, devices, open, close, "
             "memory->allocate, memory->release, memory->copy and queue->synchronize";
  return {};
}

// It is there for its extensions.
std::string check_without_devices(const bp_plugin& p) {
  if (BP_HAS(&p, bp_plugin, extension) && p.extension != nullptr) return {};
  return "devices, open, close, memory and queue are NULL, and so is bp_plugin.extension; fill in "
         "what a device needs, or offer an extension";
}

std::string check_all_or_none(const char* family, std::initializer_list<Function> functions) {
  const Function* there = nullptr;
  const Function* missing = nullptr;
  for (const Function& function : functions) (function.there ? there : missing) = &function;
  if (there == nullptr || missing == nullptr) return {};
  return std::string("bp_queue.") + missing->name + " is NULL, but " + there->name +
         " is there; fill in all functions of " + family + ", or none";
}

std::string check_tables(const bp_plugin& p) {
  std::string fault = check_pointer(p.memory, "bp_plugin.memory");
  if (fault.empty()) fault = check_pointer(p.queue, "bp_plugin.queue");
  if (!fault.empty()) return fault + "; a backend needs bp_memory and bp_queue";
  fault = check_header(p.memory->h, "bp_memory", BP_TYPE_MEMORY);
  if (fault.empty()) fault = check_header(p.queue->h, "bp_queue", BP_TYPE_QUEUE);
  return fault;
}

std::string check_queue(const bp_queue& q) {
  std::string fault = check_all_or_none("streams", {{"create_stream", q.create_stream != nullptr},
                                                    {"destroy_stream", q.destroy_stream != nullptr},
                                                    {"query_stream", q.query_stream != nullptr}});
  if (!fault.empty()) return fault;
  return check_all_or_none("events", {{"create_event", q.create_event != nullptr},
                                      {"destroy_event", q.destroy_event != nullptr},
                                      {"record_event", q.record_event != nullptr},
                                      {"wait_event", q.wait_event != nullptr},
                                      {"query_event", q.query_event != nullptr},
                                      {"synchronize_event", q.synchronize_event != nullptr}});
}

std::string check_plugin(const bp_plugin* plugin, uint32_t level) {
  std::string fault = check_pointer(plugin, "the plugin that bp_get_plugin_v1 returned");
  if (!fault.empty()) return fault;
  const bp_plugin& p = *plugin;
  fault = check_header(p.h, "bp_plugin", BP_TYPE_PLUGIN);
  if (!fault.empty()) return fault;
  if (p.abi != level)
    return "bp_plugin.abi is " + number(p.abi) + ", but bp_get_plugin_v1 answered level " +
           number(level);
  fault = check_name(p.name);
  if (fault.empty()) fault = check_text(p.vendor, "bp_plugin.vendor", true);
  if (fault.empty()) fault = check_text(p.version, "bp_plugin.version", true);
  if (fault.empty() && !has_devices(p)) return check_without_devices(p);
  if (fault.empty()) fault = check_tables(p);
  if (fault.empty())
    fault = check_required({{"bp_plugin.devices", p.devices != nullptr},
                            {"bp_plugin.open", p.open != nullptr},
                            {"bp_plugin.close", p.close != nullptr},
                            {"bp_plugin.memory->allocate", p.memory->allocate != nullptr},
                            {"bp_plugin.memory->release", p.memory->release != nullptr},
                            {"bp_plugin.memory->copy", p.memory->copy != nullptr},
                            {"bp_plugin.queue->synchronize", p.queue->synchronize != nullptr}});
  if (fault.empty()) fault = check_queue(*p.queue);
  return fault;
}

std::string check_kernel(const bp_kernel* kernel) {
  std::string fault = check_pointer(kernel, "the pointer");
  if (fault.empty()) fault = check_header(kernel->h, "bp_kernel", BP_TYPE_KERNEL);
  if (fault.empty()) fault = check_text(kernel->op, "bp_kernel.op", false);
  if (!fault.empty()) return fault;
  if (kernel->run == nullptr) return std::string("bp_kernel.run of ") + kernel->op + " is NULL";
  if (kernel->num_args != 0 && kernel->args == nullptr)
    return std::string("bp_kernel.args of ") + kernel->op + " is NULL, but num_args is " +
           number(kernel->num_args);
  return {};
}

std::string check_operator(const bp_custom_operator* op) {
  std::string fault = check_pointer(op, "the pointer");
  if (fault.empty()) fault = check_header(op->h, "bp_custom_operator", BP_TYPE_CUSTOM_OPERATOR);
  if (fault.empty() && (op->schema == nullptr || op->schema[0] == 0))
    fault = "bp_custom_operator.schema is missing";
  return fault;
}

}  // namespace

void let_go(const bp_plugin* plugin) {
  const bool is_readable = check_pointer(plugin, "").empty() &&
                           check_header(plugin->h, "bp_plugin", BP_TYPE_PLUGIN).empty();
  if (is_readable && plugin->shutdown != nullptr) plugin->shutdown(plugin->self);
}

bool has_devices(const bp_plugin& p) {
  return p.devices != nullptr || p.open != nullptr || p.close != nullptr || p.memory != nullptr ||
         p.queue != nullptr;
}

bp_code negotiate(bp_get_plugin_fn get_plugin, const bp_host& host, std::string_view who,
                  std::string_view (*said)(const bp_host& host), const bp_plugin** plugin,
                  std::string* message) {
  *plugin = nullptr;
  uint32_t level = host.abi_max;
  const bp_plugin* answer = nullptr;
  const bp_code code = get_plugin(&host, &level, &answer);
  const std::string name(who);
  if (code != BP_OK) {
    const std::string_view words = said != nullptr ? said(host) : std::string_view();
    *message = name + ": bp_get_plugin_v1 returned code " + std::to_string(code) +
               (words.empty() ? " without a message" : ": " + std::string(words));
    if (level > host.abi_max)
      *message += " (it speaks ABI level " + number(level) + ", this host " +
                  range(host.abi_min, host.abi_max) + ")";
    return code;
  }
  if (level < host.abi_min || level > host.abi_max) {
    *message = name + ": speaks ABI level " + number(level) + ", this host " +
               range(host.abi_min, host.abi_max) +
               (level > host.abi_max ? "; install a newer Backplane" : "; install a newer plugin");
    let_go(answer);
    return BP_UNSUPPORTED;
  }
  *message = find_fault(answer, level, who);
  if (!message->empty()) {
    let_go(answer);
    return BP_INTERNAL;
  }
  *plugin = answer;
  return BP_OK;
}

std::string find_fault(const bp_plugin* plugin, uint32_t level, std::string_view who) {
  const std::string fault = check_plugin(plugin, level);
  return fault.empty() ? fault : std::string(who) + ": " + fault;
}

std::string find_fault_in_tables(const bp_plugin& plugin) {
  const std::string name = std::string(plugin.name) + ": ";
  if (plugin.num_kernels != 0 && plugin.kernels == nullptr)
    return name + "bp_plugin.kernels is NULL, but num_kernels is " + number(plugin.num_kernels);
  if (plugin.num_operators != 0 && plugin.operators == nullptr)
    return name + "bp_plugin.operators is NULL, but num_operators is " +
           number(plugin.num_operators);
  if (plugin.num_kernels != 0 && !has_devices(plugin))
    return name + "bp_plugin.num_kernels is " + number(plugin.num_kernels) +
           ", but it has no devices that could run them";
  for (uint32_t i = 0; i < plugin.num_kernels; i++)
    if (const std::string fault = check_kernel(plugin.kernels[i]); !fault.empty())
      return name + "kernel " + number(i).append(": ").append(fault);
  for (uint32_t i = 0; i < plugin.num_operators; i++)
    if (const std::string fault = check_operator(plugin.operators[i]); !fault.empty())
      return name + "operator " + number(i).append(": ").append(fault);
  return {};
}

}  // namespace bp::loading
