// Lists of tensors in parts that one call takes.
#pragma once

#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::optim {

using Tensors = std::vector<Tensor>;
using Places = std::vector<std::size_t>;

// The places of what is alike, part by part, in the order in which they come.
template <class Alike> std::vector<Places> places_by(const Tensors& tensors, Alike alike) {
  std::vector<Places> parts;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Places* found = nullptr;
    for (Places& each : parts)
      if (alike(tensors[each.front()], tensors[i])) found = &each;
    (found ? *found : parts.emplace_back()).push_back(i);
  }
  return parts;
}

std::vector<Places> places_by_device_and_dtype(const Tensors& tensors);
Tensors at_places(const Tensors& tensors, const Places& places);
// The same, as lists of the tensors themselves.
std::vector<Tensors> by_device_and_dtype(const Tensors& tensors);

// A complex tensor as pairs of real numbers; others as they are. To be called where nothing is recorded.
Tensor real_parts(const Tensor& tensor);

}  // namespace bp::optim
