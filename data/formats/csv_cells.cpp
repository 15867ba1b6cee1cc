#include "formats/csv_cells.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>

#include <backplane/tensor/check.hpp>

namespace bp::data {
namespace {

class CsvScanner {
 public:
  CsvScanner(std::string_view text, const std::string& name, const CsvOptions& options)
      : text_(text), name_(name), options_(options) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark that some programs begin UTF-8 with
  }

  bool at_end() const { return at_ >= text_.size(); }
  std::int64_t line() const { return line_; }

  // Empty for an empty line.
  std::vector<std::string> next_row() {
    std::vector<std::string> cells;
    if (skip_line_end()) return cells;
    for (;;) {
      cells.push_back(next_cell(cells.size()));
      if (at_end() || skip_line_end()) return cells;
      ++at_;  // the delimiter
    }
  }

 private:
  bool skip_line_end() {
    const std::string_view rest = text_.substr(at_);
    const std::size_t length = rest.starts_with("\r\n") ? 2 : rest.starts_with("\n") ? 1 : 0;
    at_ += length;
    line_ += length ? 1 : 0;
    return length != 0;
  }

  std::string next_cell(std::size_t column) {
    if (!at_end() && text_[at_] == options_.quote) return quoted_cell(column);
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != options_.delimiter && text_[end] != '\n') ++end;
    std::string_view cell = text_.substr(at_, end - at_);
    at_ = end;
    if (end < text_.size() && text_[end] == '\n' && cell.ends_with('\r')) {
      cell.remove_suffix(1);
      --at_;
    }
    return std::string(cell);
  }

  std::string quoted_cell(std::size_t column) {
    const std::int64_t first_line = line_;
    std::string cell;
    for (++at_;; ++at_) {
      BP_CHECK(!at_end(), "{}:{}: column {}: the quote does not end", name_, first_line,
               column + 1);
      const char c = text_[at_];
      if (c == options_.quote) {
        ++at_;
        if (at_end() || text_[at_] != options_.quote) break;
      }
      line_ += c == '\n' ? 1 : 0;
      cell += c;
    }
    const std::string_view rest = text_.substr(at_);
    BP_CHECK(rest.empty() || rest[0] == options_.delimiter || rest[0] == '\n' ||
                 rest.starts_with("\r\n"),
             "{}:{}: column {}: there is text behind the closing quote; write a quote inside of a "
             "cell twice",
             name_, line_, column + 1);
    return cell;
  }

  std::string_view text_;
  const std::string& name_;
  const CsvOptions& options_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

std::vector<std::size_t> selected_columns(const std::vector<std::string>& names,
                                          const std::string& file, const CsvOptions& options) {
  std::vector<std::size_t> selected;
  for (const std::string& wanted : options.columns) {
    const auto found = std::find(names.begin(), names.end(), wanted);
    BP_CHECK(found != names.end(), "{}: has no column \"{}\"; its {} columns are: {}", file, wanted,
             names.size(), fmt::join(names, ", "));
    selected.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  if (options.columns.empty())
    for (std::size_t i = 0; i < names.size(); ++i) selected.push_back(i);
  return selected;
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

CsvCells csv_cells(std::string_view text, const std::string& name, const CsvOptions& options) {
  BP_CHECK(options.delimiter != options.quote && options.delimiter != '\n' && options.quote != '\n',
           "{}: delimiter and quote must differ, and be no line break", name);
  CsvScanner scanner(text, name, options);
  CsvCells result;
  std::vector<std::string> names;
  std::vector<std::size_t> selected;
  bool has_names = false;
  while (!scanner.at_end()) {
    const std::int64_t line = scanner.line();
    std::vector<std::string> cells = scanner.next_row();
    if (cells.empty()) continue;
    const bool is_header = !has_names && options.header;
    if (!has_names) {
      names = cells;
      if (!options.header)
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i);
      selected = selected_columns(names, name, options);
      for (const std::size_t each : selected) result.text.columns.push_back(names[each]);
      has_names = true;
    }
    if (is_header) continue;
    BP_CHECK(cells.size() == names.size(), "{}:{}: has {} cells, and there are {} columns", name,
             line, cells.size(), names.size());
    std::vector<std::string> row;
    for (const std::size_t each : selected) row.push_back(cells[each]);
    result.text.rows.push_back(std::move(row));
    result.lines.push_back(line);
  }
  BP_CHECK(has_names || options.columns.empty(), "{}: is empty, and has no column \"{}\"", name,
           options.columns[0]);
  return result;
}

std::vector<double> csv_numbers(const CsvCells& cells, const std::string& name,
                                const CsvOptions& options) {
  std::vector<double> numbers;
  numbers.reserve(cells.text.rows.size() * cells.text.columns.size());
  for (std::size_t row = 0; row < cells.text.rows.size(); ++row)
    for (std::size_t column = 0; column < cells.text.columns.size(); ++column) {
      std::string_view cell = trimmed(cells.text.rows[row][column]);
      if (cell.empty() && options.missing) {
        numbers.push_back(*options.missing);
        continue;
      }
      if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
      double number = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
      BP_CHECK(error == std::errc() && end == cell.data() + cell.size(),
               "{}:{}: column {} ({}): \"{}\" is no number{}", name, cells.lines[row], column + 1,
               cells.text.columns[column], cell.substr(0, 40),
               cell.empty() ? "; set `missing` to read empty cells" : "");
      numbers.push_back(number);
    }
  return numbers;
}

}  // namespace bp::data
