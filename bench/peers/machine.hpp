// The processor's units, by its own instructions, and memory as it takes them: what bench/peers/machine.cpp times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__x86_64__)
#  include <cpuid.h>
#  include <immintrin.h>
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

// Memory that begins at a line of the caches.
class Memory {
 public:
  explicit Memory(size_t bytes) : data_(static_cast<char*>(std::aligned_alloc(4096, bytes))) {
    if (!data_) throw std::bad_alloc();
  }
  ~Memory() { std::free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() { return data_; }
  const char* data() const { return data_; }

 private:
  char* data_;
};

// Work in registers alone.
struct Unit {
  void (*run)(int64_t rounds);
  double operations;  // of one round, on one core
};

// What the compiler can't know to be unused.
template <class T> void keep(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

#if defined(__x86_64__)

// Twelve sums hide the latency of two units, and more than sixteen registers has not every processor.
constexpr int num_sums = 12;

__attribute__((target("avx512f"))) inline void fma_512(int64_t rounds) {
  __m512 sums[num_sums], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
  for (__m512& sum : sums) sum = a;
  for (int64_t i = 0; i < rounds; ++i)
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, a, b);
  keep(sums);
}

__attribute__((target("avx2,fma"))) inline void fma_256(int64_t rounds) {
  __m256 sums[num_sums], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
  for (__m256& sum : sums) sum = a;
  for (int64_t i = 0; i < rounds; ++i)
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, a, b);
  keep(sums);
}

inline void mul_add_128(int64_t rounds) {
  __m128 sums[num_sums], a = _mm_set1_ps(0.5f), b = _mm_set1_ps(1.0f);
  for (__m128& sum : sums) sum = a;
  for (int64_t i = 0; i < rounds; ++i)
    for (__m128& sum : sums) sum = _mm_add_ps(_mm_mul_ps(sum, a), b);
  keep(sums);
}

__attribute__((target("avx512f,avx512bf16"))) inline void dot_bf16_512(int64_t rounds) {
  __m512 sums[num_sums];
  const auto a = (__m512bh)_mm512_set1_epi32(0x3f803f80), b = (__m512bh)_mm512_setzero_si512();
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < rounds; ++i)
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, a, b);
  keep(sums);
}

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Four sums, two of each factor: as many as a product has in its tiles. Random numbers are slower than zeros where
// the processor lowers its clock, so that the factors are not zeros.
__attribute__((target("amx-tile,amx-bf16,avx512f"))) inline void tiles_bf16(int64_t rounds) {
  static const TileShapes shapes;
  alignas(64) uint16_t factor[16 * 32];
  for (int i = 0; i < 16 * 32; ++i) factor[i] = static_cast<uint16_t>(0x3f00 + i * 37 % 251);
  _tile_loadconfig(&shapes);
  _tile_loadd(4, factor, 64);
  _tile_loadd(5, factor, 64);
  _tile_loadd(6, factor, 64);
  _tile_loadd(7, factor, 64);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

// Linux gives a process the tiles' registers when it asks.
inline bool has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned bf16 = 1u << 22, tile = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & bf16) || !(d & tile)) return false;
  constexpr long ask = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, ask, tile_data) == 0;
}

inline Unit f32_unit() {
  if (__builtin_cpu_supports("avx512f")) return {fma_512, 2.0 * 16 * num_sums};
  if (__builtin_cpu_supports("fma")) return {fma_256, 2.0 * 8 * num_sums};
  return {mul_add_128, 2.0 * 4 * num_sums};
}

inline Unit bf16_unit() {
  if (has_tiles()) return {tiles_bf16, 2.0 * 4 * 16 * 16 * 32};
  if (__builtin_cpu_supports("avx512bf16")) return {dot_bf16_512, 2.0 * 32 * num_sums};
  return f32_unit();
}

inline void read_all(const char* from, size_t n) {
  __m128i sums[4] = {};
  for (size_t i = 0; i + 64 <= n; i += 64)
    for (size_t k = 0; k < 4; ++k)
      sums[k] =
          _mm_add_epi32(sums[k], _mm_load_si128(reinterpret_cast<const __m128i*>(from + i) + k));
  keep(sums);
}

inline void stream_to(char* to, size_t n) {
  const __m128i value = _mm_set1_epi32(3);
  for (size_t i = 0; i + 16 <= n; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), value);
  _mm_sfence();
}

inline void stream_copy(char* to, const char* from, size_t n) {
  for (size_t i = 0; i + 16 <= n; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  _mm_sfence();
}

#else

typedef float Four __attribute__((vector_size(16)));
constexpr int num_sums = 16;

inline void mul_add_128(int64_t rounds) {
  Four sums[num_sums], a = {0.5f, 0.5f, 0.5f, 0.5f}, b = {1, 1, 1, 1};
  for (Four& sum : sums) sum = a;
  for (int64_t i = 0; i < rounds; ++i)
    for (Four& sum : sums) sum = sum * a + b;
  keep(sums);
}

inline Unit f32_unit() {
  return {mul_add_128, 2.0 * 4 * num_sums};
}

inline Unit bf16_unit() {
  return f32_unit();
}

inline void read_all(const char* from, size_t n) {
  uint64_t sum = 0;
  const auto* words = reinterpret_cast<const uint64_t*>(from);
  for (size_t i = 0; i < n / 8; ++i) sum += words[i];
  keep(sum);
}

inline void stream_to(char* to, size_t n) {
  __builtin_memset(to, 3, n);
}

inline void stream_copy(char* to, const char* from, size_t n) {
  __builtin_memcpy(to, from, n);
}

#endif
