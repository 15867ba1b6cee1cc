// The cells of a CSV text, without a tensor.
#pragma once

#include <backplane/data/csv.hpp>

namespace bp::data {

// The selected cells, and in which line each row begins, from 1 on.
struct CsvCells {
  CsvText text;
  std::vector<std::int64_t> lines;
};

CsvCells csv_cells(std::string_view text, const std::string& name, const CsvOptions& options);

// The cells' numbers, row by row.
std::vector<double> csv_numbers(const CsvCells& cells, const std::string& name,
                                const CsvOptions& options);

}  // namespace bp::data
