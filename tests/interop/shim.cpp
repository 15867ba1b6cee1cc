// A few functions of Backplane for ctypes, for as long as it has no Python package. Tensors are `bp::Tensor*`, and what
// fails returns null or -1 with a sentence in shim_error().
#include <optional>
#include <string>

#include <backplane/runtime/dlpack.hpp>
#include <backplane/runtime/interop.hpp>
#include <backplane/tensors.hpp>

#define SHIM extern "C" __attribute__((visibility("default")))

namespace {

thread_local std::string last_error;

template <class Result, class Body> Result guarded(Result failed, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return failed;
  }
}

bp::Tensor* made(bp::Tensor tensor) {
  return new bp::Tensor(std::move(tensor));
}

bp::Device device_of(int number) {
  return {static_cast<std::uint32_t>(number)};
}

// The application's queue as this thread's current stream.
struct Scope {
  bp::Stream stream;
  bp::StreamGuard guard{stream};
};

}  // namespace

SHIM const char* shim_error() {
  return last_error.c_str();
}

SHIM int shim_device(const char* name) {
  return guarded(-1, [&] { return static_cast<int>(bp::device(name).number); });
}

SHIM int shim_dlpack_device(int device, int* type, int* id) {
  return guarded(-1, [&] {
    const bp::DlpackDevice named = bp::dlpack_device(device_of(device));
    *type = named.type;
    *id = named.id;
    return 0;
  });
}

SHIM bp::Tensor* shim_arange(int device, long long count) {
  return guarded<bp::Tensor*>(nullptr, [&] {
    return made(bp::arange(0, static_cast<std::int64_t>(count), 1, bp::f32, device_of(device)));
  });
}

SHIM bp::Tensor* shim_empty(int device, const char* dtype, const long long* shape, int rank) {
  return guarded<bp::Tensor*>(nullptr, [&] {
    bp::Dims dims;
    for (int i = 0; i < rank; ++i) dims.push_back(shape[i]);
    return made(bp::empty_tensor(dims, bp::dtype_from_name(dtype), device_of(device)));
  });
}

SHIM bp::Tensor* shim_transpose(const bp::Tensor* tensor) {
  return guarded<bp::Tensor*>(nullptr, [&] { return made(bp::transpose(*tensor, 0, 1)); });
}

SHIM bp::Tensor* shim_add(const bp::Tensor* a, const bp::Tensor* b) {
  return guarded<bp::Tensor*>(nullptr, [&] { return made(bp::add(*a, *b)); });
}

// Writes `value` into all elements.
SHIM int shim_fill(bp::Tensor* tensor, double value) {
  return guarded(-1, [&] { return bp::fill_(*tensor, value), 0; });
}

SHIM void shim_free(bp::Tensor* tensor) {
  delete tensor;
}

SHIM void* shim_to_dlpack(const bp::Tensor* tensor, int versioned, const std::uint64_t* stream) {
  return guarded<void*>(nullptr, [&]() -> void* {
    bp::DlpackExport options;
    if (stream) options.consumer_stream = *stream;
    if (versioned) return bp::to_dlpack_versioned(*tensor, options);
    return bp::to_dlpack(*tensor, options);
  });
}

SHIM bp::Tensor* shim_from_dlpack(void* managed, int versioned) {
  return guarded<bp::Tensor*>(nullptr, [&] {
    if (versioned) return made(bp::from_dlpack(static_cast<DLManagedTensorVersioned*>(managed)));
    return made(bp::from_dlpack(static_cast<DLManagedTensor*>(managed)));
  });
}

SHIM std::uint64_t shim_address(const bp::Tensor* tensor) {
  return guarded<std::uint64_t>(
      0, [&] { return bp::native_memory(*tensor, BP_NATIVE_ADDRESS).handle.value; });
}

// The queue of the thread's current stream; 0 with an error where there is none.
SHIM std::uint64_t shim_stream(int device) {
  return guarded<std::uint64_t>(
      0, [&] { return bp::native_handle(bp::Stream::current(device_of(device))).value; });
}

SHIM Scope* shim_enter_stream(int device, std::uint64_t queue) {
  return guarded<Scope*>(nullptr, [&] {
    return new Scope{bp::adopt_stream(device_of(device), {{}, queue})};
  });
}

SHIM void shim_leave_stream(Scope* scope) {
  delete scope;
}

SHIM int shim_synchronize(int device) {
  return guarded(-1, [&] { return bp::synchronize(device_of(device)), 0; });
}

SHIM long long shim_live(int device) {
  return guarded(-1LL,
                 [&] { return static_cast<long long>(bp::num_live_storages(device_of(device))); });
}
