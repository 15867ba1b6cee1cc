// Compile-time checks: a kernel's parameters against its operator, an operator against its schema. Include
// plugin.hpp.
#ifndef BACKPLANE_PLUGIN_SIGNATURE_HPP
#define BACKPLANE_PLUGIN_SIGNATURE_HPP

#include <tuple>
#include <type_traits>

#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

// FNV-1a, 64 bits.
constexpr uint64_t schema_hash(std::string_view schema) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : schema) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

namespace detail {

template <class F> struct Function;
template <class R, class... P> struct Function<R(P...)> {
  using Result = R;
  using Parameters = std::tuple<std::remove_cv_t<std::remove_reference_t<P>>...>;
  static constexpr size_t size = sizeof...(P);
};

template <class F, size_t I>
using Parameter = std::tuple_element_t<I, typename Function<F>::Parameters>;

// An operator's signature: a stream, then its arguments, then its outputs.
template <class Op> struct Places {
  using signature = typename Op::signature;
  static constexpr size_t count = Function<signature>::size - 1;

  template <size_t I> using type = Parameter<signature, I + 1>;

  template <size_t... I> static constexpr size_t count_outputs(std::index_sequence<I...>) {
    return (size_t{0} + ... +
            size_t{std::is_same_v<type<I>, Out> || std::is_same_v<type<I>, OutList>});
  }
  static constexpr size_t num_outputs = count_outputs(std::make_index_sequence<count>());
  static constexpr size_t num_args = count - num_outputs;
};

// A kernel may take less than the schema offers: the core makes a tensor of a number, and a number that
// the kernel's type cannot hold exactly is answered with BP_UNSUPPORTED. A generator is always there.
template <class Given, class Wanted>
inline constexpr bool accepts = std::is_same_v<Given, Wanted> ||
                                (std::is_same_v<Wanted, InOrNumber> && std::is_same_v<Given, In>) ||
                                (std::is_same_v<Wanted, InListOrNumber> &&
                                 std::is_same_v<Given, InList>) ||
                                (std::is_same_v<Wanted, std::optional<Generator>> &&
                                 std::is_same_v<Given, Generator>) ||
                                (std::is_same_v<Wanted, Scalar> &&
                                 (std::is_same_v<Given, double> || std::is_same_v<Given, int64_t>));

template <class Operator, size_t Position, class Given, class Wanted>
constexpr bool parameter_fits() {
  static_assert(accepts<Given, Wanted>,
                "a parameter of this kernel does not have the type that the operator's schema asks "
                "for; see Operator, Position, Given and Wanted in the line above");
  return accepts<Given, Wanted>;
}

template <class Op, class F, size_t... I> constexpr bool parameters_fit(std::index_sequence<I...>) {
  return (1 & ... &  // all of them, so that each wrong one is named
          int{parameter_fits<Op, I + 1, Parameter<F, I + 1>,
                             typename Places<Op>::template type<I>>()}) != 0;
}

// F: what was written; R: what it must return.
template <class Op, class F, class R> constexpr bool fits() {
  using Written = Function<F>;
  constexpr bool right_result = std::is_same_v<typename Written::Result, R>;
  static_assert(right_result,
                "a kernel returns bp::Status, and what .supports() gets returns bool");
  constexpr bool right_size = Written::size == Places<Op>::count + 1;
  static_assert(
      right_size,
      "a kernel takes bp::Stream (or bp::Call), one parameter for each argument of the "
      "operator's schema, and one bp::Out (bp::OutList for a Tensor[]) for each result; see "
      "Op::signature");
  if constexpr (right_result && right_size) {
    constexpr bool right_start = std::is_base_of_v<Stream, Parameter<F, 0>>;
    static_assert(right_start, "a kernel's first parameter is bp::Stream or bp::Call");
    return right_start && parameters_fit<Op, F>(std::make_index_sequence<Places<Op>::count>());
  }
  return false;
}

// Does a parameter of this type take a number in place of its tensors?
template <class T>
inline constexpr bool takes_number =
    std::is_same_v<T, InOrNumber> || std::is_same_v<T, InListOrNumber>;

// ---- An operator's own consistency: needed where a person wrote it ----------------------------------

// The schema's word for a parameter's type.
template <class T> constexpr std::string_view schema_word() {
  if constexpr (std::is_same_v<T, In> || std::is_same_v<T, InOrNumber>) return "Tensor";
  if constexpr (std::is_same_v<T, std::optional<In>>) return "Tensor?";
  if constexpr (std::is_same_v<T, InList> || std::is_same_v<T, InListOrNumber>) return "Tensor[]";
  if constexpr (std::is_same_v<T, OptionalInList>) return "Tensor?[]";
  if constexpr (std::is_same_v<T, std::optional<Generator>>) return "Generator?";
  if constexpr (std::is_same_v<T, Scalar>) return "Scalar";
  if constexpr (std::is_same_v<T, std::optional<Scalar>>) return "Scalar?";
  if constexpr (std::is_same_v<T, int64_t>) return "int";
  if constexpr (std::is_same_v<T, std::optional<int64_t>>) return "int?";
  if constexpr (std::is_same_v<T, Ints>) return "int[]";
  if constexpr (std::is_same_v<T, std::optional<Ints>>) return "int[]?";
  if constexpr (std::is_same_v<T, double>) return "float";
  if constexpr (std::is_same_v<T, std::optional<double>>) return "float?";
  if constexpr (std::is_same_v<T, Doubles>) return "float[]";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, std::string_view>) return "str";
  if constexpr (std::is_same_v<T, std::optional<std::string_view>>) return "str?";
  if constexpr (std::is_same_v<T, Dtype>) return "Dtype";
  if constexpr (std::is_same_v<T, std::optional<Dtype>>) return "Dtype?";
  if constexpr (std::is_same_v<T, DeviceNumber>) return "Device";
  if constexpr (std::is_same_v<T, std::optional<DeviceNumber>>) return "Device?";
  return "";
}

