// sort: every dtype becomes an unsigned key whose order is the wanted one, so that radix sorts of 32 and of 64 bits serve
// all. Short lines are sorted by a block each, in shared memory; long ones all at once, with the line's number above the
// key where both fit into 64 bits, else in two stable passes: by key, then by line.
#include <algorithm>
#include <cub/block/block_radix_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "constants.hpp"
#include "kernels/kernels.hpp"
#include "kernels/on_card.hpp"
#include "kernels/strided.cuh"

namespace cuda_backend {
namespace {

// How the bits of an element become a key of `bits` bits: negative floats reversed below positive ones, both zeros
// alike, all NaNs alike above infinity. Descending order is ascending order of the complement, so that equal elements
// keep their order.
struct KeyOf {
  uint64_t sign;      // 0 for unsigned numbers and bool
  uint64_t infinity;  // 0 for integers
  uint64_t all;       // every bit of the element
  bool descending;

  template <class Key> __device__ Key operator()(Key bits) const {
    Key key = bits ^ static_cast<Key>(sign);
    if (infinity != 0) {
      const Key magnitude = bits & static_cast<Key>(all ^ sign);
      if (magnitude > static_cast<Key>(infinity)) {
        key = static_cast<Key>(all);
      } else if (magnitude == 0) {
        key = static_cast<Key>(sign);
      } else if ((bits & static_cast<Key>(sign)) != 0) {
        key = ~bits & static_cast<Key>(all);
      }
    }
    return descending ? ~key & static_cast<Key>(all) : key;
  }
};

KeyOf key_of(bp::Dtype dtype, int bits, bool descending) {
  KeyOf made{};
  made.all = ~uint64_t{0} >> (64 - bits);
  made.descending = descending;
  if ((bp::DtypeSet(bp::i8) | bp::i16 | bp::i32 | bp::i64 | bp::floating).holds(dtype))
    made.sign = uint64_t{1} << (bits - 1);
  if (dtype == bp::f16) made.infinity = 0x7c00;
  if (dtype == bp::bf16) made.infinity = 0x7f80;
  if (dtype == bp::f32) made.infinity = 0x7f800000;
  if (dtype == bp::f64) made.infinity = 0x7ff0000000000000u;
  return made;
}

// Where the lines lie that are sorted: a, values and indices, each by line and then along it.
struct Lines {
  const void* a;
  void* values;
  int64_t* indices;
  Strided a_lines, values_lines, indices_lines;
  int64_t a_step, values_step, indices_step;
  int64_t count, length;
  int32_t itemsize;

  template <class Key> __device__ Key read(int64_t at) const {
    if (itemsize == 1) return static_cast<const uint8_t*>(a)[at];
    if (itemsize == 2) return static_cast<const uint16_t*>(a)[at];
    if (itemsize == 4) return static_cast<const uint32_t*>(a)[at];
    return static_cast<Key>(static_cast<const uint64_t*>(a)[at]);
  }
  // The element itself, not what its key tells: -0 stays -0, and a NaN keeps its bits.
  __device__ void move(int64_t from, int64_t to) const {
    if (itemsize == 1)
      static_cast<uint8_t*>(values)[to] = static_cast<const uint8_t*>(a)[from];
    else if (itemsize == 2)
      static_cast<uint16_t*>(values)[to] = static_cast<const uint16_t*>(a)[from];
    else if (itemsize == 4)
      static_cast<uint32_t*>(values)[to] = static_cast<const uint32_t*>(a)[from];
    else
      static_cast<uint64_t*>(values)[to] = static_cast<const uint64_t*>(a)[from];
  }
  // Element `index` of a line becomes number `rank` of it.
  __device__ void write(int64_t line, int64_t rank, int64_t index) const {
    move(a_lines.offset(line) + index * a_step, values_lines.offset(line) + rank * values_step);
    indices[indices_lines.offset(line) + rank * indices_step] = index;
  }
};

// ---- Short lines: a block for each -------------------------------------------------------------------

template <class Key, int threads, int items>
__global__ void __launch_bounds__(threads) sort_line(Lines lines, KeyOf key_of, int bits) {
  using Sort = cub::BlockRadixSort<Key, threads, items, uint16_t>;
  __shared__ typename Sort::TempStorage storage;
  for (int64_t line = blockIdx.x; line < lines.count; line += gridDim.x) {
    const int64_t from = lines.a_lines.offset(line);
    Key keys[items];
    uint16_t places[items];
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int place = static_cast<int>(threadIdx.x) * items + i;
      // What is beyond the line comes behind all of it: equal keys keep their order.
      keys[i] = place < lines.length ? key_of(lines.read<Key>(from + place * lines.a_step))
                                     : static_cast<Key>(key_of.all);
      places[i] = static_cast<uint16_t>(place);
    }
    Sort(storage).SortBlockedToStriped(keys, places, 0, bits);
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int rank = static_cast<int>(threadIdx.x) + i * threads;
      if (rank < lines.length) lines.write(line, rank, places[i]);
    }
    __syncthreads();  // the sort's storage is used again
  }
}

