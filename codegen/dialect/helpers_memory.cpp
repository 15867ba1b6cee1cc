// Loads and stores of every dtype, alone and, in OpenCL C, as vectors of neighbours.
#include <algorithm>
#include <fmt/format.h>

#include "dialect/helpers.hpp"

namespace bp::codegen {
namespace {

bool is_converted(Dtype dtype) {
  return compute_type(dtype) != storage_type(dtype);
}

bool has_vectors(Dtype dtype) {
  return !is_complex(dtype) && dtype != Dtype::f8_e4m3fn && dtype != Dtype::f8_e5m2;
}

// OpenCL C has loads and stores of halves in every version, which are instructions on many processors. Vectors go by way of one of
// their bits: PoCL 3.1 takes it that they lie at multiples of their size, which ends the process on processors with AVX2 and without
// AVX-512.
std::string define_half(std::string_view word, unsigned width, bool loads) {
  const std::string type = width == 1 ? std::string("f32") : fmt::format("f32x{}", width);
  if (width == 1)
    return loads ? fmt::format(
                       "DEVICE f32 {}(GLOBAL const u8* p, i64 i) {{ return vload_half(0, "
                       "(GLOBAL const half*)p + i); }}\n",
                       word)
                 : fmt::format(
                       "DEVICE void {}(GLOBAL u8* p, i64 i, f32 x) {{ vstore_half_rte(x, 0, "
                       "(GLOBAL half*)p + i); }}\n",
                       word);
  const std::string_view stored = storage_type(Dtype::f16);
  const std::string bits = opencl_type(stored, width);
  if (loads)
    return fmt::format(
        "DEVICE {0} {1}(GLOBAL const u8* p, i64 i) {{\n"
        "  const {2} halves = vload{3}(0, (GLOBAL const {4}*)p + i);\n"
        "  return vload_half{3}(0, (const half*)&halves);\n}}\n",
        type, word, bits, width, stored);
  return fmt::format(
      "DEVICE void {0}(GLOBAL u8* p, i64 i, {1} x) {{\n"
      "  {2} halves;\n  vstore_half{3}_rte(x, 0, (half*)&halves);\n"
      "  vstore{3}(halves, 0, (GLOBAL {4}*)p + i);\n}}\n",
      word, type, bits, width, stored);
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

// Only compilers that are made of clang have a word for it. What a thread stored so, another sees once both were at a lock
// or a barrier of the host, as for every kernel's end: on x86 their locked instructions wait for such stores too.
std::string define_stream(std::string_view word, Dtype dtype, unsigned width) {
  const std::string_view stored = storage_type(dtype), computed = compute_type(dtype);
  const std::string bits = opencl_type(stored, width);
  std::string value;
  if (dtype == Dtype::f16)
    value = fmt::format("  {0} value;\n  vstore_half{1}_rte(x, 0, (half*)&value);\n", bits, width);
  else
    value = fmt::format(
        "  const {} value = {};\n", bits,
        is_converted(dtype) ? fmt::format("{}_of_{}x{}(x)", suffix(dtype), computed, width) : "x");
  return fmt::format(
      "#ifdef __clang__\n"
      "DEVICE void {0}(GLOBAL u8* p, i64 i, {1}x{2} x) {{\n{3}"
      "  __builtin_nontemporal_store(value, (GLOBAL {4}*)((GLOBAL {5}*)p + i));\n}}\n"
      "#else\n#define {0} store_{6}x{2}\n#endif\n",
      word, computed, width, value, bits, stored, suffix(dtype));
}

// "loads_f16_8": the dtype and how many.
struct Pack {
  std::string_view word;
  bool loads;
  Dtype dtype;
  unsigned count;
};

std::optional<Pack> pack_of(std::string_view word) {
  constexpr std::string_view load = "loads_", store = "stores_";
  const bool loads = word.starts_with(load);
  if (!loads && !word.starts_with(store)) return {};
  const std::size_t digits = word.rfind('_');
  const std::size_t start = loads ? load.size() : store.size();
  if (digits <= start) return {};
  for (unsigned count : {1u, 2u, 4u, 8u, 16u}) {
    if (word.substr(digits + 1) != std::to_string(count)) continue;
    if (const auto dtype = dtype_of_suffix(word.substr(start, digits - start)))
      return Pack{word, loads, *dtype, count};
  }
  return {};
}

// nvcc 13 breaks some of the stores of such a struct, or of its own uint4, up into elements.
std::string cuda_wide_store(std::size_t bytes) {
  std::string text = "  const u32* words = (const u32*)&pack;\n";
  for (std::size_t word = 0; word < bytes / 4; word += 4)
    text += fmt::format(
        "  asm volatile(\"{{ .reg .u64 q; cvta.to.global.u64 q, %0; "
        "st.global.v4.u32 [q + {0}], {{%1, %2, %3, %4}}; }}\"\n"
        "    :: \"l\"(at), \"r\"(words[{1}]), \"r\"(words[{2}]), \"r\"(words[{3}]), "
        "\"r\"(words[{4}]) : \"memory\");\n",
        4 * word, word, word + 1, word + 2, word + 3);
  return text;
}

// A struct of that alignment is loaded as one.
std::string cuda_pack(const Pack& pack) {
  const std::string_view stored = storage_type(pack.dtype), computed = compute_type(pack.dtype);
  const std::size_t bytes = std::size_t{pack.count} * itemsize(pack.dtype);
  const std::string type = fmt::format("{}_of", pack.word);
  const bool converts = is_converted(pack.dtype);
  const std::string from = converts ? fmt::format("{}_of_{}", computed, suffix(pack.dtype)) : "";
  const std::string to = converts ? fmt::format("{}_of_{}", suffix(pack.dtype), computed) : "";
  std::string text = fmt::format("typedef struct __align__({}) {{ {} all[{}]; }} {};\n",
                                 std::min<std::size_t>(16, bytes), stored, pack.count, type);
  if (pack.loads)
    return text + fmt::format(
                      "DEVICE void {0}(GLOBAL const u8* p, i64 i, {1}* x) {{\n"
                      "  const {2} pack = *(const {2}*)((const {3}*)p + i);\n"
                      "  UNROLL for (int k = 0; k < {4}; ++k) x[k] = {5}(pack.all[k]);\n}}\n",
                      pack.word, computed, type, stored, pack.count, from);
  return text +
         fmt::format(
             "DEVICE void {0}(GLOBAL u8* p, i64 i, const {1}* x) {{\n  {2} pack;\n"
             "  UNROLL for (int k = 0; k < {4}; ++k) pack.all[k] = {5}(x[k]);\n"
             "  {3}* const at = ({3}*)p + i;\n{6}}}\n",
             pack.word, computed, type, stored, pack.count, to,
             bytes >= 16 ? cuda_wide_store(bytes) : fmt::format("  *({}*)at = pack;\n", type));
}

std::string opencl_pack(const Pack& pack) {
  const std::string_view name = suffix(pack.dtype), computed = compute_type(pack.dtype);
  const bool is_vector = pack.count > 1 && has_vectors(pack.dtype);
  const char* loop = "  UNROLL for (int k = 0; k < {0}; ++k) ";
  const std::string each = fmt::format(fmt::runtime(loop), pack.count);
  if (pack.loads) {
    const std::string body =
        is_vector ? fmt::format("  vstore{0}(load_{1}x{0}(p, i), 0, x);\n", pack.count, name)
                  : fmt::format("{}x[k] = load_{}(p, i + k);\n", each, name);
    return fmt::format("DEVICE void {}(GLOBAL const u8* p, i64 i, {}* x) {{\n{}}}\n", pack.word,
                       computed, body);
  }
  const std::string body =
      is_vector ? fmt::format("  store_{1}x{0}(p, i, vload{0}(0, x));\n", pack.count, name)
                : fmt::format("{}store_{}(p, i + k, x[k]);\n", each, name);
  return fmt::format("DEVICE void {}(GLOBAL u8* p, i64 i, const {}* x) {{\n{}}}\n", pack.word,
                     computed, body);
}

}  // namespace

std::string define_pack(Language language, std::string_view word) {
  if (language == Language::c11) return {};
  const std::optional<Pack> pack = pack_of(word);
  if (!pack) return {};
  return language == Language::cuda_cxx ? cuda_pack(*pack) : opencl_pack(*pack);
}

std::string define_memory(Language language, std::string_view word) {
  constexpr std::string_view load = "load_", store = "store_", stream = "stream_";
  const bool loads = word.starts_with(load), streams = word.starts_with(stream);
  if (!loads && !streams && !word.starts_with(store)) return {};
  const auto [element, width] = split_width(word.substr(word.find('_') + 1));
  const std::optional<Dtype> dtype = dtype_of_suffix(element);
  if (!dtype || (width > 1 && (language != Language::opencl_c || !has_vectors(*dtype)))) return {};
  if (streams) return width > 1 ? define_stream(word, *dtype, width) : std::string();
  if (language == Language::opencl_c && *dtype == Dtype::f16)
    return define_half(word, width, loads);
  return loads ? define_load(word, *dtype, width) : define_store(word, *dtype, width);
}

}  // namespace bp::codegen
