#include "formats/csv_cells.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/dtype.hpp>

namespace bp::data {
namespace {

// "column 3 (age)", as people and spreadsheets count.
std::string called(std::size_t column, const std::vector<std::string>& names) {
  if (column >= names.size()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} ({})", column + 1, names[column]);
}

// How long the line end is that the text begins with: of Unix, of Windows, or of old spreadsheets, a CR alone.
std::size_t line_end_of(std::string_view text) {
  if (text.starts_with("\r\n")) return 2;
  return text.starts_with('\n') || text.starts_with('\r') ? 1 : 0;
}

class CsvScanner {
 public:
  CsvScanner(std::string_view text, const std::string& name, const CsvOptions& options)
      : text_(text), name_(name), options_(options) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark that some programs begin UTF-8 with
  }

  bool at_end() const { return at_ >= text_.size(); }
  std::int64_t line() const { return line_; }
  // For errors from here on.
  void set_names(std::vector<std::string> names) { names_ = std::move(names); }

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
    const std::size_t length = line_end_of(text_.substr(at_));
    at_ += length;
    line_ += length ? 1 : 0;
    return length != 0;
  }

  std::string next_cell(std::size_t column) {
    if (!at_end() && text_[at_] == options_.quote) return quoted_cell(column);
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != options_.delimiter && text_[end] != '\n' &&
           text_[end] != '\r')
      ++end;
    const std::string_view cell = text_.substr(at_, end - at_);
    at_ = end;
    return std::string(cell);
  }

  std::string quoted_cell(std::size_t column) {
    const std::int64_t first_line = line_;
    std::string cell;
    for (++at_;; ++at_) {
      BP_CHECK(!at_end(), "{}:{}: {}: the quote does not end", name_, first_line,
               called(column, names_));
      const char c = text_[at_];
      if (c == options_.quote) {
        ++at_;
        if (at_end() || text_[at_] != options_.quote) break;
      }
      const bool is_first_of_two = text_.substr(at_).starts_with("\r\n");
      line_ += (c == '\n' || c == '\r') && !is_first_of_two ? 1 : 0;
      cell += c;
    }
    const std::string_view rest = text_.substr(at_);
    BP_CHECK(rest.empty() || rest[0] == options_.delimiter || line_end_of(rest) > 0,
             "{}:{}: {}: there is text after the closing quote; double a quote inside a cell",
             name_, line_, called(column, names_));
    return cell;
  }

  std::string_view text_;
  const std::string& name_;
  const CsvOptions& options_;
  std::vector<std::string> names_;
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

std::string missing_column(std::size_t cells, const std::vector<std::string>& names,
                           const CsvOptions& options) {
  if (cells >= names.size() || !options.header) return {};
  return fmt::format("; {} is the first without a cell", called(cells, names));
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

CsvCells csv_cells(std::string_view text, const std::string& name, const CsvOptions& options) {
  const auto is_break = [](char c) { return c == '\n' || c == '\r'; };
  BP_CHECK(options.delimiter != options.quote && !is_break(options.delimiter) &&
               !is_break(options.quote),
           "{}: delimiter and quote must differ, and not be a line break", name);
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
      for (const std::size_t each : selected) {
        result.text.columns.push_back(names[each]);
        result.columns.push_back(each + 1);
      }
      if (options.header) scanner.set_names(names);
      has_names = true;
    }
    if (is_header) continue;
    BP_CHECK(cells.size() == names.size(), "{}:{}: has {} cells, and there are {} columns{}", name,
             line, cells.size(), names.size(), missing_column(cells.size(), names, options));
    std::vector<std::string> row;
    for (const std::size_t each : selected) row.push_back(cells[each]);
    result.text.rows.push_back(std::move(row));
    result.lines.push_back(line);
  }
  BP_CHECK(has_names || options.columns.empty(), "{}: is empty, and has no column \"{}\"", name,
           options.columns[0]);
  return result;
}

