// For drivers that keep a launch's arguments in the kernel object (OpenCL, Level Zero), so that one object serves one
// thread at a time: several objects of one kernel, and what each was given last. Not part of plugin.hpp: include it
// where it is needed.
#ifndef BACKPLANE_PLUGIN_KERNEL_INSTANCES_HPP
#define BACKPLANE_PLUGIN_KERNEL_INSTANCES_HPP

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// One object of a kernel. `Kernel` is the backend's, and ends the driver's object with itself.
template <class Kernel> struct KernelInstance {
  KernelInstance(Kernel from, size_t num_arguments)
      : kernel(std::move(from)), given_(num_arguments) {}

  // Gives the object what has changed since its last launch: a call with the same tensors sets nothing. The launch has
  // the right number of arguments. `generation` rises whenever an allocation ends, whose handle or address the next
  // one may have. `set(uint32_t index, const bp_launch_argument&)` passes one to the driver and returns what the
  // driver complains of, as std::string, or an empty one. `name` is the kernel's.
  template <class Set>
  Status set_arguments(const char* name, const bp_launch& launch, uint64_t generation, Set set) {
    if (generation_ != generation) {
      for (Given& each : given_)
        if (each.kind == BP_LAUNCH_MEMORY) each.kind = 0;
      generation_ = generation;
    }
    for (uint32_t i = 0; i < given_.size(); ++i) {
      const bp_launch_argument& argument = launch.arguments[i];
      if (given_[i].is(argument)) continue;
      const std::string objection =
          is_well_formed(argument) ? set(i, argument) : "neither memory nor bytes";
      if (!objection.empty()) {
        given_[i].kind = 0;
        return bad_argument("%s: argument %u, of %u bytes, does not suit the kernel: %s", name, i,
                            argument.bytes, objection.c_str());
      }
      given_[i].take(argument);
    }
    return ok;
  }

  std::mutex mutex;
  Kernel kernel;

 private:
  struct Given {
    bool is(const bp_launch_argument& other) const {
      if (kind != other.kind) return false;
      if (kind == BP_LAUNCH_MEMORY) return handle == other.u.handle;
      return kind == BP_LAUNCH_BYTES && bytes.size() == other.bytes &&
             std::memcmp(bytes.data(), other.u.bytes, other.bytes) == 0;
    }
    void take(const bp_launch_argument& other) {
      kind = other.kind;
      if (kind == BP_LAUNCH_MEMORY) {
        handle = other.u.handle;
      } else {
        const char* const from = static_cast<const char*>(other.u.bytes);
        bytes.assign(from, from + other.bytes);
      }
    }

    uint32_t kind = 0;  // 0: unknown
    bp_handle handle = 0;
    std::vector<char> bytes;
  };

  static bool is_well_formed(const bp_launch_argument& argument) {
    return argument.kind == BP_LAUNCH_MEMORY ||
           (argument.kind == BP_LAUNCH_BYTES && argument.bytes != 0);
  }

  std::vector<Given> given_;
  uint64_t generation_ = 0;  // of the memory to which the handles belong
};

// The objects of one kernel, as many as threads launch it at once. `Instance` derives from KernelInstance, or is one.
// Threads: any.
template <class Instance> class KernelInstances {
 public:
  // Before the first take.
  void add_first(std::unique_ptr<Instance> first) {
    all_[0] = std::move(first);
    count_ = 1;
  }

  // A free object, its mutex locked. `make()` returns a std::unique_ptr<Instance> for one more, null if the
  // driver makes none; then, and where there are enough, it waits for the first.
  template <class Make> Instance& take(Make make) {
    do {
      const size_t count = count_.load(std::memory_order_acquire);
      for (size_t i = 0; i < count; ++i)
        if (all_[i]->mutex.try_lock()) return *all_[i];
    } while (add(make));
    all_[0]->mutex.lock();
    return *all_[0];
  }

 private:
  // One more for the next caller, so that nobody waits for an instance while holding the lock of the list.
  template <class Make> bool add(Make& make) {
    std::lock_guard<std::mutex> lock(growth_);
    const size_t count = count_.load(std::memory_order_relaxed);
    if (count == all_.size()) return false;
    all_[count] = make();
    if (all_[count] == nullptr) return false;
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

  std::array<std::unique_ptr<Instance>, 16> all_;
  std::atomic<size_t> count_{0};
  std::mutex growth_;
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_KERNEL_INSTANCES_HPP
