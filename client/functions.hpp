// The functions of the table, as backplane_client.h describes them.
#pragma once

#include <backplane/backplane_client.h>

namespace bp::client {

// errors.cpp
const char* error_message() noexcept;
uint32_t error_is_late() noexcept;

// devices.cpp
bp_code load_plugin(const char* path, const char** name) noexcept;
bp_code load_all_plugins() noexcept;
bp_code unload_plugin(const char* name) noexcept;
bp_code find_device(const char* name, uint32_t* device) noexcept;
bp_code devices(uint32_t* count, uint32_t* devices) noexcept;
bp_code device_name(uint32_t device, const char** name) noexcept;
bp_code describe_device(uint32_t device, bp_device_info* out) noexcept;
bp_code synchronize(uint32_t device) noexcept;

// tensors.cpp
bp_code empty(uint32_t dtype, uint32_t ndim, const int64_t* shape, const int64_t* strides,
              uint32_t device, bp_tensor** out) noexcept;
bp_code tensor_from_blob(void* data, uint32_t dtype, uint32_t ndim, const int64_t* shape,
                         const int64_t* strides, uint32_t device, void (*deleter)(void* context),
                         void* context, bp_tensor** out) noexcept;
bp_code tensor_over_storage(bp_storage* storage, uint32_t dtype, uint32_t ndim,
                            const int64_t* shape, const int64_t* strides, int64_t storage_offset,
                            bp_tensor** out) noexcept;
bp_code from_dlpack(DLManagedTensorVersioned* managed, uint32_t accept_read_only,
                    bp_tensor** out) noexcept;
bp_code to_dlpack(const bp_tensor* tensor, DLManagedTensorVersioned** out) noexcept;
void retain(const bp_tensor* tensor) noexcept;
void release(const bp_tensor* tensor) noexcept;
bp_code data_ptr(const bp_tensor* tensor, void** out) noexcept;
bp_code read(const bp_tensor* tensor, void* to, uint64_t bytes) noexcept;
bp_code write(const bp_tensor* tensor, const void* from, uint64_t bytes) noexcept;
bp_code to(const bp_tensor* tensor, uint32_t device, bp_tensor** out) noexcept;
bp_code copy(const bp_tensor* target, const bp_tensor* source) noexcept;

// storages.cpp
bp_code allocate_storage(uint32_t device, uint64_t bytes, bp_storage** out) noexcept;
bp_code storage_of(const bp_tensor* tensor, bp_storage** out) noexcept;
bp_code describe_storage(const bp_storage* storage, bp_storage_info* out) noexcept;
void retain_storage(bp_storage* storage) noexcept;
void release_storage(bp_storage* storage) noexcept;

// operators.cpp
bp_code find_operator(const char* name, const bp_operator** out) noexcept;
bp_code find_argument(const bp_operator* op, const char* name, uint32_t* position) noexcept;
bp_code count_results(const bp_operator* op, const bp_value* args, uint32_t num_args,
                      uint32_t* count) noexcept;
bp_code call(const bp_operator* op, const bp_value* args, uint32_t num_args, bp_tensor** results,
             uint32_t num_results) noexcept;
bp_code manual_seed(uint64_t seed) noexcept;

// streams.cpp
bp_code create_stream(uint32_t device, int32_t priority, uint32_t* stream) noexcept;
bp_code release_stream(uint32_t device, uint32_t stream) noexcept;
bp_code current_stream(uint32_t device, uint32_t* stream) noexcept;
bp_code set_stream(uint32_t device, uint32_t stream) noexcept;
bp_code query_stream(uint32_t device, uint32_t stream, uint32_t* is_idle) noexcept;
bp_code synchronize_stream(uint32_t device, uint32_t stream) noexcept;
bp_code wait_stream(uint32_t device, uint32_t stream, uint32_t passed) noexcept;

}  // namespace bp::client
