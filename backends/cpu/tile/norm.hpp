// layer_norm and rms_norm of one row, and their gradients, as vector code for f32 and f64.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

struct NormRow {
  void* out;
  const void* in;    // may be `out`
  const void* next;  // the row that comes next, to be fetched meanwhile, or NULL
  const void* weight;
  const void* bias;  // either may be NULL
  int64_t count;
  double eps;
  bool has_mean;            // layer_norm
  bool streams;             // writes past the caches; the caller ends with finish_streaming()
  double mean, rstd;        // of the row: results
  void* scratch = nullptr;  // for `count` numbers of f32, of rows of bf16 alone
};
void norm_f32(NormRow& row);
void norm_f64(NormRow& row);
// Of bf16, with weight and bias in f32.
void norm_bf16(NormRow& row);

// The gradient by the row.
struct NormBackRow {
  void* out;
  const void* grad;
  const void* in;         // either may be `out`
  const void* next_grad;  // as NormRow::next
  const void* next_in;
  const void* weight;  // may be NULL
  int64_t count;
  bool has_mean;
  bool streams;
  double mean, rstd;
};
void norm_back_f32(const NormBackRow& row);
void norm_back_f64(const NormBackRow& row);

// sum[i] += grad[i] * (in[i] - mean) * rstd: the row's part in the gradient by the weight.
struct NormWeightRow {
  void* sum;
  const void* grad;
  const void* in;
  int64_t count;
  double mean, rstd;
};
void norm_weight_f32(const NormWeightRow& row);
void norm_weight_f64(const NormWeightRow& row);

// What batch_norm sums up of a row: of `in` around `center`, or with `grad`, of that and its products with `in`.
struct NormSums {
  double first;   // in - center, or grad
  double second;  // (in - center)^2, or grad * (in - center)
};
NormSums norm_sums_f32(const void* in, const void* grad, int64_t count, double center);
NormSums norm_sums_f64(const void* in, const void* grad, int64_t count, double center);

// out = (in - center) * slope + grad * factor + shift; `grad` may be NULL.
struct AffineRow {
  void* out;
  const void* in;
  const void* grad;
  int64_t count;
  double center, slope, factor, shift;
  bool streams;  // as NormRow::streams
};
void affine_f32(const AffineRow& row);
void affine_f64(const AffineRow& row);

}  // namespace bp::cpu::tile
