#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

#include <backplane/dispatcher/custom.hpp>
#include <backplane/dispatcher/fork_locks.hpp>
#include <backplane/dispatcher/generated_kernels.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/rung_policy.hpp>
#include <backplane/loading/certificate.hpp>
#include <backplane/loading/certified.hpp>
#include <backplane/loading/check_candidate.hpp>
#include <backplane/loading/discovery.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/loading/plugin_check.hpp>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/runtime/extensions.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/runtime/plugin_steps.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

#include "host_table.hpp"

namespace bp {

namespace {

// A plugin that is in the process. The host table outlives the library.
struct LoadedPlugin {
  HostContext context;
  loading::PluginLibrary library;
  std::string path;                   // its file; of a linked one, what messages call it
  bp_get_plugin_fn linked = nullptr;  // its entry, if it is linked into the program
  Backend* backend = nullptr;
  std::map<std::string, CertifiedLevel> levels;  // of those devices that were asked about
};

// Never destroyed: a static destructor must not unmap code that other threads may run. The mutex
// serializes loading and unloading; it is recursive because a plugin's init may ask for operators,
// and is held while plugins answer: nothing on the call path takes it.
struct Loader {
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<LoadedPlugin>> plugins;
  std::map<std::string, std::string> failures;  // library path → why it could not be loaded
  std::atomic<std::uint32_t> host_device{0};    // 0: not known yet
};
Loader& loader() {
  static Loader* instance = new Loader;
  return *instance;
}

ErrorClass class_of(bp_code code) {
  return is_error_class(code) ? static_cast<ErrorClass>(code) : ErrorClass::internal;
}

[[noreturn]] void fail_step(const LoadedPlugin& plugin, const char* step, bp_code code) {
  const std::string& message = thread_state().error_message;
  throw_error(class_of(code),
              fmt::format("{}: {} failed: {}", plugin.path, step,
                          message.empty() ? "the plugin gave no message" : message));
}

// A step that the plugin may leave out.
void run_step(const LoadedPlugin& plugin, const char* step, bp_code (*function)(void*)) {
  if (!function) return;
  thread_state().error_message.clear();
  at_plugin_step(fmt::format("bp_plugin.{}", step).c_str());
  const bp_code code = function(plugin.library.plugin()->self);
  if (code != BP_OK) fail_step(plugin, step, code);
}

void shut_down(LoadedPlugin& plugin) {
  const bp_plugin* api = plugin.library.plugin();
  at_plugin_step("bp_plugin.shutdown");
  if (api && api->shutdown) api->shutdown(api->self);
  plugin.library.close();
}

void register_operators_of(LoadedPlugin& plugin) {
  const bp_plugin& api = *plugin.library.plugin();
  if (!BP_HAS(&api, bp_plugin, num_operators) || api.num_operators == 0) return;
  BP_CHECK(api.operators && api.num_operators <= 10000, "{}: offers {} operators at {}",
           plugin.path, api.num_operators, api.operators ? "an address" : "NULL");
  register_plugin_operators(api);
}

void forget_operators_of(LoadedPlugin& plugin) {
  const bp_plugin& api = *plugin.library.plugin();
  if (BP_HAS(&api, bp_plugin, num_operators) && api.operators) forget_plugin_operators(api);
}

// Its operators and kernels, and those that others make for it.
void give_kernels(LoadedPlugin& plugin, Backend& backend) {
  const bp_plugin& api = *plugin.library.plugin();
  plugin.context.backend.store(&backend, std::memory_order_release);
  try {
    at_plugin_step("its tables of kernels and operators");
    register_operators_of(plugin);
    if (BP_HAS(&api, bp_plugin, num_kernels))
      register_kernels(backend, api.kernels, api.num_kernels);
    const Extensions& offered = extensions_of(backend);
    if (offered.program.make) attach_programs(backend);
    if (offered.compiler.compile) attach_codegen(backend);
  } catch (...) {
    plugin.context.backend.store(nullptr, std::memory_order_release);
    forget_operators_of(plugin);
    unregister_kernels(backend.number);
    throw;
  }
}

// Starts and registers a plugin whose answer was `opened`; on failure nothing of it is left.
Backend& start_plugin(std::unique_ptr<LoadedPlugin> plugin, const loading::Outcome& opened) {
  // Whoever set it to a word that names no level may wait for lines that never come.
  if (std::getenv("BACKPLANE_LOG")) lowest_log_level();
  if (!opened.ok()) throw_error(class_of(opened.code), opened.message);
  const bp_plugin& api = *plugin->library.plugin();
  plugin->context.plugin_name = api.name;
  try {
    run_step(*plugin, "probe", api.probe);
    run_step(*plugin, "init", api.init);
    at_plugin_step("its tables of kernels and operators");
    const std::string fault = loading::find_fault_in_tables(api);
    if (!fault.empty()) throw_error(ErrorClass::internal, fault);
    plugin->backend = &register_backend(api, plugin->context.host, plugin->path,
                                        [&](Backend& made) { give_kernels(*plugin, made); });
  } catch (...) {
    shut_down(*plugin);
    throw;
  }
  return *loader().plugins.emplace_back(std::move(plugin))->backend;
}

Backend& load_checked(const std::string& path) {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  for (const auto& plugin : l.plugins)
    if (plugin->path == path) return *plugin->backend;
  ensure_operators();
  auto plugin = std::make_unique<LoadedPlugin>();
  plugin->path = path;
  fill_host_table(plugin->context, path);
  const loading::Outcome opened = loading::PluginLibrary::open(
      path, plugin->context.host, last_plugin_message, &plugin->library);
  Backend& backend = start_plugin(std::move(plugin), opened);
  l.failures.erase(path);
  return backend;
}

// The program, or a library of it: what bp_host.plugin_path is to a plugin that is linked into it.
std::string file_that_holds(bp_get_plugin_fn entry) {
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(entry), &found) == 0 || !found.dli_fname) return {};
  std::error_code error;  // the program's own name may be relative to where it was started
  const std::filesystem::path file = std::filesystem::canonical(found.dli_fname, error);
  return error ? found.dli_fname : file.string();
}

