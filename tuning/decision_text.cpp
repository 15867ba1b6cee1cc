#include "decision_text.hpp"

#include <charconv>
#include <fmt/format.h>

namespace bp::tuner {
namespace {

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

template <class Number> Number take_number(std::string_view& text, char end) {
  const std::string_view digits = take_until(text, end);
  Number number{};
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

std::string to_text(const Decision& decision) {
  std::string text = fmt::format("{}{}\n{}\n{} of {}\n", decision_head, decision.what,
                                 decision.identity, decision.way, decision.num_ways);
  for (const double seconds : decision.seconds) text += fmt::format("{:.3e}\n", seconds);
  return text;
}

std::optional<Decision> parse_decision(std::string_view text) {
  const std::string_view whole = text;
  if (!text.starts_with(decision_head)) return {};
  text.remove_prefix(decision_head.size());
  Decision decision;
  decision.what = take_until(text, '\n');
  decision.identity = take_until(text, '\n');
  decision.way = take_number<std::size_t>(text, ' ');
  if (take_until(text, ' ') != "of") return {};
  decision.num_ways = take_number<std::size_t>(text, '\n');
  while (!text.empty()) decision.seconds.push_back(take_number<double>(text, '\n'));
  if (decision.way >= decision.num_ways || to_text(decision) != whole) return {};
  return decision;
}

}  // namespace bp::tuner
