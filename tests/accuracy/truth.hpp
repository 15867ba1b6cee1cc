// What a pointwise row should give: its expression from the operator table, evaluated column by column in a wider format.
// The row's constants are doubles there, as in the table.
#pragma once

#include <cstddef>
#include <vector>

#include "inputs/problem.hpp"

namespace bp::accuracy {

// GCC's 113 bits. libquadmath's functions are within an ULP of those.
__extension__ typedef __float128 Quad;

template <class T> using Column = std::vector<T>;

// `inputs`: the values of the problem's tensors, in its order. T is double or Quad.
template <class T>
Column<T> truth(const conform::Problem& problem, const std::vector<Column<double>>& inputs);

}  // namespace bp::accuracy
