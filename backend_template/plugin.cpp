// What Backplane loads: the device, and the groups of kernels. A new file in kernels/ is compiled without a word; name its
// BP_KERNELS group here.
#include "device.hpp"

BP_PLUGIN(acme::Device, pointwise, matmul)
