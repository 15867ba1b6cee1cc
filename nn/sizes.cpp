#include <algorithm>

#include <backplane/nn/sizes.hpp>
#include <backplane/tensor/check.hpp>

namespace bp::nn {
namespace {

template <class List> std::string tuple_text(const List& list) {
  std::string text = "(";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + repr(list[i]);
  return text + (list.size() == 1 ? ",)" : ")");
}

}  // namespace

Sizes Sizes::each(std::size_t count, std::string_view layer, std::string_view argument,
                  std::int64_t least, std::int64_t most) const {
  BP_CHECK(is_one_ || list_.size() == count, "{}: {} is {}; pass one number, or {} of them", layer,
           argument, text(), count);
  for (std::int64_t number : list_) {
    BP_CHECK(number >= least, "{}: {} is {}; pass numbers of {} or more", layer, argument, text(),
             least);
    BP_CHECK(number <= most, "{}: {} is {}; pass numbers of {} at most", layer, argument, text(),
             most);
  }
  return is_one_ ? Sizes(std::vector<std::int64_t>(count, list_[0])) : *this;
}

std::string Sizes::text() const {
  if (!is_given()) return "None";
  return is_one_ ? repr(list_[0]) : tuple_text(list_);
}

bool Sizes::all_are(std::int64_t number) const {
  return std::all_of(list_.begin(), list_.end(), [=](std::int64_t one) { return one == number; });
}

OutputSizes OutputSizes::each(std::size_t count, std::string_view layer) const {
  BP_CHECK(is_one_ || list_.size() == count,
           "{}: output_size is {}; pass one number, or {} of them", layer, text(), count);
  for (const std::optional<std::int64_t>& number : list_)
    BP_CHECK(number.value_or(0) >= 0, "{}: output_size is {}; pass numbers of 0 or more", layer,
             text());
  OutputSizes all = *this;
  if (is_one_) all.list_.assign(count, list_[0]);
  all.is_one_ = false;
  return all;
}

std::vector<std::int64_t> OutputSizes::of(IntList shape) const {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < list_.size(); ++i)
    sizes.push_back(list_[i] || shape.size() < list_.size()
                        ? list_[i].value_or(1)
                        : shape[shape.size() - list_.size() + i]);
  return sizes;
}

std::string OutputSizes::text() const {
  return is_one_ ? repr(list_[0]) : tuple_text(list_);
}

std::string repr(bool value) {
  return value ? "True" : "False";
}

std::string repr(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string repr(const Scalar& value) {
  return value.is_integral() ? repr(value.to_int()) : repr(value.to_double());
}

std::string repr(std::int64_t value) {
  return std::to_string(value);
}

std::string repr(IntList values) {
  return tuple_text(values);
}

}  // namespace bp::nn
