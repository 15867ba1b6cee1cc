// How the numbers of one tensor are written: all in one notation and one width.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include <backplane/tensor/dtype.hpp>
#include <backplane/tensor/printing.hpp>

namespace bp {

// A real or complex floating element of any width, exactly.
std::complex<double> read_floating(Dtype dtype, const std::byte* element);

// An integer or bool, as Python writes it.
std::string integer_text(Dtype dtype, const std::byte* element);

// Looks at all numbers first (`see`), then writes each.
class FloatingText {
 public:
  explicit FloatingText(const PrintOptions& options) : options_(options) {}

  void see(double value);
  // Called between the two: decides on the notation; then each number is seen again for its width.
  void choose_notation();
  void measure(double value);

  std::size_t width() const { return width_; }
  std::string write(double value) const;

 private:
  enum class Notation { integral, fixed, scientific };
  std::string digits(double value) const;

  const PrintOptions& options_;
  Notation notation_ = Notation::integral;
  std::size_t width_ = 1;
  bool all_integral_ = true;
  double smallest_ = 0;  // of the finite magnitudes above 0; 0 if there are none
  double largest_ = 0;
};

}  // namespace bp
