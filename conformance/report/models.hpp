// Which rows well-known models are made of: what a gap in them costs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::conform {

struct Model {
  std::string name;
  std::vector<std::string> inference, training;  // rows; `training` is besides
};

const std::vector<Model>& models();
// Throws bad_argument that lists the models there are.
const Model& model_of(std::string_view name);

}  // namespace bp::conform
