// Work that waits for another process, as a collective's does, and what must not wait for it meanwhile.
//
// Two processes that wait for each other hang: one waits for the other's collective, the other in a
// driver's call that waits for all work of its card. A backend says with BP_DEVICE_NO_HIDDEN_WAITS
// that none of its functions does so (with BP_DEVICE_NO_MEMORY_WAITS: allocate and release do not).
// Where it says nothing the core keeps quiet: it waits itself, for the foreign work alone, before
// it gives the device an allocation, a release or a kernel that is new to it.
#pragma once

#include <cstdint>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/runtime/stream.hpp>

namespace bp {

// Says that the last work of `stream` waits for another process. Call it right after submitting that work. Threads: any.
BP_API void note_foreign_work(const Stream& stream);

// What a device may be given that waits for all that it is doing: allocations and releases of its memory; and the rest,
// which is kernels that are new to it and pinned memory of the host.
enum class MayWait : std::uint8_t { memory, the_rest };

namespace detail {
BP_API void wait_until_quiet(DeviceRecord& record, MayWait what) noexcept;
BP_API void note_first_run(DeviceRecord& record, std::uint64_t& ran_on) noexcept;
}  // namespace detail

// Returns once no foreign work is pending on any device of the backend; at once if nothing waits
// for it. Before each allocation, release, compilation and loading.
inline void wait_until_quiet(DeviceRecord& record, MayWait what) noexcept {
  if (record.backend && record.backend->num_foreign.load(std::memory_order_relaxed) != 0)
      [[unlikely]]
    detail::wait_until_quiet(record, what);
}

// Before a kernel runs on an asynchronous device: `ran_on` has a bit for each device of its backend that it has run on.
inline void note_run(DeviceRecord& record, std::uint64_t& ran_on) noexcept {
  const std::uint64_t known = __atomic_load_n(&ran_on, __ATOMIC_RELAXED);
  if (!(known >> record.index & 1)) [[unlikely]]
    detail::note_first_run(record, ran_on);
}

}  // namespace bp
