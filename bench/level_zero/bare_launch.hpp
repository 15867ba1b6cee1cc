// Level Zero without anything of ours: a kernel on an immediate command list. Every failure throws std::runtime_error.
#pragma once

#include <level_zero/ze_api.h>
#include <string>

namespace bench {

class BareLaunch {
 public:
  // `spirv` has a kernel `name` of two arguments: memory, and a value of 8 bytes. On the first device of all drivers.
  BareLaunch(const std::string& spirv, const char* name);
  BareLaunch(const BareLaunch&) = delete;
  ~BareLaunch();

  // One work-item.
  void launch();
  void finish();

 private:
  ze_context_handle_t context_ = nullptr;
  ze_command_list_handle_t list_ = nullptr;
  ze_module_handle_t module_ = nullptr;
  ze_kernel_handle_t kernel_ = nullptr;
  ze_event_pool_handle_t pool_ = nullptr;
  ze_event_handle_t event_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace bench
