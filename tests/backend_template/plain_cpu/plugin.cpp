#include "device.hpp"

BP_PLUGIN(reference::Device, pointwise, reduction, matmul, gather, sort, copy, factory)
