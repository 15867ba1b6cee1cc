// What the kernels of `planned` tell the test, in memory of the test's, which outlives the plugin; and what they are told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <backplane/abi.h>

namespace planned {

struct Witness {
  // Set by the test.
  std::atomic<bp_code> answer{BP_OK};                // of the kernel that plans
  std::atomic<uint64_t> workspace{0}, alignment{0};  // what it asks for
  std::atomic<int> milliseconds{0};                  // that planning takes
  // Set by the kernels.
  std::atomic<int> num_asked{0}, num_made{0}, num_released{0};
  std::atomic<int> num_planned_runs{0}, num_plain_runs{0};
  std::atomic<int> num_wrong{0};  // runs with the plan of another class, or one that was released
  std::atomic<uint64_t> last_offset{0}, last_bytes{0};  // of the workspace
};

// The extension "planned.witness": null takes it away.
struct WitnessStand {
  bp_header h;
  void (*listen)(Witness* witness);
};

}  // namespace planned
