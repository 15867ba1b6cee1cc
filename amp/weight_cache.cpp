#include "weight_cache.hpp"

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/level.hpp>
#include <backplane/runtime/capturing.hpp>

namespace bp::amp {

bool may_be_kept(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const ThreadState& thread = thread_state();
  if (tensor.dtype() != f32 || !impl.has_autograd_data || impl.view_base) return false;
  if (thread.levels || ((impl.keys | thread.new_tensor_keys) & leveled_layers)) return false;
  return !is_capturing() && requires_grad(tensor) && is_leaf(tensor);
}

bool WeightCache::is_current(const Entry& entry, const Tensor& weight, Dtype dtype) {
  const TensorImpl& impl = *weight.impl();
  return entry.cast.dtype() == dtype && entry.storage == impl.storage &&
         entry.version == weight.version() && entry.byte_offset == impl.abi.dl.byte_offset &&
         entry.cast.shape() == weight.shape() && (requires_grad(entry.cast) || !is_grad_enabled());
}

Tensor WeightCache::cast(const Tensor& weight, Dtype dtype) {
  if (const auto found = entries_.find(weight.impl()); found != entries_.end()) {
    if (is_current(found->second, weight, dtype)) return found->second.cast;
    entries_.erase(found);
  }
  Tensor made = bp::cast(weight, dtype);
  const TensorImpl& impl = *weight.impl();
  entries_[&impl] = {weight, made, impl.storage, weight.version(), impl.abi.dl.byte_offset};
  return made;
}

WeightCache& thread_weight_cache() {
  static thread_local WeightCache cache;
  return cache;
}

}  // namespace bp::amp
