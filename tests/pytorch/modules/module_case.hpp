// How run_modules makes modules by PyTorch's names. A new module is a line in the table of a file here, and cases in the
// Python file beside it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include <backplane/nn/module.hpp>
#include <backplane/nn/sizes.hpp>

#include "pytorch/call_reader.hpp"

namespace bp::test {

using Tensors = std::vector<Tensor>;

// What a constructor was given in Python, by name.
class Args {
 public:
  Args(const nlohmann::ordered_json& given, TensorReader& tensors)
      : given_(given), tensors_(tensors) {}

  bool has(const char* name) const { return given_.contains(name); }
  bool is_list(const char* name) const { return has(name) && given_[name].is_array(); }
  // Writes what was given; else `value` stays, the default of our class, which is to be PyTorch's.
  template <class T> void read(const char* name, T& value) {
    const auto found = given_.find(name);
    read_.insert(name);
    if (found != given_.end()) convert(*found, value);
  }
  template <class T> T get(const char* name) {
    if (!has(name)) throw std::runtime_error(std::string("run_modules: no argument ") + name);
    T value{};
    read(name, value);
    return value;
  }
  // Throws for an argument that the constructor never read.
  void check_all_read() const {
    for (const auto& [name, value] : given_.items())
      if (!read_.contains(name))
        throw std::runtime_error("run_modules: the constructor has no argument '" + name + "'");
  }

 private:
  using Json = nlohmann::ordered_json;
  void convert(const Json& said, bool& value) { value = said.get<bool>(); }
  void convert(const Json& said, std::int64_t& value) { value = said.get<std::int64_t>(); }
  void convert(const Json& said, double& value) { value = real_of(said); }
  void convert(const Json& said, std::string& value) { value = said.get<std::string>(); }
  void convert(const Json& said, Tensor& value) {
    value = said.is_null() ? Tensor() : tensors_.tensor(said["tensor"]);
  }
  void convert(const Json& said, Dtype& value) { value = dtype_from_name(said.get<std::string>()); }
  void convert(const Json& said, Scalar& value) {
    if (said.is_number_integer())
      value = said.get<std::int64_t>();
    else
      value = real_of(said);
  }
  void convert(const Json& said, nn::Sizes& value) {
    if (said.is_null())
      value = {};
    else if (said.is_array())
      value = said.get<std::vector<std::int64_t>>();
    else
      value = said.get<std::int64_t>();
  }
  void convert(const Json& said, nn::ConvPadding& value) {
    if (said.is_string())
      value = std::string_view(said.get_ref<const std::string&>());
    else if (said.is_array())
      value = said.get<std::vector<std::int64_t>>();
    else
      value = said.get<std::int64_t>();
  }
  template <class T> void convert(const Json& said, std::vector<T>& value) {
    value.clear();
    for (const Json& one : said.is_array() ? said : Json::array({said})) {
      T element{};
      convert(one, element);
      value.push_back(element);
    }
  }
  template <class T> void convert(const Json& said, std::optional<T>& value) {
    value.reset();
    if (!said.is_null()) convert(said, value.emplace());
  }

  const Json& given_;
  TensorReader& tensors_;
  std::set<std::string> read_;
};

// A module of any type, and how it is called.
struct Made {
  std::unique_ptr<nn::Module> module;
  std::function<Tensors(const Tensors& inputs)> forward;
};
using Maker = std::function<Made(Args&)>;
using Makers = std::map<std::string, Maker>;

inline Tensors listed(const Tensor& one) {
  return {one};
}
inline Tensors listed(const Tensors& all) {
  return all;
}
template <class... T> Tensors listed(const std::tuple<T...>& all) {
  Tensors list;
  std::apply(
      [&](const auto&... one) {
        const auto append = [&](const Tensors& more) {
          list.insert(list.end(), more.begin(), more.end());
        };
        (append(listed(one)), ...);
      },
      all);
  return list;
}
template <class A, class B> Tensors listed(const std::pair<A, B>& all) {
  return listed(std::make_tuple(all.first, all.second));
}

// Calls `function(module, inputs)`, which returns one tensor or several.
template <class M, class Function> Made made(M module, Function function) {
  auto held = std::make_unique<M>(std::move(module));
  M* const raw = held.get();
  return {std::move(held), [=](const Tensors& inputs) { return listed(function(*raw, inputs)); }};
}

// Calls the forward that takes as many tensors.
template <class M> Made made(M module) {
  return made(std::move(module), [](const M& m, const Tensors& in) -> Tensors {
    if constexpr (requires { m.forward(in[0]); })
      if (in.size() == 1) return listed(m.forward(in[0]));
    if constexpr (requires { m.forward(in[0], in[1]); })
      if (in.size() == 2) return listed(m.forward(in[0], in[1]));
    if constexpr (requires { m.forward(in[0], in[1], in[2]); })
      if (in.size() == 3) return listed(m.forward(in[0], in[1], in[2]));
    if constexpr (requires { m.forward(in[0], in[1], in[2], in[3]); })
      if (in.size() == 4) return listed(m.forward(in[0], in[1], in[2], in[3]));
    throw std::runtime_error("run_modules: forward does not take so many tensors");
  });
}

// Reads the argument of the option's own name: `OPTION(bias);` where `args` and `options` are.
#define OPTION(name) args.read(#name, options.name)

}  // namespace bp::test
