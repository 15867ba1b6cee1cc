// What the machine itself gives with all cores: the limits that figures of large work are held against. Each is the best
// of nine samples, while both sides' figures are medians, so that a share of it is not flattered.
//   fma_f32          multiply-adds of f32 in registers, two operations each
//   bf16_units       the same of bf16 pairs into f32: AMX or AVX-512's dot products, unless f32's multiply-adds are faster
//   read_bandwidth   sums over 64 MiB a core's share at a time
//   write_bandwidth  stores past the caches
//   copy_bandwidth   the better of memcpy and loads with stores past the caches, 64 MiB to 64 MiB, bytes read plus written
#include "machine.hpp"

#include <cstring>
#include <omp.h>
#include <vector>

#include "measure.hpp"

namespace {

constexpr size_t bytes = size_t{64} << 20;

// In turns of a few microseconds, so that the cores begin and end together.
template <class Work> double best_ns_with_all_cores(const Work& work) {
  return bench::best_ns([&] {
#pragma omp parallel
    work(static_cast<size_t>(omp_get_thread_num()), static_cast<size_t>(omp_get_num_threads()));
  });
}

// Each core's part of two buffers, in lines of the caches.
template <class Move> double best_ns_of_parts(Memory& to, const Memory& from, const Move& move) {
  return best_ns_with_all_cores([&](size_t core, size_t cores) {
    const size_t begin = bytes * core / cores & ~size_t{63};
    const size_t end = core + 1 == cores ? bytes : bytes * (core + 1) / cores & ~size_t{63};
    move(to.data() + begin, from.data() + begin, end - begin);
  });
}

void report_memory() {
  Memory from(bytes), to(bytes);
  std::memset(from.data(), 1, bytes);
  std::memset(to.data(), 2, bytes);
  const double read =
      best_ns_of_parts(to, from, [](char*, const char* s, size_t n) { read_all(s, n); });
  const double write =
      best_ns_of_parts(to, from, [](char* d, const char*, size_t n) { stream_to(d, n); });
  const double plain =
      best_ns_of_parts(to, from, [](char* d, const char* s, size_t n) { std::memcpy(d, s, n); });
  const double streamed = best_ns_of_parts(to, from, stream_copy);
  bench::report("read_bandwidth", bytes / read, "GB/s");
  bench::report("write_bandwidth", bytes / write, "GB/s");
  bench::report("copy_bandwidth", 2.0 * bytes / std::min(plain, streamed), "GB/s");
}

double rate(const Unit& unit) {
  constexpr int64_t rounds = 20000;
  const double ns = best_ns_with_all_cores([&](size_t, size_t) { unit.run(rounds); });
  return unit.operations * rounds * omp_get_max_threads() / ns;
}

}  // namespace

int main() {
  report_memory();
  const double f32 = rate(f32_unit());
  bench::report("fma_f32", f32, "GFLOP/s");
  bench::report("bf16_units", std::max(f32, rate(bf16_unit())), "GFLOP/s");
}
