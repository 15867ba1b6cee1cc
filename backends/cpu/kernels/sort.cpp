// sort and topk: every dtype becomes an unsigned key whose order is the wanted one, so that one sort of
// keys, stable and linear, serves all. NaN is larger than all numbers, as in PyTorch.
#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <utility>

#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "kernels.hpp"
#include "strided.hpp"
#include "tile/rank.hpp"

namespace bp::cpu {
namespace {

constexpr bp_dtype_set sorted_dtypes = integral_dtypes | floating_dtypes | dtype_set({BP_BOOL});

template <class U> constexpr U sign_bit = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));

// Bits of a float as a key: negative numbers reversed below positive ones, both zeros alike, all NaNs
// alike above infinity. Without branches, which signs at random would mislead.
template <class U> U key_of_float_bits(U bits, U infinity) {
  using Word = std::conditional_t<sizeof(U) < 4, uint32_t, U>;
  const auto all_if = [](bool condition) { return Word{0} - Word{condition}; };
  const Word sign = sign_bit<U>, magnitude = bits & (sign - 1);
  const Word number = bits & all_if(magnitude != 0);
  const Word key = number ^ (all_if((number & sign) != 0) | sign);
  return static_cast<U>(key | all_if(magnitude > infinity));
}

template <class T> auto key_of(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return key_of_float_bits<uint16_t>(value.bits, 0x7c00);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return key_of_float_bits<uint16_t>(value.bits, 0x7f80);
  } else if constexpr (std::is_same_v<T, float>) {
    return key_of_float_bits<uint32_t>(std::bit_cast<uint32_t>(value), 0x7f800000u);
  } else if constexpr (std::is_same_v<T, double>) {
    return key_of_float_bits<uint64_t>(std::bit_cast<uint64_t>(value), 0x7ff0000000000000u);
  } else if constexpr (std::is_same_v<T, bool>) {
    return static_cast<uint8_t>(value);
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(value) ^ (std::is_signed_v<T> ? sign_bit<U> : U{0}));
  }
}

// Of a whole number its key says all.
template <class U, class T> T integer_of(U key, bool is_complement, T) {
  if (is_complement) key = static_cast<U>(~key);
  return static_cast<T>(key ^ (std::is_signed_v<T> ? sign_bit<U> : U{0}));
}

template <class Key, class Index> struct Entry {
  Key key;
  Index index;
};

template <class Key> int num_differing_bytes(Key differing) {
  int count = 0;
  for (size_t byte = 0; byte < sizeof(Key); ++byte)
    count += ((differing >> (8 * byte)) & 0xff) != 0;
  return count;
}

// By the bytes in which keys differ, the lowest first. Returns where the result lies.
template <class E> E* sort_by_bytes(E* entries, E* spare, int64_t count, uint64_t differing) {
  for (int shift = 0; differing >> shift != 0; shift += 8) {
    // A byte that is the same in all keys (of small integers, most are) orders nothing.
    if ((differing >> shift & 0xff) == 0) {
      if (shift == 56) break;
      continue;
    }
    int64_t at[256] = {};
    for (int64_t i = 0; i < count; ++i) ++at[(entries[i].key >> shift) & 0xff];
    int64_t first = 0;
    for (int64_t& digit : at) first += std::exchange(digit, first);
    for (int64_t i = 0; i < count; ++i) spare[at[(entries[i].key >> shift) & 0xff]++] = entries[i];
    std::swap(entries, spare);
    if (shift == 56) break;
  }
  return entries;
}

template <class E> void insert_in_order(E* entries, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const E entry = entries[i];
    int64_t place = i;
    for (; place > 0 && entries[place - 1].key > entry.key; --place)
      entries[place] = entries[place - 1];
    entries[place] = entry;
  }
}

template <class E>
void sort_into_bins(E* entries, E* spare, int64_t count, uint64_t differing, bool is_into_spare,
                    int64_t parts = 1);