// The part of a device name that may be a plugin's: "acme" of "acme:0" and of "vendor:acme:0".
bool may_offer(const loading::Candidate& candidate, std::string_view device_name) {
  if (!candidate.manifest) return true;
  const std::string& name = candidate.manifest->name;
  const std::string padded = fmt::format(":{}:", device_name);
  return padded.find(fmt::format(":{}:", name)) != std::string::npos;
}

// Loads one candidate; a problem is remembered for the error that a person will see.
bool try_candidate(const loading::Candidate& candidate, const loading::Environment& environment) {
  Loader& l = loader();
  const std::string path = candidate.library.string();
  if (std::any_of(l.plugins.begin(), l.plugins.end(),
                  [&](const auto& plugin) { return plugin->path == path; }))
    return true;
  const loading::Verdict verdict = loading::check_candidate(candidate, environment);
  for (const std::string& warning : verdict.warnings) log_line(BP_LOG_INFO, warning);
  if (!verdict.usable) {
    l.failures[path] = verdict.reason;
    log_line(BP_LOG_INFO, verdict.reason);
    return false;
  }
  try {
    load_checked(path);
    return true;
  } catch (const Error& error) {
    l.failures[path] = error.what();
    log_line(BP_LOG_INFO, error.what());
    return false;
  }
}

bool may_offer_extension(const loading::Candidate& candidate, const std::string& extension) {
  if (!candidate.manifest) return true;
  const std::vector<std::string>& offers = candidate.manifest->offers;
  return std::find(offers.begin(), offers.end(), extension) != offers.end();
}

void load_for(std::string_view device_name) {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  const loading::Environment environment = loading::Environment::current();
  for (const loading::Candidate& candidate : loading::discover(environment)) {
    if (!may_offer(candidate, device_name)) continue;
    if (!candidate.usable()) {
      if (!l.failures.contains(candidate.library.string()))
        l.failures[candidate.library.string()] = candidate.problem;
      continue;
    }
    if (try_candidate(candidate, environment) && find_device(device_name)) return;
  }
}

