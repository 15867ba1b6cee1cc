// Counts what ran where, per operator, backend and rung (the way in which a call is served). Always on.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <backplane/runtime/device_registry.hpp>

namespace bp {

// Where a call was served, best first. The values are slots in the counters.
enum class Rung : std::uint8_t {
  native,
  legalized,   // dtype or layout converted for a kernel of the device
  generated,   // by the device's compiler
  decomposed,  // into kernels of the device
  host,
  view,  // only metadata
  none,  // an error: nothing could serve the call
};
inline constexpr std::uint32_t num_rungs = 8;  // one to spare: a power of two makes a slot a shift

BP_API const char* name(Rung rung);
BP_API std::ostream& operator<<(std::ostream& stream, Rung rung);

struct CallCount {
  std::string op;
  std::string backend;
  std::uint64_t calls[num_rungs] = {};
};

// All counts so far, over all threads, without the calls that a fallback makes inside. Joined operators (chain.hpp) that
// are gone share one row per backend, "joined".
BP_API std::vector<CallCount> call_counts();
BP_API void reset_call_counts();

// Why the first call of an operator on a backend that took this rung was not served by a better one, and what to do:
// "no kernel of softmax; exp and sum have none either; register softmax, or these".
struct CallReason {
  std::string op, backend;
  Rung rung = Rung::none;
  std::string why;
};
// Since the process began; reset_call_counts() does not clear them.
BP_API std::vector<CallReason> call_reasons();

// Copies between a device and host memory, or directly between devices, including those for calls that the host served
// and those that read values. `from` and `to` are names of devices, or "host". Copies on the host's own device don't count.
struct CopyCount {
  std::string from, to;
  std::uint64_t copies = 0, bytes = 0;
};
BP_API std::vector<CopyCount> copy_counts();

// All calls so far, over all threads and including those inside others, of kernels that do not declare
// BP_KERNEL_DETERMINISTIC: their results may have different bits each time.
BP_API std::uint64_t varying_calls();
// The counts as a table for people to read.
BP_API std::string format_call_counts();

}  // namespace bp
