// What has parameters: a layer, or a network that has layers as its members.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <backplane/nn/parameter.hpp>
#include <backplane/nn/state_dict.hpp>

namespace bp::nn {

class Module;

// What a module lists of itself. A name is not empty, has no dot, and no other part of the module has it: else
// bad_argument.
class BP_API Parts {
 public:
  // What training changes.
  void parameter(std::string name, Parameter& member);
  // What belongs to the module and no gradient changes, as running statistics. One that is not persistent moves with the
  // module, and is not in its state_dict. A plain tensor as parameter, or a parameter as buffer, does not compile.
  void buffer(std::string name, Tensor& member, bool persistent = true);
  void buffer(std::string name, Parameter& member, bool persistent = true) = delete;
  void module(std::string name, Module& member);

 private:
  friend class Module;
  struct Held {
    std::string name;
    Tensor* tensor;
    bool is_parameter;
    bool persistent;
  };
  void check_name(const std::string& name) const;

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
// What it computes with is found through list_parts, so that a part that is not listed is not trained, moved or saved.
//
// Tensors that are absent (undefined) are left out of everything below. One that the module holds twice (tied weights) is
// one parameter, under the first of its names, and has both names in the state_dict.
// Threads: any number may call forward at once; the rest belongs to one thread, with nobody in forward.
class BP_API Module {
 public:
  virtual ~Module() = default;

  // Called by all that looks for parts; writes no member. A class that derives from another module calls that one's first.
  virtual void list_parts(Parts& parts);

  // What the module computes of one tensor. A layer with other arguments has a forward of its own, with
  // `using Module::forward` beside it; this one then throws unsupported. Writes no member: what changes from call to call,
  // as running statistics, is written in place into buffers, where copies and recordings see it.
  virtual Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }

  // How the module prints: the name of its type, as "Linear", and what it was made with, as "in_features=64,
  // out_features=10, bias=True"; a layer says the latter in PyTorch's words.
  virtual std::string type_name() const;
  virtual std::string extra_repr() const { return {}; }

  // Its own in the order in which they are listed, then those of its modules. Names are like "hidden.weight".
  std::vector<Tensor> parameters() const;
  std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  std::vector<Tensor> buffers() const;
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;
  // How many numbers the parameters are.
  std::int64_t num_parameters() const;

  // The module itself, under the name "", and all modules below it, each before those that it holds; one that is held
  // twice is there once. The pointers are good until a module is destroyed or assigned to.
  std::vector<std::pair<std::string, Module*>> named_modules();
  std::vector<std::pair<std::string, const Module*>> named_modules() const;
  // Those that it holds itself.
  std::vector<std::pair<std::string, Module*>> named_children();
  std::vector<std::pair<std::string, const Module*>> named_children() const;
  // Calls `visit` with every module, the module itself last.
  void apply(const std::function<void(Module&)>& visit);

  // Modules are made for training. Those that compute otherwise then (dropout, batch norm) ask is_training.
  void train(bool mode = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  // Asks for the gradients of all parameters, or no longer.
  void requires_grad_(bool wanted = true);
  // Forgets all gradients.
  void zero_grad();

  // All parameters and persistent buffers, module by module. The tensors are detached and share the module's memory: clone
  // what must outlive the next step.
  StateDict state_dict() const;
  // Writes the dict's values over the module's, in place, from any device and dtype that can be cast; nothing is recorded.
  // Throws bad_argument, and writes nothing, if a shape differs, if values can't be cast, and with `strict` if a name is
  // missing in the dict or unknown to the module; the sentence lists all of these.
  IncompatibleKeys load_state_dict(const StateDict& dict, bool strict = true);

  // Moves parameters, with their gradients, and buffers. All of them stay the tensors that they are, so that an optimizer
  // that holds the parameters goes on with the moved ones (see set_data, whose errors these are). A floating-point dtype
  // is for floating-point tensors, a complex one for complex ones too; integers keep theirs. When memory ends on the way,
  // what was moved stays moved: free some and call again. Throws bad_argument for another dtype, and before anything is
  // moved for complex tensors that would lose their imaginary part.
  void to(Device device);
  void to(Dtype dtype);
  void to(Device device, Dtype dtype);

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) noexcept = default;

 private:
  template <std::derived_from<Module> M> friend M clone(const M& module);
  struct Walk;

  void move_to(const Device* device, const Dtype* dtype);
  void stop_sharing_with(const Module& original);

  bool training_ = true;
};

// A copy of the module with tensors of its own, gradients included. What the original holds twice, the copy holds twice.
// Throws bad_argument for a module that holds others by pointer, so that a copy shares them (hold them as AnyModule), and if M
// is only a base of the module's own type.
template <std::derived_from<Module> M> M clone(const M& module) {
  M copy(module);
  copy.stop_sharing_with(module);
  return copy;
}

}  // namespace bp::nn
