// How far a pointwise row's results are from the truth, in units of the last place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::accuracy {

// Where inputs are made and results are read.
inline Device host_device() {
  return device("cpu:0");
}

// How many inputs are tried. Of 16-bit dtypes rows of one tensor get all, rows of several as many as `several`.
struct Extent {
  std::uint64_t f32 = 1, f64 = 1, several = 1;
};

struct Worst {
  std::uint64_t num_inputs = 0;
  double ulp = 0.5;            // the largest error that __float128 confirms, at least 0.5
  std::vector<double> inputs;  // where
  double share = 0;            // the largest error as a share of the suite's bound for that element
  std::string wrong;           // a result beyond the suite's bound; empty if there is none
};

// The pointwise rows of the table that round: those with an expression, floating dtypes and a tolerance but "exact".
std::vector<Operator*> rounding_rows();

Worst measure(Operator& op, Dtype dtype, Device device, const Extent& extent);

}  // namespace bp::accuracy
