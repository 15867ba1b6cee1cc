// The kernels that nvcc compiles, one function for each operator; library.cpp says what they accept.
#pragma once

#include <backplane/plugin.hpp>

namespace cuda_backend {

// Waits for the stream: the result's shape is the count.
bp::Status nonzero(bp::Call call, bp::In a, bp::Out out);

// Stable, NaN last, by radix sort.
bp::Status sort(bp::Call call, bp::In a, int64_t dim, bool descending, bool stable, bp::Out values,
                bp::Out indices);
// Not where generated kernels do better.
bool is_worth_sorting(bp::Call call, bp::In a, int64_t dim, bool descending, bool stable,
                      bp::Out values, bp::Out indices);

}  // namespace cuda_backend
