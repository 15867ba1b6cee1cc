#include "dialect/dialect.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>

#include <backplane/tensor/error.hpp>

#include "dialect/preludes.hpp"

namespace bp::codegen {
namespace {

std::string values_struct(const KernelText& text) {
  if (text.values.empty()) return "typedef struct { i64 unused; } bp_values;\n";
  std::string members;
  for (const Field& field : text.values) {
    members += fmt::format("  {} {}", field.is_double ? "f64" : "i64", field.name);
    if (field.count) members += fmt::format("[{}]", field.count);
    members += ";\n";
  }
  return fmt::format("typedef struct {{\n{}}} bp_values;\n", members);
}

std::string parameters(const KernelText& text, std::string_view pointer) {
  std::string list;
  for (unsigned i = 0; i < text.num_memory; ++i) list += fmt::format("{} m{}, ", pointer, i);
  return list;
}

std::string opencl_head(const KernelText& text) {
  const std::string group =
      text.group_size
          ? fmt::format("__attribute__((reqd_work_group_size({}, 1, 1))) ", text.group_size)
          : std::string();
  std::string head = fmt::format("__kernel {}void {}({}const bp_values v) {{\n", group, text.name,
                                 parameters(text, "GLOBAL u8*"));
  for (int i = 0; i < 3; ++i)
    head += fmt::format(
        "  const i64 item{0} = (i64)get_global_id({0}), items{0} = (i64)get_global_size({0});\n",
        i);
  if (text.group_size == 0) return head;
  head += "  const i32 lane = (i32)get_local_id(0);\n";
  for (int i = 0; i < 3; ++i)
    head += fmt::format(
        "  const i64 group{0} = (i64)get_group_id({0}), num_groups{0} = "
        "(i64)get_num_groups({0});\n",
        i);
  return head;
}

std::string launch_bounds(const KernelText& text) {
  if (text.group_size == 0) return {};
  if (text.groups_per_unit == 0) return fmt::format("__launch_bounds__({}) ", text.group_size);
  return fmt::format("__launch_bounds__({}, {}) ", text.group_size, text.groups_per_unit);
}

// Values stay where the launch has put them: indexed by a variable, they would be copied by every work-item.
std::string cuda_head(const KernelText& text) {
  std::string head =
      fmt::format("extern \"C\" __global__ void {}{}({}const __grid_constant__ bp_values v) {{\n",
                  launch_bounds(text), text.name, parameters(text, "GLOBAL u8*"));
  const char* axes = "xyz";
  for (int i = 0; i < 3; ++i)
    head += fmt::format(
        "  const i64 item{0} = (i64)blockIdx.{1} * blockDim.{1} + threadIdx.{1}, items{0} = "
        "(i64)gridDim.{1} * blockDim.{1};\n",
        i, axes[i]);
  if (text.group_size == 0) return head;
  head += "  const i32 lane = (i32)threadIdx.x;\n";
  for (int i = 0; i < 3; ++i)
    head +=
        fmt::format("  const i64 group{0} = (i64)blockIdx.{1}, num_groups{0} = (i64)gridDim.{1};\n",
                    i, axes[i]);
  return head;
}

std::string c11_head(const KernelText& text) {
  if (text.group_size)
    throw_error(ErrorClass::internal,
                fmt::format("codegen: {} is a kernel of groups, and C11 has none", text.name));
  std::string head = fmt::format(
      "void {}(void* const* memory, const void* values, const uint64_t* item) {{\n", text.name);
  for (unsigned i = 0; i < text.num_memory; ++i)
    head += fmt::format("  u8* const m{0} = (u8*)memory[{0}];\n", i);
  head += "  const bp_values v = *(const bp_values*)values;\n";
  for (int i = 0; i < 3; ++i)
    head +=
        fmt::format("  const i64 item{0} = (i64)item[{0}], items{0} = (i64)item[{1}];\n", i, i + 3);
  return head;
}

// Not every kernel looks at every place.
std::string unused(const KernelText& text) {
  std::string line =
      "  (void)v; (void)item0; (void)item1; (void)item2; (void)items0; (void)items1; "
      "(void)items2;\n";
  for (unsigned i = 0; i < text.num_memory; ++i) line += fmt::format("  (void)m{};\n", i);
  if (text.group_size == 0) return line;
  line += "  (void)lane;\n";
  for (int i = 0; i < 3; ++i) line += fmt::format("  (void)group{0}; (void)num_groups{0};\n", i);
  return line;
}

}  // namespace

std::string emit(Language language, const KernelText& text) {
  std::string head;
  switch (language) {
    case Language::opencl_c: head = opencl_head(text); break;
    case Language::cuda_cxx: head = cuda_head(text); break;
    case Language::c11: head = c11_head(text); break;
  }
  return prelude(language, text.helpers + text.body) + values_struct(text) + text.helpers + head +
         unused(text) + text.body + "}\n";
}

std::string_view storage_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean: return "u8";
    case Dtype::u8: return "u8";
    case Dtype::i8: return "i8";
    case Dtype::i16: return "i16";
    case Dtype::i32: return "i32";
    case Dtype::i64: return "i64";
    case Dtype::u16: return "u16";
    case Dtype::u32: return "u32";
    case Dtype::u64: return "u64";
    case Dtype::f16: return "u16";
    case Dtype::bf16: return "u16";
    case Dtype::f32: return "f32";
    case Dtype::f64: return "f64";
    case Dtype::complex64: return "c64";
    case Dtype::complex128: return "c128";
    case Dtype::f8_e4m3fn:
    case Dtype::f8_e5m2: return "u8";
  }
  return "u8";
}

