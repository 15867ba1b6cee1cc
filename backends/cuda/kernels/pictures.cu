// Pictures are reordered in tiles, through shared memory, so that both sides are read and written in rows.
#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "constants.hpp"
#include "kernels/pictures.hpp"

namespace cuda_backend {
namespace {

constexpr int tile = constants::turned_tile, rows_at_once = constants::turned_rows;
constexpr int threads = constants::usual_threads;
constexpr int most_blocks = 65535;  // that a grid counts beside its first dimension

// `batch` matrices of [rows, columns] become [columns, rows].
template <class Word>
__global__ void __launch_bounds__(tile* rows_at_once)
    transpose(const Word* from, Word* to, int64_t batch, int64_t rows, int64_t columns) {
  __shared__ Word kept[tile][tile + 1];
  for (int64_t matrix = blockIdx.z; matrix < batch; matrix += gridDim.z) {
    const Word* const source = from + matrix * rows * columns;
    Word* const target = to + matrix * rows * columns;
    for (int64_t first_row = int64_t{blockIdx.y} * tile; first_row < rows;
         first_row += int64_t{gridDim.y} * tile) {
      const int64_t first_column = int64_t{blockIdx.x} * tile;
      for (int i = static_cast<int>(threadIdx.y); i < tile; i += rows_at_once) {
        const int64_t row = first_row + i, column = first_column + threadIdx.x;
        if (row < rows && column < columns) kept[i][threadIdx.x] = source[row * columns + column];
      }
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.y); i < tile; i += rows_at_once) {
        const int64_t row = first_row + threadIdx.x, column = first_column + i;
        if (row < rows && column < columns) target[column * rows + row] = kept[threadIdx.x][i];
      }
      __syncthreads();
    }
  }
}

template <class Word>
void launch_transpose(const OnCard& card, const void* from, void* to, int64_t batch, int64_t rows,
                      int64_t columns) {
  const auto blocks = [](int64_t size) { return (size + tile - 1) / tile; };
  const dim3 grid(static_cast<unsigned>(blocks(columns)),
                  static_cast<unsigned>(std::min<int64_t>(blocks(rows), most_blocks)),
                  static_cast<unsigned>(std::min<int64_t>(batch, most_blocks)));
  transpose<<<grid, dim3(tile, rows_at_once), 0, card.stream()>>>(
      static_cast<const Word*>(from), static_cast<Word*>(to), batch, rows, columns);
}

unsigned blocks_for(int64_t work) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((work + threads - 1) / threads, 1, constants::most_blocks));
}

// Elements are added to as 16 bytes.
template <class T> struct alignas(16) Pack {
  static constexpr int count = 16 / sizeof(T);
  T elements[count];
};

__device__ __half sum_of(__half a, __half b) {
  return __float2half_rn(__half2float(a) + __half2float(b));
}
__device__ __nv_bfloat16 sum_of(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16_rn(__bfloat162float(a) + __bfloat162float(b));
}
template <class T> __device__ T sum_of(T a, T b) {
  return a + b;
}

// `inner` elements in a row have the same channel.
template <class T, class Index>
__global__ void __launch_bounds__(threads)
    add_to_channels(T* to, const T* bias, int64_t step, Index count, Index inner, Index channels) {
  const Index stride = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = sum_of(to[i], bias[static_cast<int64_t>(i / inner % channels) * step]);
}

// As that, where a pack has one channel, or neighbouring ones from a multiple of its size on.
template <class T, class Index>
__global__ void __launch_bounds__(threads)
    add_to_packs(T* to, const T* bias, int64_t step, Index count, Index inner, Index channels) {
  using P = Pack<T>;
  const Index stride = static_cast<Index>(gridDim.x) * blockDim.x, packs = count / P::count;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += stride) {
    P pack = reinterpret_cast<const P*>(to)[i];
    const Index channel = i * P::count / inner % channels;
#pragma unroll
    for (int k = 0; k < P::count; ++k)
      pack.elements[k] = sum_of(pack.elements[k],
                                bias[static_cast<int64_t>(channel + (inner == 1 ? k : 0)) * step]);
    reinterpret_cast<P*>(to)[i] = pack;
  }
}

template <class T, class Index>
void launch_bias(const OnCard& card, int64_t inner, int64_t channels, bp::In bias, bp::Out out) {
  T* const to = out.data<T>();
  constexpr int64_t pack = Pack<T>::count;
  const bool in_packs = (inner == 1 ? channels : inner) % pack == 0 &&
                        reinterpret_cast<uintptr_t>(to) % sizeof(Pack<T>) == 0;
  const int64_t work = in_packs ? out.numel() / pack : out.numel();
  const unsigned blocks = blocks_for(work);
  auto* const kernel = in_packs ? add_to_packs<T, Index> : add_to_channels<T, Index>;
  kernel<<<blocks, threads, 0, card.stream()>>>(
      to, bias.data<T>(), bias.stride(0), static_cast<Index>(out.numel()),
      static_cast<Index>(inner), static_cast<Index>(channels));
}

