// Order between a stream and something outside of Backplane: another device, interface or process.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <backplane/extensions/semaphores.h>
#include <backplane/runtime/interop.hpp>
#include <backplane/runtime/stream.hpp>

namespace bp {

struct SemaphoreState;

// A number that only rises: streams wait for it and raise it, and so do others. A device takes those kinds that its
// plugin's "bp.semaphores" names. BP_SEMAPHORE_HOST, 8 bytes of the host's memory, works with every
// device: without the extension the caller waits for it. Threads: any.
class BP_API Semaphore {
 public:
  // One of the device's own, from 0.
  explicit Semaphore(Device device);
  // Another's, {BP_SEMAPHORE_OPAQUE_FD, descriptor}: a descriptor is the device's from here on, unless this throws; memory
  // outlives the semaphore and the streams that use it. Throws unsupported, naming the kinds that there are, and what the
  // plugin says.
  Semaphore(Device device, const NativeHandle& native);
  Semaphore(Semaphore&& other) noexcept;
  // Streams may still be using it when this is destroyed.
  ~Semaphore();

  // Later work of `stream`, which is the device's, waits until the number is `value` or more; the caller does not.
  void wait(const Stream& stream, std::uint64_t value) const;
  // The number becomes `value` after all that `stream` was given before, also where that failed.
  void signal(const Stream& stream, std::uint64_t value) const;

  // For others. An empty `kind` is the device's first. A descriptor is the caller's, to close.
  NativeHandle native(std::string_view kind = {}) const;

 private:
  std::shared_ptr<SemaphoreState> state_;
};

}  // namespace bp
