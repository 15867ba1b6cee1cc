// The cells of a CSV text, without a tensor.
#pragma once

#include <backplane/data/csv.hpp>

namespace bp::data {

// The selected cells, which columns of the file they come from, and in which line each row begins; both from 1 on.
struct CsvCells {
  CsvText text;
  std::vector<std::size_t> columns;
  std::vector<std::int64_t> lines;
};

CsvCells csv_cells(std::string_view text, const std::string& name, const CsvOptions& options);

// The cells' numbers, row by row: double, or int64_t or uint64_t for an integral options.dtype, in whose range they are.
template <class T>
std::vector<T> csv_numbers(const CsvCells& cells, const std::string& name,
                           const CsvOptions& options);

}  // namespace bp::data
