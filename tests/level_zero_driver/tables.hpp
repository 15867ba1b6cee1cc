// Each subject enters its functions into the loader's table of them. What stays null is answered by the loader, with
// ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.
#pragma once

#include <level_zero/ze_ddi.h>

namespace over_opencl {

void fill(ze_global_dditable_t& table);
void fill(ze_driver_dditable_t& table);
void fill(ze_device_dditable_t& table);
void fill(ze_context_dditable_t& table);
void fill(ze_mem_dditable_t& table);
void fill(ze_module_dditable_t& table);
void fill(ze_module_build_log_dditable_t& table);
void fill(ze_kernel_dditable_t& table);
void fill(ze_command_queue_dditable_t& table);
void fill(ze_command_list_dditable_t& table);
void fill(ze_fence_dditable_t& table);
void fill(ze_event_pool_dditable_t& table);
void fill(ze_event_dditable_t& table);

}  // namespace over_opencl