// The words of the parameters or results that begin with `*at`, one for each call; empty at the end.
constexpr std::string_view next_word(std::string_view text, size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == ',' || text[at] == '*')) ++at;
  const size_t begin = at;
  while (at < text.size() && text[at] != ' ' && text[at] != ',') ++at;
  const std::string_view word = text.substr(begin, at - begin);
  for (int depth = 0; at < text.size() && (depth > 0 || text[at] != ','); ++at) {  // name, default
    if (text[at] == '[') ++depth;
    if (text[at] == ']') --depth;
  }
  return word;
}

template <class Op, size_t... I>
constexpr bool words_agree(std::string_view args, std::index_sequence<I...>) {
  size_t at = 0;
  return (true && ... &&
          (next_word(args, at) == schema_word<typename Places<Op>::template type<I>>())) &&
         next_word(args, at).empty();
}

// An operator of a plugin's own whose names have changed says under which it was first published.
template <class Op, class = void> struct FirstSchema {
  static constexpr const char* text = nullptr;
  static constexpr const char* hashed = Op::schema;
};
template <class Op> struct FirstSchema<Op, std::void_t<decltype(Op::first_schema)>> {
  static constexpr const char* text = Op::first_schema;
  static constexpr const char* hashed = text;
};

template <class Op, size_t... I>
constexpr bool results_agree(std::string_view results, std::index_sequence<I...>) {
  size_t at = 0;
  constexpr size_t first = Places<Op>::num_args;
  return (true && ... &&
          (next_word(results, at) ==
           (std::is_same_v<typename Places<Op>::template type<first + I>, OutList> ? "Tensor[]"
                                                                                   : "Tensor"))) &&
         next_word(results, at).empty();
}

template <class Op> constexpr bool agrees_with_its_schema() {
  const std::string_view schema = Op::schema;
  const size_t open = schema.find('('), close = schema.find(") -> ");
  if (close == schema.npos || schema.substr(0, open) != Op::name) return false;
  if (Op::schema_hash != schema_hash(FirstSchema<Op>::hashed)) return false;
  const std::string_view args = schema.substr(open + 1, close - open - 1);
  if (!words_agree<Op>(args, std::make_index_sequence<Places<Op>::num_args>())) return false;

  std::string_view results = schema.substr(close + 5);
  if (results.front() == '(') results = results.substr(1, results.size() - 2);
  return results_agree<Op>(results, std::make_index_sequence<Places<Op>::num_outputs>());
}

}  // namespace detail
}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_SIGNATURE_HPP