namespace {

// Digits beyond a double's are rounded, and what is nearer to 0 than any becomes 0. Nothing: it is not a number, or too large.
std::optional<double> parsed_double(std::string_view cell) {
  double number = 0;
  const char* last = cell.data() + cell.size();
  auto [end, error] = std::from_chars(cell.data(), last, number);
  if (error == std::errc::result_out_of_range) {
    long double longer = 0;
    const auto again = std::from_chars(cell.data(), last, longer);
    if (again.ec == std::errc() && longer > -1 && longer < 1) error = std::errc();
  }
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

// Nothing: `number` is not whole, or not one of `dtype`, or its double does not tell.
template <class T> std::optional<T> whole(double number) {
  constexpr double most = 9007199254740992;  // 2^53
  if (!(number >= -most && number <= most) || std::trunc(number) != number) return std::nullopt;
  if (std::is_unsigned_v<T> && number < 0) return std::nullopt;
  return static_cast<T>(number);
}

template <class T> std::optional<T> parsed(std::string_view cell) {
  if constexpr (std::is_same_v<T, double>) return parsed_double(cell);
  T number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error == std::errc() && end == cell.data() + cell.size()) return number;
  const std::optional<double> real = parsed_double(cell);
  return real ? whole<T>(*real) : std::nullopt;
}

template <class T> bool fits(T number, Dtype dtype) {
  if constexpr (std::is_same_v<T, double>) return true;
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  if (bits == 64) return true;
  const bool has_sign = dtype == i8 || dtype == i16 || dtype == i32;
  const auto least = has_sign ? -(std::int64_t{1} << (bits - 1)) : 0;
  const auto most = (std::int64_t{1} << (has_sign ? bits - 1 : bits)) - 1;
  return static_cast<std::int64_t>(number) >= least && static_cast<std::int64_t>(number) <= most;
}

template <class T, class Place>
T number_in(std::string_view cell, const CsvOptions& options, const Place& place) {
  cell = trimmed(cell);
  const std::string_view shown = cell.substr(0, 40);
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  const std::optional<T> number = parsed<T>(cell);
  if (number && fits(*number, options.dtype)) return *number;
  double unused = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), unused);
  BP_CHECK(error != std::errc::invalid_argument && end == cell.data() + cell.size(),
           "{}: \"{}\" is not a number{}", place(), shown,
           cell.empty() ? "; set `missing` to read empty cells" : "");
  const bool is_whole = !std::is_same_v<T, double>;
  throw_error(ErrorClass::bad_argument,
              fmt::format("{}: {} does not fit {}: {}; read the column as another dtype", place(),
                          shown, is_whole ? bp::name(options.dtype) : "float64",
                          is_whole ? "it is not a whole number in its range" : "it is too large"));
}

}  // namespace

template <class T>
std::vector<T> csv_numbers(const CsvCells& cells, const std::string& name,
                           const CsvOptions& options) {
  T missing = 0;
  if constexpr (std::is_same_v<T, double>) {
    missing = options.missing.value_or(0);
  } else if (options.missing) {
    const std::optional<T> number = whole<T>(*options.missing);
    BP_CHECK(number && fits(*number, options.dtype), "{}: `missing` is {}, which does not fit {}",
             name, *options.missing, bp::name(options.dtype));
    missing = *number;
  }
  const auto& names = cells.text.columns;
  std::vector<T> numbers;
  numbers.reserve(cells.text.rows.size() * names.size());
  for (std::size_t row = 0; row < cells.text.rows.size(); ++row)
    for (std::size_t column = 0; column < names.size(); ++column) {
      const std::string& cell = cells.text.rows[row][column];
      if (options.missing && trimmed(cell).empty()) {
        numbers.push_back(missing);
        continue;
      }
      const auto place = [&] {
        const std::string at =
            fmt::format("{}:{}: column {}", name, cells.lines[row], cells.columns[column]);
        return options.header ? fmt::format("{} ({})", at, names[column]) : at;
      };
      numbers.push_back(number_in<T>(cell, options, place));
    }
  return numbers;
}

template std::vector<double> csv_numbers(const CsvCells&, const std::string&, const CsvOptions&);
template std::vector<std::int64_t> csv_numbers(const CsvCells&, const std::string&,
                                               const CsvOptions&);
template std::vector<std::uint64_t> csv_numbers(const CsvCells&, const std::string&,
                                                const CsvOptions&);

}  // namespace bp::data
