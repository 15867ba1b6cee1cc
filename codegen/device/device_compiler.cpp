#include "device/device_compiler.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include <backplane/runtime/log.hpp>
#include <backplane/runtime/quiet.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tuning/kept_files.hpp>

#include "dialect/spirv.hpp"

namespace bp::codegen {

// What a compiler on a thread of its own came to.
struct Built {
  bp_code code = BP_OK;
  std::string message;
  bp_module* module = nullptr;
};

// Shared with that thread, which may outlive the wait for it. The device does not close meanwhile. No std::promise: it
// reaches the C++ library's own thread storage, which a program that opened that library late cannot give us (see
// tests/rules/symbols_rule.py).
class Build {
 public:
  std::string language, name, code;
  bp_compiler api{};
  DeviceRecord* record = nullptr;

  void end(Built built) {
    {
      const std::lock_guard lock(mutex_);
      built_ = std::move(built);
      has_ended_ = true;
    }
    ended_.notify_all();
  }
  // Has it ended within the limit?
  bool wait_for(std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, limit, [this] { return has_ended_; });
  }
  // Once; waits for the end.
  Built take() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
    return std::move(built_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  Built built_;
  bool has_ended_ = false;
};

namespace {

using std::chrono::seconds;

// Is `word` one of the words of `list`?
bool lists(std::string_view list, std::string_view word) {
  const std::string padded = fmt::format(" {} ", list);
  return padded.find(fmt::format(" {} ", word)) != std::string::npos;
}

const char* name_of(Language language) {
  switch (language) {
    case Language::opencl_c: return BP_LANGUAGE_OPENCL_C;
    case Language::cuda_cxx: return BP_LANGUAGE_CUDA_CXX;
    case Language::c11: return BP_LANGUAGE_C11;
  }
  return "";
}

seconds time_limit() {
  const char* text = std::getenv("BACKPLANE_COMPILE_SECONDS");
  const long given = text ? std::strtol(text, nullptr, 10) : 0;
  return seconds(given > 0 ? given : 120);
}

void run_build(const std::shared_ptr<Build>& build) {
  bp_source source{};
  source.h = {sizeof(bp_source), BP_SOURCE_TYPE, nullptr};
  source.language = build->language.c_str();
  source.name = build->name.c_str();
  source.code = build->code.data();
  source.bytes = build->code.size();
  source.options = "";
  Built built;
  clear_plugin_error();
  wait_until_quiet(*build->record, MayWait::the_rest);
  built.code = build->api.compile(build->record->handle, &source, &built.module);
  if (built.code == BP_OK && !built.module) built.code = BP_INTERNAL;
  if (built.code != BP_OK) built.message = thread_state().error_message;
  // In this order: the thread that gets the result may close the device.
  build->record->live_builds.fetch_sub(1);
  build->end(std::move(built));
}

void start(const std::shared_ptr<Build>& build) {
  build->record->live_builds.fetch_add(1);
  try {
    std::thread(run_build, build).detach();
  } catch (...) {
    build->record->live_builds.fetch_sub(1);
    throw;
  }
}

// Would the same text come to the same end?
bool is_final(const Error& error) {
  switch (error.error_class()) {
    case ErrorClass::bad_argument:
    case ErrorClass::unsupported:
    case ErrorClass::internal: return true;
    default: return false;
  }
}

}  // namespace

bp_function* FunctionTable::find_slowly(std::uint64_t variant) const {
  std::shared_lock lock(mutex_);
  const auto it = entries_.find(variant);
  if (it == entries_.end()) return nullptr;
  recent_[slot_of(variant)].store(it->second.get(), std::memory_order_release);
  return it->second->function;
}

bp_function* FunctionTable::add(std::uint64_t variant, bp_function* function) {
  std::unique_lock lock(mutex_);
  const auto [it, added] = entries_.try_emplace(variant);
  if (added) it->second = std::make_unique<Entry>(Entry{variant, function});
  return it->second->function;
}

void FunctionTable::clear() {
  std::unique_lock lock(mutex_);
  for (auto& recent : recent_) recent = nullptr;
  entries_.clear();
}

void throw_plugin_message(bp_code code, std::string_view what) {
  const std::string said = std::exchange(thread_state().error_message, {});
  thread_state().error_code = BP_OK;
  const bool known = is_error_class(code);
  throw_error(known ? static_cast<ErrorClass>(code) : ErrorClass::internal,
              fmt::format("{}: {}", what, said.empty() ? "the plugin gave no message" : said));
}

BuildCounters& build_counters() {
  static BuildCounters counters;
  return counters;
}

DeviceCompiler::DeviceCompiler(DeviceRecord& record, const bp_compiler& api)
    : record_(record), api_(api) {
  info_.h = {sizeof(bp_compiler_info), BP_COMPILER_INFO_TYPE, nullptr};
  clear_plugin_error();
  const bp_code code = api_.describe(record.handle, &info_);
  if (code != BP_OK) throw_plugin_message(code, "describing the compiler");
  if (!info_.languages || !info_.identity)
    throw_error(ErrorClass::internal,
                fmt::format("{}: its compiler names no language or no identity", record.name));
  for (std::uint64_t& most : info_.max_group) most = std::max<std::uint64_t>(most, 1);
  for (Language each : {Language::opencl_c, Language::cuda_cxx, Language::c11}) {
    if (!lists(info_.languages, name_of(each))) continue;
    language_ = each;
    return;
  }
  if (!lists(info_.languages, BP_LANGUAGE_SPIRV))
    throw_error(
        ErrorClass::unsupported,
        fmt::format("{}: its compiler takes '{}', and kernels are written in {}, {}, {} and {}",
                    record.name, info_.languages, BP_LANGUAGE_OPENCL_C, BP_LANGUAGE_CUDA_CXX,
                    BP_LANGUAGE_C11, BP_LANGUAGE_SPIRV));
  through_spirv_ = true;
}

DeviceCompiler::~DeviceCompiler() {
  for (const auto& [_, kernel] : kernels_) {
    if (!kernel->build) continue;
    // It has ended, or is about to say so.
    const Built built = kernel->build->take();
    if (built.module) api_.release(record_.handle, built.module);
  }
  wait_until_quiet(record_, MayWait::the_rest);
  for (const auto& [_, kernel] : kernels_)
    if (kernel->module) api_.release(record_.handle, kernel->module);
}

void DeviceCompiler::forget(const std::string& prefix) {
  std::vector<std::unique_ptr<Kernel>> forgotten;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(sources_, [&](const auto& source) { return source.name.starts_with(prefix); });
    for (auto it = kernels_.begin(); it != kernels_.end();) {
      const auto kernel = it++;
      // A build that was given up goes on, and is released with the device.
      if (!kernel->second->name.starts_with(prefix) || kernel->second->build) continue;
      forgotten.push_back(std::move(kernel->second));
      kernels_.erase(kernel);
    }
  }
  // A device that fork() has left behind takes no call any more.
  const bool may_call = record_.opened || record_.lost;
  for (const auto& kernel : forgotten) {
    if (!kernel->module || !may_call) continue;
    wait_until_quiet(record_, MayWait::the_rest);
    api_.release(record_.handle, kernel->module);
  }
}

