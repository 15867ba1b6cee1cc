// Arguments of public functions that may be written in several ways.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include <backplane/tensor/shape.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// Options of a new tensor: zeros({2, 3}, {.dtype = f16, .device = device}). The dtype defaults to that of the values,
// or to the function's usual one; the device to the default device, or to that of the tensor passed to *_like
// functions.
struct TensorOptions {
  std::optional<Dtype> dtype = {};
  std::optional<Device> device = {};
};

// The dimensions of a reduction: one, a list, or nothing, which means all. A list is borrowed, as
// by IntList.
class DimList {
 public:
  DimList() = default;
  DimList(std::nullopt_t) {}
  template <std::integral T>
  DimList(T dim) : kind_(Kind::one), one_(static_cast<std::int64_t>(dim)) {}
  DimList(IntList list) : kind_(Kind::many), many_(list) {}
  DimList(std::initializer_list<std::int64_t> list) : kind_(Kind::many), many_(list) {}
  DimList(const std::vector<std::int64_t>& list) : kind_(Kind::many), many_(list) {}
  DimList(const Dims& list) : kind_(Kind::many), many_(list) {}

  // Points into this object when it was made from one dimension.
  std::optional<IntList> list() const {
    if (kind_ == Kind::none) return std::nullopt;
    return kind_ == Kind::one ? IntList(&one_, 1) : many_;
  }

 private:
  enum class Kind : std::uint8_t { none, one, many };
  Kind kind_ = Kind::none;
  std::int64_t one_ = 0;
  IntList many_;
};

// A list of tensors, borrowed for the duration of a call: cat({a, b}, 0).
class TensorList {
 public:
  TensorList(std::initializer_list<Tensor> list) : size_(list.size()) {
    data_ = list.begin();  // borrowed, as all of it; an initializer would draw GCC's warning
  }
  TensorList(const std::vector<Tensor>& list) : data_(list.data()), size_(list.size()) {}
  TensorList(std::span<const Tensor> list) : data_(list.data()), size_(list.size()) {}

  std::span<const Tensor> span() const { return {data_, size_}; }

 private:
  const Tensor* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bp
