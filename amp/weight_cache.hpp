// Casts of weights: a parameter that several calls of one forward take is cast once.
#pragma once

#include <unordered_map>

#include <backplane/tensor/tensor.hpp>

namespace bp::amp {

// Is it a weight whose cast may be kept: a float32 leaf that requires grad, seen by no level (vmap), outside of a capture,
// whose replays would read the cast of today?
bool may_be_kept(const Tensor& tensor);

// Threads: each has its own.
class WeightCache {
 public:
  // The weight as `dtype`, recorded if the caller's calls are. Made again if the weight was written since, got other
  // memory, or if the kept one was not recorded and is to be now.
  Tensor cast(const Tensor& weight, Dtype dtype);
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Tensor weight;  // held, so that its address names no other tensor
    Tensor cast;
    const Storage* storage;
    std::uint32_t version;
    std::uint64_t byte_offset;
  };
  static bool is_current(const Entry& entry, const Tensor& weight, Dtype dtype);

  std::unordered_map<const TensorImpl*, Entry> entries_;
};

WeightCache& thread_weight_cache();

}  // namespace bp::amp
