// Modules that hold modules of any type.
#pragma once

#include <initializer_list>
#include <memory>
#include <typeinfo>

#include <backplane/nn/module.hpp>

namespace bp::nn {

namespace detail {
[[noreturn]] BP_API void throw_other_module(const Module& module, const std::type_info& wanted);
[[noreturn]] BP_API void throw_moved_from();
}  // namespace detail

// A module of any type, as a value: copying it copies the module, whose tensors both then share.
class BP_API AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module)
      : held_(std::make_unique<M>(std::move(module))), copy_([](const Module& from) {
          return std::unique_ptr<Module>(std::make_unique<M>(static_cast<const M&>(from)));
        }) {}
  AnyModule(const AnyModule& other) : held_(other.copy_(*other)), copy_(other.copy_) {}
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(AnyModule other) noexcept {
    std::swap(held_, other.held_);
    std::swap(copy_, other.copy_);
    return *this;
  }

  // Throws bad_argument, as copying does, once the module was moved from.
  Module& operator*() const {
    if (!held_) detail::throw_moved_from();
    return *held_;
  }
  Module* operator->() const { return &**this; }

 private:
  std::unique_ptr<Module> held_;  // null once moved from
  std::unique_ptr<Module> (*copy_)(const Module&);
};

// The module as M; throws bad_argument, naming both types, if it is of another.
template <std::derived_from<Module> M> const M& module_as(const Module& module) {
  const M* const typed = dynamic_cast<const M*>(&module);
  if (!typed) detail::throw_other_module(module, typeid(M));
  return *typed;
}
template <std::derived_from<Module> M> M& module_as(Module& module) {
  return const_cast<M&>(module_as<M>(std::as_const(module)));
}

// Each module gets the result of the one before it; an empty Sequential returns its argument. Their names are "0", "1"
// and so on, unless they are given. Sequential(sequential) is a copy, as of any class: append one to hold it.
class BP_API Sequential : public Module {
 public:
  using Entry = std::pair<std::string, AnyModule>;

  Sequential() = default;
  template <std::derived_from<Module>... M> explicit Sequential(M... modules) {
    (append(std::move(modules)), ...);
  }
  Sequential(std::initializer_list<Entry> modules);

  void append(AnyModule module) { append(std::to_string(size()), std::move(module)); }
  void append(std::string name, AnyModule module);
  std::size_t size() const { return modules_.size(); }
  // Throws bad_argument if there are not as many.
  Module& operator[](std::size_t index);
  const Module& operator[](std::size_t index) const;

  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const override;

 private:
  std::vector<Entry> modules_;
};

// Modules in a list, called by their owner. Their names are "0", "1" and so on.
class BP_API ModuleList : public Module {
 public:
  ModuleList() = default;
  template <std::derived_from<Module>... M> explicit ModuleList(M... modules) {
    (append(std::move(modules)), ...);
  }
  explicit ModuleList(std::vector<AnyModule> modules) : modules_(std::move(modules)) {}

  void append(AnyModule module) { modules_.push_back(std::move(module)); }
  void extend(const ModuleList& others);
  // Before the one at `index`, or at the end. Throws bad_argument for an index beyond the end.
  void insert(std::size_t index, AnyModule module);
  std::size_t size() const { return modules_.size(); }
  // Throws bad_argument if there are not as many.
  Module& operator[](std::size_t index) { return const_cast<Module&>(std::as_const(*this)[index]); }
  const Module& operator[](std::size_t index) const;
  // In its own type: list.at<nn::Linear>(0).weight. Throws bad_argument for another type.
  template <std::derived_from<Module> M> M& at(std::size_t index) {
    return module_as<M>((*this)[index]);
  }
  template <std::derived_from<Module> M> const M& at(std::size_t index) const {
    return module_as<M>((*this)[index]);
  }

  void list_parts(Parts& parts) override;
  std::string printed() const override;

 private:
  std::vector<AnyModule> modules_;
};

// Modules by name, in insertion order.
class BP_API ModuleDict : public Module {
 public:
  using Entry = std::pair<std::string, AnyModule>;

  ModuleDict() = default;
  ModuleDict(std::initializer_list<Entry> modules);

  // Adds the module at the end, or replaces the existing one. Throws bad_argument for a name that is empty or has a
  // dot.
  void set(const std::string& name, AnyModule module);
  // Nothing happens if there is none.
  void erase(const std::string& name);
  bool contains(const std::string& name) const;
  std::size_t size() const { return modules_.size(); }
  std::vector<std::string> keys() const;
  // Throws bad_argument, listing the existing names, if there is none.
  Module& operator[](const std::string& name) {
    return const_cast<Module&>(std::as_const(*this)[name]);
  }
  const Module& operator[](const std::string& name) const;
  template <std::derived_from<Module> M> M& at(const std::string& name) {
    return module_as<M>((*this)[name]);
  }
  template <std::derived_from<Module> M> const M& at(const std::string& name) const {
    return module_as<M>((*this)[name]);
  }

  void list_parts(Parts& parts) override;

 private:
  std::vector<Entry> modules_;
};

// Parameters in a list. Their names are "0", "1" and so on.
class BP_API ParameterList : public Module {
 public:
  ParameterList() = default;
  explicit ParameterList(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  void append(Parameter parameter) { parameters_.push_back(std::move(parameter)); }
  void extend(const ParameterList& others);
  std::size_t size() const { return parameters_.size(); }
  // Throws bad_argument if there are not as many.
  Parameter& operator[](std::size_t index) {
    return const_cast<Parameter&>(std::as_const(*this)[index]);
  }
  const Parameter& operator[](std::size_t index) const;
  std::vector<Parameter>::const_iterator begin() const { return parameters_.begin(); }
  std::vector<Parameter>::const_iterator end() const { return parameters_.end(); }

  void list_parts(Parts& parts) override;
  std::string printed() const override;

 private:
  std::vector<Parameter> parameters_;
};

// Parameters by name, in insertion order.
class BP_API ParameterDict : public Module {
 public:
  using Entry = std::pair<std::string, Parameter>;

  ParameterDict() = default;
  ParameterDict(std::initializer_list<Entry> parameters);

  // As ModuleDict's.
  void set(const std::string& name, Parameter parameter);
  void erase(const std::string& name);
  bool contains(const std::string& name) const;
  std::size_t size() const { return parameters_.size(); }
  std::vector<std::string> keys() const;
  Parameter& operator[](const std::string& name) {
    return const_cast<Parameter&>(std::as_const(*this)[name]);
  }
  const Parameter& operator[](const std::string& name) const;

  void list_parts(Parts& parts) override;
  std::string printed() const override;

 private:
  std::vector<Entry> parameters_;
};

}  // namespace bp::nn
