// Numbers of the dispatcher that trade one thing for another, each with its unit and what it trades. All were chosen and not measured
// against other values. Limits of what is accepted, and sizes that follow from an interface, stay where they are used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bp::constants {

// Elements of all tensors of a call from which two kernels are compared by measuring them: below, the first measurement costs
// more than the choice can give back.
inline constexpr std::int64_t measured_elements = std::int64_t{1} << 15;
// Plans of one kernel: a network's layers and a few sizes of batches. Each is some hundred bytes, and what the kernel keeps.
inline constexpr std::size_t plans_of_kernel = 256;
// Bytes up to which a fill of memory that the host can write is done in place, without a kernel: beyond, one is as fast.
inline constexpr std::uint64_t filled_in_place_bytes = 1024;
// Names of ended chains that late errors can still be traced to: memory, against a message without a name.
inline constexpr std::size_t former_chains = 1024;
// Chains for a backend that cannot release their kernels: each stays as long as the process, and further ones run step by step.
inline constexpr int chains_that_stay = 1024;

}  // namespace bp::constants
