// The words of the dialect that are functions or types: each is defined only in a source that uses it,
// since compilers of devices take long for what nobody calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dialect/dialect.hpp"

namespace bp::codegen {

// "f32x16" is {"f32", 16}; "f32" is {"f32", 1}.
struct TypeWord {
  std::string_view element;
  unsigned width = 1;
};
TypeWord split_width(std::string_view word);
bool is_compute_type(std::string_view word);  // i8 .. f64, c64, c128
bool is_integer_type(std::string_view word);
bool is_signed_type(std::string_view word);
bool is_complex_type(std::string_view word);
unsigned bytes_of_type(std::string_view word);
// The integer type of the same size.
std::string_view signed_of(std::string_view element);
std::string_view unsigned_of(std::string_view element);
// What a suffix() stands for.
std::optional<Dtype> dtype_of_suffix(std::string_view suffix);

// f32x4; f32 for a width of 1.
std::string wide_name(std::string_view element, unsigned width);

// A vector type of OpenCL C: "float16", or "float" of width 1.
std::string opencl_type(std::string_view element, unsigned width);
// What OpenCL C calls the conversion to it: "convert_float16".
std::string opencl_convert(std::string_view element, unsigned width);

// The definition of a word in this language, or nothing when the word is not one of the file's. It may
// use other words.
std::string define_type(Language language, std::string_view word);    // c64, f32x16
std::string define_bits(Language language, std::string_view word);    // bits_of_f32, f32_of_f16
std::string define_memory(Language language, std::string_view word);  // load_f16, store_i8x16
std::string define_pack(Language language, std::string_view word);    // loads_f16_8, stores_f32_4
std::string define_group(Language language, std::string_view word);   // shuffle_xor_f32
std::string define_arithmetic(Language language, std::string_view word);  // max_f32, add_i8x16
std::string define_complex(Language language, std::string_view word);     // mul_c64
std::string define_cast(Language language, std::string_view word);        // cast_f32_i8

}  // namespace bp::codegen
