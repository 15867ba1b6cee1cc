// The driver of this folder behind the real loader, and objects that end with their test.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <level_zero/ze_api.h>
#include <string>
#include <vector>

namespace level_zero {

// SPIR-V of OpenCL C, by clang-15, opt-15 and llvm-spirv-15; empty where one of them is missing.
std::string spirv_of(const std::string& opencl_c);
// The module that most tests use: see machine.cpp.
const std::string& test_kernels();

// Sets a variable of this process, has the driver read its faults again, and takes both back.
class Fault {
 public:
  Fault(const char* variable, const char* value);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

 private:
  const char* variable_;
};

// A fixture with a device and a context. Skips where there is no OpenCL device that can serve.
class Machine : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Every one expects success, and is destroyed by TearDown, the last one first.
  void* device_memory(size_t bytes, size_t alignment = 0);
  template <class T> T* shared(size_t count) {
    return static_cast<T*>(shared_memory(count * sizeof(T)));
  }
  ze_command_queue_handle_t queue(
      ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t list();
  ze_command_list_handle_t immediate(
      ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_event_handle_t event(ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  ze_module_handle_t module(const std::string& spirv,
                            const ze_module_constants_t* constants = nullptr);
  // Of test_kernels(), in groups of `group` items. Null, and the test is skipped, without the compilers.
  ze_kernel_handle_t kernel(const char* name, uint32_t group = 1);
  template <class T> void set(ze_kernel_handle_t of, uint32_t index, T value) {
    EXPECT_EQ(zeKernelSetArgumentValue(of, index, sizeof value, &value), ZE_RESULT_SUCCESS);
  }
  // What is given to an immediate list, waited for.
  void finish(ze_command_list_handle_t list);

  // Whether OpenCL's device is one of PoCL's.
  bool is_pocl() const;

  void later(std::function<void()> end) { ends_.push_back(std::move(end)); }

  ze_driver_handle_t driver_ = nullptr;
  ze_device_handle_t device_ = nullptr;
  ze_context_handle_t context_ = nullptr;

 private:
  void* shared_memory(size_t bytes);
  std::vector<std::function<void()>> ends_;
};

constexpr uint64_t forever = UINT64_MAX;

}  // namespace level_zero
