// Modules as text, as PyTorch writes them.
#include "printing.hpp"

#include <ostream>

#include <backplane/nn/containers.hpp>

#include "extras.hpp"
#include "walk.hpp"

namespace bp::nn {

std::string indented(const std::string& text) {
  std::string result;
  for (char character : text) {
    result += character;
    if (character == '\n') result += "  ";
  }
  return result;
}

std::string in_parentheses(const std::string& name, const std::vector<std::string>& lines) {
  std::string text = name + "(";
  for (const std::string& line : lines) text += "\n  " + indented(line);
  return text + (lines.empty() ? ")" : "\n)");
}

std::vector<std::string> folded(const std::vector<std::string>& entries) {
  std::vector<std::string> lines;
  for (std::size_t first = 0, next; first < entries.size(); first = next) {
    for (next = first + 1; next < entries.size() && entries[next] == entries[first];) ++next;
    const std::size_t count = next - first;
    lines.push_back(count == 1
                        ? fmt::format("({}): {}", first, entries[first])
                        : fmt::format("({}-{}): {} x {}", first, next - 1, count, entries[first]));
  }
  return lines;
}

std::string printed_name(const Module& module) {
  const auto& extras = detail::Extras::of(module);
  return (extras && extras->copy ? "Parametrized" : "") + module.type_name();
}

std::string Module::printed() const {
  Walk(*this).modules([](const auto&...) {});  // throws for one that holds itself
  const std::string extra = extra_repr();
  const Walk::Modules children = Walk::children(*this);
  if (children.empty() && extra.find('\n') == std::string::npos)
    return printed_name(*this) + "(" + extra + ")";
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end; begin < extra.size(); begin = end + 1) {
    end = std::min(extra.find('\n', begin), extra.size());
    lines.push_back(extra.substr(begin, end - begin));
  }
  for (const auto& [name, child] : children)
    lines.push_back(fmt::format("({}): {}", name, child->printed()));
  return in_parentheses(printed_name(*this), lines);
}

std::string to_string(const Module& module) {
  return module.printed();
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  return stream << module.printed();
}

}  // namespace bp::nn
