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
    if (csv_numbers(cells, "fuzz.csv", options).size() !=
        cells.text.rows.size() * cells.text.columns.size())
      std::abort();
  } catch (const bp::Error& error) {
    if (!std::string_view(error.what()).starts_with("fuzz.csv:")) std::abort();
  }
  return 0;
}
