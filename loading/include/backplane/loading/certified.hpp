// How far a device has been certified by the conformance suite: its level, as a property of it.
#pragma once

#include <string>
#include <vector>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

struct CertifiedLevel {
  std::string
      profile;  // "L5:f32,f16": the level, and the dtypes in which it holds; empty: none is known
  std::string extent;       // of the run: "quick", "normal" or "full"
  std::string device_name;  // on which it was run; another than this device's says less of this one
  std::string issued;       // "2026-11-22T10:00:00Z"
  std::string certificate;  // the file
  std::vector<std::string>
      problems;  // why certificates that were found do not count, a sentence each
};

// From a certificate of exactly the library that drives `device`, if one lies where docs/conformance.md says. Looked for
// at the first question (which may read the whole library), then known until the plugin is unloaded. Throws bad_argument
// for a device that is not registered. Threads: any.
BP_API CertifiedLevel certified_level(Device device);

}  // namespace bp
