// Walking several tensors together by their strides: the loop that kernels which move, pick or scatter
// elements have in common. A work-item owns a piece of the elements in row-major order and goes through
// it in runs along the last dimension.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constants.hpp"
#include "device/invocation.hpp"

namespace bp::codegen {

// `text` with `$name` replaced.
std::string fill_in(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> words);

// What one step along the last dimension is for an operand, as far as the kernel's text knows it.
enum class Step : std::uint8_t { any, one, none };

// A shape and, for each operand, its strides in elements. At the most 4 operands.
struct Walk {
  explicit Walk(std::span<const std::int64_t> shape);
  // The strides of another operand, as many as the shape has dimensions.
  Walk& add(const std::int64_t* strides);
  // Drops dimensions of size 1 and joins those that every operand has behind each other. With
  // `keeps_last` the last one stays as it is. At least one dimension remains.
  void simplify(bool keeps_last = false);

  std::int64_t count() const;
  std::int64_t row_size() const { return size[rank - 1]; }
  std::int64_t step(int operand) const { return stride[operand][rank - 1]; }
  Step step_class(int operand) const;
  // Kernels are made for so many dimensions.
  int rank_class() const;

  int rank = 0;
  int num_operands = 0;
  std::array<std::int64_t, BP_MAX_RANK> size{};
  std::array<std::array<std::int64_t, BP_MAX_RANK>, 4> stride{};
};

// How the work is divided: so many work-items with `piece` consecutive elements each. On processors a
// few per core, of at least `grain` elements; elsewhere one for each element.
struct Division {
  std::uint64_t items;
  std::int64_t piece;
};
Division divide(const Invocation& invocation, std::int64_t count,
                std::int64_t grain = constants::walked_elements);

// An operand as the text knows it. Operand `out`: `m0 + v.out_start` is the address of its element 0, and
// in a row's body `out_at` is the element where the run starts and `out_step` the way to the next.
struct WalkOperand {
  std::string_view name;
  Step step = Step::any;
};

// The part of a kernel's text that walks. The k-th operand lies in memory k. `row` is done for every run;
// it has `run`, its length, and `first`, its place along the last dimension.
struct WalkText {
  int rank_class;
  std::vector<WalkOperand> operands;

  void add_fields(std::vector<Field>& fields) const;
  std::string loop(std::string_view row) const;
};
// What add_fields declares, in the same order. `starts`: of the operands, in bytes.
void add_walk_values(Values& values, const Walk& walk, const Division& division,
                     std::initializer_list<std::int64_t> starts);

inline std::span<const std::int64_t> shape_of(const bp_tensor& tensor) {
  return {tensor.dl.shape, static_cast<std::size_t>(tensor.dl.ndim)};
}
// Strides by which `dim` does not move; of rank 0 there are none.
std::array<std::int64_t, BP_MAX_RANK> strides_without(const bp_tensor& tensor, std::int64_t dim);

// Integers to move elements of 1, 2, 4, 8 or 16 bytes in, and what a kernel must declare for them.
std::string_view mover_type(std::uint32_t itemsize);
std::string_view mover_helpers(std::uint32_t itemsize);

// The same as a dtype: an element of 16 bytes moves as a complex128.
Dtype mover_dtype(std::uint32_t itemsize);

// Writes the elements of `from`, of this shape, to `to`; starts in bytes, strides in elements.
struct MoveEnd {
  bp_handle handle;
  std::int64_t start;
  const std::int64_t* strides;
};
void launch_move(Invocation& invocation, std::span<const std::int64_t> shape,
                 std::uint32_t itemsize, const MoveEnd& to, const MoveEnd& from);

}  // namespace bp::codegen
