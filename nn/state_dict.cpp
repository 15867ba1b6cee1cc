#include <backplane/nn/state_dict.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {

StateDict::StateDict(std::initializer_list<Entry> entries) {
  for (const auto& [key, tensor] : entries) set(key, tensor);
}

const Tensor& StateDict::at(std::string_view key) const {
  const auto place = places_.find(key);
  BP_CHECK(place != places_.end(), "state_dict: no '{}' among the {} entries", key, size());
  return entries_[place->second].second;
}

void StateDict::set(std::string key, const Tensor& tensor) {
  const auto [place, is_new] = places_.try_emplace(key, entries_.size());
  if (is_new)
    entries_.emplace_back(std::move(key), tensor);
  else
    entries_[place->second].second = tensor;
}

void StateDict::erase(std::string_view key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return;
  const std::size_t gone = place->second;
  places_.erase(place);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (auto& [name, index] : places_)
    if (index > gone) --index;
}

}  // namespace bp::nn