// Entries whose keys are in order but for the lowest `shift` bits: whole runs that look alike above are few and short, unless keys
// lie in heaps.
template <class E> void finish_order(E* entries, E* spare, int64_t count, int shift) {
  for (int64_t begin = 0, end = 1; begin < count; begin = end++) {
    const auto upper = entries[begin].key >> shift;
    while (end < count && entries[end].key >> shift == upper) ++end;
    const int64_t size = end - begin;
    if (size == 1) continue;
    if (size <= constants::inserted_entries) {
      insert_in_order(entries + begin, size);
      continue;
    }
    uint64_t rest = 0;
    for (int64_t i = begin; i < end; ++i) rest |= entries[i].key ^ entries[begin].key;
    if (rest != 0) sort_into_bins(entries + begin, spare + begin, size, rest, false);
  }
}

// Entries that stay in a cache: by the uppermost two bytes in which keys differ, the lower one first, which leaves few that are
// alike if keys are spread evenly.
template <class E> void sort_in_cache(E* entries, E* spare, int64_t count, uint64_t differing) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(differing)) - 16);
  const auto low_of = [&](const E& entry) { return (entry.key >> shift) & 0xff; };
  const auto high_of = [&](const E& entry) { return (entry.key >> shift >> 8) & 0xff; };
  uint32_t low[256] = {}, high[256] = {};
  for (int64_t i = 0; i < count; ++i) {
    ++low[low_of(entries[i])];
    ++high[high_of(entries[i])];
  }
  for (uint32_t bin = 0, low_first = 0, high_first = 0; bin < 256; ++bin) {
    low_first += std::exchange(low[bin], low_first);
    high_first += std::exchange(high[bin], high_first);
  }
  for (int64_t i = 0; i < count; ++i) spare[low[low_of(entries[i])]++] = entries[i];
  for (int64_t i = 0; i < count; ++i) entries[high[high_of(spare[i])]++] = spare[i];
  if (shift > 0) finish_order(entries, spare, count, shift);
}

// Calls f(part, begin, end) for parts of about the same size, which threads share.
template <class F> void over_parts(int64_t count, int64_t parts, F f) {
  parallel_for(parts, 1, [&](int64_t from, int64_t to) {
    for (int64_t part = from; part < to; ++part)
      f(part, count * part / parts, count * (part + 1) / parts);
  });
}

// By the uppermost byte in which keys differ, in so many parts that threads share, and then each bin for itself, on all threads: keys
// spread evenly need one or two such passes till bins stay in a cache. `is_into_spare`: where the result goes.
template <class E>
void sort_into_bins(E* entries, E* spare, int64_t count, uint64_t differing, bool is_into_spare,
                    int64_t parts) {
  if (count <= constants::cached_entries) {
    sort_in_cache(entries, spare, count, differing);
    if (is_into_spare) std::copy_n(entries, count, spare);
    return;
  }
  const int wanted = std::bit_width(static_cast<uint64_t>(count / constants::wanted_entries));
  const int bits =
      std::min({constants::most_bin_bits, wanted, static_cast<int>(std::bit_width(differing))});
  const int shift = static_cast<int>(std::bit_width(differing)) - bits;
  const int64_t num_bins = int64_t{1} << bits;
  const auto bin_of = [&](const E& entry) {
    return static_cast<int64_t>(entry.key >> shift) & (num_bins - 1);
  };
  // Of each part, where the next entry of each bin goes.
  uint32_t of_one[1 << constants::most_bin_bits];
  const std::unique_ptr<uint32_t[]> of_many(
      parts > 1 ? new uint32_t[static_cast<size_t>(parts * num_bins)] : nullptr);
  uint32_t* const next = of_many ? of_many.get() : of_one;
  over_parts(count, parts, [&](int64_t part, int64_t begin, int64_t end) {
    uint32_t* const counts = next + part * num_bins;
    std::fill_n(counts, num_bins, 0u);
    for (int64_t i = begin; i < end; ++i) ++counts[bin_of(entries[i])];
  });
  uint32_t first = 0;
  for (int64_t bin = 0; bin < num_bins; ++bin)
    for (int64_t part = 0; part < parts; ++part)
      first += std::exchange(next[part * num_bins + bin], first);
  over_parts(count, parts, [&](int64_t part, int64_t begin, int64_t end) {
    uint32_t* const places = next + part * num_bins;
    for (int64_t i = begin; i < end; ++i) spare[places[bin_of(entries[i])]++] = entries[i];
  });
  const uint32_t* const ends = next + (parts - 1) * num_bins;
  const int64_t grain = std::max<int64_t>(1, num_bins * constants::sorted_entries / count);
  parallel_for(num_bins, grain, [&](int64_t from, int64_t to) {
    for (int64_t bin = from; bin < to; ++bin) {
      const int64_t begin = bin == 0 ? 0 : ends[bin - 1], size = ends[bin] - begin;
      uint64_t rest = 0;
      for (int64_t i = begin; i < begin + size; ++i) rest |= spare[i].key ^ spare[begin].key;
      if (rest != 0)
        sort_into_bins(spare + begin, entries + begin, size, rest, !is_into_spare);
      else if (!is_into_spare)
        std::copy_n(spare + begin, size, entries + begin);
    }
  });
}

