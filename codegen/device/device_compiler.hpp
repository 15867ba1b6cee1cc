// A device's compiler as codegen uses it: from text to a function, through the cache on disk.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <backplane/codegen/codegen.hpp>
#include <backplane/extensions/compiler.h>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/error.hpp>

#include "constants.hpp"
#include "dialect/dialect.hpp"

namespace bp::codegen {

// The functions of one operator on one device, by variant. Threads: any.
class FunctionTable {
 public:
  bp_function* find(std::uint64_t variant) const {
    // The variants that were asked for last answer most calls without a lock.
    const Entry* recent = recent_[slot_of(variant)].load(std::memory_order_acquire);
    if (recent && recent->variant == variant) [[likely]]
      return recent->function;
    return find_slowly(variant);
  }
  // Two threads may build the same one; the first stays.
  bp_function* add(std::uint64_t variant, bp_function* function);
  // The device is closed: no call is running.
  void clear();

 private:
  struct Entry {
    std::uint64_t variant;
    bp_function* function;
  };
  static constexpr int slot_bits = constants::recent_kernels_bits;

  static std::size_t slot_of(std::uint64_t variant) {
    return variant * 0x9e3779b97f4a7c15u >> (64 - slot_bits);
  }
  bp_function* find_slowly(std::uint64_t variant) const;

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> entries_;  // until the device is closed
  mutable std::atomic<const Entry*> recent_[1 << slot_bits] = {};
};

class Build;

// Lives from the first call on the device until the backend closes. Threads: any.
class DeviceCompiler {
 public:
  // Throws unsupported when the device speaks no language that codegen writes.
  DeviceCompiler(DeviceRecord& record, const bp_compiler& api);
  // Releases every module; the device is idle. A build that was given up and is still running uses the
  // device: it counts in DeviceRecord::live_builds, with which no backend closes.
  ~DeviceCompiler();
  DeviceCompiler(const DeviceCompiler&) = delete;
  DeviceCompiler& operator=(const DeviceCompiler&) = delete;

  const bp_compiler_info& info() const { return info_; }
  const bp_compiler& api() const { return api_; }
  DeviceRecord& record() const { return record_; }
  Language language() const { return language_; }

  // The kernel of this text: loaded from the cache on disk or compiled, once; other texts may be built
  // meanwhile. Throws with the operator and the compiler's log, or when the compiler does not come to an
  // end within the time limit ($BACKPLANE_COMPILE_SECONDS, else 120). It goes on then, on a thread of its
  // own; asked for again, the kernel is there as soon as it has ended, and an error until then. A text that the
  // compiler has refused is not given to it again: the error is the same.
  bp_function* build(const KernelText& text);

  std::vector<GeneratedSource> sources() const;

  // Releases all kernels whose names begin so: nobody asks for them or launches them any more, and their work is done.
  void forget(const std::string& prefix);

 private:
  // One kernel, by its source.
  struct Kernel {
    std::string name;
    std::mutex mutex;  // held while it is built
    bp_module* module = nullptr;
    bp_function* function = nullptr;
    std::shared_ptr<Build> build;  // given up, not ended
    std::optional<Error> refused;
  };

  bp_function* make(const std::string& code, Kernel& kernel);
  Kernel& kernel_of(const std::string& name, const std::string& code);
  bp_function* load(const std::string& key, Kernel& kernel);
  bp_function* compile(const std::string& code, const std::string& key, Kernel& kernel);
  bp_module* finish(std::chrono::seconds limit, Kernel& kernel);
  bp_function* find(bp_module* module, Kernel& kernel);
  void keep(bp_module* module, const std::string& key);
  const char* language_name() const;
  std::string translated(const std::string& code, std::chrono::seconds limit);

  DeviceRecord& record_;
  bp_compiler api_;
  bp_compiler_info info_{};
  Language language_ = Language::opencl_c;
  bool through_spirv_ = false;  // the device takes SPIR-V alone: OpenCL C goes through clang first
  std::atomic<bool> lacks_tools_{false};

  mutable std::mutex mutex_;  // of what follows
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::vector<GeneratedSource> sources_;
};

// Throws what the plugin said last, as an error of the class `code`. Within a call of a kernel: the
// dispatcher adds operator, plugin and device to it, and marks a device as lost.
[[noreturn]] void throw_plugin_message(bp_code code, std::string_view what);

// What has been built in this process, counted by all threads.
struct BuildCounters {
  std::atomic<std::uint64_t> compiled{0}, from_cache{0};
};
BuildCounters& build_counters();

}  // namespace bp::codegen