std::string_view compute_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::f8_e4m3fn:
    case Dtype::f8_e5m2: return "f32";
    default: return storage_type(dtype);
  }
}

std::string_view suffix(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean: return "bool";
    case Dtype::f16: return "f16";
    case Dtype::bf16: return "bf16";
    case Dtype::f8_e4m3fn: return "f8_e4m3fn";
    case Dtype::f8_e5m2: return "f8_e5m2";
    default: return storage_type(dtype);
  }
}

namespace {

struct IntegerRange {
  double low, high;
  std::int64_t lowest;
  std::uint64_t highest;
};
IntegerRange range_of(Dtype dtype) {
  const unsigned bits = 8 * static_cast<unsigned>(itemsize(dtype));
  const bool is_signed =
      dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64;
  if (dtype == Dtype::boolean) return {0, 1, 0, 1};
  if (is_signed)
    return {-std::ldexp(1.0, static_cast<int>(bits) - 1),
            std::ldexp(1.0, static_cast<int>(bits) - 1),
            std::numeric_limits<std::int64_t>::min() >> (64 - bits),
            std::uint64_t{1} << (bits - 1) ? (std::uint64_t{1} << (bits - 1)) - 1 : 0};
  return {0, std::ldexp(1.0, static_cast<int>(bits)), 0, ~std::uint64_t{0} >> (64 - bits)};
}

std::string integer_literal(double number, Dtype dtype) {
  const IntegerRange range = range_of(dtype);
  if (std::isnan(number)) return "0";
  if (number >= range.high)
    return range.highest >> 63 ? fmt::format("{}UL", range.highest)
                               : fmt::format("{}L", range.highest);
  if (number <= range.low) {
    // The lowest 64-bit number has no literal of its own.
    return range.lowest == std::numeric_limits<std::int64_t>::min()
               ? "(-9223372036854775807L - 1)"
               : fmt::format("({}L)", range.lowest);
  }
  return number < 0 ? fmt::format("({}L)", static_cast<std::int64_t>(number))
                    : fmt::format("{}UL", static_cast<std::uint64_t>(number));
}

}  // namespace

std::string literal(double number, Dtype dtype) {
  const std::string_view type = compute_type(dtype);
  if (is_complex(dtype))
    return fmt::format("make_{}({}, 0)", type,
                       literal(number, dtype == Dtype::complex64 ? Dtype::f32 : Dtype::f64));
  if (type != "f32" && type != "f64")
    return fmt::format("(({}){})", type, integer_literal(number, dtype));
  if (std::isnan(number)) return fmt::format("(({})NAN)", type);
  if (std::isinf(number)) return fmt::format("(({}){}INFINITY)", type, number < 0 ? "-" : "");
  // In hexadecimal: no compiler rounds it.
  if (type == "f32") return fmt::format("({:a}f)", static_cast<float>(number));
  return fmt::format("({:a})", number);
}

}  // namespace bp::codegen
