// Checks and arithmetic on lists of sizes.
#include <algorithm>
#include <ostream>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/shape.hpp>

namespace bp {

std::ostream& operator<<(std::ostream& stream, IntList list) {
  return stream << to_string(list);
}

std::string to_string(IntList list) {
  return fmt::format("[{}]", fmt::join(list, ", "));
}

std::int64_t checked_numel(const char* op, IntList shape) {
  std::int64_t numel = 1;
  bool overflow = false;
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    BP_CHECK(shape[i] >= 0, "{}: size {} of dimension {} is negative in shape {}", op, shape[i], i,
             to_string(shape));
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(numel, shape[i], &numel);
  }
  // [2^62, 4, 0] is a fine shape, although its prefix overflows.
  if (empty) return 0;
  BP_CHECK(!overflow, "{}: shape {} has more than 2^63 - 1 elements; make it smaller", op,
           to_string(shape));
  return numel;
}

void check_rank(const char* op, std::size_t rank) {
  BP_CHECK(rank <= static_cast<std::size_t>(max_rank),
           "{}: rank {} is above the highest, {}; join dimensions", op, rank, max_rank);
}

void throw_rank_error(std::size_t rank) {
  check_rank("shape", rank);
  throw_error(ErrorClass::internal, "shape: the rank was fine");
}

std::int64_t wrap_dim(const char* op, std::int64_t dim, std::int64_t rank) {
  const std::int64_t count = std::max<std::int64_t>(rank, 1);
  BP_CHECK(dim >= -count && dim < count,
           "{}: dimension {} is outside of a tensor of rank {}; pass one from {} to {}", op, dim,
           rank, -count, count - 1);
  return dim < 0 ? dim + count : dim;
}

Dims contiguous_strides(IntList shape) {
  Dims strides;
  strides.resize(shape.size());
  std::uint64_t stride = 1;  // wraps for shapes like [0, 4, 2^62], where it means nothing
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

Dims broadcast_shapes(const char* op, IntList a, IntList b) {
  const IntList& longer = a.size() >= b.size() ? a : b;
  const IntList& shorter = a.size() >= b.size() ? b : a;
  const std::size_t missing = longer.size() - shorter.size();
  Dims result(longer);
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = result[missing + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    BP_CHECK(size == 1,
             "{}: shapes {} and {} do not broadcast (dimension {}: {} against {}); make the sizes "
             "equal, or one of them 1",
             op, to_string(a), to_string(b), missing + i, a.size() >= b.size() ? size : shorter[i],
             a.size() >= b.size() ? shorter[i] : size);
    size = shorter[i];
  }
  return result;
}

}  // namespace bp