bp_function* DeviceCompiler::build(const KernelText& text) {
  const std::string code = emit(language_, text);
  Kernel& kernel = kernel_of(text.name, code);
  const std::lock_guard lock(kernel.mutex);
  if (kernel.function) return kernel.function;
  if (kernel.refused) throw Error(*kernel.refused);
  const bool given_up_before = kernel.build != nullptr;
  try {
    kernel.function = make(code, kernel);
  } catch (const Error& error) {
    // One that was ended for its time may go better the next time.
    if (!given_up_before && !kernel.build && is_final(error)) kernel.refused = error;
    throw;
  }
  const std::lock_guard all(mutex_);
  sources_.push_back({text.name, name_of(language_), code});
  return kernel.function;
}

bp_function* DeviceCompiler::make(const std::string& code, Kernel& kernel) {
  std::string key;
  if (api_.load && api_.binary && kept_files::is_on())
    key = kept_files::key_of(code, through_spirv_ ? spirv_recipe : "", language_name(),
                             info_.identity);
  bp_function* function = kernel.build ? nullptr : load(key, kernel);
  return function ? function : compile(code, key, kernel);
}

DeviceCompiler::Kernel& DeviceCompiler::kernel_of(const std::string& name,
                                                  const std::string& code) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Kernel>& kernel = kernels_[code];
  if (!kernel) {
    kernel = std::make_unique<Kernel>();
    kernel->name = name;
  }
  return *kernel;
}

