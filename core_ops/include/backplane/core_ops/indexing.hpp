// a[{...}], as NumPy and PyTorch index: each index stands for one dimension, from the first on.
//   a[{0, Slice{1, 3}}]       row 0, columns 1 and 2
//   a[{Ellipsis{}, -1}]       the last column, of any rank
//   a[{Slice{}, NewAxis{}}]   a dimension of size 1 after the first; std::nullopt means the same
//   a[{rows, columns}]        elements by int64 or int32 tensors; a[mask], by one of bools
// One index needs no braces: a[Slice{1, 3}].
//
// Numbers and slices give a view of the same memory, so that a[0] += 1 and copy_(a[0], b) write into a; `a[0] = b` does not
// compile. Tensors among the indices give a copy, as index() does: index_put_(a, {rows}, values) and masked_fill_(a, mask, 0)
// write into a, and `a[mask] += 1` does not compile. Numbers beside tensors are applied first, as in PyTorch.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#include <backplane/tensor/tensor.hpp>

namespace bp {

// From `start` up to but not including `stop`; negative values count from the end, missing ones mean all.
// step > 0.
struct Slice {
  std::optional<std::int64_t> start = {}, stop = {};
  std::int64_t step = 1;
};

// A dimension of size 1.
struct NewAxis {};
// All dimensions that no other index stands for.
struct Ellipsis {};

class Index {
 public:
  enum class Kind : std::uint8_t { position, slice, axis, rest, tensor };

  template <std::integral T>
  requires(!std::same_as<T, bool>) Index(T position)
      : kind_(Kind::position), position_(static_cast<std::int64_t>(position)) {}
  Index(Slice slice) : kind_(Kind::slice), slice_(slice) {}
  Index(NewAxis) : kind_(Kind::axis) {}
  Index(std::nullopt_t) : kind_(Kind::axis) {}
  Index(Ellipsis) : kind_(Kind::rest) {}
  Index(Tensor positions) : kind_(Kind::tensor), tensor_(std::move(positions)) {}

  Kind kind() const { return kind_; }
  std::int64_t position() const { return position_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  std::int64_t position_ = 0;
  Slice slice_;
  Tensor tensor_;
};

template <class T>
requires std::same_as<T, Slice> || std::same_as<T, NewAxis> || std::same_as<T, Ellipsis> Tensor
Tensor::operator[](const T& index) const {
  return (*this)[{Index(index)}];
}

}  // namespace bp
