// What has parameters: a layer, or a network that has layers as its members.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <backplane/tensor/device.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::nn {

// A network names its parts in its constructor:
//
//   struct Net : nn::Module {
//     nn::Linear hidden{64, 32}, output{32, 10};
//     Net() {
//       register_module("hidden", hidden);
//       register_module("output", output);
//     }
//     Tensor forward(const Tensor& x) { return output.forward(relu(hidden.forward(x))); }
//   };
//
// It points to its members, and so is neither copied nor moved.
class BP_API Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Its own in the order in which they were registered, then those of its modules. An absent one (a layer's bias)
  // is left out.
  std::vector<Tensor> parameters() const;
  // The same with names like "hidden.weight".
  std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  // How many numbers they are.
  std::int64_t num_parameters() const;

  // Forgets all gradients.
  void zero_grad();
  // Moves the parameters; an optimizer is made afterwards. Gradients do not move along.
  void to(Device device);

 protected:
  // `member` outlives this module and wants its gradient from now on; undefined, it is a parameter that is absent.
  // Throws bad_argument for a name that is taken, empty, or has a dot in it.
  void register_parameter(std::string name, Tensor& member);
  void register_module(std::string name, Module& member);

 private:
  template <class Visit> void visit(const std::string& prefix, const Visit& visit) const;
  void check_name(const std::string& name) const;

  std::vector<std::pair<std::string, Tensor*>> parameters_;
  std::vector<std::pair<std::string, Module*>> modules_;
};

}  // namespace bp::nn
