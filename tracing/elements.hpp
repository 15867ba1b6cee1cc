// A tensor's elements in host memory, as numbers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <backplane/tensor/tensor.hpp>
#include <backplane/tracing/saved_call.hpp>

namespace bp::tracing {

// Floating and complex ones as doubles, two for a complex number; integers as they are.
struct Elements {
  Dtype dtype = Dtype::f32;
  std::size_t parts = 1;  // numbers for each element
  std::vector<double> numbers;
  std::vector<unsigned char> bytes;

  bool has_fractions() const {
    return is_floating(dtype) || is_complex(dtype) || is_storage_only(dtype);
  }
  double largest() const;  // of the finite ones, without sign
  std::string text(std::size_t element) const;
};

// Of a tensor on any device; waits for it.
Elements elements_of(const Tensor& tensor);

// The largest finite number, without sign, among a call's floating arguments and, for each of the first two tensors,
// its own.
struct Magnitudes {
  double any = 0, first = 0, second = 0;
};
Magnitudes magnitudes_of(const SavedCall& saved);

}  // namespace bp::tracing
