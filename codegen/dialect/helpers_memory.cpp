// Loads and stores of every dtype, alone and, in OpenCL C, as vectors of neighbours.
#include <fmt/format.h>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

bool is_converted(Dtype dtype) {
  return compute_type(dtype) != storage_type(dtype);
}

// OpenCL C has loads and stores of halves in every version, which are instructions on many processors.
std::string define_half(std::string_view word, unsigned width, bool loads) {
  const std::string type = width == 1 ? std::string("f32") : fmt::format("f32x{}", width);
  const std::string digits = width == 1 ? std::string() : std::to_string(width);
  if (loads)
    return fmt::format(
        "DEVICE {} {}(GLOBAL const u8* p, i64 i) {{ return vload_half{}(0, (GLOBAL const half*)p + "
        "i); }}\n",
        type, word, digits);
  return fmt::format(
      "DEVICE void {}(GLOBAL u8* p, i64 i, {} x) {{ vstore_half{}_rte(x, 0, (GLOBAL half*)p + i); "
      "}}\n",
      word, type, digits);
}

std::string define_load(std::string_view word, Dtype dtype, unsigned width) {
  const std::string_view stored = storage_type(dtype), computed = compute_type(dtype);
  std::string value = width == 1
                          ? fmt::format("((GLOBAL const {}*)p)[i]", stored)
                          : fmt::format("vload{}(0, (GLOBAL const {}*)p + i)", width, stored);
  const std::string type =
      width == 1 ? std::string(computed) : fmt::format("{}x{}", computed, width);
  if (is_converted(dtype)) value = fmt::format("{}_of_{}({})", type, suffix(dtype), value);
  return fmt::format("DEVICE {} {}(GLOBAL const u8* p, i64 i) {{ return {}; }}\n", type, word,
                     value);
}

std::string define_store(std::string_view word, Dtype dtype, unsigned width) {
  const std::string_view stored = storage_type(dtype), computed = compute_type(dtype);
  const std::string type =
      width == 1 ? std::string(computed) : fmt::format("{}x{}", computed, width);
  const std::string value =
      is_converted(dtype) ? fmt::format("{}_of_{}(x)", suffix(dtype), type) : "x";
  const std::string write =
      width == 1 ? fmt::format("((GLOBAL {}*)p)[i] = {}", stored, value)
                 : fmt::format("vstore{}({}, 0, (GLOBAL {}*)p + i)", width, value, stored);
  return fmt::format("DEVICE void {}(GLOBAL u8* p, i64 i, {} x) {{ {}; }}\n", word, type, write);
}

bool has_vectors(Dtype dtype) {
  return !is_complex(dtype) && dtype != Dtype::f8_e4m3fn && dtype != Dtype::f8_e5m2;
}

}  // namespace

std::string define_memory(Language language, std::string_view word) {
  constexpr std::string_view load = "load_", store = "store_";
  const bool loads = word.starts_with(load);
  if (!loads && !word.starts_with(store)) return {};
  const auto [element, width] = split_width(word.substr(loads ? load.size() : store.size()));
  const std::optional<Dtype> dtype = dtype_of_suffix(element);
  if (!dtype || (width > 1 && (language != Language::opencl_c || !has_vectors(*dtype)))) return {};
  if (language == Language::opencl_c && *dtype == Dtype::f16)
    return define_half(word, width, loads);
  return loads ? define_load(word, *dtype, width) : define_store(word, *dtype, width);
}

}  // namespace bp::codegen
