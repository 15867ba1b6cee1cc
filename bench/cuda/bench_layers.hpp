// What networks spend their time on: attention, and the convolutions of ResNet-50. Both report by bench::report.
#pragma once

#include <string>

#include <backplane/tensors.hpp>

namespace bench {

// Of 8 x 16 heads, 4096 long and 128 wide, in bf16: forwards, and with the gradients. The one case that `only` names, or
// all if it is empty.
void measure_attention(bp::Device device, const std::string& only);

// In bf16, channels last, 32 pictures: each layer forwards and back, and the geometric means.
void measure_convolutions(bp::Device device);

}  // namespace bench
