// Level Zero's handles are addresses of our objects. Every entry point runs inside guarded(), takes its handles by
// from<T>() and its pointers by required(), and so answers a null, a wrong or a destroyed one instead of following it.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include "opencl.hpp"

namespace over_opencl {

// First base of every object behind a handle. The tag tells the kinds apart and is gone after the destructor, so that
// most uses of a dead handle are seen as well.
template <class T> class Tagged {
 public:
  Tagged() : tag_(&kind) {}
  ~Tagged() { *const_cast<const void* volatile*>(&tag_) = nullptr; }
  Tagged(const Tagged&) = delete;
  Tagged& operator=(const Tagged&) = delete;

  bool is_alive() const { return tag_ == &kind; }

 private:
  static inline const char kind = 0;  // its address is what counts
  const void* tag_;
};

template <class T, class Handle> T* from(Handle handle) {
  auto* tagged = reinterpret_cast<Tagged<T>*>(handle);
  if (tagged == nullptr || !tagged->is_alive()) throw Failure{ZE_RESULT_ERROR_INVALID_NULL_HANDLE};
  return static_cast<T*>(tagged);
}

template <class Handle, class T> Handle to_handle(T* object) {
  return reinterpret_cast<Handle>(static_cast<Tagged<T>*>(object));
}

template <class T> T& required(T* pointer) {
  if (pointer == nullptr) throw Failure{ZE_RESULT_ERROR_INVALID_NULL_POINTER};
  return *pointer;
}

inline void required(const void* pointer) {
  if (pointer == nullptr) throw Failure{ZE_RESULT_ERROR_INVALID_NULL_POINTER};
}

inline void check(bool condition, ze_result_t otherwise) {
  if (!condition) throw Failure{otherwise};
}

// The body of an entry point: returns nothing, which is a success, or a result.
template <class Body> ze_result_t guarded(Body body) {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return ZE_RESULT_SUCCESS;
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    return failure.result;
  } catch (const std::bad_alloc&) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  } catch (...) {
    return ZE_RESULT_ERROR_UNKNOWN;
  }
}

// Level Zero's way to hand out a list: `count` says how many fit and becomes how many there are or were written.
template <class Write>
void write_list(uint32_t* count, bool wanted, uint32_t available, Write write) {
  required(count);
  if (*count == 0 || !wanted) {
    *count = available;
    return;
  }
  if (*count > available) *count = available;
  for (uint32_t i = 0; i < *count; ++i) write(i);
}

}  // namespace over_opencl
