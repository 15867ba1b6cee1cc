// An array with one element per result of a call: in place for few results, the usual case, and on the heap for more.
#pragma once

#include <cstdint>
#include <memory>

namespace bp {

inline constexpr std::uint32_t few_results = 4;

template <class T> class PerResult {
 public:
  explicit PerResult(std::uint32_t count)
      : more_(count > few_results ? new T[count]() : nullptr), data_(more_ ? more_.get() : few_) {}
  PerResult(const PerResult&) = delete;
  PerResult& operator=(const PerResult&) = delete;

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }

 private:
  T few_[few_results] = {};
  std::unique_ptr<T[]> more_;
  T* data_;
};

}  // namespace bp
