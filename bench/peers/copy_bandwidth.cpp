// What the machine's memory gives: the best memcpy of 64 MiB between existing buffers with all
// cores, bytes read plus written. The peer of the operators that should be bound by memory alone.
#include <cstring>
#include <omp.h>
#include <vector>

#include "measure.hpp"

namespace {

void copy_with_all_cores(char* dst, const char* src, size_t bytes) {
#pragma omp parallel
  {
    size_t cores = omp_get_num_threads(), core = omp_get_thread_num();
    size_t begin = bytes * core / cores, end = bytes * (core + 1) / cores;
    std::memcpy(dst + begin, src + begin, end - begin);
  }
}

}  // namespace

int main() {
  constexpr size_t bytes = size_t{64} << 20;
  std::vector<char> src(bytes, 1), dst(bytes, 2);
  double ns = bench::best_ns([&] { copy_with_all_cores(dst.data(), src.data(), bytes); });
  bench::report("copy_bandwidth", 2.0 * bytes / ns, "GB/s");
}
