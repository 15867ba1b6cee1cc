// Calls of rows to make steps of, from the operator table's samples.
#pragma once

#include <string>
#include <vector>

#include "autograd/programs/places.hpp"

namespace bp::test::programs {

// A call whose tensors are still to be chosen: an argument that is variable k stands for tensors[k].
struct Template {
  Step step;
  struct Input {
    Shape shape;
    bool is_given = false;  // an index or a mask: with these values
    Dtype dtype = Dtype::f64;
    std::vector<double> values;
  };
  std::vector<Input> inputs;
  std::size_t num_results = 1;
};

struct RowTemplates {
  std::string row;
  std::vector<Template> templates;
};

// Rows that have a derivative or are made of such, but views; small samples alone.
const std::vector<RowTemplates>& row_templates();

// Pointwise rows with a derivative, which can be written in place.
struct PointwiseRow {
  std::string row;
  struct Input {
    bool is_tensor = false, may_be_number = false, is_condition = false;
  };
  std::vector<Input> inputs;  // without those that have defaults
};
const std::vector<PointwiseRow>& pointwise_rows();

}  // namespace bp::test::programs
