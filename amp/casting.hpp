// The layer: casts a call's arguments by its row's rule, and goes on below itself.
#pragma once

#include <backplane/amp/autocast.hpp>
#include <backplane/core_ops/cast_rules.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/frame.hpp>

namespace bp::amp {

// What this thread casts. Read only while the layer's key is among its included ones, and not among the excluded.
extern constinit thread_local AutocastState thread_autocast;

// Hangs the layer's handlers on the operators, once a process. Threads: any.
void know_autocast_layer();

// A call's arguments under the thread's state.
class Casting {
 public:
  explicit Casting(const AutocastState& state) : state_(state) {}

  static std::uint64_t bit_of(const TensorImpl& impl) { return std::uint64_t{1} << impl.backend; }
  // Is it one whose dtype the rules decide?
  bool is_eligible(const TensorImpl& impl) const;
  Dtype lower(const TensorImpl& impl) const {
    return static_cast<Dtype>(state_.dtypes_[impl.backend]);
  }
  // What the rule makes of the call's tensors; null: they stay. `lower` depends on the tensor.
  std::optional<Dtype> target(const Call& call, Cast how) const;
  // Puts casts in the places of tensors that are not of the rule's dtype.
  void cast_arguments(const Call& call, Cast how, Temporaries& temporaries) const;

 private:
  Tensor cast_tensor(const Tensor& tensor, Dtype dtype) const;
  const AutocastState& state_;
};

}  // namespace bp::amp
