// Remembers across processes which libraries were probed and found good.
#pragma once

#include <filesystem>
#include <string>

namespace bp::loading {

// Identifies a state of a library: real path, device, inode, size, times, ABI levels. Empty if the file cannot
// be examined. Does not notice when another library that it needs changes.
std::string describe_state(const std::filesystem::path& library);

// Both silently do nothing if the folder cannot be used. `state` was described before the probe.
bool was_good(const std::filesystem::path& cache, const std::filesystem::path& library,
              const std::string& state);
void remember_good(const std::filesystem::path& cache, const std::filesystem::path& library,
                   const std::string& state);

}  // namespace bp::loading
