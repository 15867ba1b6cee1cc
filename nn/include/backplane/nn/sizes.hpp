// Arguments of layers that may be written in several ways, and print as Python writes them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/scalar.hpp>
#include <backplane/tensor/shape.hpp>

namespace bp::nn {

// The most that windows of the operators take. Products of two of these stay within int64.
inline constexpr std::int64_t most_of_each = std::int64_t{1} << 31;

// A size for each dimension, or one number for all of them: kernel_size = 3, or {3, 5}. A default-made one was not given.
class BP_API Sizes {
 public:
  Sizes() = default;
  template <std::integral T> Sizes(T one) : list_{static_cast<std::int64_t>(one)}, is_one_(true) {}
  Sizes(std::initializer_list<std::int64_t> list) : list_(list) {}
  Sizes(std::vector<std::int64_t> list) : list_(std::move(list)) {}

  bool is_given() const { return is_one_ || !list_.empty(); }
  // The number, or the list.
  const std::vector<std::int64_t>& list() const { return list_; }
  // One for each of `count` dimensions. Throws bad_argument, naming layer and argument, if there are others, or if one is
  // below `least` or above `most`.
  Sizes each(std::size_t count, std::string_view layer, std::string_view argument,
             std::int64_t least, std::int64_t most = most_of_each) const;
  // "3", "(3, 5)", "(3,)", or "None".
  std::string text() const;
  bool all_are(std::int64_t number) const;

 private:
  std::vector<std::int64_t> list_;
  bool is_one_ = false;
};

// Sizes of which some are the input's own: {std::nullopt, 7}.
class BP_API OutputSizes {
 public:
  template <std::integral T>
  OutputSizes(T one) : list_{static_cast<std::int64_t>(one)}, is_one_(true) {}
  OutputSizes(std::nullopt_t) : list_{std::nullopt}, is_one_(true) {}
  OutputSizes(std::initializer_list<std::optional<std::int64_t>> list) : list_(list) {}
  OutputSizes(std::vector<std::optional<std::int64_t>> list) : list_(std::move(list)) {}

  // One for each of `count` dimensions, as Sizes::each.
  OutputSizes each(std::size_t count, std::string_view layer) const;
  // Those of the last dimensions of a result whose input has `shape`.
  std::vector<std::int64_t> of(IntList shape) const;
  std::string text() const;

 private:
  std::vector<std::optional<std::int64_t>> list_;
  bool is_one_ = false;
};

// How much a convolution pads: numbers, "valid" (nothing) or "same" (what keeps the size).
class BP_API ConvPadding : public Sizes {
 public:
  using Sizes::Sizes;
  ConvPadding() : Sizes(0) {}
  ConvPadding(std::string_view word) : word_(word) {}
  ConvPadding(const char* word) : word_(word) {}
  // "" for numbers.
  const std::string& word() const { return word_; }

 private:
  std::string word_;
};

// As Python prints them: "True", "0.1" and "1.0", "1e-05"; "None" for what is missing.
BP_API std::string repr(bool value);
BP_API std::string repr(double value);
BP_API std::string repr(const Scalar& value);
BP_API std::string repr(std::int64_t value);
BP_API std::string repr(IntList values);
template <class T> std::string repr(const std::optional<T>& value) {
  return value ? repr(*value) : "None";
}

}  // namespace bp::nn
