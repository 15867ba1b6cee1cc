// A stream of a software device that does nothing before the test lets it go, while the device's other streams work on.
#pragma once

#include <chrono>
#include <future>
#include <utility>

#include <backplane/extensions/reference.h>
#include <backplane/runtime/stream.hpp>

#include "dispatcher/calls.hpp"

namespace bp::test {

class HeldStream {
 public:
  explicit HeldStream(Device device) : stream_(device) {
    const bp_plugin& plugin = *device_record(device).backend->plugin;
    const bp_header* found = plugin.extension(plugin.self, BP_REFERENCE_NATIVE, 1);
    const auto& native = *reinterpret_cast<const bp_reference_native*>(found);
    const auto queue = reinterpret_cast<std::uint64_t>(stream_.impl()->raw.load());
    const auto wait = [](void* self) { static_cast<HeldStream*>(self)->wait(); };
    EXPECT_EQ(native.give(queue, wait, this), BP_OK);
  }
  // Whatever the test has come to: work that never ends would end no test.
  ~HeldStream() { let_go(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  const Stream& stream() const { return stream_; }
  // And waits for all that it was given meanwhile.
  void let_go() {
    if (std::exchange(is_held_, false)) gate_.set_value();
    stream_.synchronize();
  }

 private:
  void wait() {
    // A test that waits for the stream while it is held shall fail, and not hang.
    if (opened_.wait_for(std::chrono::seconds(20)) == std::future_status::timeout)
      ADD_FAILURE() << "something waits for a stream that is held";
  }

  Stream stream_;
  bool is_held_ = true;
  std::promise<void> gate_;
  std::future<void> opened_ = gate_.get_future();
};

}  // namespace bp::test
