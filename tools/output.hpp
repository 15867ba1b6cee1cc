// How the command speaks: aligned tables and colour for a person, JSON for a program.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bp::tools {

enum class Color { none, good, warning, bad, faint, strong };

// The text in colour, if the standard output is a terminal and NO_COLOR is not set.
std::string paint(std::string_view text, Color color);

struct Cell {
  std::string text;
  Color color = Color::none;
};

// Columns as wide as their widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // As many cells as the header has.
  void add(std::vector<Cell> row);
  void print(std::FILE* to = stdout) const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

void print_json(const nlohmann::ordered_json& value, std::FILE* to = stdout);

// "1 device", "2 devices".
std::string count_of(std::size_t count, std::string_view noun);

}  // namespace bp::tools
