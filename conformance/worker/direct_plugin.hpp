// A plugin opened by the worker itself, with nothing of the core between; and its bp_host: what a plugin may call, counted,
// guarded, and able to refuse.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/plugin_library.hpp>

#include "worker/skew.hpp"

namespace bp::conform {

// What bp_call.host_data of this host points to: what a kernel may ask for during its call.
struct CallContext {
  std::function<bp_code(std::uint64_t bytes, std::uint64_t alignment, bp_region& out)> workspace;
  std::function<bp_code(std::uint32_t index, std::uint32_t ndim, const std::int64_t* shape)>
      allocate_output;
};

// The last error that this thread was told through set_error.
struct ToldError {
  bp_code code = BP_OK;
  std::string message;
};
ToldError& told_error();

// A host of this level, or of the other one whose structs it gives; with `lowest`, one of levels that nobody knows.
class DirectHost {
 public:
  explicit DirectHost(std::string plugin_path, Skew skew = {}, std::uint32_t lowest = 1);
  DirectHost(const DirectHost&) = delete;
  DirectHost& operator=(const DirectHost&) = delete;
  ~DirectHost();

  // The table as the plugin sees it.
  const bp_host& given() const { return given_ ? *given_->as<const bp_host>() : table_; }
  // What was written into a struct of the host's behind the part that is known.
  std::string fault_in_structs();

  std::atomic<std::uint32_t> num_threads{2}, deterministic{0};
  // How often it was asked for memory, how much of that lives, and how often the plugin told it of an error.
  std::atomic<std::int64_t> calls{0}, live{0}, errors{0};
  // The N-th allocate_host from now on, and all after it, fail; 0: none does.
  void fail_from(std::int64_t nth);
  void note_fault(std::string what);
  // What was done wrong since the last question.
  std::vector<std::string> take_faults();
  // Kernels that came through register_kernels.
  const std::vector<const bp_kernel*>& more_kernels() const { return more_kernels_; }
  const bp_operator* show(const Operator* op, Skew skew);

  // The functions of the table.
  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, void** out);
  void release(void* ptr);
  bp_code add_kernels(const bp_kernel* const* kernels, std::uint32_t count);
  const bp_operator* operator_at(std::uint32_t index);
  const bp_operator* find(const char* name);
  const bp_header* extension(const char* name, std::uint32_t min_version);

 private:
  bp_host table_{};
  std::string plugin_path_;
  const Skew skew_;
  std::unique_ptr<SkewedStruct> given_, settings_;
  std::atomic<std::int64_t> fail_at_{0};
  std::mutex mutex_;  // guards what follows
  std::unordered_map<void*, std::uint64_t> blocks_;
  std::vector<std::string> faults_;
  std::vector<const bp_kernel*> more_kernels_;
  std::map<std::pair<const Operator*, std::uint32_t>, SkewedStruct>
      operators_;  // by level; 0: padded
};

// A plugin's struct with zeros behind what its size reaches.
template <class T> T complete(const T& given) {
  T whole{};
  std::memcpy(static_cast<void*>(&whole), &given,
              std::min<std::size_t>(given.h.size, sizeof whole));
  return whole;
}

// A kernel as it was declared: what the plugin's size does not reach is 0.
struct DirectKernel {
  bp_kernel declared{};
  std::vector<bp_arg> args;
  int place = 0;         // in the plugin's list
  KnownArguments known;  // of the schema that it was written against
};

// A plugin's file, opened with a host of its own: nothing of the plugin was called yet.
struct OpenedFile {
  explicit OpenedFile(const std::string& path, Skew skew = {}, std::uint32_t lowest = 1);

  const std::string file;
  DirectHost host;
  loading::PluginLibrary library{};
  const loading::Outcome outcome;
  const bp_plugin* const plugin;  // null if it was refused
};

// Throws bp::Error with what the plugin said, at whichever step fails.
class DirectPlugin : public OpenedFile {
 public:
  DirectPlugin(const std::string& device, const std::string& file, Skew skew = {});
  ~DirectPlugin();
  DirectPlugin(const DirectPlugin&) = delete;
  DirectPlugin& operator=(const DirectPlugin&) = delete;

  bp_memory memory{};
  bp_queue queue{};
  bp_device_info info{};
  bp_device* device = nullptr;
  bp_stream* side_stream = nullptr;  // for the instruments' own copies, if there are streams
  std::string name;
  std::uint32_t num_devices = 0, index = 0;
  std::vector<DirectKernel> kernels;  // by falling priority, then as the plugin lists them
  std::mutex allocation;              // one allocate at a time
  double copies_in_ms = 0;            // that keep a stream busy; 0: not measured yet
  std::uint64_t staging_place = 0;    // in the ring from which host memory for copies comes
  // Of kernels that do not declare BP_KERNEL_DETERMINISTIC.
  std::atomic<std::uint64_t> varying_calls = 0;

  bool synchronous() const { return (info.flags & BP_DEVICE_SYNCHRONOUS) != 0; }
  bool host_readable() const { return (info.flags & BP_DEVICE_HOST_READABLE) != 0; }
  std::uint64_t offset_alignment() const {
    return info.offset_alignment ? info.offset_alignment : 64;
  }

  // What the first `count` devices say of themselves; `count` is then what the plugin makes of it.
  bp_code ask_devices(std::uint32_t& count, std::vector<bp_device_info>& infos) const;
  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, bp_handle& out,
                   std::uint32_t space = 0);
  void release(bp_handle handle);
  bp_code copy(const bp_region& to, const bp_region& from, std::uint32_t direction,
               bp_stream* stream) const {
    return memory.copy(device, &to, &from, direction, stream);
  }
  // The instruments' own copies, done when they return; throw what the plugin says.
  void write(bp_handle handle, std::uint64_t offset, const void* from, std::uint64_t bytes);
  void read(bp_handle handle, std::uint64_t offset, void* to, std::uint64_t bytes);
  // Closes and opens the device, of which nothing may live any more.
  bp_code reopen();
  const bp_header* extension(const char* name_of_it, std::uint32_t version) const;
  // The extension's table with zeros behind what the plugin knows; nothing but zeros where it has none.
  template <class Table> Table table(const char* name_of_it, std::uint32_t version) const {
    const bp_header* found = extension(name_of_it, version);
    return found ? complete(*reinterpret_cast<const Table*>(found)) : Table{};
  }

 private:
  void start();
  void open(const std::string& wanted);
  bp_code open_device();
  void end_side_stream();
  void copy_and_wait(const bp_region& to, const bp_region& from, std::uint32_t direction);
  void shut_down();
  // Host memory for a copy of the instruments', out of a ring: a copy that comes late hits nothing else.
  std::uint8_t* staging(std::uint64_t bytes);

  std::mutex staging_mutex_;
  std::uint8_t* ring_ = nullptr;  // mapped, so that the counters of malloc do not see it
};

inline bp_region at_host(const void* data, std::uint64_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(data), 0, bytes};
}

// "BP_OUT_OF_MEMORY: 12 bytes asked for, ..." of this thread's last error.
std::string told(bp_code code);
// Throws with what was told unless the code is BP_OK.
void require(bp_code code, const char* what);

}  // namespace bp::conform
