// Counts what this thread takes from the heap, and lets a chosen allocation fail. In programs of the sanitizers, which
// have allocators of their own, only operator new is seen.
#pragma once

#include <cstdint>

namespace bp::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sees_malloc = false;
#else
inline constexpr bool sees_malloc = true;
#endif

// Of this thread, since it began.
std::uint64_t heap_allocations();

// The n-th allocation from now on this thread fails, once; 0: none does.
void fail_heap_allocation(std::uint64_t n);
// Has it come to that?
bool heap_allocation_failed();

}  // namespace bp::test
