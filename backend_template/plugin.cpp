// What Backplane loads: the device, and the groups of kernels. A new file of kernels is one more name here.
#include "device.hpp"

BP_PLUGIN(acme::Device, pointwise, matmul)
