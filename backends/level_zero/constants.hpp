// Numbers of the Level Zero plugin that trade one thing for another: each with its unit and what it trades. All were chosen and not
// measured against other values. What follows from a device or from the driver's interface stays where it is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace level_zero::constants {

// ---- matmul: what a work-item holds in registers, rows and vectors of 8 results of each. More use every factor more often; a
// processor's 16 to 32 vector registers take 8 or 16 sums, their factors and a row, and a GPU's work-item has fewer.
struct MatmulBlock {
  uint32_t height, vectors;
};
inline constexpr MatmulBlock block_of_gpu{4, 1};
inline constexpr MatmulBlock block_of_64_bytes{8, 2};  // by the bytes of a processor's vectors
inline constexpr MatmulBlock block_of_fewer_bytes{4, 2};

// ---- What is kept

// Events of a pool, made at once: calls of the driver, against memory.
inline constexpr uint32_t events_of_pool = 64;
// Events that wait for their signal and are looked at, for one that can be used again, before a new one is made: those that were
// retired first are signalled first, up to the order of streams.
inline constexpr size_t looked_at_events = 4;
// Command lists of a stream that the driver orders by itself, after which the oldest is waited for: memory, against the caller's time.
inline constexpr size_t most_lists = 256;

}  // namespace level_zero::constants
