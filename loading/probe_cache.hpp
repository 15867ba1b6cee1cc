// Remembers which libraries were probed and found good, from one process to the next.
#pragma once

#include <filesystem>
#include <string>

namespace bp::loading {

// What tells one state of a library from another: real path, device, inode, size, times, ABI levels.
// Empty if the file cannot be looked at. A change of another library that it needs is not seen.
std::string describe_state(const std::filesystem::path& library);

// Both do nothing and say nothing if the folder cannot be used. `state` as described before the probe.
bool was_good(const std::filesystem::path& cache, const std::filesystem::path& library,
              const std::string& state);
void remember_good(const std::filesystem::path& cache, const std::filesystem::path& library,
                   const std::string& state);

}  // namespace bp::loading
