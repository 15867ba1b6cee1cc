#include "casting.hpp"

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/operator_source.hpp>

#include "weight_cache.hpp"

namespace bp::amp {

constinit thread_local AutocastState thread_autocast;

namespace {

constexpr DtypeSet cast_dtypes = set_of(f16, bf16, f32);

// What a call writes keeps its dtype: the cast's memory would be written in its place.
bool writes_given_results(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (call.results[i].defined()) return true;
  return false;
}

// The caller has excluded the layer; those above it, as vmap, may still take the call.
void go_on(const Call& call) {
  if (call.op.kind == BP_KIND_POINTWISE && call.num_results == 1 && !call.results[0].defined())
    call.results[0] = call_pointwise(call.op, call.args, call.num_args);
  else
    dispatch(call);
}

void pass(const Call& call, const Level*) {
  const ExcludeLayers excluded(key_of(Layer::autocast));
  go_on(call);
}

template <Cast how> void cast_and_pass(const Call& call, const Level*) {
  const ExcludeLayers excluded(key_of(Layer::autocast));
  Temporaries temporaries;
  if (!writes_given_results(call)) Casting(thread_autocast).cast_arguments(call, how, temporaries);
  go_on(call);
}

LayerHandler handler_for(Cast how) {
  switch (how) {
    case Cast::lower: return cast_and_pass<Cast::lower>;
    case Cast::f32: return cast_and_pass<Cast::f32>;
    case Cast::widest: return cast_and_pass<Cast::widest>;
    case Cast::first: return cast_and_pass<Cast::first>;
    case Cast::none: return pass;
    case Cast::parts: break;
  }
  return nullptr;
}

}  // namespace

bool Casting::is_eligible(const TensorImpl& impl) const {
  return (state_.enabled_ & bit_of(impl)) &&
         contains(cast_dtypes, static_cast<Dtype>(impl.abi.dtype));
}

std::optional<Dtype> Casting::target(const Call& call, Cast how) const {
  if (how == Cast::f32) return f32;
  std::optional<Dtype> found;
  for_each_tensor(call, [&](std::uint32_t, const bp_tensor& tensor) {
    const TensorImpl& impl = *TensorImpl::of(&tensor);
    if (!is_eligible(impl)) return;
    const auto own = static_cast<Dtype>(tensor.dtype);
    if (how == Cast::lower)
      found = lower(impl);
    else if (!found)
      found = own;
    else if (how == Cast::widest && own != *found)
      found = f32;
  });
  return found;
}

void Casting::cast_arguments(const Call& call, Cast how, Temporaries& temporaries) const {
  const std::optional<Dtype> wanted = target(call, how);
  if (!wanted) return;
  rewrite_tensors(call, temporaries, [&](std::uint32_t place, const bp_tensor* tensor) {
    const TensorImpl& impl = *TensorImpl::of(tensor);
    const bool stays = static_cast<Dtype>(tensor->dtype) == *wanted || !is_eligible(impl) ||
                       (call.op.mutates >> place & 1u);
    return stays ? tensor : temporaries.keep(cast_tensor(tensor_of(tensor), *wanted));
  });
}

Tensor Casting::cast_tensor(const Tensor& tensor, Dtype dtype) const {
  if (state_.is_cache_enabled() && dtype != f32 && may_be_kept(tensor))
    return thread_weight_cache().cast(tensor, dtype);
  return cast(tensor, dtype);
}

void know_autocast_layer() {
  static const bool known = [] {
    ensure_operators();
    // Of operators that are not of the table, too: what a backend's decomposition of one calls gets its arguments as they are.
    set_layer_fallback(Layer::autocast, pass);
    for (const CastRule& rule : cast_rules())
      if (const LayerHandler handler = handler_for(rule.how))
        set_layer_handler(*rule.op, Layer::autocast, handler);
    return true;
  }();
  static_cast<void>(known);
}

}  // namespace bp::amp
