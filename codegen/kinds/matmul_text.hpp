// The texts of the kernels that multiply matrices: tiles of the result in registers, over operands that
// lie as they are or were packed into panels before.
//
// A panel holds `size` neighbouring rows of a (columns of b) for every k, those of one k next to each
// other, converted to the type that the product accumulates in; the last one is filled up with zeros.
#pragma once

#include "dialect/dialect.hpp"
#include "kinds/matmul_product.hpp"

namespace bp::codegen {

// What products of `dtype` accumulate in: f32 for the small floats; integers wrap, so that unsigned ones
// of at least 32 bits do for all.
std::string_view accumulator_type(Dtype dtype);
unsigned accumulator_bytes(Dtype dtype);

// How a work-item makes its tiles.
enum class TileForm : std::uint8_t {
  across,  // vectors of `width` neighbouring columns of b
  along,   // vectors along k, where a and b both have a step of 1: products of rows
};

// What the text of a tile kernel depends on. Memory: out, a, b.
struct TileShape {
  Dtype dtype{};
  TileForm form = TileForm::across;
  unsigned rows = 1, columns = 1;  // of a tile; columns in all, a multiple of width when across
  unsigned width = 1;              // elements of a vector; 1 unless the device takes OpenCL C
  bool packed_a = false, packed_b = false;
  bool columns_first = false;  // neighbouring work-items take neighbouring columns

  // All of it as a number, for Invocation::function.
  std::uint64_t variant() const;
};
KernelText tile_text(const TileShape& shape);

// The values of a launch of it, in order. Names as in the text.
struct TileValues {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t row_panels = 1, column_panels = 1, batches = 1;
  std::int64_t row_group = 1, batch_group = 1;  // per work-item
  std::int64_t first_batch = 0;
  // Column j of panel p is p * column_panel + j * column_step; for width 1 and unpacked b.
  std::int64_t column_panel = 1, column_step = 1;
  std::int64_t a_panels = 0, b_panels = 0;  // elements of one batch's panels, 0 when not packed

  void add_to(Values& values, const Product& product) const;
};

// What the text of a packing kernel depends on. Memory: panels, source.
struct PackShape {
  Dtype dtype{};
  unsigned size = 1;   // of a panel
  unsigned width = 1;  // of the vectors that it moves; divides size

  std::uint64_t variant() const;
};
KernelText pack_text(const PackShape& shape);

struct PackValues {
  std::int64_t count = 0, k = 0;  // rows of a or columns of b
  std::int64_t k_piece = 0;       // per work-item
  std::int64_t panels = 1, batches = 1, first_batch = 0;
  std::int64_t from = 0, step = 1, k_step = 1;  // the source: bytes, then elements
  std::int64_t to = 0;                          // in bytes

  void add_to(Values& values, const Product& product, const BatchArray& batch) const;
};

}  // namespace bp::codegen
