// Modules: layers, and networks that have layers as members.
#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/nn/hooks.hpp>
#include <backplane/nn/parameter.hpp>
#include <backplane/nn/state_dict.hpp>

namespace bp::nn {

class Module;

// The parts that a module lists. A name is not empty, has no dot, and no other part of the module has it: else
// bad_argument.
class BP_API Parts {
 public:
  // A tensor that is trained.
  void parameter(std::string name, Parameter& member);
  // A tensor of the module that is not trained, such as running statistics. If not persistent, it moves with the module
  // but is not in its state_dict. A plain tensor as parameter, or a parameter as buffer, does not compile.
  void buffer(std::string name, Tensor& member, bool persistent = true);
  void buffer(std::string name, Parameter& member, bool persistent = true) = delete;
  void module(std::string name, Module& member);

 private:
  friend class Module;
  friend struct detail::Materializing;
  friend struct detail::Parametrizing;
  struct Held {
    std::string name;
    Tensor* tensor;
    bool is_parameter;
    bool persistent;
  };
  void check_name(const std::string& name);

  std::unordered_set<std::string> names_;
  std::vector<Held> tensors_;
  std::vector<std::pair<std::string, Module*>> modules_;
};

// A network has its parts as members, and lists them:
//
//   struct Net : nn::Module {
//     nn::Linear hidden{64, 32}, output{32, 10};
//     void list_parts(nn::Parts& parts) override {
//       parts.module("hidden", hidden);
//       parts.module("output", output);
//     }
//     Tensor forward(const Tensor& x) const override { return output(relu(hidden(x))); }
//   };
//
// A module is a value. Its copies share their tensors, as copies of a tensor do; clone() makes one that shares nothing.
// Its tensors are found through list_parts, so that a part that is not listed is not trained, moved or saved.
//
// A module is called, model(x), and forward only overridden: the call runs hooks, computes parametrized members, and puts the
// path of the innermost module into an error: "encoder.layer.3.attention.query: linear: ...". Such an error keeps its class; one
// of a class derived from Error passes as it is.
//
// Tensors that are absent (undefined) are left out of everything below. One that the module holds twice (tied weights) is
// one parameter, under the first of its names, and has both names in the state_dict.
// Threads: any number may call forward at once; the rest belongs to one thread, with nobody in forward.
class BP_API Module {
 public:
  virtual ~Module() = default;

  // Called by everything that looks for parts; must not write members. A class that derives from another module calls
  // that one's first.
  virtual void list_parts(Parts& parts);

  // Computes the module's result for one tensor. A layer with other arguments has its own forward, with `using
  // Module::forward` beside it; this one then throws unsupported. Writes no member: what changes
  // from call to call, such as running statistics, is written in place into buffers, where copies
  // and recordings see it.
  virtual Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const;

  // The same for any number of tensors, for callers that do not know the module's type. The order is that of the
  // arguments of the module's own forward, and of its results; optional ones at the end may be left out, or be
  // undefined.
  virtual std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const;
  std::vector<Tensor> call_all(TensorList inputs) const;

  // How the module prints: the name of its type, as "Linear", and what it was made with, as "in_features=64,
  // out_features=10, bias=True"; a layer says the latter in PyTorch's words. `printed` is both, and the modules that it holds.
  virtual std::string type_name() const;
  virtual std::string extra_repr() const { return {}; }
  virtual std::string printed() const;

  // Its own in the order in which they are listed, then those of its modules. Names are like "hidden.weight".
  std::vector<Tensor> parameters() const;
  std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  std::vector<Tensor> buffers() const;
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  // The number of elements of all parameters.
  std::int64_t num_parameters() const;

  // The module itself, under the name "", and all modules below it, each before those that it holds; one that is held
  // twice is listed once. The pointers are valid until a module is destroyed or assigned to.
  std::vector<std::pair<std::string, Module*>> named_modules();
  std::vector<std::pair<std::string, const Module*>> named_modules() const;
  // The modules that it holds directly.
  std::vector<std::pair<std::string, Module*>> named_children();
  std::vector<std::pair<std::string, const Module*>> named_children() const;
  // Calls `visit` with each of named_modules() once, after those that it holds: the module itself last.
  void apply(const std::function<void(Module&)>& visit);

