// Any text is a table, whose rows have as many cells as there are columns, or a sentence that begins with its name.
#include <cstdlib>
#include <string_view>

#include <backplane/tensor/error.hpp>

#include "formats/csv_cells.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace bp::data;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  CsvOptions options;
  options.header = data[0] & 1;
  options.delimiter = data[0] & 2 ? ';' : ',';
  if (data[0] & 4) options.missing = 0;
  try {
    const CsvCells cells = csv_cells(text, "fuzz.csv", options);
    for (const auto& row : cells.text.rows)
      if (row.size() != cells.text.columns.size()) std::abort();
    const std::size_t num_cells = cells.text.rows.size() * cells.text.columns.size();
    if (csv_numbers<double>(cells, "fuzz.csv", options).size() != num_cells) std::abort();
    options.dtype = data[0] & 8 ? bp::i16 : bp::i64;
    if (csv_numbers<std::int64_t>(cells, "fuzz.csv", options).size() != num_cells) std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.csv:")) std::abort();
  }
  return 0;
}
