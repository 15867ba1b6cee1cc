// The part of ONNX Runtime's C interface that this library uses, after its documentation: functions are found by their places in
// three tables, to which releases only add. Structures that we fill in have the members of version 1.23, which is what we say.
#pragma once

#include <cstddef>
#include <cstdint>

struct OrtAllocator;
struct OrtDataTransferImpl;
struct OrtEp;
struct OrtEpDevice;
struct OrtEpFactory;
struct OrtEpGraphSupportInfo;
struct OrtGraph;
struct OrtHardwareDevice;
struct OrtKernelContext;
struct OrtKeyValuePairs;
struct OrtLogger;
struct OrtMemoryDevice;
struct OrtMemoryInfo;
struct OrtNode;
struct OrtNodeComputeContext;
struct OrtNodeComputeInfo;
struct OrtOpAttr;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtSyncNotificationImpl;
struct OrtSyncStream;
struct OrtSyncStreamImpl;
struct OrtTensorTypeAndShapeInfo;
struct OrtTypeInfo;
struct OrtValue;
struct OrtValueInfo;

namespace bp::onnx {

// The oldest version that has all of this.
inline constexpr std::uint32_t interface_version = 23;

using AnyFunction = void (*)();
struct ApiTables {
  const AnyFunction* main = nullptr;
  const AnyFunction* provider = nullptr;
};
// Set once, before any other function of the library runs.
inline ApiTables tables;

template <const AnyFunction* ApiTables::*table, std::size_t place, class Signature> struct Function;
template <const AnyFunction* ApiTables::*table, std::size_t place, class Result, class... Args>
struct Function<table, place, Result(Args...)> {
  Result operator()(Args... args) const {
    return reinterpret_cast<Result (*)(Args...)>((tables.*table)[place])(args...);
  }
};
template <std::size_t place, class Signature>
using Main = Function<&ApiTables::main, place, Signature>;
template <std::size_t place, class Signature>
using Provider = Function<&ApiTables::provider, place, Signature>;
using Status = OrtStatus*;

enum ErrorCode : int { failed = 1, invalid_argument = 2, not_implemented = 9 };
enum DeviceType : int { cpu_type = 0, gpu_type = 1, npu_type = 2 };
enum MemoryDeviceType : int { cpu_memory = 0, gpu_memory = 1 };
enum MemoryType : int { default_memory = 0 };
enum AllocatorType : int { device_allocator = 0 };
enum AttributeType : int {
  int_attribute = 1,
  ints_attribute,
  float_attribute,
  floats_attribute,
  string_attribute,
  strings_attribute,
  graph_attribute,
  tensor_attribute,
};

// clang-format off: a table
namespace ort {
inline constexpr Main<0, Status(int code, const char* message)> create_status;
inline constexpr Main<2, const char*(const OrtStatus*)> error_message;
inline constexpr Main<93, void(OrtStatus*)> release_status;

inline constexpr Main<51, Status(OrtValue*, void** data)> mutable_data;
inline constexpr Main<55, Status(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**)>
    tensor_info_of_type;
inline constexpr Main<60, Status(const OrtTensorTypeAndShapeInfo*, int* type)> element_type;
inline constexpr Main<61, Status(const OrtTensorTypeAndShapeInfo*, std::size_t* count)>
    num_dimensions;
inline constexpr Main<62, Status(const OrtTensorTypeAndShapeInfo*, std::int64_t* sizes,
                                 std::size_t count)>
    dimensions;
inline constexpr Main<65, Status(const OrtValue*, OrtTensorTypeAndShapeInfo**)>
    tensor_info_of_value;
inline constexpr Main<99, void(OrtTensorTypeAndShapeInfo*)> release_tensor_info;
inline constexpr Main<318, Status(const OrtValue*, std::size_t* bytes)> tensor_bytes;

inline constexpr Main<72, Status(const OrtMemoryInfo*, int* id)> memory_info_id;
inline constexpr Main<94, void(OrtMemoryInfo*)> release_memory_info;
inline constexpr Main<320, Status(const char* name, int device_type, std::uint32_t vendor, int id,
                                  int memory_type, std::size_t alignment, int allocator_type,
                                  OrtMemoryInfo**)>
    create_memory_info;

inline constexpr Main<88, Status(const OrtKernelContext*, std::size_t* count)> num_context_inputs;
inline constexpr Main<90, Status(const OrtKernelContext*, std::size_t index, const OrtValue**)>
    context_input;
inline constexpr Main<91, Status(OrtKernelContext*, std::size_t index, const std::int64_t* sizes,
                                 std::size_t count, OrtValue**)>
    context_output;
// The handle of the provider's own stream, or null.
inline constexpr Main<193, Status(const OrtKernelContext*, void** handle)> context_stream;

inline constexpr Main<272, Status(const OrtOpAttr*, int type, void* data, std::size_t bytes,
                                  std::size_t* needed)>
    read_attribute;
inline constexpr Main<289, Status(const OrtValueInfo*, const char** name)> value_name;
inline constexpr Main<290, Status(const OrtValueInfo*, const OrtTypeInfo**)> value_type;
inline constexpr Main<295, void(OrtKeyValuePairs**)> create_pairs;
inline constexpr Main<296, void(OrtKeyValuePairs*, const char* key, const char* value)> add_pair;
inline constexpr Main<297, const char*(const OrtKeyValuePairs*, const char* key)> value_of_key;
inline constexpr Main<300, void(OrtKeyValuePairs*)> release_pairs;
inline constexpr Main<307, int(const OrtHardwareDevice*)> hardware_type;
inline constexpr Main<317, const AnyFunction*()> provider_table;

inline constexpr Main<326, Status(const OrtValueInfo*, const OrtValue**)> initializer_value;
inline constexpr Main<331, Status(const OrtValueInfo*, bool*)> is_constant;
inline constexpr Main<344, Status(const OrtGraph*, std::size_t*)> num_nodes;
inline constexpr Main<345, Status(const OrtGraph*, const OrtNode**, std::size_t)> nodes;
inline constexpr Main<349, Status(const OrtNode*, const char**)> node_name;
inline constexpr Main<350, Status(const OrtNode*, const char**)> operator_type;
inline constexpr Main<351, Status(const OrtNode*, const char**)> operator_domain;
inline constexpr Main<352, Status(const OrtNode*, int*)> since_version;
inline constexpr Main<353, Status(const OrtNode*, std::size_t*)> num_inputs;
inline constexpr Main<354, Status(const OrtNode*, const OrtValueInfo**, std::size_t)> inputs;
inline constexpr Main<355, Status(const OrtNode*, std::size_t*)> num_outputs;
inline constexpr Main<356, Status(const OrtNode*, const OrtValueInfo**, std::size_t)> outputs;
inline constexpr Main<359, Status(const OrtNode*, std::size_t*)> num_attributes;
inline constexpr Main<360, Status(const OrtNode*, const OrtOpAttr**, std::size_t)> attributes;
inline constexpr Main<362, Status(const OrtOpAttr*, OrtValue**)> tensor_of_attribute;
inline constexpr Main<363, Status(const OrtOpAttr*, int*)> attribute_type;
inline constexpr Main<364, Status(const OrtOpAttr*, const char**)> attribute_name;
inline constexpr Main<365, Status(const OrtNode*, std::size_t*)> num_subgraphs;
inline constexpr Main<368, Status(const OrtNode*, const char**)> provider_of_node;
inline constexpr Main<96, void(OrtValue*)> release_value;

inline constexpr Provider<0,
                          Status(OrtEpFactory*, const OrtHardwareDevice*, const OrtKeyValuePairs*,
                                 const OrtKeyValuePairs*, OrtEpDevice**)>
    create_device;
struct FusionOptions {
  std::uint32_t version = interface_version;
  bool drop_constants = false;
};
inline constexpr Provider<2, Status(OrtEpGraphSupportInfo*, const OrtNode* const*, std::size_t,
                                    const FusionOptions*)>
    add_nodes_to_fuse;
inline constexpr Provider<5, Status(OrtEpDevice*, const OrtMemoryInfo*)> add_memory;
inline constexpr Provider<7, const OrtMemoryDevice*(const OrtValue*)> memory_of_value;
inline constexpr Provider<9, int(const OrtMemoryDevice*)> memory_device_type;
inline constexpr Provider<11, std::uint32_t(const OrtMemoryDevice*)> memory_vendor;
inline constexpr Provider<12, std::uint32_t(const OrtMemoryDevice*)> memory_device_id;
inline constexpr Provider<13, const OrtSyncStreamImpl*(const OrtSyncStream*)> impl_of_stream;
}  // namespace ort
// clang-format on

}  // namespace bp::onnx

