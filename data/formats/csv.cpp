#include <backplane/core_ops/creation.hpp>
#include <backplane/data/csv.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/files/whole_file.hpp>

#include "formats/csv_cells.hpp"

namespace bp::data {

CsvText parse_csv_text(std::string_view text, const std::string& name, const CsvOptions& options) {
  return csv_cells(text, name, options).text;
}

template <class T>
static Tensor csv_tensor(const CsvCells& cells, const std::string& name,
                         const CsvOptions& options) {
  const auto rows = static_cast<std::int64_t>(cells.text.rows.size());
  const auto columns = static_cast<std::int64_t>(cells.text.columns.size());
  const Tensor values =
      tensor(csv_numbers<T>(cells, name, options), {rows, columns}, {.device = host_device()});
  return to(values, options.dtype);
}

Csv parse_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  CsvCells cells = csv_cells(text, name, options);
  Tensor values;
  if (options.dtype == u64)
    values = csv_tensor<std::uint64_t>(cells, name, options);
  else if (is_integral(options.dtype))
    values = csv_tensor<std::int64_t>(cells, name, options);
  else
    values = csv_tensor<double>(cells, name, options);
  return {std::move(cells.text.columns), values};
}

CsvText read_csv_text(const std::string& path, const CsvOptions& options) {
  return parse_csv_text(files::read_whole_file(path), path, options);
}

Csv read_csv(const std::string& path, const CsvOptions& options) {
  return parse_csv(files::read_whole_file(path), path, options);
}

}  // namespace bp::data
