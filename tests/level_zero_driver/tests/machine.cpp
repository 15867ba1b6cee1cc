#include "machine.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tools/run_program.hpp"

namespace level_zero {
namespace {

// Before the loader looks for drivers, which it does once.
const ze_result_t initialized = [] {
  setenv("ZE_ENABLE_ALT_DRIVERS", BP_LEVEL_ZERO_DRIVER, 1);
  return zeInit(0);
}();

constexpr const char* kernels_text = R"(
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
double __attribute__((overloadable)) __spirv_SpecConstant(int, double);

__kernel void add_number(__global int* data, int number) { data[get_global_id(0)] += number; }

__kernel void scale(__global const float* from, __global float* to, float factor) {
  to[get_global_id(0)] = from[get_global_id(0)] * factor;
}

typedef struct { int first; double second; } Pair;
__kernel void take_structure(__global double* to, Pair pair) { *to = pair.first + pair.second; }

__kernel void reverse_group(__global int* data, __local int* buffer) {
  const int item = get_local_id(0), items = get_local_size(0);
  buffer[item] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = buffer[items - 1 - item];
}

__kernel void tell_constants(__global double* to) {
  to[0] = __spirv_SpecConstant(3, 11);
  to[1] = __spirv_SpecConstant(5, 0.5);
}

__kernel __attribute__((reqd_work_group_size(4, 2, 1))) void only_in_fours(__global int* to) {
  to[get_global_id(0)] = 1;
}
)";

void destroy_all(std::vector<std::function<void()>>& ends) {
  for (; !ends.empty(); ends.pop_back()) ends.back()();
}

void read_faults() {
  uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  ASSERT_EQ(zeDriverGet(&count, &driver), ZE_RESULT_SUCCESS);
  void* function = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, "zeOverOpenclReadFaults", &function),
            ZE_RESULT_SUCCESS);
  reinterpret_cast<void (*)()>(function)();
}

}  // namespace

std::string spirv_of(const std::string& opencl_c) {
  const bp::test::TemporaryFolder folder;
  const std::string source = folder.write("kernels.cl", opencl_c), log = folder.path() / "log";
  const std::string raw = folder.path() / "raw.bc", better = folder.path() / "better.bc",
                    module = folder.path() / "kernels.spv";
  const std::string command =
      "{ clang-15 -c -x cl -cl-std=CL1.2 -target spir64 -O0 -Xclang -disable-O0-optnone -Xclang "
      "-finclude-default-header -emit-llvm -w -o " +
      raw + " " + source + " && opt-15 -passes=mem2reg,early-cse,simplifycfg -o " + better + " " +
      raw + " && llvm-spirv-15 --spirv-max-version=1.2 -o " + module + " " + better + "; } >" +
      log + " 2>&1";
  if (std::system(command.c_str()) != 0) {
    const std::string said = bp::test::read_file(log);
    EXPECT_NE(said.find("not found"), std::string::npos) << said;
    return {};
  }
  return bp::test::read_file(module);
}

const std::string& test_kernels() {
  static const std::string module = spirv_of(kernels_text);
  return module;
}

Fault::Fault(const char* variable, const char* value) : variable_(variable) {
  setenv(variable, value, 1);
  read_faults();
}

Fault::~Fault() {
  unsetenv(variable_);
  read_faults();
}