struct OrtApiBase {
  const bp::onnx::AnyFunction* (*get_api)(std::uint32_t version);
  const char* (*version_string)();
};

// What we fill in, in their order of members.
struct OrtEpFactory {
  std::uint32_t version = bp::onnx::interface_version;
  const char* (*name)(const OrtEpFactory*) = nullptr;
  const char* (*vendor)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*supported_devices)(OrtEpFactory*, const OrtHardwareDevice* const*, std::size_t,
                                  OrtEpDevice**, std::size_t max, std::size_t* num) = nullptr;
  OrtStatus* (*create)(OrtEpFactory*, const OrtHardwareDevice* const*,
                       const OrtKeyValuePairs* const*, std::size_t, const OrtSessionOptions*,
                       const OrtLogger*, OrtEp**) = nullptr;
  void (*release)(OrtEpFactory*, OrtEp*) = nullptr;
  std::uint32_t (*vendor_id)(const OrtEpFactory*) = nullptr;
  const char* (*provider_version)(const OrtEpFactory*) = nullptr;
  void* validate_compiled_model = nullptr;
  OrtStatus* (*create_allocator)(OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                 OrtAllocator**) = nullptr;
  void (*release_allocator)(OrtEpFactory*, OrtAllocator*) = nullptr;
  OrtStatus* (*create_data_transfer)(OrtEpFactory*, OrtDataTransferImpl**) = nullptr;
  bool (*is_stream_aware)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*create_stream)(OrtEpFactory*, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                              OrtSyncStreamImpl**) = nullptr;
};

