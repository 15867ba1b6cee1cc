// Modules that hold modules of any type.
#pragma once

#include <memory>

#include <backplane/nn/module.hpp>

namespace bp::nn {

// A module of any type, as a value: copying it copies the module, whose tensors both then share.
class BP_API AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module)
      : held_(std::make_unique<M>(std::move(module))), copy_([](const Module& from) {
          return std::unique_ptr<Module>(std::make_unique<M>(static_cast<const M&>(from)));
        }) {}
  AnyModule(const AnyModule& other) : held_(other.copy_(*other.held_)), copy_(other.copy_) {}
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(AnyModule other) noexcept {
    std::swap(held_, other.held_);
    std::swap(copy_, other.copy_);
    return *this;
  }

  Module& operator*() const { return *held_; }
  Module* operator->() const { return held_.get(); }

 private:
  std::unique_ptr<Module> held_;  // null once moved from
  std::unique_ptr<Module> (*copy_)(const Module&);
};

// Each module computes of what the one before it gave; without any, the result is the argument. Their names are "0", "1"
// and so on.
class BP_API Sequential : public Module {
 public:
  Sequential() = default;
  template <std::derived_from<Module>... M> explicit Sequential(M... modules) {
    (append(std::move(modules)), ...);
  }

  void append(AnyModule module) { modules_.push_back(std::move(module)); }
  std::size_t size() const { return modules_.size(); }
  // Throws bad_argument if there are not as many.
  Module& operator[](std::size_t index);
  const Module& operator[](std::size_t index) const;

  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const override;

 private:
  std::vector<AnyModule> modules_;
};

}  // namespace bp::nn