std::string known_devices() {
  std::string text;
  for (const DeviceRecord* record : registered_devices())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", record->name);
  return text.empty() ? "none" : text;
}

[[noreturn]] void fail_unknown(std::string_view name) {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  std::string reasons;
  for (const loading::Candidate& candidate : loading::discover(loading::Environment::current())) {
    const auto failure = l.failures.find(candidate.library.string());
    if (failure != l.failures.end() && may_offer(candidate, name))
      reasons += fmt::format("; {}", failure->second);
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("there is no device '{}'; devices in use: {}{}; 'backplane doctor' shows "
                          "where plugins are looked for",
                          name, known_devices(), reasons));
}

// A certificate is of a plugin's file: one that is linked into a program has none.
CertifiedLevel look_for_level(const DeviceRecord& record, const LoadedPlugin& plugin) {
  if (plugin.linked) return {};
  const Backend& backend = *record.backend;
  loading::CertificateSearch found = loading::find_certificate(
      {backend.path, backend.plugin->name, backend.vendor, backend.version, record.info.name},
      loading::Environment::current());
  return {std::move(found.profile), std::move(found.extent), std::move(found.device_name),
          std::move(found.issued),  found.file.string(),     std::move(found.problems)};
}

}  // namespace

// Waits for a load that is going on in another thread. In the child the lock is made again: it knows
// its owner by a number that a thread does not keep through fork().
void fork_loader(ForkStep step) {
  std::recursive_mutex& mutex = loader().mutex;
  if (step == ForkStep::in_child)
    new (&mutex) std::recursive_mutex;
  else
    take_through_fork(mutex, step);
}

Backend& load_plugin(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  BP_CHECK(!error, "{}: there is no such file; give the path of a plugin's shared library", path);
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  for (const auto& plugin : l.plugins)
    if (plugin->path == real) return *plugin->backend;
  loading::Candidate candidate;
  candidate.library = real;
  candidate.found_in = path;
  const loading::Verdict verdict =
      loading::check_candidate(candidate, loading::Environment::current());
  for (const std::string& warning : verdict.warnings) log_line(BP_LOG_INFO, warning);
  if (!verdict.usable && !verdict.no_device) throw_error(ErrorClass::bad_argument, verdict.reason);
  return load_checked(real.string());
}

Backend& register_plugin(bp_get_plugin_fn get_plugin, const std::string& name) {
  BP_CHECK(get_plugin, "register_plugin: the entry of '{}' is null", name);
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  for (const auto& plugin : l.plugins)
    if (plugin->linked == get_plugin) return *plugin->backend;
  ensure_operators();
  auto plugin = std::make_unique<LoadedPlugin>();
  const std::string file = file_that_holds(get_plugin);
  plugin->path = fmt::format("{}, linked into {}", name, file.empty() ? "the program" : file);
  plugin->linked = get_plugin;
  fill_host_table(plugin->context, file);
  thread_state().error_message.clear();
  const loading::Outcome opened = loading::PluginLibrary::take_linked(
      get_plugin, plugin->path, plugin->context.host, last_plugin_message, &plugin->library);
  if (opened.ok()) {
    const std::string_view own = plugin->library.plugin()->name;
    if (own != name) loading::let_go(plugin->library.plugin());
    BP_CHECK(own == name, "{}: the plugin calls itself '{}'; register it by that name",
             plugin->path, own);
  }
  return start_plugin(std::move(plugin), opened);
}

void unload_plugin(Backend& backend) {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  const auto it = std::find_if(l.plugins.begin(), l.plugins.end(),
                               [&](const auto& plugin) { return plugin->backend == &backend; });
  BP_CHECK(it != l.plugins.end(), "unload_plugin: the backend did not come from a plugin");
  LoadedPlugin& plugin = **it;
  const std::uint16_t number = backend.number;
  std::vector<Device> devices;
  for (const DeviceRecord* record : backend.devices) devices.push_back(record->device);
  unregister_backend(backend);  // throws, and changes nothing, while something lives
  unregister_kernels(number);
  forget_operators_of(plugin);
  for (Device device : devices) forget_policies(device);
  l.host_device.store(0);
  detail::usual_device.store(0);
  shut_down(plugin);
  l.plugins.erase(it);
}