constexpr int short_threads = constants::short_sort_threads,
              long_threads = constants::long_sort_threads;
constexpr int64_t longest_of_few_threads = short_threads * constants::short_sort_items;
constexpr int64_t longest_short_line = long_threads * constants::long_sort_items;

template <class Key> void sort_short(const OnCard& card, const Lines& lines, KeyOf key, int bits) {
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>(lines.count, constants::most_blocks_of_lines));
  if (lines.length <= longest_of_few_threads)
    sort_line<Key, short_threads, constants::short_sort_items>
        <<<blocks, short_threads, 0, card.stream()>>>(lines, key, bits);
  else
    sort_line<Key, long_threads, constants::long_sort_items>
        <<<blocks, long_threads, 0, card.stream()>>>(lines, key, bits);
}

// ---- Long lines: all at once -------------------------------------------------------------------------

constexpr int sort_threads = constants::usual_threads;

unsigned sort_blocks_for(int64_t count) {
  return static_cast<unsigned>((count + sort_threads - 1) / sort_threads);
}

// `line_shift` 64: the line is not part of the key.
template <class Key>
__global__ void make_keys(Lines lines, KeyOf key_of, int line_shift, Key* keys, uint32_t* places) {
  const int64_t i = blockIdx.x * int64_t{sort_threads} + threadIdx.x;
  if (i >= lines.count * lines.length) return;
  const int64_t line = i / lines.length, at = i - line * lines.length;
  Key key = key_of(lines.read<Key>(lines.a_lines.offset(line) + at * lines.a_step));
  if (line_shift < static_cast<int>(sizeof(Key) * 8)) key |= static_cast<Key>(line) << line_shift;
  keys[i] = key;
  places[i] = static_cast<uint32_t>(i);
}

__global__ void make_line_keys(Lines lines, const uint32_t* places, uint32_t* keys) {
  const int64_t i = blockIdx.x * int64_t{sort_threads} + threadIdx.x;
  if (i < lines.count * lines.length) keys[i] = static_cast<uint32_t>(places[i] / lines.length);
}

__global__ void write_sorted(Lines lines, const uint32_t* places) {
  const int64_t i = blockIdx.x * int64_t{sort_threads} + threadIdx.x;
  if (i >= lines.count * lines.length) return;
  const int64_t line = i / lines.length;
  lines.write(line, i - line * lines.length, places[i] - line * lines.length);
}

int bits_for(int64_t count) {
  int bits = 0;
  while (count - 1 > 0 && (count - 1) >> bits != 0) ++bits;
  return bits;
}

// Sorts by the low `bits` of the keys; afterwards the current buffers hold the result.
template <class Key>
cudaError_t sort_pairs(void* temporary, size_t& bytes, cub::DoubleBuffer<Key>& keys,
                       cub::DoubleBuffer<uint32_t>& places, uint32_t count, int bits,
                       cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, places, count, 0, bits, stream);
}

