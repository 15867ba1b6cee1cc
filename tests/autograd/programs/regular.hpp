// Where differences can judge a row: away from poles, corners and equal values.
#pragma once

#include "autograd/programs/evaluate.hpp"

namespace bp::test::programs {

// Is a call smooth at these values, each result no further from 0 than `limit`, and does no rounding error
// decide what comes of it?
bool is_regular(const Step& step, const PlainOf& plain_of, const std::vector<Plain>& results,
                double limit);

}  // namespace bp::test::programs
