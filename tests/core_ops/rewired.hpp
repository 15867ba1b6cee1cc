// A sample's call with other tensors: its leaves, for a derivative, or another device's.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <vector>

#include <backplane/samples/samples.hpp>

namespace bp::test {

// The sample's arguments with other tensors in the place of its own.
class Rewired {
 public:
  Rewired(const Sample& sample, const std::map<const bp_tensor*, Tensor>& others) {
    for (bp_value value : sample.args) {
      if (value.tag == BP_TENSOR) value.u.tensor = other(value.u.tensor, others);
      if (value.tag == BP_TENSOR_LIST) {
        auto* old = static_cast<const bp_tensor* const*>(value.u.ptr);
        auto& list = lists_.emplace_back(old, old + value.aux);
        for (const bp_tensor*& tensor : list) tensor = other(tensor, others);
        value.u.ptr = list.data();
      }
      args_.push_back(value);
    }
  }
  std::span<const bp_value> args() const { return args_; }

 private:
  static const bp_tensor* other(const bp_tensor* tensor,
                                const std::map<const bp_tensor*, Tensor>& others) {
    const auto found = others.find(tensor);
    return found == others.end() ? tensor : &found->second.impl()->abi;
  }
  std::vector<bp_value> args_;
  std::deque<std::vector<const bp_tensor*>> lists_;
};

}  // namespace bp::test