struct OrtEp {
  std::uint32_t version = bp::onnx::interface_version;
  const char* (*name)(const OrtEp*) = nullptr;
  OrtStatus* (*capability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*) = nullptr;
  OrtStatus* (*compile)(OrtEp*, const OrtGraph**, const OrtNode** fused, std::size_t count,
                        OrtNodeComputeInfo**, OrtNode** context_nodes) = nullptr;
  void (*release_compute)(OrtEp*, OrtNodeComputeInfo**, std::size_t) = nullptr;
  void* preferred_layout = nullptr;
  void* convert_layout = nullptr;
  void* set_options = nullptr;
  void* run_start = nullptr;
  void* run_end = nullptr;
  void* create_allocator = nullptr;
  void* create_stream = nullptr;
  void* compatibility = nullptr;
};

struct OrtNodeComputeInfo {
  std::uint32_t version = bp::onnx::interface_version;
  OrtStatus* (*create_state)(OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) = nullptr;
  OrtStatus* (*compute)(OrtNodeComputeInfo*, void* state, OrtKernelContext*) = nullptr;
  void (*release_state)(OrtNodeComputeInfo*, void* state) = nullptr;
};

struct OrtAllocator {
  std::uint32_t version = bp::onnx::interface_version;
  void* (*allocate)(OrtAllocator*, std::size_t bytes) = nullptr;
  void (*free)(OrtAllocator*, void*) = nullptr;
  const OrtMemoryInfo* (*info)(const OrtAllocator*) = nullptr;
  void* (*reserve)(OrtAllocator*, std::size_t bytes) = nullptr;
  void* statistics = nullptr;
  void* allocate_on_stream = nullptr;
};

struct OrtDataTransferImpl {
  std::uint32_t version = bp::onnx::interface_version;
  void (*release)(OrtDataTransferImpl*) = nullptr;
  bool (*can_copy)(const OrtDataTransferImpl*, const OrtMemoryDevice* from,
                   const OrtMemoryDevice* to) = nullptr;
  // `streams` is null, or null at the places of copies that must be done on return.
  OrtStatus* (*copy)(OrtDataTransferImpl*, const OrtValue** from, OrtValue** to,
                     OrtSyncStream** streams, std::size_t count) = nullptr;
};

struct OrtSyncStreamImpl {
  std::uint32_t version = bp::onnx::interface_version;
  void (*release)(OrtSyncStreamImpl*) = nullptr;
  void* (*handle)(OrtSyncStreamImpl*) = nullptr;
  OrtStatus* (*create_notification)(OrtSyncStreamImpl*, OrtSyncNotificationImpl**) = nullptr;
  OrtStatus* (*flush)(OrtSyncStreamImpl*) = nullptr;
  OrtStatus* (*end_run)(OrtSyncStreamImpl*) = nullptr;
};

struct OrtSyncNotificationImpl {
  std::uint32_t version = bp::onnx::interface_version;
  void (*release)(OrtSyncNotificationImpl*) = nullptr;
  OrtStatus* (*activate)(OrtSyncNotificationImpl*) = nullptr;
  OrtStatus* (*wait_on_device)(OrtSyncNotificationImpl*, OrtSyncStream* consumer) = nullptr;
  OrtStatus* (*wait_on_host)(OrtSyncNotificationImpl*) = nullptr;
};
