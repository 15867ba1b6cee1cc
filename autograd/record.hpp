// The autograd layer: what every call with a tensor that takes part in derivatives goes through.
#pragma once

namespace bp::autograd {

// Puts the layer in place; called by whatever first makes a tensor take part. Threads: any.
void ensure_layer();

}  // namespace bp::autograd
