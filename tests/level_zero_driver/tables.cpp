// What the loader looks for in a driver: it refuses one that lacks any of these functions.
#include "tables.hpp"

#include <level_zero/zes_api.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_api.h>
#include <level_zero/zet_ddi.h>

namespace over_opencl {
namespace {

// A loader of an older interface has shorter tables.
template <class Table> ze_result_t give(ze_api_version_t asked, Table* table) {
  if (table == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (ZE_MAJOR_VERSION(asked) != ZE_MAJOR_VERSION(ZE_API_VERSION_1_4) || asked < ZE_API_VERSION_1_4)
    return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  *table = {};
  if constexpr (requires { fill(*table); }) fill(*table);
  return ZE_RESULT_SUCCESS;
}

}  // namespace
}  // namespace over_opencl

#define TABLE(function, table)                                                             \
  ZE_DLLEXPORT ze_result_t ZE_APICALL function(ze_api_version_t version, table* to_fill) { \
    return over_opencl::give(version, to_fill);                                            \
  }

extern "C" {

TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t)
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t)
TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t)
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t)
TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t)
TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t)
TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t)
TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t)
TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t)
TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t)
TABLE(zeGetEventProcAddrTable, ze_event_dditable_t)

// Nothing of these is offered.
TABLE(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t)
TABLE(zeGetImageProcAddrTable, ze_image_dditable_t)
TABLE(zeGetImageExpProcAddrTable, ze_image_exp_dditable_t)
TABLE(zeGetEventExpProcAddrTable, ze_event_exp_dditable_t)
TABLE(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t)
TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
TABLE(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
TABLE(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)
TABLE(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t)
TABLE(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t)
TABLE(zetGetDeviceProcAddrTable, zet_device_dditable_t)
TABLE(zetGetContextProcAddrTable, zet_context_dditable_t)
TABLE(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
TABLE(zetGetModuleProcAddrTable, zet_module_dditable_t)
TABLE(zetGetKernelProcAddrTable, zet_kernel_dditable_t)
TABLE(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t)
TABLE(zetGetMetricGroupExpProcAddrTable, zet_metric_group_exp_dditable_t)
TABLE(zetGetMetricProcAddrTable, zet_metric_dditable_t)
TABLE(zetGetMetricStreamerProcAddrTable, zet_metric_streamer_dditable_t)
TABLE(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
TABLE(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
TABLE(zetGetTracerExpProcAddrTable, zet_tracer_exp_dditable_t)
TABLE(zetGetDebugProcAddrTable, zet_debug_dditable_t)
TABLE(zesGetDriverProcAddrTable, zes_driver_dditable_t)
TABLE(zesGetDeviceProcAddrTable, zes_device_dditable_t)
TABLE(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t)
TABLE(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t)
TABLE(zesGetPowerProcAddrTable, zes_power_dditable_t)
TABLE(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t)
TABLE(zesGetEngineProcAddrTable, zes_engine_dditable_t)
TABLE(zesGetStandbyProcAddrTable, zes_standby_dditable_t)
TABLE(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t)
TABLE(zesGetMemoryProcAddrTable, zes_memory_dditable_t)
TABLE(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t)
TABLE(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t)
TABLE(zesGetPsuProcAddrTable, zes_psu_dditable_t)
TABLE(zesGetFanProcAddrTable, zes_fan_dditable_t)
TABLE(zesGetLedProcAddrTable, zes_led_dditable_t)
TABLE(zesGetRasProcAddrTable, zes_ras_dditable_t)
TABLE(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t)

}  // extern "C"
