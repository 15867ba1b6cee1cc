// Chooses between two kernels that take the same call, for kernels that declare BP_KERNEL_MEASURED.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

// Returns which of `num_ways` ways to use for `what` on the device: as decided earlier, in this process or another one, or
// by calling `measure`, which does the work in the given way and returns the seconds it took, or throws. 0 if nothing is
// decided.
using KernelChooser = std::size_t (*)(Device device, std::string_view what, std::size_t num_ways,
                                      const std::function<double(std::size_t)>& measure);

// Set by the room that stores such decisions. Without a chooser, way 0 is used.
BP_API void set_kernel_chooser(KernelChooser chooser);

}  // namespace bp
