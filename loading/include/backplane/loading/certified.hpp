// The level to which the conformance suite has certified a device.
#pragma once

#include <string>
#include <vector>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

struct CertifiedLevel {
  std::string
      profile;  // "L5:f32,f16": the level and the dtypes for which it holds; empty if none is known
  std::string extent;       // of the run: "quick", "normal" or "full"
  std::string device_name;  // the device of the run; if it is another one, the level says less
  std::string issued;       // "2026-11-22T10:00:00Z"
  std::string certificate;  // the file
  std::vector<std::string>
      problems;  // why other certificates that were found do not count, one sentence each
};

// From a certificate for exactly the library that drives `device`, if there is one in the places that docs/conformance.md
// lists. The first call searches for it (and may read the whole library); the result is kept until the plugin is unloaded.
// Throws bad_argument for a device that is not registered. Threads: any.
BP_API CertifiedLevel certified_level(Device device);

}  // namespace bp
