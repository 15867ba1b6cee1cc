// What tests see of the npu: its extension "npu.hooks".
#pragma once

#include <backplane/abi.h>

namespace npu {

struct Hooks {
  bp_header h;
  uint64_t (*num_pinned)(bp_device* device);      // blocks of pinned memory
  uint64_t (*num_registered)(bp_device* device);  // pieces of the application's memory
};

}  // namespace npu
