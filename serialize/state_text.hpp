// A State's tree as text, with names in the place of its tensors.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/state/state.hpp>

namespace bp::serialize {

// A tensor of the tree and the name that stands for it in the text.
struct TreeTensor {
  std::string name;
  Tensor tensor;
};

struct StateText {
  std::string text;
  std::vector<TreeTensor> tensors;
};

// Throws bad_argument, beginning with `file`, for a tree that is too deep and for tensors without values.
StateText text_of(const State& state, const std::string& file);

// The tree again; `tensor_called` gives the tensors. Throws bad_argument, beginning with `file`, for any text that text_of
// does not write.
State state_from(std::string_view text,
                 const std::function<Tensor(const std::string&)>& tensor_called,
                 const std::string& file);

}  // namespace bp::serialize
