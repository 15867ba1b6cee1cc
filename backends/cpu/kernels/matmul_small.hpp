// Products of f32 so small that a library's call costs as much as they do: what layers of a small network, and their gradients, are made of.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// Whether these are: each of a stack by itself, if its right factor lies by rows, or is small enough to be turned first.
bool is_small(const Product& product);

// Each on one thread, in an order of additions that depends on its sizes alone.
void multiply_small(const Product& product);

}  // namespace bp::cpu
