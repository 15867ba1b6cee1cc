// What a module has that most modules have not: hooks, and members that are computed.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include <backplane/nn/containers.hpp>
#include <backplane/nn/hooks.hpp>

namespace bp::nn::detail {

template <class Hook> using Hooks = std::vector<std::pair<std::uint64_t, Hook>>;

struct HookLists {
  Hooks<ForwardPreHook> forward_pre;
  Hooks<ForwardHook> forward;
  Hooks<FullBackwardPreHook> backward_pre;
  Hooks<FullBackwardHook> backward;
  Hooks<StateDictPreHook> state_dict_pre;
  Hooks<StateDictHook> state_dict_post, load_state_dict_pre;

  template <class Visit> void each(const Visit& visit) {
    visit(forward_pre);
    visit(forward);
    visit(backward_pre);
    visit(backward);
    visit(state_dict_pre);
    visit(state_dict_post);
    visit(load_state_dict_pre);
  }
};

using CopyModule = std::unique_ptr<Module> (*)(const Module&);

struct Extras {
  Extras() = default;
  Extras(const Extras& other)
      : lists(other.all_hooks()), next_id(other.next_id), copy(other.copy),
        parametrizations(other.parametrizations) {}
  Extras& operator=(const Extras&) = delete;

  // A copy, so that a hook may remove itself or others while it runs.
  HookLists all_hooks() const {
    const std::lock_guard lock(mutex);
    return lists;
  }
  static const std::shared_ptr<Extras>& of(const Module& module) { return module.extras_.get(); }
  static HookLists hooks_of(const Module& module) {
    return module.extras_ ? module.extras_.get()->all_hooks() : HookLists{};
  }

  mutable std::mutex mutex;  // for the lists and next_id
  HookLists lists;
  std::uint64_t next_id = 1;

  CopyModule copy = nullptr;    // of the module's type; null if no member is parametrized
  ModuleDict parametrizations;  // a ParametrizationList for each name of a member
};

// While one lives, a copy that this thread makes of the module with these extras has none.
class WithoutExtras {
 public:
  explicit WithoutExtras(const Extras* extras);
  ~WithoutExtras();
  WithoutExtras(const WithoutExtras&) = delete;
  WithoutExtras& operator=(const WithoutExtras&) = delete;

 private:
  const Extras* before_;
};

// Calls forward in between, with the tensors that hooks on the way back want to see.
class BackwardWatch {
 public:
  // Null: nobody asks.
  static std::shared_ptr<BackwardWatch> of(const HookLists& hooks);
  virtual ~BackwardWatch() = default;
  virtual std::vector<Tensor> inputs(std::vector<Tensor> tensors) = 0;
  virtual std::vector<Tensor> outputs(std::vector<Tensor> tensors) = 0;
};

// Those that the hook returned, if it did; throws bad_argument for another number.
void replace(std::vector<Tensor>& tensors, std::vector<Tensor> others, const char* hook);

}  // namespace bp::nn::detail
