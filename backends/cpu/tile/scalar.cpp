// Primitives that are plain scalar loops on every machine: complex numbers, and functions that nobody
// waits for. Also where the tables are joined.
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>
#include <utility>

#include <backplane/generated/steps.h>

#include "tile/primitives.hpp"

namespace bp::cpu::tile {
namespace {

template <class Out, class In, class F> void map(void* dst, const void* a, int64_t count, F f) {
  auto* to = static_cast<Out*>(dst);
  const auto* from = static_cast<const In*>(a);
  for (int64_t i = 0; i < count; ++i) to[i] = f(from[i]);
}

template <class Out, class In, class F>
void map(void* dst, const void* a, const void* b, int64_t count, F f) {
  auto* to = static_cast<Out*>(dst);
  const auto* left = static_cast<const In*>(a);
  const auto* right = static_cast<const In*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = f(left[i], right[i]);
}

#define BP_UNARY(Out, In, value)                                              \
  [](void* dst, const void* from, const void*, const void*, int64_t count) {  \
    map<Out, In>(dst, from, count, [](const In& a) -> Out { return value; }); \
  }
#define BP_BINARY(Out, In, value)                                                                 \
  [](void* dst, const void* left, const void* right, const void*, int64_t count) {                \
    map<Out, In>(dst, left, right, count, [](const In& a, const In& b) -> Out { return value; }); \
  }

// The C library's, which are asked for what math.cpp and math_of_two.cpp do not have.
template <class T, size_t code> void add_function(PrimitiveTable& table, uint32_t dtype) {
  if (bp_steps[code].kind != BP_STEP_FUNCTION) return;
  table.entries[code][dtype] = bp_steps[code].num_operands == 2
                                   ? BP_BINARY(T, T, bp::function_step(code, a, b))
                                   : BP_UNARY(T, T, bp::function_step(code, a));
}
template <class T, size_t... codes>
void add_functions(PrimitiveTable& table, uint32_t dtype, std::index_sequence<codes...>) {
  (add_function<T, codes>(table, dtype), ...);
}
template <class T> void add_real(PrimitiveTable& table, uint32_t dtype) {
  add_functions<T>(table, dtype, std::make_index_sequence<BP_NUM_X>());
}

// Wraps as products do. A fraction is 0, also 1 / 0.
template <class T> T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0)
      return base == 1 ? T(1) : base != -1 ? T(0) : exponent % 2 == 0 ? T(1) : T(-1);
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, square *= square)
    if (rest & 1u) result *= square;
  return static_cast<T>(result);
}

template <class T>
void power_of_number(void* dst, const void* a, const void* b, const void*, int64_t count) {
  const T exponent = *static_cast<const T*>(b);
  if (exponent == 2)
    map<T, T>(dst, a, count, [](T base) {
      const auto wide = static_cast<uint64_t>(base);
      return static_cast<T>(wide * wide);
    });
  else
    map<T, T>(dst, a, count, [=](T base) { return power<T>(base, exponent); });
}

template <class T> T remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;  // the lowest number would trap
  return b == 0 ? T(0) : static_cast<T>(a % b);
}

template <class T> void add_integer(PrimitiveTable& table, uint32_t dtype) {
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][dtype] = fn; };
  set(BP_X_POW, BP_BINARY(T, T, power<T>(a, b)));
  table.numbered[number_last][BP_X_POW][dtype] = {power_of_number<T>, 0b010};
  set(BP_X_FMOD, BP_BINARY(T, T, remainder<T>(a, b)));
}

template <class T> void add_complex(PrimitiveTable& table, uint32_t dtype) {
  using C = std::complex<T>;
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][dtype] = fn; };
  set(BP_X_ADD, BP_BINARY(C, C, a + b));
  set(BP_X_SUB, BP_BINARY(C, C, a - b));
  set(BP_X_MUL, BP_BINARY(C, C, a * b));
  set(BP_X_DIV, BP_BINARY(C, C, a / b));
  set(BP_X_POW, BP_BINARY(C, C, std::pow(a, b)));
  set(BP_X_EQ, BP_BINARY(uint8_t, C, a == b));
  set(BP_X_NE, BP_BINARY(uint8_t, C, a != b));
  set(BP_X_NEG, BP_UNARY(C, C, -a));
  set(BP_X_EXP, BP_UNARY(C, C, std::exp(a)));
  set(BP_X_LOG, BP_UNARY(C, C, std::log(a)));
  set(BP_X_SQRT, BP_UNARY(C, C, std::sqrt(a)));
  set(BP_X_SIN, BP_UNARY(C, C, std::sin(a)));
  set(BP_X_COS, BP_UNARY(C, C, std::cos(a)));
  set(BP_X_TANH, BP_UNARY(C, C, std::tanh(a)));
  set(BP_X_SIGMOID, BP_UNARY(C, C, T(1) / (T(1) + std::exp(-a))));
  set(step_to_mask, BP_UNARY(uint8_t, C, a != C(0)));
  set(step_from_mask, BP_UNARY(C, uint8_t, C(a)));
  set(step_identity, [](void* dst, const void* a, const void*, const void*, int64_t count) {
    if (dst != a) std::memcpy(dst, a, static_cast<size_t>(count) * sizeof(C));
  });
  set(BP_X_SELECT, [](void* dst, const void* a, const void* b, const void* c, int64_t count) {
    const auto* mask = static_cast<const uint8_t*>(a);
    for (int64_t i = 0; i < count; ++i) {
      static_cast<C*>(dst)[i] = static_cast<const C*>(mask[i] != 0 ? b : c)[i];
    }
  });
}

#undef BP_UNARY
#undef BP_BINARY

}  // namespace

const PrimitiveTable& scalar_primitives() {
  static const PrimitiveTable table = [] {
    PrimitiveTable made;
    add_real<float>(made, BP_F32);
    add_real<double>(made, BP_F64);
    add_integer<int8_t>(made, BP_I8);
    add_integer<int16_t>(made, BP_I16);
    add_integer<int32_t>(made, BP_I32);
    add_integer<int64_t>(made, BP_I64);
    add_integer<uint8_t>(made, BP_U8);
    add_integer<uint16_t>(made, BP_U16);
    add_integer<uint32_t>(made, BP_U32);
    add_integer<uint64_t>(made, BP_U64);
    add_complex<float>(made, BP_COMPLEX64);
    add_complex<double>(made, BP_COMPLEX128);
    return made;
  }();
  return table;
}

Primitive find_streaming_primitive(uint16_t code, uint32_t dtype) {
  const Primitive found = math_primitives().streaming[code][dtype];
  return found != nullptr ? found : streaming_primitives().streaming[code][dtype];
}

namespace {

// The faster ones first.
auto all_tables() {
  return std::to_array<const PrimitiveTable*>({&arithmetic_primitives(), &math_primitives(),
                                               &math_of_two_primitives(), &bf16_primitives(),
                                               &fused_primitives(), &scalar_primitives()});
}

}  // namespace

Primitive find_primitive(uint16_t code, uint32_t dtype) {
  if (code >= num_steps_known || dtype >= BP_NUM_DTYPES) return nullptr;
  for (const PrimitiveTable* table : all_tables()) {
    if (Primitive found = table->entries[code][dtype]) return found;
  }
  return nullptr;
}

Numbered find_numbered(uint16_t code, uint32_t dtype, NumberedWay way) {
  for (const PrimitiveTable* table : all_tables()) {
    const Numbered& found = table->numbered[way][code][dtype];
    if (found.run != nullptr) return found;
  }
  return {};
}

}  // namespace bp::cpu::tile
