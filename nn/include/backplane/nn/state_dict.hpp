// The tensors of a module by name, in order.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::nn {

// Names like "encoder.0.weight" and their tensors, in insertion order. A copy shares the tensors.
class BP_API StateDict {
 public:
  using Entry = std::pair<std::string, Tensor>;

  StateDict() = default;
  StateDict(std::initializer_list<Entry> entries);

  std::size_t size() const { return entries_.size(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

  bool contains(std::string_view key) const { return places_.find(key) != places_.end(); }
  // Throws bad_argument, naming the key, if there is none.
  const Tensor& at(std::string_view key) const;
  // Adds the tensor at the end, or replaces the existing one.
  void set(std::string key, const Tensor& tensor);
  // Nothing happens if there is none.
  void erase(std::string_view key);

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

// Names that load_state_dict missed in the dict, and names in the dict that it did not need.
struct IncompatibleKeys {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
};

}  // namespace bp::nn
