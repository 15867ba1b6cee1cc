// Calls of a program's steps through the library, on whatever tensors its variables stand for.
#pragma once

#include <functional>

#include "autograd/programs/program.hpp"

namespace bp::test::programs {

using TensorOf = std::function<const Tensor&(std::int64_t variable)>;

// The results of a call: of a row, or of detach; none for what is written in place or by
// out=. What the library throws passes through.
std::vector<Tensor> call_step(const Step& step, const TensorOf& tensor_of);

// The row that a step calls; null if it is a form: copy_, fill_, detach.
Operator* row_of(const Step& step);

// A tensor of these elements on the host.
Tensor make_tensor(Dtype dtype, IntList shape, const std::vector<double>& values);
// And its elements, row-major; waits for the device.
std::vector<double> elements_of(const Tensor& tensor);

}  // namespace bp::test::programs
