// A batch's tensors in memory from which a device copies at full speed.
#pragma once

#include "loader/fetch.hpp"

namespace bp::data {

// The tree with its host tensors in pinned memory of the device.
State pinned(const State& value, Device device);

// Does so with what was fetched, if the loader's options say so. What goes wrong becomes the result's failure.
void pin_fetched(Fetched& result, const DataLoaderOptions& options);

}  // namespace bp::data
