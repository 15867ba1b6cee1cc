// Transforms of complex64 numbers on cpu: lines of powers of two, of other factors and of primes, one and many.
#include <benchmark/benchmark.h>

#include <backplane/tensors.hpp>

namespace {

void fourier_complex(benchmark::State& state) {
  const bp::Tensor input = bp::view_as_complex(bp::randn({state.range(1), state.range(0), 2}));
  for (auto _ : state) benchmark::DoNotOptimize(bp::fft_fft(input));
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}

void fourier_real(benchmark::State& state) {
  const bp::Tensor input = bp::randn({state.range(1), state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(bp::fft_rfft(input));
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t n : {16, 64, 100, 256, 1000, 1009, 1024, 4096, 65536}) {
    bench->Args({n, 1});
    bench->Args({n, (1 << 18) / n});
  }
  bench->Args({1 << 20, 1});
}

BENCHMARK(fourier_complex)->Apply(sizes)->UseRealTime();
BENCHMARK(fourier_real)->Apply(sizes)->UseRealTime();

}  // namespace
