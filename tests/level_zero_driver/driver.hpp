// Drivers and devices: a driver for each OpenCL platform with devices that can serve, which share one OpenCL context.
#pragma once

#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>
#include <vector>

#include "handle.hpp"
#include "memory.hpp"

namespace over_opencl {

class Driver;

class Device : public Tagged<Device> {
 public:
  Device(Driver& driver, cl_device_id id, uint32_t index);

  Driver& driver() const { return driver_; }
  cl_device_id id() const { return id_; }
  uint32_t index() const { return index_; }
  // Else modules are translated to LLVM, which PoCL takes.
  bool takes_spirv() const { return takes_spirv_; }
  uint64_t max_allocation() const { return max_allocation_; }
  size_t max_group_size() const { return max_group_size_; }
  // By the clock that its timestamps come from.
  uint64_t now_ns() const;

  // Sticky: until the faults are read again.
  void lose();
  bool is_lost() const;
  void check_not_lost() const { check(!is_lost(), ZE_RESULT_ERROR_DEVICE_LOST); }

 private:
  Driver& driver_;
  cl_device_id id_;
  uint32_t index_;
  bool takes_spirv_;
  uint64_t max_allocation_;
  size_t max_group_size_;
  clockid_t clock_;
  std::atomic<uint64_t> lost_in_{0};  // the fault generation; 0: never
};

class Driver : public Tagged<Driver> {
 public:
  // Throws Failure where OpenCL makes no context.
  Driver(cl_platform_id platform, const std::vector<cl_device_id>& devices);

  cl_platform_id platform() const { return platform_; }
  cl_context context() const { return context_; }
  Allocations& allocations() { return *allocations_; }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }

 private:
  cl_platform_id platform_;
  cl_context context_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Allocations> allocations_;
};

// Found at the first call. Never destroyed: OpenCL drivers keep threads until the process ends.
const std::vector<std::unique_ptr<Driver>>& drivers();

// Level Zero's contexts carry nothing of their own here.
class Context : public Tagged<Context> {
 public:
  explicit Context(Driver& driver) : driver_(driver) {}
  Driver& driver() const { return driver_; }

 private:
  Driver& driver_;
};

// The device behind a handle, if it is of the context's driver.
Device& device_of(const Context& context, ze_device_handle_t handle);

}  // namespace over_opencl