// Parts of so many entries of one line; the order of the result does not depend on them.
int64_t parts_of(int64_t count) {
  return std::clamp<int64_t>(count / constants::entries_of_part, 1, 2 * num_threads());
}

// Sorts `count` entries by their keys; `spare` is as large. Returns where the result lies.
template <class E> E* sort_entries(E* entries, E* spare, int64_t count) {
  if (count < constants::radix_entries) {
    // Indices are ascending, so that comparing them too makes any sort a stable one.
    std::sort(entries, entries + count, [](const E& a, const E& b) {
      return a.key != b.key ? a.key < b.key : a.index < b.index;
    });
    return entries;
  }
  const int64_t parts = parts_of(count);
  std::atomic<decltype(E::key)> all{0};
  over_parts(count, parts, [&](int64_t, int64_t begin, int64_t end) {
    decltype(E::key) differing = 0;
    for (int64_t i = begin; i < end; ++i) differing |= entries[i].key ^ entries[0].key;
    all |= differing;
  });
  const decltype(E::key) differing = all;
  if (num_differing_bytes(differing) <= constants::radix_bytes || count > int64_t{UINT32_MAX})
    return sort_by_bytes(entries, spare, count, differing);
  // Entries of bins that stay in a cache end where they lay: here after one such bin, or after as many again.
  const bool is_into_spare = count > constants::cached_entries;
  sort_into_bins(entries, spare, count, differing, is_into_spare, parts);
  return is_into_spare ? spare : entries;
}

struct Line {
  int64_t count, kept, from_step, values_step, indices_step;  // the first `kept` are written
  bool descending;
};

// Descending order is ascending order of the complement: equal elements keep their order, NaN leads.
template <class T> auto line_key(const T* from, int64_t i, const Line& line) {
  using Narrow = decltype(key_of(T{}));
  const Narrow key = key_of(from[i * line.from_step]);
  return line.descending ? static_cast<Narrow>(~key) : key;
}

// A short line, by counting.
template <class T> void rank_line(const T* from, T* values, int64_t* indices, const Line& line) {
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  Key keys[tile::rank_room], ranks[tile::rank_room];
  // An unsigned key as a signed one: the smaller types' all are above 0.
  const auto is_wide = sizeof(T) == sizeof(Key);
  const Key flip = is_wide ? std::numeric_limits<Key>::min() : Key{0};
  for (int64_t i = 0; i < line.count; ++i)
    keys[i] = static_cast<Key>(line_key(from, i, line)) ^ flip;
  std::fill_n(keys + line.count, tile::rank_padding, Key{0});
  tile::rank(keys, ranks, line.count);
  for (int64_t i = 0; i < line.count; ++i) {
    if (ranks[i] >= line.kept) continue;
    values[ranks[i] * line.values_step] = from[i * line.from_step];
    indices[ranks[i] * line.indices_step] = i;
  }
}

