// Functions that run later, or with a derivative of their own, under the Autocast of the call that made them.
#pragma once

#include <backplane/amp/autocast.hpp>
#include <backplane/autograd/function.hpp>

namespace bp::amp {

struct CustomOptions {
  // The dtype that floating inputs other than float64 are cast to where the thread casts on their device; forward and
  // backward then cast nothing. For functions that need float32.
  std::optional<Dtype> cast_inputs = {};
};

// autograd::apply, like PyTorch's custom_fwd and custom_bwd: forward runs under the Autocast of the
// caller, and so does backward, wherever it is called. (Of a function that goes through
// autograd::apply, backward casts nothing.)
BP_API std::vector<Tensor> apply(const autograd::Function& function, TensorList inputs,
                                 const CustomOptions& options = {});

// The region, run under this thread's current Autocast: for autograd::checkpoint, which computes it again in
// backward, and for other threads.
BP_API autograd::Region carried(autograd::Region region);

}  // namespace bp::amp
