// Numbers of calls (bp_call.number): an error of work that was queued long before can so name its
// call.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/runtime/stream.hpp>

namespace bp {

inline constexpr unsigned call_count_bits = 40;

// For a call that is about to be given to `stream`. Threads: any; two that give work to one stream at the same moment may
// get the same number, and their errors are then told apart by the operator alone.
inline std::uint64_t next_call_number(StreamImpl& stream, std::uint32_t operator_id) {
  const std::uint64_t count = stream.num_calls.load(std::memory_order_relaxed) + 1;
  stream.num_calls.store(count, std::memory_order_relaxed);
  return (std::uint64_t{operator_id} + 1) << call_count_bits |
         (count & ((std::uint64_t{1} << call_count_bits) - 1));
}

// The room that knows the operators says what their numbers mean: a name, or nothing for an unknown
// number.
BP_API void name_operators_with(std::string (*name_of)(std::uint32_t operator_id));

// "relu", and what stands for the call itself, as "call 12 of its stream"; an empty name for an unknown number.
struct CallName {
  std::string name, which;
};
BP_API CallName name_of_call(std::uint64_t number);

}  // namespace bp
