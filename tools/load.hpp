// Brings plugins into this process for the subcommands that need devices.
#pragma once

#include <string>
#include <vector>

#include <backplane/runtime/device_registry.hpp>

#include "commands.hpp"

namespace bp::tools {

// What is not there in spite of its file, as a sentence, and what was then lost of it.
struct LoadProblem {
  std::string sentence;
  bool is_named = false;  // on the command line
  const DeviceRecord* device =
      nullptr;  // that must not be used; null: the whole plugin is not loaded
};

// Loads everything that can be found and that does not end or block another process, in which it is tried first. Returns
// what was named and does not load, and whatever did not survive its trial; other errors are doctor's business. Throws for
// a named file that is not there.
std::vector<LoadProblem> load_plugins(const Options& options);

// Only those that the person named.
void load_named_plugins(const Options& options);

// Throws why if one of these, or of those that offer the named devices, does not survive its trial.
void try_named_plugins(const Options& options);

}  // namespace bp::tools
