// Moving and filling bytes of host memory at the speed of the memory. Kernels use these too.
#pragma once

#include <cstdint>

namespace bp::cpu {

// As memcpy. Large blocks are copied by several threads, past the caches.
void copy_bytes(void* to, const void* from, uint64_t bytes);

// Repeats `pattern`, of 1, 2, 4, 8 or 16 bytes, over `to`. `bytes` need not be a multiple of its size.
void fill_bytes(void* to, uint64_t bytes, const void* pattern, uint32_t pattern_bytes);

}  // namespace bp::cpu
