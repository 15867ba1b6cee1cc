// Comma-separated values (RFC 4180): quoted fields with doubled quotes and line breaks in them; lines end with LF,
// CRLF or CR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::data {

struct CsvOptions {
  bool header = true;  // the first line has the columns' names
  char delimiter = ',';
  char quote = '"';
  std::vector<std::string> columns =
      {};  // those to read, in this order; all by default. "0", "1" ... without a header
  std::optional<double> missing =
      {};                    // the number of an empty cell; without one, such a cell is an error
  Dtype dtype = Dtype::f32;  // of read_csv
};

// Cells as text, row by row; all rows have as many cells as there are columns.
struct CsvText {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// Numbers, [rows, columns].
struct Csv {
  std::vector<std::string> columns;
  Tensor values;
};

// Throw bad_argument, which names the file, the line and the column (its number in the file from 1 on, and its name), for a
// cell that is not a number (read_csv), a row with another number of cells, a quote that does not end, a missing column.
// Integers keep all of their digits; a number that is not whole, or outside of the dtype's range, throws.
BP_API CsvText read_csv_text(const std::string& path, const CsvOptions& options = {});
BP_API Csv read_csv(const std::string& path, const CsvOptions& options = {});

// The same for a text; `name` replaces the file's name in errors.
BP_API CsvText parse_csv_text(std::string_view text, const std::string& name,
                              const CsvOptions& options = {});
BP_API Csv parse_csv(std::string_view text, const std::string& name,
                     const CsvOptions& options = {});

}  // namespace bp::data
