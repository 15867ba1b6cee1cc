// Which hooks a module has, and what becomes of them in copies.
#include <algorithm>

#include <backplane/tensor/check.hpp>

#include "extras.hpp"

namespace bp::nn {
namespace detail {
namespace {

thread_local const Extras* left_out = nullptr;

}  // namespace

WithoutExtras::WithoutExtras(const Extras* extras) : before_(std::exchange(left_out, extras)) {}

WithoutExtras::~WithoutExtras() {
  left_out = before_;
}

std::shared_ptr<Extras> ExtrasHolder::copied(const ExtrasHolder& other) {
  if (other.extras_.get() == left_out) return nullptr;
  return std::make_shared<Extras>(*other.extras_);
}

const std::shared_ptr<Extras>& ExtrasHolder::get_or_make() {
  if (!extras_) extras_ = std::make_shared<Extras>();
  return extras_;
}

void replace(std::vector<Tensor>& tensors, std::vector<Tensor> others, const char* hook) {
  if (others.empty()) return;
  BP_CHECK(others.size() == tensors.size(),
           "{}: the hook returned {} tensors in place of {}; return as many, or none to change "
           "nothing",
           hook, others.size(), tensors.size());
  tensors = std::move(others);
}

}  // namespace detail

using detail::HookLists;

namespace {

template <class Hook>
std::uint64_t put_hook(detail::Extras& extras, detail::Hooks<Hook> HookLists::*list, Hook hook) {
  BP_CHECK(hook != nullptr, "Module: the hook is an empty function; pass one that can be called");
  const std::lock_guard lock(extras.mutex);
  (extras.lists.*list).emplace_back(extras.next_id, std::move(hook));
  return extras.next_id++;
}

}  // namespace

#define BP_REGISTER_HOOK(function, Hook, list)                             \
  HookHandle Module::function(Hook hook) {                                 \
    const auto& extras = extras_.get_or_make();                            \
    return {extras, put_hook(*extras, &HookLists::list, std::move(hook))}; \
  }
BP_REGISTER_HOOK(register_forward_pre_hook, ForwardPreHook, forward_pre)
BP_REGISTER_HOOK(register_forward_hook, ForwardHook, forward)
BP_REGISTER_HOOK(register_full_backward_pre_hook, FullBackwardPreHook, backward_pre)
BP_REGISTER_HOOK(register_full_backward_hook, FullBackwardHook, backward)
BP_REGISTER_HOOK(register_state_dict_pre_hook, StateDictPreHook, state_dict_pre)
BP_REGISTER_HOOK(register_state_dict_post_hook, StateDictHook, state_dict_post)
BP_REGISTER_HOOK(register_load_state_dict_pre_hook, LoadStateDictPreHook, load_state_dict_pre)
#undef BP_REGISTER_HOOK

void HookHandle::remove() {
  const std::shared_ptr<detail::Extras> extras = extras_.lock();
  extras_.reset();
  if (!extras) return;
  // Destroyed once the mutex is free: what the hook captured may remove hooks, too.
  std::shared_ptr<void> removed;
  const std::lock_guard lock(extras->mutex);
  extras->lists.each([&](auto& list) {
    const auto place = std::find_if(list.begin(), list.end(),
                                    [&](const auto& entry) { return entry.first == id_; });
    if (place == list.end()) return;
    using Hook = std::decay_t<decltype(place->second)>;
    removed = std::make_shared<Hook>(std::move(place->second));
    list.erase(place);
  });
}

}  // namespace bp::nn
