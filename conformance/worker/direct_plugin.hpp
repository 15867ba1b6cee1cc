// A plugin opened by the worker itself, with nothing of the core between.
#pragma once

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/loading/plugin_library.hpp>

#include "worker/direct_host.hpp"

namespace bp::conform {

// A plugin's struct with zeros behind what its size reaches.
template <class T> T complete(const T& given) {
  T whole{};
  std::memcpy(static_cast<void*>(&whole), &given,
              std::min<std::size_t>(given.h.size, sizeof whole));
  return whole;
}

// A kernel as it was declared: what the plugin's size does not reach is 0.
struct DirectKernel {
  const bp_kernel* kernel = nullptr;
  bp_kernel declared{};
  std::vector<bp_arg> args;
  int place = 0;  // in the plugin's list
  int num_known =
      0;  // arguments of the schema that it was written against; -1: a schema that this host never had
  std::uint64_t whole = 0;  // KnownArguments::whole
};

// Throws bp::Error with what the plugin said, at whichever step fails.
class DirectPlugin {
 public:
  DirectPlugin(const std::string& device, const std::string& file, Skew skew = {});
  ~DirectPlugin();
  DirectPlugin(const DirectPlugin&) = delete;
  DirectPlugin& operator=(const DirectPlugin&) = delete;

  DirectHost host;
  const bp_plugin* plugin = nullptr;
  bp_memory memory{};
  bp_queue queue{};
  bp_device_info info{};
  bp_device* device = nullptr;
  bp_stream* side_stream = nullptr;  // for the instruments' own copies, if there are streams
  std::string name, file;
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

  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, bp_handle& out,
                   std::uint32_t space = 0);
  void release(bp_handle handle);
  // Done when they return; throw what the plugin says.
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
  void copy(const bp_region& to, const bp_region& from, std::uint32_t direction);
  void shut_down();
  // Host memory for a copy of the instruments', out of a ring: a copy that comes late hits nothing else.
  std::uint8_t* staging(std::uint64_t bytes);

  loading::PluginLibrary library_;
  std::mutex staging_mutex_;
  std::uint8_t* ring_ = nullptr;  // mapped, so that the counters of malloc do not see it
};

// Opens a plugin's file with this host.
loading::Outcome open_library(const std::string& path, DirectHost& host,
                              loading::PluginLibrary& library);

// "BP_OUT_OF_MEMORY: 12 bytes asked for, ..." of this thread's last error.
std::string told(bp_code code);
const char* code_name(bp_code code);
// Throws with what was told unless the code is BP_OK.
void require(bp_code code, const char* what);

}  // namespace bp::conform
