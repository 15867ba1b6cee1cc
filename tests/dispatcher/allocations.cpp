#include "dispatcher/allocations.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t allocations = 0, fails_at = 0;
thread_local bool failed = false;

bool may_allocate() {
  ++allocations;
  if (fails_at == 0 || allocations != fails_at) return true;
  fails_at = 0;
  failed = true;
  return false;
}

}  // namespace

namespace bp::test {

std::uint64_t heap_allocations() {
  return allocations;
}
void fail_heap_allocation(std::uint64_t n) {
  fails_at = n == 0 ? 0 : allocations + n;
  failed = false;
}
bool heap_allocation_failed() {
  return failed;
}

}  // namespace bp::test

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void* operator new(std::size_t bytes) {
  void* ptr = may_allocate() ? std::malloc(bytes) : nullptr;
  if (ptr == nullptr) throw std::bad_alloc();
  return ptr;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return may_allocate() ? std::malloc(bytes) : nullptr;
}
void operator delete(void* ptr) noexcept {
  std::free(ptr);
}
void operator delete(void* ptr, std::size_t) noexcept {
  std::free(ptr);
}

#else

// In place of the C library's, for all libraries of the process.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  if (may_allocate()) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t bytes) {
  if (may_allocate()) return __libc_calloc(count, bytes);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* ptr, std::size_t bytes) {
  if (may_allocate()) return __libc_realloc(ptr, bytes);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (may_allocate()) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  *out = may_allocate() ? __libc_memalign(alignment, bytes) : nullptr;
  return *out ? 0 : ENOMEM;
}
}

#endif