template <class T>
void launch_bias_of(const OnCard& card, int64_t inner, int64_t channels, bp::In bias, bp::Out out) {
  // So that no index overflows while a grid's stride is added to it.
  if (out.numel() < int64_t{1} << 31)
    launch_bias<T, uint32_t>(card, inner, channels, bias, out);
  else
    launch_bias<T, uint64_t>(card, inner, channels, bias, out);
}

__device__ float wide_of(__half a) {
  return __half2float(a);
}
__device__ float wide_of(__nv_bfloat16 a) {
  return __bfloat162float(a);
}
__device__ void round_to(__half& to, float a) {
  to = __float2half_rn(a);
}
__device__ void round_to(__nv_bfloat16& to, float a) {
  to = __float2bfloat16_rn(a);
}

template <class T>
__global__ void __launch_bounds__(threads) widen_all(const T* from, float* to, uint64_t count) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = wide_of(from[i]);
}

template <class T>
__global__ void __launch_bounds__(threads)
    add_and_round(const float* from, T* to, const T* bias, int64_t step, uint64_t count,
                  uint64_t inner, uint64_t channels) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    round_to(to[i], from[i] + wide_of(bias[static_cast<int64_t>(i / inner % channels) * step]));
}

template <class T> void launch_widen(const OnCard& card, const bp::AnyTensor& from, float* to) {
  widen_all<<<blocks_for(from.numel()), threads, 0, card.stream()>>>(
      bp::address_of<const T>(from.handle(), from.byte_offset()), to,
      static_cast<uint64_t>(from.numel()));
}

template <class T>
void launch_round(const OnCard& card, int64_t inner, int64_t channels, const float* wide,
                  bp::In bias, bp::Out to) {
  add_and_round<<<blocks_for(to.numel()), threads, 0, card.stream()>>>(
      wide, to.data<T>(), bias.data<T>(), bias.stride(0), static_cast<uint64_t>(to.numel()),
      static_cast<uint64_t>(inner), static_cast<uint64_t>(channels));
}

}  // namespace

bp::Status reorder(const OnCard& card, const Pictures& pictures, bool to_channels_last,
                   const void* from, void* to) {
  const int64_t rows = to_channels_last ? pictures.channels : pictures.plane;
  const int64_t columns = to_channels_last ? pictures.plane : pictures.channels;
  if (pictures.itemsize == 2)
    launch_transpose<uint16_t>(card, from, to, pictures.batch, rows, columns);
  else if (pictures.itemsize == 4)
    launch_transpose<uint32_t>(card, from, to, pictures.batch, rows, columns);
  else if (pictures.itemsize == 8)
    launch_transpose<uint64_t>(card, from, to, pictures.batch, rows, columns);
  else
    launch_transpose<ulonglong2>(card, from, to, pictures.batch, rows, columns);
  return card.check_launches();
}

bp::Status add_bias(const OnCard& card, const Pictures& pictures, bool channels_last, bp::In bias,
                    bp::Out to) {
  const int64_t inner = channels_last ? 1 : pictures.plane;
  if (to.dtype() == bp::f16)
    launch_bias_of<__half>(card, inner, pictures.channels, bias, to);
  else if (to.dtype() == bp::bf16)
    launch_bias_of<__nv_bfloat16>(card, inner, pictures.channels, bias, to);
  else if (to.dtype() == bp::f32)
    launch_bias_of<float>(card, inner, pictures.channels, bias, to);
  else
    launch_bias_of<double>(card, inner, pictures.channels, bias, to);
  return card.check_launches();
}

bp::Status widen(const OnCard& card, const bp::AnyTensor& from, float* to) {
  if (from.dtype() == bp::f16)
    launch_widen<__half>(card, from, to);
  else
    launch_widen<__nv_bfloat16>(card, from, to);
  return card.check_launches();
}

bp::Status round_with_bias(const OnCard& card, const Pictures& pictures, bool channels_last,
                           const float* wide, bp::In bias, bp::Out to) {
  const int64_t inner = channels_last ? 1 : pictures.plane;
  if (to.dtype() == bp::f16)
    launch_round<__half>(card, inner, pictures.channels, wide, bias, to);
  else
    launch_round<__nv_bfloat16>(card, inner, pictures.channels, wide, bias, to);
  return card.check_launches();
}

}  // namespace cuda_backend
