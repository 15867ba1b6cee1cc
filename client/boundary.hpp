// What every function for C does at the boundary: checks its pointers, clears what it writes, and turns exceptions into codes.
#pragma once

#include <algorithm>
#include <cstring>

#include <backplane/backplane_client.h>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::client {

// Keeps the exception that is being handled as this thread's last error; `function` is named where it says nothing itself.
bp_code keep_error(const char* function) noexcept;

// Runs `f`; nothing that it throws gets out.
template <class F> bp_code guarded(const char* function, F&& f) noexcept {
  try {
    f();
    return BP_OK;
  } catch (...) {
    return keep_error(function);
  }
}

template <class T> void check_pointer(const char* function, const char* name, const T* pointer) {
  BP_CHECK(pointer, "{}: '{}' is NULL; pass the address of one", function, name);
}

template <class T> void clear_output(const char* function, const char* name, T* out) {
  check_pointer(function, name, out);
  *out = T{};
}

// Writes as much of `value` as the caller's struct has room for, after its header.
template <class T> void fill_struct(const char* function, const T& value, T* out) {
  check_pointer(function, "out", out);
  BP_CHECK(out->h.size >= sizeof(bp_header),
           "{}: out->h.size is {}; set it to the size of the struct", function, out->h.size);
  const std::size_t end = std::min<std::size_t>(out->h.size, sizeof(T));
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(bp_header),
              reinterpret_cast<const char*>(&value) + sizeof(bp_header), end - sizeof(bp_header));
}

// A handle to the caller's tensor.
inline Tensor share(const char* function, const char* name, const bp_tensor* tensor) {
  check_pointer(function, name, tensor);
  return Tensor::share(TensorImpl::of(tensor));
}

// The caller's from now on.
inline bp_tensor* give(Tensor&& tensor) {
  TensorImpl* impl = tensor.release();
  return impl ? &impl->abi : nullptr;
}

// Text that outlives what it names.
const char* kept_text(std::string_view text);

}  // namespace bp::client
