// nonzero: each block counts the nonzero elements of its part of the tensor, one block sums up the counts before each
// part, and each block then writes the indices that it found at their place. The tensor is read twice; a list of flags
// or of places would cost more.
#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "constants.hpp"
#include "kernels/kernels.hpp"
#include "kernels/on_card.hpp"
#include "kernels/strided.cuh"

namespace cuda_backend {
namespace {

constexpr int threads = constants::usual_threads, items = constants::nonzero_items,
              tile = threads * items;
constexpr int scan_threads = constants::nonzero_scan_threads,
              parts_of_thread = constants::nonzero_parts_of_thread;
constexpr int most_parts = scan_threads * parts_of_thread;

// Elements are words whose bits in `mask` are all 0 if they are zero: -0 differs from 0 outside of it.
template <class Word> struct Elements {
  const Word* data;
  Word mask;
  Strided strided;
  bool in_a_row;        // element `place` is data[place]
  bool is_aligned;      // and may be read a Pack at a time
  int64_t count, part;  // elements, and of them in a part: a multiple of `tile`

  __device__ bool is_nonzero(int64_t place) const {
    return (data[in_a_row ? place : strided.offset(place)] & mask) != 0;
  }
};

// 16 bytes, of complex128.
struct alignas(16) TwoWords {
  uint64_t a, b;
  __device__ friend TwoWords operator&(TwoWords x, TwoWords y) { return {x.a & y.a, x.b & y.b}; }
  __device__ friend bool operator!=(TwoWords x, int) { return (x.a | x.b) != 0; }
};

// What a thread reads of a tile.
template <class Word> struct alignas(sizeof(Word) * items < 16 ? sizeof(Word) * items : 16) Pack {
  Word words[items];
};

// Bit i: the i-th of this thread's elements of the tile at `first` is nonzero.
template <class Word>
__device__ unsigned flags_of(const Elements<Word>& elements, int64_t first, int64_t end) {
  unsigned flags = 0;
  const int64_t begin = first + static_cast<int64_t>(threadIdx.x) * items;
  if (begin + items <= end && elements.is_aligned) {
    const auto pack = *reinterpret_cast<const Pack<Word>*>(elements.data + begin);
#pragma unroll
    for (int i = 0; i < items; ++i) flags |= unsigned{(pack.words[i] & elements.mask) != 0} << i;
  } else if (begin + items <= end) {
#pragma unroll
    for (int i = 0; i < items; ++i) flags |= unsigned{elements.is_nonzero(begin + i)} << i;
  } else {
    for (int i = 0; begin + i < end; ++i) flags |= unsigned{elements.is_nonzero(begin + i)} << i;
  }
  return flags;
}

template <class Word>
__global__ void __launch_bounds__(threads) count_parts(Elements<Word> elements, int64_t* counts) {
  using Reduce = cub::BlockReduce<int64_t, threads>;
  __shared__ typename Reduce::TempStorage storage;
  const int64_t begin = blockIdx.x * elements.part;
  const int64_t end = min(elements.count, begin + elements.part);
  int64_t count = 0;
  for (int64_t first = begin; first < end; first += tile)
    count += __popc(flags_of(elements, first, end));
  count = Reduce(storage).Sum(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// From counts to what comes before each part; the total goes behind the last.
__global__ void __launch_bounds__(scan_threads) sum_counts(int64_t* counts, int num_parts) {
  using Scan = cub::BlockScan<int64_t, scan_threads>;
  __shared__ typename Scan::TempStorage storage;
  int64_t before[parts_of_thread], total;
  for (int i = 0; i < parts_of_thread; ++i) {
    const int part = static_cast<int>(threadIdx.x) * parts_of_thread + i;
    before[i] = part < num_parts ? counts[part] : 0;
  }
  Scan(storage).ExclusiveSum(before, before, total);
  for (int i = 0; i < parts_of_thread; ++i) {
    const int part = static_cast<int>(threadIdx.x) * parts_of_thread + i;
    if (part < num_parts) counts[part] = before[i];
  }
  if (threadIdx.x == 0) counts[num_parts] = total;
}

// The tensor's own sizes, none left out.
struct Shape {
  int32_t rank;
  int64_t size[BP_MAX_RANK];
};

template <class Word>
__global__ void __launch_bounds__(threads)
    write_indices(Elements<Word> elements, Shape shape, const int64_t* before, int64_t* out) {
  using Scan = cub::BlockScan<int, threads>;
  __shared__ typename Scan::TempStorage storage;
  const int64_t begin = blockIdx.x * elements.part;
  const int64_t end = min(elements.count, begin + elements.part);
  int64_t row = before[blockIdx.x];
  for (int64_t first = begin; first < end; first += tile) {
    unsigned flags = flags_of(elements, first, end);
    int mine, total;
    Scan(storage).ExclusiveSum(__popc(flags), mine, total);
    for (int64_t at = row + mine; flags != 0; flags &= flags - 1, ++at) {
      int64_t place = first + static_cast<int64_t>(threadIdx.x) * items + __ffs(flags) - 1;
      for (int32_t dim = shape.rank - 1; dim >= 0; --dim) {
        const int64_t rest = place / shape.size[dim];
        out[at * shape.rank + dim] = place - rest * shape.size[dim];
        place = rest;
      }
    }
    row += total;
    __syncthreads();  // the scan's storage is used again
  }
}

template <class Word>
bp::Status run(const bp::Call& call, const OnCard& card, bp::In a, Word mask) {
  Elements<Word> elements{a.data<Word>(), mask, strided_of(a), false, false, a.numel(), 0};
  const Strided& s = elements.strided;
  elements.in_a_row = s.rank == 0 || (s.rank == 1 && s.stride[0] == 1);
  elements.is_aligned =
      elements.in_a_row && reinterpret_cast<uintptr_t>(elements.data) % alignof(Pack<Word>) == 0;
  const int64_t tiles = (a.numel() + tile - 1) / tile;
  elements.part = (tiles + most_parts - 1) / most_parts * tile;
  const auto num_parts = static_cast<int>((a.numel() + elements.part - 1) / elements.part);

  Scratch scratch;
  scratch.take<int64_t>(static_cast<uint64_t>(num_parts) + 1);
  if (bp::Status status = scratch.allocate(call); !status.is_ok()) return status;
  auto* const counts = scratch.take<int64_t>(static_cast<uint64_t>(num_parts) + 1);
  count_parts<<<num_parts, threads, 0, card.stream()>>>(elements, counts);
  sum_counts<<<1, scan_threads, 0, card.stream()>>>(counts, num_parts);
  if (bp::Status status = card.check_launches(); !status.is_ok()) return status;
  bp::Result<int64_t> total = card.read(counts + num_parts);
  if (!total.is_ok()) return total.status();

  Shape shape{a.ndim(), {}};
  std::copy_n(a.shape().data(), a.ndim(), shape.size);
  const int64_t out_shape[2] = {total.value(), a.ndim()};
  bp::Status status = call.allocate_output(0, {out_shape, 2});
  if (!status.is_ok() || total.value() == 0 || a.ndim() == 0) return status;
  auto* const out = bp::Out(call.abi().outputs[0]).data<int64_t>();
  write_indices<<<num_parts, threads, 0, card.stream()>>>(elements, shape, counts, out);
  return card.check_launches();
}

}  // namespace

bp::Status nonzero(bp::Call call, bp::In a, bp::Out) {
  if (a.numel() == 0) {
    const int64_t shape[2] = {0, a.ndim()};
    return call.allocate_output(0, {shape, 2});
  }
  const OnCard card(call, "nonzero");
  const bool has_sign = (bp::floating | bp::complex).holds(a.dtype());
  constexpr uint64_t f64_mask = ~uint64_t{0} >> 1;
  if (a.dtype() == bp::complex64) return run<uint64_t>(call, card, a, 0x7fffffff7fffffffu);
  if (a.dtype() == bp::complex128) return run<TwoWords>(call, card, a, {f64_mask, f64_mask});
  switch (a.itemsize()) {
    case 1: return run<uint8_t>(call, card, a, 0xff);
    case 2: return run<uint16_t>(call, card, a, has_sign ? 0x7fff : 0xffff);
    case 4: return run<uint32_t>(call, card, a, has_sign ? 0x7fffffffu : ~uint32_t{0});
    default: return run<uint64_t>(call, card, a, has_sign ? f64_mask : ~uint64_t{0});
  }
}

}  // namespace cuda_backend
