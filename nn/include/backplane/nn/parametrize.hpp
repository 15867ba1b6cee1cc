// Members of modules that are computed: a weight from its direction and length, a matrix that stays orthogonal.
#pragma once

#include <typeinfo>

#include <backplane/nn/containers.hpp>

namespace bp::nn {

// A module that computes a member from its originals: of one by forward(x), of several by forward_all. Any module may be one;
// a class that derives from this also says the way back.
class BP_API Parametrization : public Module {
 public:
  // The originals from which the member becomes `value`, if there are any. Nothing is recorded.
  virtual std::vector<Tensor> right_inverse(const Tensor& value) const { return {value}; }
};

// The parametrization of one member: its originals, named "original", or "original0", "original1" if they are several, and the
// parametrizations "0", "1", each of what the one before it gave.
class BP_API ParametrizationList : public Module {
 public:
  ParametrizationList(std::vector<Parameter> originals, bool are_parameters);

  void append(AnyModule parametrization) { modules_.push_back(std::move(parametrization)); }
  std::size_t size() const { return modules_.size(); }
  const Module& operator[](std::size_t index) const;
  const std::vector<Parameter>& originals() const { return originals_; }
  bool are_parameters() const { return are_parameters_; }
  // Recorded, like everything that a forward computes.
  Tensor value() const;

  void list_parts(Parts& parts) override;
  std::string printed() const override;

 private:
  std::vector<Parameter> originals_;
  bool are_parameters_;  // else buffers
  std::vector<AnyModule> modules_;
};

namespace detail {
struct BP_API Parametrizing {
  static void add(Module& module, std::unique_ptr<Module> (*copy)(const Module&),
                  const std::type_info& type, const std::string& name, AnyModule parametrization);
  static void remove(Module& module, const std::string& name, bool leave_parametrized);
  // Null: this member is not parametrized.
  static ParametrizationList* find(const Module& module, const std::string& name);
};
}  // namespace detail

namespace utils::parametrize {

// From now on each call of the module computes its parameter or buffer `name` by `parametrization`, of originals that take its
// place in parameters() and state_dict(), as "parametrizations.<name>.original". They begin as the right_inverse of the
// present value, or as that itself, and one original stays the same tensor. A second one for the
// same name computes from what the first one returned. Calling `module.forward(x)` instead of
// `module(x)` computes nothing, and meets a tensor without values on the device meta, as does
// reading the member: see value().
//
// A call computes on a copy of the module that shares its tensors: M is the module's own type. Copies and clones of the
// module are parametrized as well. Throws bad_argument if there is no such member, M is only a base of the module's type, or
// a parametrization gives another shape or dtype.
template <std::derived_from<Module> M>
void register_parametrization(M& module, const std::string& name, AnyModule parametrization) {
  const auto copy = [](const Module& from) {
    return std::unique_ptr<Module>(std::make_unique<M>(static_cast<const M&>(from)));
  };
  detail::Parametrizing::add(module, copy, typeid(M), name, std::move(parametrization));
}

// Whether this member of the module is parametrized, or any member.
BP_API bool is_parametrized(const Module& module);
BP_API bool is_parametrized(const Module& module, const std::string& name);
// The member as a call would compute it; one that is not parametrized is returned as it is. Throws bad_argument if
// there is none.
BP_API Tensor value(const Module& module, const std::string& name);
// Writes originals from which the member becomes `value`, like PyTorch's assignment to it.
BP_API void set_value(Module& module, const std::string& name, const Tensor& value);
// Makes the member an ordinary one again: with its present value, or, if it has a single original,
// with that. The latter stays the tensor that it was. Throws bad_argument if it is not
// parametrized, and without `leave_parametrized` if it has several originals.
BP_API void remove_parametrizations(Module& module, const std::string& name,
                                    bool leave_parametrized = true);

}  // namespace utils::parametrize
}  // namespace bp::nn
