// needs: cpu
// alone: it replaces operator new[] for the whole program
// LAPACK's arrays end where memory ends: OpenBLAS reads past rows of complex matrices, which nobody sees until a mapping ends there.
#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <new>
#include <random>
#include <sys/mman.h>

#include "backends/cpu/direct_call.hpp"
#include "backends/cpu/dtypes.hpp"

namespace {

constexpr std::size_t page = 4096, alignment = 16;

// While one of these lives, arrays end at a page that cannot be read.
std::atomic<bool> is_guarding{false};
struct Guarding {
  Guarding() { is_guarding = true; }
  ~Guarding() { is_guarding = false; }
};

struct Mapping {
  std::atomic<void*> array{nullptr};
  void* begin = nullptr;
  std::size_t bytes = 0;
};
std::array<Mapping, 64> mappings;
std::atomic<std::uint64_t> num_guarded{0};

// Null where all places are taken.
void* guarded_array(std::size_t bytes) {
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const std::size_t room = (rounded + page - 1) / page * page;
  for (Mapping& mapping : mappings) {
    void* expected = nullptr;
    if (!mapping.array.compare_exchange_strong(expected, &mapping)) continue;
    mapping.bytes = room + page;
    mapping.begin =
        mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping.begin == MAP_FAILED) std::abort();
    char* const end = static_cast<char*>(mapping.begin) + room;
    if (mprotect(end, page, PROT_NONE) != 0) std::abort();
    mapping.array = end - rounded;
    ++num_guarded;
    return end - rounded;
  }
  return nullptr;
}

void free_array(void* array) {
  for (Mapping& mapping : mappings)
    if (array != nullptr && mapping.array == array) {
      munmap(mapping.begin, mapping.bytes);
      mapping.array = nullptr;
      return;
    }
  std::free(array);
}

}  // namespace

void* operator new[](std::size_t bytes) {
  void* array = is_guarding ? guarded_array(bytes) : nullptr;
  if (array == nullptr) array = std::malloc(bytes);
  if (array == nullptr) throw std::bad_alloc();
  return array;
}
void operator delete[](void* array) noexcept {
  free_array(array);
}
void operator delete[](void* array, std::size_t) noexcept {
  free_array(array);
}

namespace bp_test {
namespace {

Data random_data(uint32_t dtype, Sizes shape, int64_t seed) {
  Data data(dtype, std::move(shape));
  std::mt19937 random(static_cast<uint32_t>(seed));
  const bool is_complex = dtype == BP_COMPLEX64 || dtype == BP_COMPLEX128;
  const bool is_double = dtype == BP_F64 || dtype == BP_COMPLEX128;
  const auto draw = [&] { return static_cast<double>(random()) / 0x1p31 - 1; };
  for (int64_t i = 0; i < data.numel() * (is_complex ? 2 : 1); ++i)
    is_double ? data.at<double>(i) = draw() : data.at<float>(i) = static_cast<float>(draw());
  return data;
}

bp_value text(const char* letters) {
  bp_value value{};
  value.tag = BP_STRING;
  value.aux = static_cast<uint32_t>(std::char_traits<char>::length(letters));
  value.u.ptr = letters;
  return value;
}

void factorize(uint32_t dtype, int64_t m, int64_t n) {
  const uint32_t real = dtype == BP_F32 || dtype == BP_COMPLEX64 ? BP_F32 : BP_F64;
  const uint32_t complex = real == BP_F32 ? BP_COMPLEX64 : BP_COMPLEX128;
  const int64_t k = std::min(m, n);
  Data a = random_data(dtype, {m, n}, m * 1000 + n), square = random_data(dtype, {k, k}, k);
  Data singular(real, {k}), left(dtype, {m, m}), right(dtype, {n, n}), thin(dtype, {m, k}),
      upper(dtype, {k, n}), values(real, {k}), roots(complex, {k}), vectors(complex, {k, k}),
      own(dtype, {k, k}), turned(dtype, {k, k});
  const Guarding guarding;
  run("linalg_svdvals", {value(a)}, {&singular});
  run("linalg_svd", {value(a), value(true)}, {&left, &singular, &right});
  run("linalg_qr", {value(a), text("reduced")}, {&thin, &upper});
  run("linalg_eigh", {value(square), text("L")}, {&values, &own});
  run("linalg_eig", {value(square)}, {&roots, &vectors});
  run("linalg_inv", {value(square)}, {&turned});
}

TEST(MemoryEnds, behind_every_array_of_linear_algebra) {
  if (dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL) == nullptr)
    GTEST_SKIP() << "no LAPACK: apt install libopenblas0-openmp";
  const uint64_t before = num_guarded;
  for (const uint32_t dtype : {BP_F32, BP_F64, BP_COMPLEX64, BP_COMPLEX128})
    for (const int64_t m : {3, 4, 5, 6, 7, 16, 31, 67, 130})
      for (const int64_t n : {3, 5, 8, 33, 129}) factorize(dtype, m, n);
  EXPECT_GT(num_guarded, before + 1000) << "the plugin's arrays are not this program's";
}

}  // namespace
}  // namespace bp_test
