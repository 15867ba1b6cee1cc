#include <backplane/core_ops/creation.hpp>
#include <backplane/data/csv.hpp>
#include <backplane/dispatcher/host_device.hpp>

#include "formats/csv_cells.hpp"
#include "formats/files.hpp"

namespace bp::data {

CsvText parse_csv_text(std::string_view text, const std::string& name, const CsvOptions& options) {
  return csv_cells(text, name, options).text;
}

Csv parse_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  CsvCells cells = csv_cells(text, name, options);
  const std::vector<double> numbers = csv_numbers(cells, name, options);
  const auto rows = static_cast<std::int64_t>(cells.text.rows.size());
  const auto columns = static_cast<std::int64_t>(cells.text.columns.size());
  const Tensor values = tensor(numbers, {rows, columns}, {.device = host_device()});
  return {std::move(cells.text.columns), to(values, options.dtype)};
}

CsvText read_csv_text(const std::string& path, const CsvOptions& options) {
  return parse_csv_text(read_whole_file(path), path, options);
}

Csv read_csv(const std::string& path, const CsvOptions& options) {
  return parse_csv(read_whole_file(path), path, options);
}

}  // namespace bp::data