  // A new module is in training mode. Modules that compute differently in training (dropout, batch norm)
  // ask is_training.
  void train(bool mode = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  // Requests gradients for all parameters, or stops requesting them.
  void requires_grad_(bool wanted = true);
  // Drops all gradients.
  void zero_grad();

  // All parameters and persistent buffers, module by module. The tensors are detached and share the module's memory: clone
  // what must outlive the next step.
  StateDict state_dict() const;
  // Writes the dict's values over the module's, in place, from any device and dtype that can be cast; nothing is recorded.
  // Throws bad_argument, and writes nothing, if a shape differs, if values can't be cast, and with `strict` if a name is
  // missing in the dict or unknown to the module; the message lists all of these.
  IncompatibleKeys load_state_dict(const StateDict& dict, bool strict = true);

  // Moves parameters, with their gradients, and buffers. All of them stay the same tensors, so an
  // optimizer that holds the parameters keeps working (see set_data for the errors). A
  // floating-point dtype is for floating-point tensors, a complex one for complex ones too;
  // integers keep theirs. If memory runs out half way, what was moved stays moved: free some and
  // call again. Throws bad_argument for another dtype, and before anything is moved for complex
  // tensors that would lose their imaginary part.
  void to(Device device);
  void to(Dtype dtype);
  void to(Device device, Dtype dtype);
  // Changes the memory layout of parameters and buffers of rank 4, and of their gradients; the values stay.
  void to(MemoryFormat format);

  // Threads: with nobody in forward.
  HookHandle register_forward_pre_hook(ForwardPreHook hook);
  HookHandle register_forward_hook(ForwardHook hook);
  HookHandle register_full_backward_pre_hook(FullBackwardPreHook hook);
  HookHandle register_full_backward_hook(FullBackwardHook hook);
  HookHandle register_state_dict_pre_hook(StateDictPreHook hook);
  HookHandle register_state_dict_post_hook(StateDictHook hook);
  HookHandle register_load_state_dict_pre_hook(LoadStateDictPreHook hook);

 protected:
  using Forward =
      std::function<std::vector<Tensor>(const Module& self, std::span<const Tensor> inputs)>;
  // For the operator() of a layer whose forward has other arguments: what operator() above does, around `forward`. `self` has
  // the layer's type, and takes the place of *this where members are parametrized.
  std::vector<Tensor> call(TensorList inputs, const Forward& forward) const;
  // The same for one whose forward takes tensors alone and gives one: `return called(*this, x, y);`
  template <class Self, std::same_as<Tensor>... T>
  static Tensor called(const Self& self, const T&... inputs) {
    const auto forward = [](const Module& module, std::span<const Tensor> all) {
      return [&]<std::size_t... place>(std::index_sequence<place...>) {
        return std::vector<Tensor>{static_cast<const Self&>(module).forward(all[place]...)};
      }
      (std::index_sequence_for<T...>{});
    };
    return static_cast<const Module&>(self).call({inputs...}, forward)[0];
  }

  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) noexcept = default;

 private:
  template <std::derived_from<Module> M> friend M clone(const M& module);
  friend struct detail::Extras;
  friend struct detail::Materializing;
  friend struct detail::Parametrizing;
  struct Walk;

  std::vector<Tensor> call_with_extras(std::span<const Tensor> inputs,
                                       const Forward& forward) const;
  std::vector<Tensor> run_substituted(std::span<const Tensor> inputs, const Forward& forward) const;
  void move_to(const Device* device, const Dtype* dtype);
  void stop_sharing_with(const Module& original);

  detail::ExtrasHolder extras_;
  bool training_ = true;
};

// A copy of the module with its own tensors, including gradients. What the original holds twice, the copy holds twice.
// Throws bad_argument for a module that holds others by pointer, so that a copy shares them (hold them as AnyModule), and if M
// is only a base of the module's own type.
template <std::derived_from<Module> M> M clone(const M& module) {
  M copy(module);
  copy.stop_sharing_with(module);
  return copy;
}

// The module and everything that it holds, as PyTorch prints them.
BP_API std::string to_string(const Module& module);
BP_API std::ostream& operator<<(std::ostream& stream, const Module& module);

}  // namespace bp::nn
