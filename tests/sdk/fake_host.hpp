// A host of one page, for tests that reach a plugin directly through the ABI.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <string>
#include <vector>

#include <backplane/abi.h>

namespace fake {

class Host {
 public:
  Host() {
    table.h = {sizeof table, BP_TYPE_HOST, nullptr};
    table.abi_min = 1;
    table.abi_max = BP_ABI_LEVEL;
    table.version = "fake";
    table.plugin_path = "";
    table.context = this;
    table.set_error = [](const bp_host*, bp_code code, const char* message) {
      last_message() = message;
      return code;
    };
    table.set_call_error = [](const bp_host*, bp_code code, uint64_t number, const char* message) {
      last_message() = message;
      last_call() = number;
      return code;
    };
    table.log = [](const bp_host* host, uint32_t, const char* message) {
      Host& self = of(host);
      std::lock_guard lock(self.mutex_);
      self.lines_.emplace_back(message);
    };
    table.allocate_output = [](const bp_host*, const bp_call*, uint32_t, uint32_t, const int64_t*) {
      return bp_code{BP_UNSUPPORTED};
    };
    table.workspace = [](const bp_host* host, const bp_call*, uint64_t bytes, uint64_t,
                         bp_region* out) {
      Host& self = of(host);
      self.scratch_.resize(bytes);
      *out = {reinterpret_cast<uintptr_t>(self.scratch_.data()), 0, bytes};
      return bp_code{BP_OK};
    };
    table.allocate_host = [](const bp_host*, uint64_t bytes, uint64_t alignment, void** out) {
      *out = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      return bp_code{*out == nullptr ? BP_OUT_OF_MEMORY : BP_OK};
    };
    table.release_host = [](const bp_host*, void* ptr) { std::free(ptr); };
    table.operator_at = [](const bp_host*, uint32_t) -> const bp_operator* { return nullptr; };
    table.find_operator = [](const bp_host*, const char*) -> const bp_operator* { return nullptr; };
    table.register_kernels = [](const bp_host*, const bp_kernel* const*, uint32_t) {
      return bp_code{BP_UNSUPPORTED};
    };
    table.num_threads = [](const bp_host*) { return 1u; };
    table.deterministic = [](const bp_host*) { return 0u; };
    table.extension = [](const bp_host*, const char*, uint32_t) -> const bp_header* {
      return nullptr;
    };
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Of this thread.
  static std::string& last_message() {
    static thread_local std::string message;
    return message;
  }

  // That the last late error was of: of this thread.
  static uint64_t& last_call() {
    static thread_local uint64_t number;
    return number;
  }

  std::vector<std::string> log_lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }

  bp_host table{};

 private:
  static Host& of(const bp_host* host) { return *static_cast<Host*>(host->context); }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<char> scratch_;
};

// A plugin from its file, after init; shut down and closed with the object.
class Plugin {
 public:
  Plugin(Host& host, const std::string& path)
      : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    const auto get = reinterpret_cast<bp_get_plugin_fn>(dlsym(library_, "bp_get_plugin_v1"));
    uint32_t abi = host.table.abi_max;
    if (get(&host.table, &abi, &plugin_) != BP_OK ||
        (plugin_->init && plugin_->init(plugin_->self) != BP_OK)) {
      throw std::runtime_error(Host::last_message());
    }
  }
  ~Plugin() {
    if (plugin_->shutdown != nullptr) plugin_->shutdown(plugin_->self);
    dlclose(library_);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const bp_plugin* operator->() const { return plugin_; }
  const bp_plugin* get() const { return plugin_; }

 private:
  void* library_;
  const bp_plugin* plugin_ = nullptr;
};

// An open device of a plugin.
class Device {
 public:
  Device(const Plugin& plugin, uint32_t index) : plugin_(plugin.get()) {
    if (plugin_->open(plugin_->self, index, &device_) != BP_OK)
      throw std::runtime_error(Host::last_message());
  }
  ~Device() { plugin_->close(device_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  bp_handle allocate(uint64_t bytes) {
    bp_handle handle = 0;
    if (plugin_->memory->allocate(device_, bytes, 64, &handle) != BP_OK) return 0;
    return handle;
  }
  void release(bp_handle handle) { plugin_->memory->release(device_, handle); }

  bp_code from_host(bp_handle to, const void* from, uint64_t bytes, bp_stream* stream = nullptr) {
    return copy({to, 0, bytes}, {reinterpret_cast<uintptr_t>(from), 0, bytes}, BP_COPY_FROM_HOST,
                stream);
  }
  bp_code to_host(void* to, bp_handle from, uint64_t bytes, bp_stream* stream = nullptr) {
    return copy({reinterpret_cast<uintptr_t>(to), 0, bytes}, {from, 0, bytes}, BP_COPY_TO_HOST,
                stream);
  }
  bp_code copy(bp_region to, bp_region from, uint32_t direction, bp_stream* stream = nullptr) {
    return plugin_->memory->copy(device_, &to, &from, direction, stream);
  }
  bp_code synchronize(bp_stream* stream = nullptr) {
    return plugin_->queue->synchronize(device_, stream);
  }

  const bp_queue& queue() const { return *plugin_->queue; }
  bp_device* get() const { return device_; }

 private:
  const bp_plugin* plugin_;
  bp_device* device_ = nullptr;
};

}  // namespace fake
