// The text of the kernels that draw random numbers.
#pragma once

#include "dialect/dialect.hpp"

namespace bp::codegen {

enum class Draw { words, uniforms, normals };

struct RandomForm {
  // Normals are computed in f64, as on processors; else in integers of 64 bits, which is good enough
  // for f32 and what is smaller.
  bool in_f64;
  int lanes;              // counters at a time
  bool by_packs = false;  // with 1 lane: its four numbers in one access; not in C11
};

// Values: count, piece (of so many times `lanes` counters), seed, offset, out_start.
KernelText random_text(Draw draw, Dtype dtype, const RandomForm& form);

}  // namespace bp::codegen
