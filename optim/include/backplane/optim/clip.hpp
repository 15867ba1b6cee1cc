// Bounds for gradients, between backward() and step(). PyTorch has them in nn.utils.
#pragma once

#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::optim {

// The norm of all elements of all tensors as if they were one vector, 0-dim, on the first one's device; of none, 0 on the
// host. A few calls for each device and dtype. Not recorded. `norm_type` may be infinity. With error_if_nonfinite, which waits
// for the device, throws bad_argument for a norm that is infinite or NaN.
BP_API Tensor get_total_norm(TensorList tensors, double norm_type = 2,
                             bool error_if_nonfinite = false);

// Multiplies the gradients of `parameters` by one factor, in place, so that their norm is at most max_norm (+1e-6). Returns the
// norm before. Does not wait for the device unless error_if_nonfinite is set.
BP_API Tensor clip_grad_norm_(TensorList parameters, double max_norm, double norm_type = 2,
                              bool error_if_nonfinite = false);
// The second half of clip_grad_norm_, for a known norm.
BP_API void clip_grads_with_norm_(TensorList parameters, double max_norm, const Tensor& total_norm);

// Limits each element of the gradients, in place, to [-clip_value, clip_value]. Throws bad_argument for a negative
// value.
BP_API void clip_grad_value_(TensorList parameters, double clip_value);

}  // namespace bp::optim
