// The small portable language in which every kernel is written once, and what it becomes: OpenCL C,
// CUDA C++ or, for kernels whose work-items stand alone, C11.
//
// A body is C with these words:
//   types      i8 u8 i16 u16 i32 u32 i64 u64 f32 f64; c64 and c128 are structs of `re` and `im`.
//              f16, bf16 and the f8 are stored (as u16, u8) and computed in f32; bool is stored as u8.
//   GLOBAL     before the type of a pointer into device memory
//   m0, m1 ..  the allocations, GLOBAL u8*; offsets in bytes are among the values
//   v.name     a value: i64 or f64, or an array of them
//   item0..2   this work-item's place along each dimension of the grid, i64; the grid may be larger
//              than asked for, up to a multiple of the group
//   items0..2  how many work-items there are along it
//   load_D(p, i), store_D(p, i, x)   element i of an array of dtype D at p, a GLOBAL u8*, in its computing
//              type; D is a suffix(): bool u8 i8 .. f16 bf16 f32 f64 c64 c128 f8_e4m3fn f8_e5m2
//   max_T(a, b), min_T(a, b)         T a computing type, i8 .. f64; NaN if either is
//   make_c64(re, im), add_c64(a, b), sub_ mul_ div_ neg_ eq_   and the same for c128
//   cast_S_D(x)   from the computing type of dtype S to that of D as the operator `cast` does it; that of f16, bf16
//              and the f8 is f32, rounded to odd where storing it rounds again
//   add_T sub_T mul_T div_T neg_T abs_T   of real types: integers wrap, and divided by 0 they give 0
//   pow_T(a, b)   of integers: it wraps, and negative powers are 0 but those of 1 and -1
//   bits_of_f32(x), f32_of_bits(u), and of f64; f32_of_f16(u), f16_of_f32(x), and of bf16 and the f8
//   sigmoid_T(a), tanh_T(a)       T f32 or f64
//   DEVICE     before a helper function
//   exp log sqrt sin cos tanh expm1 log1p pow erf floor ceil trunc rint fabs fmin fmax
//              by the type of their operand, scalar or, in OpenCL C, vector
// In OpenCL C alone, names of real types and dtypes (the f8 left out) may end in a width, 2, 4, 8 or 16:
//   f32x16 is float16; load_f16x8(p, i) gives elements i .. i + 7 as f32x8; so do store_, cast_S_Dx8 (of
//   cast_f32_i8x8), max_f32x8 and the other functions of one type. Comparisons of vectors are -1 or 0.
//   stream_f32x16(p, i, x)   and for all that store_ takes with a width: past the caches where the compiler can.
//              The address is a multiple of the vector's bytes.
// In OpenCL C and CUDA C++:
//   loads_D_N(p, i, x), stores_D_N(p, i, x)   elements i .. i + N - 1 to and from x, an array of N of the
//              computing type, in as few and wide accesses as there are: one of 16 bytes for loads_f32_4,
//              loads_f16_8. N is 1, 2, 4, 8 or 16; the address is a multiple of the N elements' bytes, or of
//              16 where they have more. Each loop over x stands behind UNROLL, else x lies in memory.
//   UNROLL     before a loop of a number of steps that the text knows; KEEP_LOOP before one that is to stay
// Kernels with KernelText::group_size (decision 0014) also have, in OpenCL C and CUDA C++ alone:
//   lane       this work-item's place in its group, i32; groups are along dimension 0
//   group0..2  the group's place in the grid, and num_groups0..2 the grid's groups, i64
//   LOCAL      before an array that the group shares: at the start of the body, not in a helper, without a
//              value; in a helper's parameters such a pointer is IN_LOCAL T*
//   BARRIER    all work-items of the group come here: what they wrote to LOCAL arrays, all can read
// In CUDA C++ alone, for any computing type T, among the 32 neighbours lane / 32, all of which take part:
//   shuffle_xor_T(x, by), shuffle_up_T, shuffle_down_T   the x of lane ^ by, lane - by, lane + by
//   shuffle_from_T(x, place)   the x of the neighbour lane % 32 == place
// In OpenCL C subgroups are optional: what these do goes through LOCAL arrays there (kinds/team.hpp).
//
// A source defines those words that occur in it, and no others. Kernels and helpers have other names.
// No libraries. Where there is no group_size, each work-item stands alone, so that a device without any of
// that, or a plain C compiler, can run it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/dtype.hpp>

namespace bp::codegen {

enum class Language { opencl_c, cuda_cxx, c11 };

// One member of a kernel's values, in order. All are 8 bytes wide, so that every compiler lays them
// out alike.
struct Field {
  std::string name;
  bool is_double = false;
  int count = 0;  // 0: no array
};

struct KernelText {
  std::string name;         // of the function: letters, digits, _
  unsigned num_memory = 0;  // m0 ...
  std::vector<Field> values;
  std::string helpers;  // functions and types that the body uses
  std::string body;
  // Above 0: a kernel of groups of exactly so many work-items along dimension 0, and 1 along the others.
  unsigned group_size = 0;
  // How many groups a compute unit should be able to hold at once; 0: the compiler's choice. It bounds the
  // registers of a work-item.
  unsigned groups_per_unit = 0;
};

// The whole source: prelude, helpers, kernel. Throws internal for a kernel of groups in C11.
std::string emit(Language language, const KernelText& text);

// The type of an element in memory ("u16" for f16) and in computation ("f32").
std::string_view storage_type(Dtype dtype);
std::string_view compute_type(Dtype dtype);
// The D of load_D: "f16", "bool", "c64".
std::string_view suffix(Dtype dtype);
// As it stands in a source, in the computing type of `dtype`: "0x1p-3f", "(-7L)", "(-INFINITY)".
// Integers saturate.
std::string literal(double number, Dtype dtype);

}  // namespace bp::codegen