Device device(std::string_view name) {
  if (const DeviceRecord* record = find_device(name)) return record->device;
  ensure_operators();
  load_for(name);
  if (const DeviceRecord* record = find_device(name)) return record->device;
  fail_unknown(name);
}

Device detail::find_default_device() {
  const ThreadState& state = thread_state();
  if (state.has_default_device) return state.default_device;
  Device chosen;
  if (!get_default_device(chosen)) chosen = host_device();
  detail::usual_device.store(chosen.number, std::memory_order_release);
  return chosen;
}

bool find_host_device(Device& out) {
  Loader& l = loader();
  std::uint32_t known = l.host_device.load(std::memory_order_acquire);
  if (!known) {
    const DeviceRecord* record = find_device("cpu");
    if (!record) {
      ensure_operators();
      load_for("cpu");
      record = find_device("cpu");
    }
    if (!record) return false;
    known = record->device.number;
    device_record(record->device);
    l.host_device.store(known, std::memory_order_release);
  }
  out = {known};
  return true;
}

Device host_device() {
  Device found;
  if (find_host_device(found)) return found;
  throw_error(ErrorClass::unsupported,
              fmt::format("no plugin offers the host's device 'cpu'; devices in use: {}; "
                          "'backplane doctor' shows where plugins are looked for",
                          known_devices()));
}

CertifiedLevel certified_level(Device device) {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  const DeviceRecord* record =
      device.number < max_devices ? detail::device_records[device.number].load() : nullptr;
  BP_CHECK(record, "certified_level: there is no device with the number {}", device.number);
  const auto plugin = std::find_if(l.plugins.begin(), l.plugins.end(), [&](const auto& each) {
    return each->backend == record->backend;
  });
  if (plugin == l.plugins.end()) return {};  // meta, and what did not come from a file
  const auto known = (*plugin)->levels.find(record->name);
  if (known != (*plugin)->levels.end()) return known->second;
  return (*plugin)->levels[record->name] = look_for_level(*record, **plugin);
}

std::vector<Backend*> backends_offering(const std::string& extension, std::uint32_t min_version) {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  const loading::Environment environment = loading::Environment::current();
  for (const loading::Candidate& candidate : loading::discover(environment))
    if (candidate.usable() && may_offer_extension(candidate, extension))
      try_candidate(candidate, environment);
  std::vector<Backend*> offering;
  for (const auto& plugin : l.plugins)
    if (extension_of(*plugin->backend, extension, min_version)) offering.push_back(plugin->backend);
  return offering;
}

const bp_header* extension_of(const Backend& backend, const std::string& extension,
                              std::uint32_t min_version) {
  const bp_plugin& plugin = *backend.plugin;
  if (!BP_HAS(&plugin, bp_plugin, extension) || !plugin.extension) return nullptr;
  clear_plugin_error();
  const bp_header* found = plugin.extension(plugin.self, extension.c_str(), min_version);
  if (!found || (found->type == BP_TYPE_EXTENSION && found->size >= sizeof(bp_header)))
    return found;
  log_warning(fmt::format(
      "{}: the extension '{}' is left out: it has type {} and {} bytes; {} and "
      "at least {} are expected",
      backend.name, extension, found->type, found->size, BP_TYPE_EXTENSION, sizeof(bp_header)));
  return nullptr;
}

void load_all_plugins() {
  Loader& l = loader();
  std::lock_guard lock(l.mutex);
  const loading::Environment environment = loading::Environment::current();
  for (const loading::Candidate& candidate : loading::discover(environment))
    if (candidate.usable()) try_candidate(candidate, environment);
}

}  // namespace bp