// Null: there is none on disk, or it is of no use.
bp_function* DeviceCompiler::load(const std::string& key, Kernel& kernel) {
  if (key.empty()) return nullptr;
  const auto binary = kept_files::read(key);
  if (!binary) return nullptr;
  bp_module* module = nullptr;
  wait_until_quiet(record_, MayWait::the_rest);
  clear_plugin_error();
  const bp_code code =
      api_.load(record_.handle, kernel.name.c_str(), binary->data(), binary->size(), &module);
  try {
    if (code != BP_OK || !module) throw_plugin_message(code, kernel.name);
    bp_function* function = find(module, kernel);
    ++build_counters().from_cache;
    return function;
  } catch (const Error& error) {
    log_line(BP_LOG_INFO, fmt::format("a kept binary is compiled again: {}", error.what()));
    kept_files::discard(key);
    return nullptr;
  }
}

bp_function* DeviceCompiler::compile(const std::string& code, const std::string& key,
                                     Kernel& kernel) {
  const seconds limit = time_limit();
  const bool given_up_before = kernel.build != nullptr;
  if (!given_up_before) {
    auto build = std::make_shared<Build>();
    build->language = language_name();
    build->name = kernel.name;
    build->code = through_spirv_ ? translated(code, limit) : code;
    build->api = api_;
    build->record = &record_;
    start(build);
    kernel.build = std::move(build);
  }
  bp_module* module = finish(given_up_before ? seconds(0) : limit, kernel);
  ++build_counters().compiled;
  bp_function* function = find(module, kernel);
  keep(module, key);
  return function;
}

// To SPIR-V. That the programs for it are missing is said once: each operator then quietly takes another way.
std::string DeviceCompiler::translated(const std::string& code, seconds limit) {
  try {
    return to_spirv(code, limit);
  } catch (const Error& error) {
    if (error.error_class() == ErrorClass::unsupported && !lacks_tools_.exchange(true))
      log_warning(
          fmt::format("{}: operators run only by the plugin's own kernels and on the host: {}",
                      record_.name, error.what()));
    throw;
  }
}

// The module of the kernel's build, if that ends within the limit.
bp_module* DeviceCompiler::finish(seconds limit, Kernel& kernel) {
  if (!kernel.build->wait_for(limit))
    throw_error(ErrorClass::internal,
                fmt::format("{}: its compiler on {} has not finished within {} s, and is no longer "
                            "waited for (BACKPLANE_COMPILE_SECONDS sets the limit)",
                            kernel.name, record_.name, time_limit().count()));
  const Built built = std::exchange(kernel.build, nullptr)->take();
  if (built.code == BP_OK) return built.module;
  thread_state().error_code = built.code;
  thread_state().error_message =
      fmt::format("it does not compile: {}", built.message.empty() ? "no log" : built.message);
  throw_plugin_message(built.code, kernel.name);
}

// The module's kernel; takes the module.
bp_function* DeviceCompiler::find(bp_module* module, Kernel& kernel) {
  bp_function* function = nullptr;
  wait_until_quiet(record_, MayWait::the_rest);
  clear_plugin_error();
  const bp_code code = api_.find(record_.handle, module, kernel.name.c_str(), &function);
  if (code == BP_OK && function) {
    kernel.module = module;
    return function;
  }
  api_.release(record_.handle, module);
  throw_plugin_message(code, kernel.name);
}

// On disk, for the next start. What fails here has no consequence but that.
void DeviceCompiler::keep(bp_module* module, const std::string& key) {
  std::uint64_t bytes = 0;
  if (!key.empty() && api_.binary(record_.handle, module, &bytes, nullptr) == BP_OK && bytes > 0) {
    std::vector<char> binary(bytes);
    if (api_.binary(record_.handle, module, &bytes, binary.data()) == BP_OK)
      kept_files::write(key, binary);
  }
  clear_plugin_error();
}

const char* DeviceCompiler::language_name() const {
  return through_spirv_ ? BP_LANGUAGE_SPIRV : name_of(language_);
}

std::vector<GeneratedSource> DeviceCompiler::sources() const {
  const std::lock_guard lock(mutex_);
  return sources_;
}

}  // namespace bp::codegen
