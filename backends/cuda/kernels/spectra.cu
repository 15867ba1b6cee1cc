#include <algorithm>

#include "constants.hpp"
#include "kernels/spectra.hpp"

namespace cuda_backend {
namespace {

constexpr int threads = constants::usual_threads;

unsigned blocks_of_numbers(int64_t count) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((count + threads - 1) / threads, 1, constants::most_blocks));
}

template <class T>
__global__ void __launch_bounds__(threads)
    multiply_parts(T* numbers, uint64_t count, T even, T odd) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    numbers[i] *= i % 2 == 0 ? even : odd;
}

// `parts`: two for each number.
template <class T>
__global__ void __launch_bounds__(threads)
    settle_parts(T* parts, uint64_t count, uint64_t size, bool is_even, bool conjugates) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint64_t k = i % size;
    if (k == 0 || (is_even && k == size - 1))
      parts[2 * i + 1] = 0;
    else if (conjugates)
      parts[2 * i + 1] = -parts[2 * i + 1];
  }
}

template <class T>
void launch_multiply(const OnCard& card, void* numbers, int64_t count, double even, double odd) {
  multiply_parts<<<blocks_of_numbers(count), threads, 0, card.stream()>>>(
      static_cast<T*>(numbers), static_cast<uint64_t>(count), static_cast<T>(even),
      static_cast<T>(odd));
}

template <class T>
void launch_settle(const OnCard& card, void* halves, int64_t n, int64_t batch, bool conjugates) {
  const int64_t size = n / 2 + 1;
  settle_parts<<<blocks_of_numbers(size * batch), threads, 0, card.stream()>>>(
      static_cast<T*>(halves), static_cast<uint64_t>(size * batch), static_cast<uint64_t>(size),
      n % 2 == 0, conjugates);
}

}  // namespace

bp::Status scale_parts(const OnCard& card, void* numbers, int64_t count, bool is_double,
                       double even, double odd) {
  if (is_double)
    launch_multiply<double>(card, numbers, count, even, odd);
  else
    launch_multiply<float>(card, numbers, count, even, odd);
  return card.check_launches();
}

bp::Status settle_halves(const OnCard& card, void* halves, int64_t n, int64_t batch, bool is_double,
                         bool conjugates) {
  if (is_double)
    launch_settle<double>(card, halves, n, batch, conjugates);
  else
    launch_settle<float>(card, halves, n, batch, conjugates);
  return card.check_launches();
}

}  // namespace cuda_backend