template <class T, class E>
void sort_line(const T* from, T* values, int64_t* indices, const Line& line, E* scratch) {
  using Index = decltype(E::index);
  if (line.count <= constants::ranked_entries) return rank_line(from, values, indices, line);
  over_parts(line.count, parts_of(line.count), [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      scratch[i] = {line_key(from, i, line), static_cast<Index>(i)};
  });
  const E* const sorted = sort_entries(scratch, scratch + line.count, line.count);
  over_parts(line.kept, parts_of(line.kept), [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<int64_t>(sorted[i].index);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {  // not from everywhere
        const auto key = static_cast<std::make_unsigned_t<T>>(sorted[i].key);
        values[i * line.values_step] = integer_of(key, line.descending, T{});
      } else {
        values[i * line.values_step] = from[index * line.from_step];
      }
      indices[i * line.indices_step] = index;
    }
  });
}

template <class T, class E>
Status sort_lines(const Call& call, const bp_tensor& a, int64_t dim, Line line,
                  const bp_tensor& values, const bp_tensor& indices) {
  const WithoutDim from(a, dim);
  const WithoutDim to(values, dim);
  const WithoutDim to_indices(indices, dim);
  const int64_t grain = std::max<int64_t>(1, element_grain / 8 / line.count);

  // Scratch for each thread that can take part.
  const int64_t parts = from.count <= grain ? 1 : std::min<int64_t>(num_threads(), from.count);
  const uint64_t part_bytes = 2 * line.count * sizeof(E);
  Result<Region> scratch = call.workspace(static_cast<uint64_t>(parts) * part_bytes);
  if (!scratch.is_ok()) return scratch.status();
  std::atomic<uint64_t> next_part{0};
  parallel_for(from.count, std::max(grain, (from.count + parts - 1) / parts),
               [&](int64_t begin, int64_t end) {
                 E* const mine = reinterpret_cast<E*>(scratch.value().address<char>() +
                                                      next_part.fetch_add(1) * part_bytes);
                 Walker<3> at(from.shape_span(),
                              {from.strides.data(), to.strides.data(), to_indices.strides.data()});
                 at.seek(begin);
                 for (int64_t i = begin; i < end; ++i, at.next()) {
                   sort_line(data_of<T>(a) + at.offset(0), data_of<T>(values) + at.offset(1),
                             data_of<int64_t>(indices) + at.offset(2), line, mine);
                 }
               });
  return ok;
}

// The first `kept` of each sorted line.
template <class T>
Status run_sort(const Call& call, const bp_tensor& a, int64_t kept, int64_t dim, bool descending,
                const bp_tensor& values, const bp_tensor& indices) {
  if (a.dl.ndim == 0) {
    *data_of<T>(values) = *data_of<T>(a);
    *data_of<int64_t>(indices) = 0;
    return ok;
  }
  const Line line{a.dl.shape[dim],         kept,      a.dl.strides[dim], values.dl.strides[dim],
                  indices.dl.strides[dim], descending};
  using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  if (line.count <= int64_t{UINT32_MAX})
    return sort_lines<T, Entry<Key, uint32_t>>(call, a, dim, line, values, indices);
  return sort_lines<T, Entry<Key, uint64_t>>(call, a, dim, line, values, indices);
}

// It is stable whether or not that is asked for.
Status sort(Call call, In a, int64_t dim, bool descending, bool, Out values, Out indices) {
  Status status = Status::from_host(BP_UNSUPPORTED);
  visit_dtype<sorted_dtypes>(a.abi().dtype, [&]<class T>(Tag<T>) {
    const int64_t count = a.abi().dl.ndim == 0 ? 1 : a.abi().dl.shape[dim];
    status = run_sort<T>(call, a.abi(), count, dim, descending, values.abi(), indices.abi());
  });
  return status;
}

// ---- topk: the first of a sorted line, without sorting the rest where they are few.

