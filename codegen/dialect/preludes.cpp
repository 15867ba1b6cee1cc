#include "dialect/preludes.hpp"

#include <set>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

constexpr const char* opencl_types = R"(
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#else
typedef ulong f64; // only carried, never computed with
#endif
typedef char i8; typedef uchar u8; typedef short i16; typedef ushort u16;
typedef int i32; typedef uint u32; typedef long i64; typedef ulong u64;
typedef float f32;
#define GLOBAL __global
#define LOCAL __local
#define IN_LOCAL __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#define UNROLL
#define KEEP_LOOP
#define DEVICE static inline
#pragma OPENCL FP_CONTRACT OFF
)";

constexpr const char* cuda_types = R"(
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64;
typedef float f32; typedef double f64;
#define GLOBAL
#define LOCAL __shared__
#define IN_LOCAL
#define BARRIER __syncthreads();
#define UNROLL _Pragma("unroll")
#define KEEP_LOOP _Pragma("unroll 1")
#define DEVICE static __device__ inline
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
)";

constexpr const char* c11_types = R"(
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>
typedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef uint16_t u16;
typedef int32_t i32; typedef uint32_t u32; typedef int64_t i64; typedef uint64_t u64;
typedef float f32; typedef double f64;
#define GLOBAL
#define UNROLL
#define KEEP_LOOP
#define DEVICE static inline
)";

std::string_view types_of(Language language) {
  switch (language) {
    case Language::opencl_c: return opencl_types;
    case Language::cuda_cxx: return cuda_types;
    case Language::c11: return c11_types;
  }
  return {};
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string define(Language language, std::string_view word) {
  for (auto* definition : {define_type, define_memory, define_pack, define_group, define_arithmetic,
                           define_complex, define_cast, define_bits})
    if (std::string text = definition(language, word); !text.empty()) return text;
  return {};
}

// Collects definitions, each after those that it uses itself.
class Definitions {
 public:
  explicit Definitions(Language language) : language_(language) {}

  void add_words_of(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i;
      while (end < text.size() && is_word_character(text[end])) ++end;
      if (end > i) add(text.substr(i, end - i));
      i = end + 1;
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void add(std::string_view word) {
    if (!seen_.insert(std::string(word)).second) return;
    const std::string text = define(language_, word);
    if (text.empty()) return;
    add_words_of(text);
    text_ += text;
  }

  Language language_;
  std::set<std::string> seen_;
  std::string text_;
};

}  // namespace

std::string prelude(Language language, std::string_view text) {
  Definitions definitions(language);
  definitions.add_words_of(text);
  return std::string(types_of(language)) + definitions.take();
}

}  // namespace bp::codegen
