// Products of a few rows of f32 with a matrix, which is read once for all of them: what decoding a few texts at a time is made of.
#pragma once

#include "matmul.hpp"

namespace bp::cpu {

// Whether this is one: of at most constants::few_rows rows, with lines of b without gaps inside, and large enough.
bool has_few_rows(const Product& product);

// On all threads, in an order of additions that depends on the sizes alone.
void multiply_few_rows(const Product& product);

}  // namespace bp::cpu
