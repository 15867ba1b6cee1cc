// Numbers of the allocator and of waiting that trade one thing for another, each with its unit and what it trades. All were chosen and
// not measured against other values: bench/ holds the allocator as a whole against its peers. Sizes that hardware or a layout gives,
// and limits of what is accepted, stay where they are used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bp::constants {

// ---- Segments from the backend, in bytes: fewer calls of it, against memory that nobody uses

// Requests up to the first share segments of the second size, and those up to the third segments of the fourth. Larger ones get
// their own, of which the backend may keep a pool by itself (bp.stream_memory).
inline constexpr std::uint64_t small_request = 1 << 20, small_segment = 2 << 20;
inline constexpr std::uint64_t medium_request = 8 << 20, medium_segment = 16 << 20;
// What a large request leaves over stays with it below this: such pieces would seldom be used.
inline constexpr std::uint64_t least_rest = std::uint64_t{1} << 20;
// What blocks are multiples of at least, in devices' memory: fewer lists and splinters, against bytes at their ends.
inline constexpr std::uint64_t least_granule = 512;
// Sizes to each power of two of allocations that cannot be cut, so that one fits the next tensor of nearly its size: up to an
// eighth of it is lost. And the smallest step between them.
inline constexpr std::uint64_t whole_sizes = 8, least_whole_step = 64;
// Blocks of one list that are looked at for a better fit: time under the lock, against splinters.
inline constexpr int looked_at = 32;
// Streams that are found busy and not asked again, while blocks are looked through that others may still use.
inline constexpr std::size_t remembered_busy = 16;

// ---- Small blocks, of synchronous devices

// Bytes of a slab, which is cut into blocks of one size, and the least number of these.
inline constexpr std::uint64_t slab_bytes = 32 << 10, least_slab_blocks = 4;
// Free blocks of a class that a thread keeps, for which no lock is taken: so many bytes of them, but so many blocks at least and
// at most. Memory that other threads cannot have.
inline constexpr std::uint64_t thread_cache_bytes = 128 << 10, least_cached_blocks = 32,
                               most_cached_blocks = 128;

// ---- The host's memory, of staging and of plugins

// Freed bytes that are kept for later requests; more go back to the system at once. And the smallest size that is kept apart.
inline constexpr std::uint64_t cached_host_bytes = std::uint64_t{256} << 20, least_host_bytes = 256;

// ---- Waiting

// Microseconds between two looks at a semaphore in the host's memory, since whoever raises it tells nobody: a core's time, against
// how late it is seen.
inline constexpr int semaphore_look_us = 50;

}  // namespace bp::constants
