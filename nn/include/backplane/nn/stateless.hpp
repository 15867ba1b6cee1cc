// Layers that compute a function of their options and arguments, and hold nothing that is trained.
#pragma once

#include <backplane/nn/module.hpp>
#include <backplane/nn/sizes.hpp>

namespace bp::nn {

namespace detail {
[[noreturn]] BP_API void refuse_number(const Module& module, std::size_t num_inputs);
}

// A layer of one tensor. `Options` says all: `apply(x)`, or `apply(x, training)` where it matters, what the layer computes;
// `text()`, if there is one, what it prints; `check()`, if there is one, throws bad_argument for options that no layer can have.
template <class Options> class Stateless : public Module {
 public:
  explicit Stateless(const Options& options = {}) : options_(options) {
    if constexpr (requires { options_.check(); }) options_.check();
  }
  const Options& options() const { return options_; }

  Tensor forward(const Tensor& x) const override {
    if constexpr (requires { options_.apply(x, true); })
      return options_.apply(x, is_training());
    else
      return options_.apply(x);
  }
  std::string extra_repr() const override {
    if constexpr (requires { options_.text(); })
      return options_.text();
    else
      return {};
  }

 private:
  Options options_;
};

// A layer of several tensors, as Stateless. Options' tensors `weight` and `pos_weight`, if there are any, are buffers.
template <class Options> class StatelessOfMany : public Module {
 public:
  explicit StatelessOfMany(const Options& options = {}) : options_(options) {
    if constexpr (requires { options_.check(); }) options_.check();
  }
  const Options& options() const { return options_; }

  void list_parts(Parts& parts) override {
    if constexpr (requires { options_.weight; }) parts.buffer("weight", options_.weight);
    if constexpr (requires { options_.pos_weight; })
      parts.buffer("pos_weight", options_.pos_weight);
  }
  using Module::forward;
  template <std::same_as<Tensor>... More>
  requires requires(const Options& options, const Tensor& x, const More&... more) {
    options.apply(x, more...);
  }
  Tensor forward(const Tensor& x, const More&... more) const { return options_.apply(x, more...); }
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override {
    Tensor result;
    const auto takes = [&]<std::size_t... place>(std::index_sequence<place...>) {
      if constexpr (requires { options_.apply(inputs[place]...); }) {
        if (inputs.size() != sizeof...(place)) return false;
        result = options_.apply(inputs[place]...);
        return true;
      }
      return false;
    };
    if (takes(std::make_index_sequence<2>()) || takes(std::make_index_sequence<3>()) ||
        takes(std::make_index_sequence<4>()))
      return {result};
    detail::refuse_number(*this, inputs.size());
  }
  using Module::operator();
  template <std::same_as<Tensor>... More>
  Tensor operator()(const Tensor& x, const Tensor& y, const More&... more) const {
    return called(*this, x, y, more...);
  }

 private:
  Options options_;
};

// A function of one tensor without any option.
template <auto function> class Function : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return function(x); }
};

// The only option of many activations.
struct InplaceOptions {
  bool inplace = false;  // writes the result over the argument, and returns that
};

template <auto function, auto function_in_place> class InplaceFunction : public Module {
 public:
  explicit InplaceFunction(const InplaceOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x) const override {
    return options_.inplace ? function_in_place(x) : function(x);
  }
  std::string extra_repr() const override { return options_.inplace ? "inplace=True" : ""; }

 private:
  InplaceOptions options_;
};

}  // namespace bp::nn
