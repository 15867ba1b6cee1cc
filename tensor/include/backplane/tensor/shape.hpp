// Lists of sizes: IntList borrows, Dims owns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>

namespace bp {

inline constexpr int max_rank = BP_MAX_RANK;

// Sizes, strides or dimensions, borrowed for the duration of a call.
class IntList {
 public:
  constexpr IntList() = default;
  constexpr IntList(const std::int64_t* data, std::size_t size) : data_(data), size_(size) {}
  constexpr IntList(std::initializer_list<std::int64_t> list) : size_(list.size()) {
    data_ = list.begin();  // borrowed, as all of it; an initializer would draw GCC's warning
  }
  IntList(const std::vector<std::int64_t>& list) : data_(list.data()), size_(list.size()) {}
  template <std::size_t N>
  constexpr IntList(const std::array<std::int64_t, N>& list) : data_(list.data()), size_(N) {}

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const std::int64_t* data() const { return data_; }
  constexpr const std::int64_t* begin() const { return data_; }
  constexpr const std::int64_t* end() const { return data_ + size_; }
  constexpr std::int64_t operator[](std::size_t i) const { return data_[i]; }
  constexpr std::int64_t back() const { return data_[size_ - 1]; }
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }

  friend constexpr bool operator==(IntList a, IntList b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (a.data_[i] != b.data_[i]) return false;
    return true;
  }

 private:
  const std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// Throws bad_argument: `rank` is above max_rank.
[[noreturn]] BP_API void throw_rank_error(std::size_t rank);

// Up to max_rank sizes in place: no allocation on any path that handles shapes. What would not fit
// throws bad_argument; to name the operator in it, call check_rank first.
class Dims {
 public:
  Dims() = default;
  Dims(IntList list) : size_(fitting(list.size())) {
    for (std::uint32_t i = 0; i < size_; ++i) values_[i] = list[i];
  }
  Dims(std::initializer_list<std::int64_t> list) : Dims(IntList(list)) {}
  Dims(std::uint32_t size, std::int64_t value) : size_(fitting(size)) {
    for (std::uint32_t i = 0; i < size_; ++i) values_[i] = value;
  }

  operator IntList() const { return {values_, size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* data() { return values_; }
  const std::int64_t* data() const { return values_; }
  std::int64_t* begin() { return values_; }
  std::int64_t* end() { return values_ + size_; }
  const std::int64_t* begin() const { return values_; }
  const std::int64_t* end() const { return values_ + size_; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t& back() { return values_[size_ - 1]; }
  std::int64_t back() const { return values_[size_ - 1]; }
  void push_back(std::int64_t value) {
    resize(size_ + std::size_t{1});
    values_[size_ - 1] = value;
  }
  // New sizes are not set.
  void resize(std::size_t size) { size_ = fitting(size); }
  void insert(std::size_t at, std::int64_t value) {
    resize(size_ + std::size_t{1});
    for (std::size_t i = size_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(std::size_t at) {
    --size_;
    for (std::size_t i = at; i < size_; ++i) values_[i] = values_[i + 1];
  }
  friend bool operator==(const Dims& a, const Dims& b) { return IntList(a) == IntList(b); }
  friend bool operator==(const Dims& a, IntList b) { return IntList(a) == b; }

 private:
  static std::uint32_t fitting(std::size_t size) {
    if (size > static_cast<std::size_t>(max_rank)) [[unlikely]]
      throw_rank_error(size);
    return static_cast<std::uint32_t>(size);
  }

  std::uint32_t size_ = 0;
  std::int64_t values_[max_rank];
};

// "[2, 3]"
BP_API std::string to_string(IntList list);
BP_API std::ostream& operator<<(std::ostream& stream, IntList list);
inline std::ostream& operator<<(std::ostream& stream, const Dims& dims) {
  return stream << IntList(dims);
}

// The product; throws bad_argument naming `op` if a size is negative or the product overflows.
BP_API std::int64_t checked_numel(const char* op, IntList shape);

// Throws bad_argument naming `op` unless `rank` is at most max_rank.
BP_API void check_rank(const char* op, std::size_t rank);

// `dim` in [-rank, rank) made non-negative; throws bad_argument naming `op` otherwise. A 0-dim
// tensor counts as rank 1, as in PyTorch.
BP_API std::int64_t wrap_dim(const char* op, std::int64_t dim, std::int64_t rank);

// Row-major strides, in elements.
BP_API Dims contiguous_strides(IntList shape);

// The shape that both broadcast to; throws bad_argument naming `op`, both shapes and the dimension.
BP_API Dims broadcast_shapes(const char* op, IntList a, IntList b);

}  // namespace bp
