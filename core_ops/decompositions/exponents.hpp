// Numbers as a fraction and a power of 2.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

FrexpResult fraction_and_exponent(const Tensor& input);

}  // namespace bp
