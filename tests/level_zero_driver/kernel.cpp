#include "kernel.hpp"

#include <algorithm>
#include <cstring>

#include "tables.hpp"

namespace over_opencl {
namespace {

const KernelInterface& interface_of(const Module& module, const char* name) {
  const KernelInterface* found = module.find(&required(name));
  check(found != nullptr, ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  return *found;
}

OwnedKernel make_kernel(cl_program program, const std::string& name) {
  cl_int error = CL_SUCCESS;
  OwnedKernel kernel(clCreateKernel(program, name.c_str(), &error));
  require(error);
  return kernel;
}

template <class T> T group_info(const Kernel& kernel, cl_kernel_work_group_info what) {
  T value{};
  if (clGetKernelWorkGroupInfo(kernel.get(), kernel.device().id(), what, sizeof value, &value,
                               nullptr) != CL_SUCCESS)
    value = T{};
  return value;
}

}  // namespace

Kernel::Kernel(Module& module, const char* name)
    : device_(module.device()), interface_(interface_of(module, name)),
      kernel_(make_kernel(module.program(), interface_.name)),
      arguments_(interface_.parameters.size()) {
  clRetainProgram(module.program());
  program_.reset(module.program());
  cl_uint count = 0;
  require(clGetKernelInfo(get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr));
  check(count == arguments_.size(), ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  max_group_size_ = group_info<size_t>(*this, CL_KERNEL_WORK_GROUP_SIZE);
  if (max_group_size_ == 0) max_group_size_ = device_.max_group_size();
  if (interface_.required_group[0] != 0) std::copy_n(interface_.required_group, 3, group_size_);
}

// Bytes that are there already are not given again: launch after launch most arguments stay.
void Kernel::set_argument(uint32_t index, size_t bytes, const void* value) {
  check(index < arguments_.size(), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  const Parameter& parameter = interface_.parameters[index];
  constexpr ze_result_t wrong_size = ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
  const bool is_address = parameter.kind == ParameterKind::pointer;
  check(bytes != 0 && (!is_address || bytes == sizeof(void*)), wrong_size);
  if (parameter.kind == ParameterKind::value) {
    required(value);
    check(parameter.bytes == 0 || parameter.bytes == bytes, wrong_size);
  }
  Argument& argument = arguments_[index];
  const bool is_null = value == nullptr || parameter.kind == ParameterKind::local;
  const uint64_t generation = is_address ? device_.driver().allocations().generation() : 0;
  if (argument.is_set && argument.is_null == is_null && argument.generation == generation &&
      argument.bytes.size() == bytes &&
      (is_null || std::memcmp(argument.bytes.data(), value, bytes) == 0))
    return;
  if (is_address && !is_null) check_address(value);
  argument.is_set = false;
  argument.generation = generation;
  argument.is_null = is_null;
  argument.bytes.resize(bytes);
  if (!is_null) std::memcpy(argument.bytes.data(), value, bytes);
  require(give(get(), index));
  argument.is_set = true;
}

// OpenCL on a processor would take any; a card, and so Intel's driver, takes only what it has allocated.
void Kernel::check_address(const void* value) const {
  const void* address = nullptr;
  std::memcpy(&address, value, sizeof address);
  check(address == nullptr || device_.driver().allocations().find(address).has_value(),
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

cl_int Kernel::give(cl_kernel to, uint32_t index) const {
  const Argument& argument = arguments_[index];
  const size_t bytes = argument.bytes.size();
  switch (interface_.parameters[index].kind) {
    case ParameterKind::local: return clSetKernelArg(to, index, bytes, nullptr);
    case ParameterKind::value: return clSetKernelArg(to, index, bytes, argument.bytes.data());
    case ParameterKind::pointer: break;
  }
  void* address = nullptr;
  if (!argument.is_null) std::memcpy(&address, argument.bytes.data(), sizeof address);
  return clSetKernelArgSVMPointer(to, index, address);
}

OwnedKernel Kernel::copy() const {
  OwnedKernel made = make_kernel(program_.get(), interface_.name);
  for (uint32_t i = 0; i < arguments_.size(); ++i) {
    check(arguments_[i].is_set, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    require(give(made.get(), i));
  }
  return made;
}

void Kernel::set_group_size(const uint32_t (&size)[3]) {
  constexpr ze_result_t refused = ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  size_t all = 1;
  for (int i = 0; i < 3; ++i) {
    const uint32_t wanted = interface_.required_group[i];
    check(size[i] != 0 && (wanted == 0 || wanted == size[i]), refused);
    all *= size[i];
    check(all <= max_group_size_, refused);
  }
  std::copy_n(size, 3, group_size_);
}

namespace {

ze_result_t ZE_APICALL kernel_create(ze_module_handle_t module, const ze_kernel_desc_t* description,
                                     ze_kernel_handle_t* to) {
  return guarded([&] {
    Module& in = *from<Module>(module);
    const char* name = required(description).pKernelName;
    required(to) = to_handle<ze_kernel_handle_t>(new Kernel(in, name));
  });
}

ze_result_t ZE_APICALL kernel_destroy(ze_kernel_handle_t kernel) {
  return guarded([&] { delete from<Kernel>(kernel); });
}

ze_result_t ZE_APICALL kernel_set_group_size(ze_kernel_handle_t kernel, uint32_t x, uint32_t y,
                                             uint32_t z) {
  return guarded([&] { from<Kernel>(kernel)->set_group_size({x, y, z}); });
}

// The largest power of two that divides the size, within the limit.
uint32_t divisor(uint32_t size, uint32_t limit) {
  uint32_t found = 1;
  while (2 * found <= limit && size % (2 * found) == 0) found *= 2;
  return found;
}

// Groups of a few lines: long enough to fill vectors, and enough of them for all cores.
ze_result_t ZE_APICALL kernel_suggest_group_size(ze_kernel_handle_t kernel, uint32_t size_x,
                                                 uint32_t size_y, uint32_t size_z, uint32_t* x,
                                                 uint32_t* y, uint32_t* z) {
  return guarded([&] {
    const Kernel& of = *from<Kernel>(kernel);
    check(size_x != 0 && size_y != 0 && size_z != 0,
          ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION);
    required(x);
    required(y);
    required(z);
    const uint32_t* wanted = of.interface().required_group;
    auto left = static_cast<uint32_t>(std::min<size_t>(of.max_group_size(), 256));
    *x = wanted[0] != 0 ? wanted[0] : divisor(size_x, std::min(left, 64u));
    left = std::max(1u, left / *x);
    *y = wanted[1] != 0 ? wanted[1] : divisor(size_y, left);
    left = std::max(1u, left / *y);
    *z = wanted[2] != 0 ? wanted[2] : divisor(size_z, left);
  });
}

ze_result_t ZE_APICALL kernel_set_argument(ze_kernel_handle_t kernel, uint32_t index, size_t bytes,
                                           const void* value) {
  return guarded([&] { from<Kernel>(kernel)->set_argument(index, bytes, value); });
}

// All memory is the host's, so a kernel reaches it by any address. What was asked for is only remembered.
ze_result_t ZE_APICALL kernel_set_indirect_access(ze_kernel_handle_t kernel,
                                                  ze_kernel_indirect_access_flags_t flags) {
  return guarded([&] { from<Kernel>(kernel)->indirect_access = flags; });
}

ze_result_t ZE_APICALL kernel_get_indirect_access(ze_kernel_handle_t kernel,
                                                  ze_kernel_indirect_access_flags_t* flags) {
  return guarded([&] { required(flags) = from<Kernel>(kernel)->indirect_access; });
}

ze_result_t ZE_APICALL kernel_set_cache(ze_kernel_handle_t kernel, ze_cache_config_flags_t) {
  return guarded([&] { from<Kernel>(kernel); });
}

ze_result_t ZE_APICALL kernel_properties(ze_kernel_handle_t kernel, ze_kernel_properties_t* to) {
  return guarded([&] {
    const Kernel& of = *from<Kernel>(kernel);
    const KernelInterface& interface = of.interface();
    required(to).numKernelArgs = static_cast<uint32_t>(interface.parameters.size());
    to->requiredGroupSizeX = interface.required_group[0];
    to->requiredGroupSizeY = interface.required_group[1];
    to->requiredGroupSizeZ = interface.required_group[2];
    to->requiredNumSubGroups = to->requiredSubgroupSize = 0;
    to->maxSubgroupSize = 1;
    to->maxNumSubgroups = static_cast<uint32_t>(of.max_group_size());
    to->localMemSize = static_cast<uint32_t>(group_info<cl_ulong>(of, CL_KERNEL_LOCAL_MEM_SIZE));
    to->privateMemSize =
        static_cast<uint32_t>(group_info<cl_ulong>(of, CL_KERNEL_PRIVATE_MEM_SIZE));
    to->spillMemSize = 0;
    to->uuid = {};
    std::memcpy(to->uuid.kid, interface.name.data(),
                std::min(interface.name.size(), sizeof to->uuid.kid));
  });
}

ze_result_t ZE_APICALL kernel_name(ze_kernel_handle_t kernel, size_t* bytes, char* to) {
  return guarded([&] {
    const std::string& name = from<Kernel>(kernel)->interface().name;
    if (to != nullptr) {
      check(required(bytes) >= name.size() + 1, ZE_RESULT_ERROR_INVALID_SIZE);
      std::memcpy(to, name.c_str(), name.size() + 1);
    }
    required(bytes) = name.size() + 1;
  });
}

}  // namespace

void fill(ze_kernel_dditable_t& table) {
  table.pfnCreate = kernel_create;
  table.pfnDestroy = kernel_destroy;
  table.pfnSetGroupSize = kernel_set_group_size;
  table.pfnSuggestGroupSize = kernel_suggest_group_size;
  table.pfnSetArgumentValue = kernel_set_argument;
  table.pfnSetIndirectAccess = kernel_set_indirect_access;
  table.pfnGetIndirectAccess = kernel_get_indirect_access;
  table.pfnSetCacheConfig = kernel_set_cache;
  table.pfnGetProperties = kernel_properties;
  table.pfnGetName = kernel_name;
}

}  // namespace over_opencl
