// Thousands of wrong calls, each of which ends in a sentence that begins with the operator's name.
#pragma once

#include <cstdint>
#include <string>

namespace bp::test {

// Calls number `first` up to `first` + `count`, as good as random, each the first of its process: by rows and by
// public functions, on meta alone. Fails the present test for each that crashes, hangs, throws anything but
// bp::Error, does not name its operator, or spoils the next good call. The same number is the same call.
void make_cold_calls(std::uint32_t first, std::uint32_t count);

// The same one after the other in a process that uses a device: public functions, and good calls of the rows'
// samples with an argument or two replaced.
void make_warm_calls(const char* device, std::uint32_t first, std::uint32_t count);

// The latter alone, where some of the arguments want a derivative: layers see such calls before the rows' rules do.
void make_recorded_calls(const char* device, std::uint32_t first, std::uint32_t count);

// All samples of each row, of which each size of each tensor is made 0, one at a time.
void make_calls_without_elements(const char* device);

}  // namespace bp::test