// The first `k` in order of keys, of equal ones the first: entries in order, or of a heap whose root would leave next.
template <class T, class E>
void first_of_line(const T* from, T* values, int64_t* indices, const Line& line, E* heap) {
  const int64_t k = line.kept;
  const auto is_before = [](const E& a, const E& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  };
  const auto entry_of = [&](int64_t i) {
    return E{line_key(from, i, line), static_cast<decltype(E::index)>(i)};
  };
  for (int64_t i = 0; i < k; ++i) heap[i] = entry_of(i);
  if (k <= constants::ordered_entries) {  // in order all the time
    insert_in_order(heap, k);
    T last = from[heap[k - 1].index * line.from_step];
    for (int64_t i = k; i < line.count; ++i) {
      if constexpr (!std::is_integral_v<T>) {  // whose key takes longer
        const T value = from[i * line.from_step];
        if (line.descending ? value <= last : value >= last) continue;  // never of a NaN
      }
      const E entry = entry_of(i);
      if (entry.key >= heap[k - 1].key) continue;
      int64_t place = k - 1;
      for (; place > 0 && heap[place - 1].key > entry.key; --place) heap[place] = heap[place - 1];
      heap[place] = entry;
      last = from[heap[k - 1].index * line.from_step];
    }
  } else {
    std::make_heap(heap, heap + k, is_before);
    for (int64_t i = k; i < line.count; ++i) {
      const E entry = entry_of(i);
      if (entry.key >= heap[0].key) continue;
      std::pop_heap(heap, heap + k, is_before);
      heap[k - 1] = entry;
      std::push_heap(heap, heap + k, is_before);
    }
    std::sort_heap(heap, heap + k, is_before);
  }
  for (int64_t i = 0; i < k; ++i) {
    const auto index = static_cast<int64_t>(heap[i].index);
    values[i * line.values_step] = from[index * line.from_step];
    indices[i * line.indices_step] = index;
  }
}

template <class T>
void run_topk(const bp_tensor& a, int64_t k, int64_t dim, bool largest, const bp_tensor& values,
              const bp_tensor& indices) {
  using E = Entry<decltype(key_of(T{})), uint32_t>;
  const Line line{a.dl.shape[dim],         k,      a.dl.strides[dim], values.dl.strides[dim],
                  indices.dl.strides[dim], largest};
  const WithoutDim from(a, dim), to(values, dim), to_indices(indices, dim);
  parallel_for(from.count, std::max<int64_t>(1, element_grain / 4 / line.count),
               [&](int64_t begin, int64_t end) {
                 E heap[constants::heaped_entries];
                 Walker<3> at(from.shape_span(),
                              {from.strides.data(), to.strides.data(), to_indices.strides.data()});
                 at.seek(begin);
                 for (int64_t i = begin; i < end; ++i, at.next()) {
                   first_of_line(data_of<T>(a) + at.offset(0), data_of<T>(values) + at.offset(1),
                                 data_of<int64_t>(indices) + at.offset(2), line, heap);
                 }
               });
}

Status topk(Call call, In a, int64_t k, int64_t dim, bool largest, bool, Out values, Out indices) {
  const bp_tensor& from = a.abi();
  const int64_t count = from.dl.ndim == 0 ? 1 : from.dl.shape[dim];
  const bool few =
      from.dl.ndim != 0 &&
      k <= std::min(constants::heaped_entries, count / (k <= constants::ordered_entries ? 3 : 8)) &&
      count <= int64_t{UINT32_MAX};
  Status status = ok;
  if (k == 0) return status;
  visit_dtype<sorted_dtypes>(from.dtype, [&]<class T>(Tag<T>) {
    if (few) return run_topk<T>(from, k, dim, largest, values.abi(), indices.abi());
    status = run_sort<T>(call, from, k, dim, largest, values.abi(), indices.abi());
  });
  return status;
}

}  // namespace

void add_sort_kernels(Kernels& k) {
  constexpr DtypeSet dtypes{sorted_dtypes};
  k.add<op::sort>(sort)
      .dtypes(dtypes)
      .dtypes(op::sort::place::values, dtypes)
      .dtypes(op::sort::place::indices, i64)
      .layouts(strided)
      .deterministic()
      .scratch();
  k.add<op::topk>(topk)
      .dtypes(dtypes)
      .dtypes(op::topk::place::values, dtypes)
      .dtypes(op::topk::place::indices, i64)
      .layouts(strided)
      .deterministic()
      .scratch();
}

}  // namespace bp::cpu