template <class Key>
bp::Status sort_long(const bp::Call& call, const OnCard& card, const Lines& lines, KeyOf key_of,
                     int bits) {
  const auto count = static_cast<uint32_t>(lines.count * lines.length);
  const int line_bits = bits_for(lines.count);
  const bool in_one = bits + line_bits <= static_cast<int>(sizeof(Key) * 8);
  const int key_bits = in_one ? bits + line_bits : bits;

  cub::DoubleBuffer<Key> keys;
  cub::DoubleBuffer<uint32_t> places, line_keys;
  size_t bytes = 0, line_bytes = 0;
  cudaError_t error = sort_pairs(nullptr, bytes, keys, places, count, key_bits, card.stream());
  if (error == cudaSuccess && !in_one)
    error = sort_pairs(nullptr, line_bytes, line_keys, places, count, line_bits, card.stream());
  if (error != cudaSuccess) return card.check(error);
  bytes = std::max(bytes, line_bytes);

  Scratch scratch;
  void* temporary = nullptr;
  const auto lay_out = [&] {
    temporary = scratch.take<char>(bytes);
    for (Key*& each : keys.d_buffers) each = scratch.take<Key>(count);
    for (uint32_t*& each : places.d_buffers) each = scratch.take<uint32_t>(count);
    // The keys are no longer needed when the lines are sorted.
    for (int i = 0; i < 2; ++i)
      line_keys.d_buffers[i] = reinterpret_cast<uint32_t*>(keys.d_buffers[i]);
  };
  lay_out();
  if (bp::Status status = scratch.allocate(call); !status.is_ok()) return status;
  lay_out();

  const cudaStream_t stream = card.stream();
  make_keys<Key><<<sort_blocks_for(count), sort_threads, 0, stream>>>(
      lines, key_of, in_one && line_bits > 0 ? bits : 64, keys.Current(), places.Current());
  error = sort_pairs(temporary, bytes, keys, places, count, key_bits, stream);
  if (error == cudaSuccess && !in_one) {
    make_line_keys<<<sort_blocks_for(count), sort_threads, 0, stream>>>(lines, places.Current(),
                                                                        line_keys.Current());
    error = sort_pairs(temporary, bytes, line_keys, places, count, line_bits, stream);
  }
  if (error != cudaSuccess) return card.check(error);
  write_sorted<<<sort_blocks_for(count), sort_threads, 0, stream>>>(lines, places.Current());
  return card.check_launches();
}

Lines lines_of(bp::In a, int64_t dim, bp::Out values, bp::Out indices) {
  const auto step = [&](const bp::AnyTensor& tensor) {
    return a.ndim() == 0 ? 1 : tensor.stride(static_cast<int32_t>(dim));
  };
  Lines lines{};
  lines.a = a.data<void>();
  lines.values = values.data<void>();
  lines.indices = indices.data<int64_t>();
  lines.a_lines = strided_of(a, dim);
  lines.values_lines = strided_of(values, dim);
  lines.indices_lines = strided_of(indices, dim);
  lines.a_step = step(a);
  lines.values_step = step(values);
  lines.indices_step = step(indices);
  lines.length = a.ndim() == 0 ? 1 : a.size(static_cast<int32_t>(dim));
  lines.count = a.numel() / lines.length;
  lines.itemsize = static_cast<int32_t>(a.itemsize());
  return lines;
}

// Places are counted in 32 bits.
constexpr int64_t most_elements = int64_t{1} << 31;

}  // namespace

bool is_worth_sorting(bp::Call, bp::In a, int64_t dim, bool, bool, bp::Out, bp::Out) {
  const int64_t length = a.ndim() == 0 ? 1 : a.size(static_cast<int32_t>(dim));
  if (length < constants::shortest_sorted_line && a.numel() > length) return false;
  return length <= longest_short_line || a.numel() < most_elements;
}

bp::Status sort(bp::Call call, bp::In a, int64_t dim, bool descending, bool, bp::Out values,
                bp::Out indices) {
  const Lines lines = lines_of(a, dim, values, indices);
  const bool is_short = lines.length <= longest_short_line;
  const OnCard card(call, "sort");
  // A bool is 0 or 1.
  const int bits = static_cast<int>(a.itemsize()) * 8;
  const KeyOf key = key_of(a.dtype(), bits, descending);
  if (is_short && (lines.count > 1 || lines.length <= longest_of_few_threads)) {
    if (bits == 64)
      sort_short<uint64_t>(card, lines, key, bits);
    else
      sort_short<uint32_t>(card, lines, key, bits);
    return card.check_launches();
  }
  if (bits + bits_for(lines.count) <= 32) return sort_long<uint32_t>(call, card, lines, key, bits);
  return sort_long<uint64_t>(call, card, lines, key, bits);
}

}  // namespace cuda_backend
