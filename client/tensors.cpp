// Tensors: made, read, copied, counted.
#include <backplane/core_ops/creation.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/dlpack.hpp>
#include <backplane/runtime/storage_tensor.hpp>

#include "boundary.hpp"
#include "functions.hpp"

namespace bp::client {
namespace {

Dtype dtype_of(const char* function, std::uint32_t dtype) {
  BP_CHECK(dtype < num_dtypes,
           "{}: {} is not the number of a dtype; pass BP_F32 or another one of abi.h", function,
           dtype);
  return static_cast<Dtype>(dtype);
}

IntList list_of(const char* function, const char* name, std::uint32_t ndim,
                const std::int64_t* list) {
  check_rank(function, ndim);
  if (ndim != 0) check_pointer(function, name, list);
  return {list, ndim};
}

// Where each element lies; row-major if the caller does not say.
class Places {
 public:
  Places(const char* function, std::uint32_t ndim, const std::int64_t* shape,
         const std::int64_t* strides)
      : shape_(list_of(function, "shape", ndim, shape)), row_major_(contiguous_strides(shape_)),
        strides_(strides ? IntList(strides, ndim) : IntList(row_major_)) {}
  IntList shape() const { return shape_; }
  IntList strides() const { return strides_; }

 private:
  IntList shape_;
  Dims row_major_;
  IntList strides_;
};

void check_bytes(const char* function, const Tensor& tensor, const void* memory,
                 std::uint64_t bytes) {
  if (tensor.nbytes() != 0) check_pointer(function, "memory", memory);
  BP_CHECK(bytes == tensor.nbytes(),
           "{}: the memory has {} bytes, and the {} elements of {} have {}", function, bytes,
           tensor.numel(), name(tensor.dtype()), tensor.nbytes());
}

}  // namespace

bp_code empty(std::uint32_t dtype, std::uint32_t ndim, const std::int64_t* shape,
              const std::int64_t* strides, std::uint32_t device, bp_tensor** out) noexcept {
  return guarded("empty", [&] {
    clear_output("empty", "out", out);
    const Dtype type = dtype_of("empty", dtype);
    const IntList sizes = list_of("empty", "shape", ndim, shape);
    *out = give(named("empty", [&] {
      return strides ? empty_strided_tensor(sizes, {strides, ndim}, type, {device})
                     : empty_tensor(sizes, type, {device});
    }));
  });
}

bp_code tensor_from_blob(void* data, std::uint32_t dtype, std::uint32_t ndim,
                         const std::int64_t* shape, const std::int64_t* strides,
                         std::uint32_t device, void (*deleter)(void* context), void* context,
                         bp_tensor** out) noexcept {
  return guarded("tensor_from_blob", [&] {
    clear_output("tensor_from_blob", "out", out);
    const Places places("tensor_from_blob", ndim, shape, strides);
    *out =
        give(bp::tensor_from_blob(data, places.shape(), places.strides(),
                                  dtype_of("tensor_from_blob", dtype), {device}, deleter, context));
  });
}

bp_code tensor_over_storage(bp_storage* storage, std::uint32_t dtype, std::uint32_t ndim,
                            const std::int64_t* shape, const std::int64_t* strides,
                            std::int64_t storage_offset, bp_tensor** out) noexcept {
  return guarded("tensor_over_storage", [&] {
    clear_output("tensor_over_storage", "out", out);
    const Places places("tensor_over_storage", ndim, shape, strides);
    *out = give(bp::tensor_over_storage(reinterpret_cast<Storage*>(storage), places.shape(),
                                        places.strides(), dtype_of("tensor_over_storage", dtype),
                                        storage_offset));
  });
}

bp_code from_dlpack(DLManagedTensorVersioned* managed, std::uint32_t accept_read_only,
                    bp_tensor** out) noexcept {
  return guarded("from_dlpack", [&] {
    clear_output("from_dlpack", "out", out);
    *out = give(bp::from_dlpack(
        managed, {.device = std::nullopt, .accept_read_only = accept_read_only != 0}));
  });
}

bp_code to_dlpack(const bp_tensor* tensor, DLManagedTensorVersioned** out) noexcept {
  return guarded("to_dlpack", [&] {
    clear_output("to_dlpack", "out", out);
    *out = to_dlpack_versioned(share("to_dlpack", "tensor", tensor));
  });
}

void retain(const bp_tensor* tensor) noexcept {
  if (tensor) Tensor::share(TensorImpl::of(tensor)).release();
}

void release(const bp_tensor* tensor) noexcept {
  if (tensor) Tensor::adopt(TensorImpl::of(tensor));  // which drops it
}

bp_code data_ptr(const bp_tensor* tensor, void** out) noexcept {
  return guarded("data_ptr", [&] {
    clear_output("data_ptr", "out", out);
    *out = share("data_ptr", "tensor", tensor).data_ptr();
  });
}

bp_code read(const bp_tensor* tensor, void* to, std::uint64_t bytes) noexcept {
  return guarded("read", [&] {
    const Tensor source = share("read", "tensor", tensor);
    check_bytes("read", source, to, bytes);
    named("read", [&] { copy_to_host_memory(source, to); });
  });
}

bp_code write(const bp_tensor* tensor, const void* from, std::uint64_t bytes) noexcept {
  return guarded("write", [&] {
    const Tensor target = share("write", "tensor", tensor);
    check_bytes("write", target, from, bytes);
    named("write", [&] {
      if (target.is_contiguous() || target.device() == meta_device)
        return copy_from_host_memory(target, from);
      const Tensor dense = empty_tensor(target.shape(), target.dtype(), target.device());
      copy_from_host_memory(dense, from);
      copy_into(target, dense);
    });
  });
}

bp_code to(const bp_tensor* tensor, std::uint32_t device, bp_tensor** out) noexcept {
  return guarded("to", [&] {
    clear_output("to", "out", out);
    *out = give(named("to", [&] { return bp::to(share("to", "tensor", tensor), Device{device}); }));
  });
}

bp_code copy(const bp_tensor* target, const bp_tensor* source) noexcept {
  return guarded("copy", [&] {
    const Tensor to = share("copy", "target", target), from = share("copy", "source", source);
    named("copy", [&] { copy_(to, from); });
  });
}

}  // namespace bp::client
