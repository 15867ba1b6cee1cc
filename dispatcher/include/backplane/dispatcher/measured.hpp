// The choice between two kernels that take the same call, for kernels that say BP_KERNEL_MEASURED.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>

namespace bp {

// The number of the way to take, of `num_ways`: as decided before for `what` on the device, in this process or an
// earlier one, or by `measure`, which does the work the given way and returns its seconds, and throws where it
// cannot. 0 where nothing is decided.
using KernelChooser = std::size_t (*)(Device device, std::string_view what, std::size_t num_ways,
                                      const std::function<double(std::size_t)>& measure);

// Code that compiles kernels keeps such decisions too. Without one, way 0 is taken.
BP_API void set_kernel_chooser(KernelChooser chooser);

}  // namespace bp