void Machine::SetUp() {
  if (initialized == ZE_RESULT_ERROR_UNINITIALIZED) GTEST_SKIP() << "no OpenCL device can serve";
  ASSERT_EQ(initialized, ZE_RESULT_SUCCESS);
  uint32_t count = 1;
  ASSERT_EQ(zeDriverGet(&count, &driver_), ZE_RESULT_SUCCESS);
  count = 1;
  ASSERT_EQ(zeDeviceGet(driver_, &count, &device_), ZE_RESULT_SUCCESS);
  const ze_context_desc_t description{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ASSERT_EQ(zeContextCreate(driver_, &description, &context_), ZE_RESULT_SUCCESS);
  later([this] { EXPECT_EQ(zeContextDestroy(context_), ZE_RESULT_SUCCESS); });
}

void Machine::TearDown() {
  destroy_all(ends_);
}

void* Machine::device_memory(size_t bytes, size_t alignment) {
  const ze_device_mem_alloc_desc_t description{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0,
                                               0};
  void* memory = nullptr;
  EXPECT_EQ(zeMemAllocDevice(context_, &description, bytes, alignment, device_, &memory),
            ZE_RESULT_SUCCESS);
  later([this, memory] { EXPECT_EQ(zeMemFree(context_, memory), ZE_RESULT_SUCCESS); });
  return memory;
}

void* Machine::shared_memory(size_t bytes) {
  const ze_device_mem_alloc_desc_t device{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  const ze_host_mem_alloc_desc_t host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* memory = nullptr;
  EXPECT_EQ(zeMemAllocShared(context_, &device, &host, bytes, 64, device_, &memory),
            ZE_RESULT_SUCCESS);
  later([this, memory] { EXPECT_EQ(zeMemFree(context_, memory), ZE_RESULT_SUCCESS); });
  return memory;
}

namespace {

ze_command_queue_desc_t queue_description(ze_command_queue_mode_t mode) {
  return {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 0, 0, 0, mode,
          ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
}

}  // namespace

ze_command_queue_handle_t Machine::queue(ze_command_queue_mode_t mode) {
  const auto description = queue_description(mode);
  ze_command_queue_handle_t made = nullptr;
  EXPECT_EQ(zeCommandQueueCreate(context_, device_, &description, &made), ZE_RESULT_SUCCESS);
  later([made] { EXPECT_EQ(zeCommandQueueDestroy(made), ZE_RESULT_SUCCESS); });
  return made;
}

ze_command_list_handle_t Machine::list() {
  const ze_command_list_desc_t description{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_list_handle_t made = nullptr;
  EXPECT_EQ(zeCommandListCreate(context_, device_, &description, &made), ZE_RESULT_SUCCESS);
  later([made] { EXPECT_EQ(zeCommandListDestroy(made), ZE_RESULT_SUCCESS); });
  return made;
}

ze_command_list_handle_t Machine::immediate(ze_command_queue_mode_t mode) {
  const auto description = queue_description(mode);
  ze_command_list_handle_t made = nullptr;
  EXPECT_EQ(zeCommandListCreateImmediate(context_, device_, &description, &made),
            ZE_RESULT_SUCCESS);
  later([made] { EXPECT_EQ(zeCommandListDestroy(made), ZE_RESULT_SUCCESS); });
  return made;
}

ze_event_handle_t Machine::event(ze_event_pool_flags_t flags) {
  const ze_event_pool_desc_t of_pool{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, flags, 1};
  ze_event_pool_handle_t pool = nullptr;
  EXPECT_EQ(zeEventPoolCreate(context_, &of_pool, 1, &device_, &pool), ZE_RESULT_SUCCESS);
  later([pool] { EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS); });
  const ze_event_desc_t description{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0,
                                    ZE_EVENT_SCOPE_FLAG_HOST, ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t made = nullptr;
  EXPECT_EQ(zeEventCreate(pool, &description, &made), ZE_RESULT_SUCCESS);
  later([made] { EXPECT_EQ(zeEventDestroy(made), ZE_RESULT_SUCCESS); });
  return made;
}

ze_module_handle_t Machine::module(const std::string& spirv,
                                   const ze_module_constants_t* constants) {
  const ze_module_desc_t description{ZE_STRUCTURE_TYPE_MODULE_DESC,
                                     nullptr,
                                     ZE_MODULE_FORMAT_IL_SPIRV,
                                     spirv.size(),
                                     reinterpret_cast<const uint8_t*>(spirv.data()),
                                     "",
                                     constants};
  ze_module_handle_t made = nullptr;
  ze_module_build_log_handle_t log = nullptr;
  EXPECT_EQ(zeModuleCreate(context_, device_, &description, &made, &log), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeModuleBuildLogDestroy(log), ZE_RESULT_SUCCESS);
  later([made] { EXPECT_EQ(zeModuleDestroy(made), ZE_RESULT_SUCCESS); });
  return made;
}

ze_kernel_handle_t Machine::kernel(const char* name, uint32_t group) {
  const ze_kernel_desc_t description{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
  ze_kernel_handle_t made = nullptr;
  EXPECT_EQ(zeKernelCreate(module(test_kernels()), &description, &made), ZE_RESULT_SUCCESS);
  later([made] { EXPECT_EQ(zeKernelDestroy(made), ZE_RESULT_SUCCESS); });
  EXPECT_EQ(zeKernelSetGroupSize(made, group, 1, 1), ZE_RESULT_SUCCESS);
  return made;
}

bool Machine::is_pocl() const {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  EXPECT_EQ(zeDeviceGetProperties(device_, &properties), ZE_RESULT_SUCCESS);
  return std::strncmp(properties.name, "pthread", std::strlen("pthread")) == 0;
}

void Machine::finish(ze_command_list_handle_t list) {
  const ze_event_handle_t done = event();
  ASSERT_EQ(zeCommandListAppendBarrier(list, done, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSynchronize(done, forever), ZE_RESULT_SUCCESS);
}

}  // namespace level_zero
