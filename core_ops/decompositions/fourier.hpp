// Discrete Fourier transforms, from products of real matrices. Length n = n1 * n2 is transformed as lengths n1 and n2, whose
// results are turned in between (Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series",
// 1965); a large prime as a convolution with a chirp (Bluestein, "A linear filtering approach to the computation of discrete
// Fourier transform", 1970).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// `forward` transforms have exp(-2 pi i j k / n), the others the conjugate.
enum class Turn { forward, back };

// What fft_c2c, fft_r2c and fft_c2r are made of where no kernel takes them. `dim` counts from the front.
Tensor complex_transform_by_products(const Tensor& input, std::int64_t dim, double scale,
                                     bool forward);
Tensor half_transform_by_products(const Tensor& input, std::int64_t dim, double scale,
                                  bool forward);
Tensor transform_of_half_by_products(const Tensor& input, std::int64_t n, std::int64_t dim,
                                     double scale, bool forward);

// Parts of [B, 1, n] (real numbers) or [B, 2, n], as [B, 2, n]. Nothing is scaled.
Tensor transformed_parts(const Tensor& parts, Turn turn);

struct Transform {
  const char* op;
  Turn turn;
  std::string_view norm;
};
Tensor transformed(const Transform& how, const Tensor& input, std::optional<std::int64_t> n,
                   std::int64_t dim);
Tensor transformed_real(const Transform& how, const Tensor& input, std::optional<std::int64_t> n,
                        std::int64_t dim);
Tensor transformed_to_real(const Transform& how, const Tensor& input, std::optional<std::int64_t> n,
                           std::int64_t dim);

// Several dimensions.
DimList last_two_or(const DimList& dim);
Tensor transformed_dims(const Transform& how, const Tensor& input, const DimList& s,
                        const DimList& dim);
Tensor transformed_real_dims(const Transform& how, const Tensor& input, const DimList& s,
                             const DimList& dim);
Tensor transformed_to_real_dims(const Transform& how, const Tensor& input, const DimList& s,
                                const DimList& dim);

struct Frames {
  std::int64_t n_fft;
  std::optional<std::int64_t> hop_length, win_length;
  bool center;
  std::string_view pad_mode;
  bool normalized, onesided, return_complex;
};
Tensor transformed_frames(const Tensor& input, const Tensor& window, const Frames& frames);

struct BackFrames : Frames {
  std::optional<std::int64_t> length;
};
Tensor signal_of_frames(const Tensor& input, const Tensor& window, const BackFrames& frames);

}  // namespace bp
