#include "output.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bp::tools {
namespace {

bool in_color() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || *refused == '\0');
}

int code_of(Color color) {
  switch (color) {
    case Color::none: return 0;
    case Color::good: return 32;
    case Color::warning: return 33;
    case Color::bad: return 31;
    case Color::faint: return 2;
    case Color::strong: return 1;
  }
  return 0;
}

}  // namespace

std::string paint(std::string_view text, Color color) {
  static const bool colored = in_color();
  if (!colored || color == Color::none) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code_of(color), text);
}

Table::Table(std::vector<std::string> header) {
  rows_.emplace_back();
  for (std::string& text : header) rows_[0].push_back({std::move(text), Color::strong});
}

void Table::add(std::vector<Cell> row) {
  row.resize(rows_[0].size());
  rows_.push_back(std::move(row));
}

void Table::print(std::FILE* to) const {
  const bool paints = to == stdout;
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].text.size());
  for (const auto& row : rows_) {
    std::string line;
    std::size_t missing = 0;  // before the next cell, so that no line ends in spaces
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].text.empty()) {
        line += std::string(missing, ' ');
        line += paints ? paint(row[i].text, row[i].color) : row[i].text;
        missing = 0;
      }
      missing += widths[i] - row[i].text.size() + 2;
    }
    fmt::print(to, "{}\n", line);
  }
}

void print_json(const nlohmann::ordered_json& value, std::FILE* to) {
  // Paths may hold bytes that are not UTF-8.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  fmt::print(to, "{}\n", value.dump(2, ' ', false, replace));
}

std::string count_of(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace bp::tools
