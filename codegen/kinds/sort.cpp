// sort and topk: every dtype becomes an unsigned key whose order is the wanted one; short runs are
// sorted by one work-item each and then merged in passes. In a pass each work-item writes an equal piece
// of the result, whose sources it finds by bisection along the merge path (Green, McColl and Bader,
// "GPU merge path", 2012), so that no pass needs a barrier.
#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/kinds.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {
namespace {

// Of a key and of the place along the line that goes with it.
struct Words {
  std::string_view key, place;
};

Words words_of(Dtype dtype, std::int64_t length) {
  return {itemsize(dtype) == 8 ? "u64" : "u32", length > 0x7fffffff ? "i64" : "u32"};
}

std::string hexadecimal(std::uint64_t number) {
  return fmt::format("{:#x}UL", number);
}

// The first bits that are neither a finite number nor an infinity lie above this.
std::uint64_t infinity_bits(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 0x7c00;
    case Dtype::bf16: return 0x7f80;
    case Dtype::f32: return 0x7f800000;
    default: return 0x7ff0000000000000;
  }
}

// Statements from `bits`, the element's as an unsigned number, to `key`: negative floats reversed below
// positive ones, both zeros alike, all NaNs alike above infinity.
std::string key_statements(Dtype dtype) {
  const std::string sign = hexadecimal(std::uint64_t{1} << (8 * itemsize(dtype) - 1));
  const std::string all = hexadecimal(~std::uint64_t{0} >> (64 - 8 * itemsize(dtype)));
  std::string key = "bits";
  if (is_floating(dtype))
    key = fill_in(
        "((bits & ($all ^ $sign)) > $infinity ? $all : (bits & ($all ^ $sign)) == 0 ? $sign : bits "
        "& $sign ? "
        "~bits & $all : bits | $sign)",
        {{"all", all}, {"sign", sign}, {"infinity", hexadecimal(infinity_bits(dtype))}});
  else if (dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64)
    key = fmt::format("bits ^ {}", sign);
  // Descending order is ascending order of the complement: equal elements keep their order.
  return fmt::format(
      "const u64 ascending = {};\n      const u64 key = v.descending ? ~ascending & {} : "
      "ascending;",
      key, all);
}

// Runs of the lines, sorted by insertion: what is longer is better merged. Elements that are in order
// cost one comparison.
constexpr const char* runs_body = R"(
  const i64 end = (item0 + 1) * v.piece < v.num_runs ? (item0 + 1) * v.piece : v.num_runs;
  GLOBAL const $T* a = (GLOBAL const $T*)(m0 + v.a_start);
  for (i64 index = item0 * v.piece; index < end; ++index) {
    i64 line = index / v.runs_per_line;
    const i64 low = index % v.runs_per_line * $run;
    const i64 size = low + $run < v.length ? $run : v.length - low;
    GLOBAL $K* keys = (GLOBAL $K*)(m1 + v.keys) + line * v.length + low;
    GLOBAL $P* places = (GLOBAL $P*)(m1 + v.places) + line * v.length + low;
    i64 at = low * v.along;
    for (int d = $rank - 1; d >= 0; --d) {
      const i64 rest = line / v.size[d];
      at += line % v.size[d] * v.stride[d];
      line = rest;
    }
    $K sorted[$run];
    $P sources[$run];
    for (i64 i = 0; i < size; ++i, at += v.along) {
      const u64 bits = (u64)a[at];
      $make_key
      i64 hole = i;
      for (; hole > 0 && sorted[hole - 1] > ($K)key; --hole) {
        sorted[hole] = sorted[hole - 1];
        sources[hole] = sources[hole - 1];
      }
      sorted[hole] = ($K)key;
      sources[hole] = ($P)(low + i);
    }
    for (i64 i = 0; i < size; ++i) {
      keys[i] = sorted[i];
      places[i] = sources[i];
    }
  }
)";

// Pairs of runs of v.width elements, merged. Of each run, and of each merged one, no more than the first
// v.kept are looked at or written.
constexpr const char* merge_body = R"(
  const i64 end = (item0 + 1) * v.piece < v.count ? (item0 + 1) * v.piece : v.count;
  GLOBAL const $K* from_keys = (GLOBAL const $K*)(m0 + v.from_keys);
  GLOBAL const $P* from_places = (GLOBAL const $P*)(m0 + v.from_places);
  GLOBAL $K* to_keys = (GLOBAL $K*)(m0 + v.to_keys);
  GLOBAL $P* to_places = (GLOBAL $P*)(m0 + v.to_places);
  i64 element = item0 * v.piece;
  while (element < end) {
    const i64 line = element / v.length;
    const i64 along = element % v.length;
    const i64 first = along - along % (2 * v.width);
    const i64 middle = first + v.width < v.length ? first + v.width : v.length;
    const i64 last = middle + v.width < v.length ? middle + v.width : v.length;
    i64 left_size = middle - first, right_size = last - middle;
    if (left_size > v.kept) left_size = v.kept;
    if (right_size > v.kept) right_size = v.kept;
    i64 stop = left_size + right_size < v.kept ? left_size + right_size : v.kept;
    const i64 begin = along - first;
    const i64 base = line * v.length + first;
    if (stop > end - base) stop = end - base;
    element = line * v.length + last < end ? line * v.length + last : end;
    if (begin >= stop) continue;

    GLOBAL const $K* left = from_keys + base;
    GLOBAL const $K* right = from_keys + line * v.length + middle;
    GLOBAL const $P* left_places = from_places + base;
    GLOBAL const $P* right_places = from_places + line * v.length + middle;
    i64 low = begin > right_size ? begin - right_size : 0;
    i64 high = begin < left_size ? begin : left_size;
    while (low < high) {
      const i64 center = (low + high) / 2;
      if (left[center] <= right[begin - 1 - center]) low = center + 1;
      else high = center;
    }
    i64 l = low, r = begin - low;
    i64 out = begin;
    while (out < stop && l < left_size && r < right_size) {
      const $K left_key = left[l], right_key = right[r];
      const int takes_left = left_key <= right_key;
      to_keys[base + out] = takes_left ? left_key : right_key;
      to_places[base + out] = takes_left ? left_places[l] : right_places[r];
      l += takes_left;
      r += 1 - takes_left;
      ++out;
    }
    for (; out < stop && l < left_size; ++out, ++l) {
      to_keys[base + out] = left[l];
      to_places[base + out] = left_places[l];
    }
    for (; out < stop; ++out, ++r) {
      to_keys[base + out] = right[r];
      to_places[base + out] = right_places[r];
    }
  }
)";

// The result: the elements that the places name, and the places.
constexpr const char* pick_row = R"(
    GLOBAL const $P* places = (GLOBAL const $P*)(m3 + v.places);
    GLOBAL const $T* a = (GLOBAL const $T*)(m2 + v.a_start) + a_at;
    GLOBAL $T* values = (GLOBAL $T*)(m0 + v.values_start) + values_at;
    GLOBAL i64* indices = (GLOBAL i64*)(m1 + v.indices_start) + indices_at;
    const i64 line = (element - run) / v.kept;
    for (i64 j = 0; j < run; ++j) {
      const i64 place = (i64)places[line * v.length + first + j];
      values[j * values_step] = a[place * v.along];
      indices[j * indices_step] = place;
    }
)";

KernelText runs_text(Dtype dtype, const Words& words, int rank, int run) {
  KernelText text;
  text.name = fmt::format("sort_runs_{}_{}_r{}", suffix(dtype), words.place, rank);
  text.num_memory = 2;
  for (const char* name : {"num_runs", "runs_per_line", "piece", "length", "along", "a_start",
                           "keys", "places", "descending"})
    text.values.push_back({name});
  for (const char* name : {"size", "stride"}) text.values.push_back({name, false, rank});
  text.body = fill_in(runs_body, {{"T", mover_type(itemsize(dtype))},
                                  {"K", words.key},
                                  {"P", words.place},
                                  {"run", std::to_string(run)},
                                  {"rank", std::to_string(rank)},
                                  {"make_key", key_statements(dtype)}});
  return text;
}

KernelText merge_text(const Words& words) {
  KernelText text;
  text.name = fmt::format("sort_merge_{}_{}", words.key, words.place);
  text.num_memory = 1;
  for (const char* name : {"count", "piece", "length", "width", "kept", "from_keys", "from_places",
                           "to_keys", "to_places"})
    text.values.push_back({name});
  text.body = fill_in(merge_body, {{"K", words.key}, {"P", words.place}});
  return text;
}

KernelText pick_text(std::uint32_t itemsize, const Words& words, int rank) {
  const WalkText walk{rank, {{"values"}, {"indices"}, {"a"}}};
  KernelText text;
  text.name = fmt::format("sort_pick_b{}_{}_r{}", itemsize, words.place, rank);
  text.num_memory = 4;
  walk.add_fields(text.values);
  for (const char* name : {"places", "length", "kept", "along"}) text.values.push_back({name});
  text.body = walk.loop(fill_in(pick_row, {{"T", mover_type(itemsize)}, {"P", words.place}}));
  return text;
}

// One call: lines of `length` elements, of which the first `kept` of the order are wanted.
struct Job {
  Dtype dtype;
  std::int64_t dim;
  std::int64_t length, kept, num_lines;
  std::int64_t along;  // the step of a along its lines
  bool descending;
  Words words;
  bp_region scratch;
  int current = 0;  // which half of the scratch holds the runs

  std::int64_t count() const { return num_lines * length; }
  // Each of the four arrays begins at a multiple of 16 bytes.
  std::int64_t bytes_of_keys() const {
    return (count() * (words.key == "u64" ? 8 : 4) + 15) / 16 * 16;
  }
  std::int64_t bytes_of_places() const {
    return (count() * (words.place == "i64" ? 8 : 4) + 15) / 16 * 16;
  }
  std::int64_t bytes_of_half() const { return bytes_of_keys() + bytes_of_places(); }
  std::int64_t keys(int half) const {
    return static_cast<std::int64_t>(scratch.offset) + half * bytes_of_half();
  }
  std::int64_t places(int half) const { return keys(half) + bytes_of_keys(); }
};

enum : std::uint64_t { runs_variant = 0, merge_variant = 1, pick_variant = 2 };

class Sort final : public GeneratedKernel {
 public:
  explicit Sort(bool is_topk) : is_topk_(is_topk) {}

  void run(Invocation& invocation) const override {
    Job job = describe(invocation);
    job.scratch = invocation.scratch(2 * static_cast<std::uint64_t>(job.bytes_of_half()));
    const std::int64_t run_size = sort_runs(invocation, job);
    for (std::int64_t width = run_size; width < job.length; width *= 2)
      merge(invocation, job, width);
    pick(invocation, job);
  }

 private:
  // sort(a, dim, descending) and topk(a, k, dim, largest): the rule has wrapped `dim`.
  Job describe(const Invocation& invocation) const {
    const bp_tensor& a = invocation.tensor(0);
    Job job{};
    job.dtype = static_cast<Dtype>(a.dtype);
    job.dim = invocation.arg(is_topk_ ? 2 : 1).u.i;
    job.descending = invocation.arg(is_topk_ ? 3 : 2).u.i != 0;
    job.length = a.dl.ndim == 0 ? 1 : a.dl.shape[job.dim];
    job.kept = is_topk_ ? invocation.arg(1).u.i : job.length;
    job.along = a.dl.ndim == 0 ? 0 : a.dl.strides[job.dim];
    job.num_lines = a.numel / job.length;
    job.words = words_of(job.dtype, job.length);
    return job;
  }

  std::int64_t sort_runs(Invocation& invocation, const Job& job) const {
    const bp_tensor& a = invocation.tensor(0);
    std::array<std::int64_t, BP_MAX_RANK> shape{};
    std::copy_n(a.dl.shape, a.dl.ndim, shape.begin());
    if (a.dl.ndim > 0) shape[job.dim] = 1;
    Walk lines({shape.data(), static_cast<std::size_t>(a.dl.ndim)});
    lines.add(a.dl.strides).simplify();
    // Looked at once for a whole run: more kinds of rank would be more to compile for nothing.
    const int rank = lines.rank <= 2 ? 2 : BP_MAX_RANK;
    const int run = invocation.for_cpu() ? constants::sorted_run : constants::sorted_run_of_gpu;
    const std::uint64_t variant = runs_variant | static_cast<std::uint64_t>(job.dtype) << 4 |
                                  static_cast<std::uint64_t>(rank) << 16 | wide(job) << 24;
    bp_function* function =
        invocation.function(variant, [&] { return runs_text(job.dtype, job.words, rank, run); });
    const std::int64_t runs_per_line = (job.length + run - 1) / run;
    const std::int64_t num_runs = job.num_lines * runs_per_line;
    const Division division = divide(invocation, num_runs, constants::sorted_runs);
    Values values;
    values.add(num_runs).add(runs_per_line).add(division.piece).add(job.length).add(job.along);
    values.add(offset_of(a)).add(job.keys(0)).add(job.places(0));
    values.add(static_cast<std::int64_t>(job.descending));
    for (int d = 0; d < rank; ++d) values.add(d < lines.rank ? lines.size[d] : 1);
    for (int d = 0; d < rank; ++d) values.add(d < lines.rank ? lines.stride[0][d] : 0);
    invocation.launch(function, {{division.items, 1, 1}}, {handle_of(a), job.scratch.handle},
                      values);
    return run;
  }

  static void merge(Invocation& invocation, Job& job, std::int64_t width) {
    bp_function* function = invocation.function(
        merge_variant | static_cast<std::uint64_t>(job.words.key == "u64") << 4 | wide(job) << 24,
        [&] { return merge_text(job.words); });
    Division division = divide(invocation, job.count(), constants::merged_elements);
    if (!invocation.for_cpu()) {
      division.piece = constants::merged_of_item;  // the bisection is paid once for each piece
      division.items = static_cast<std::uint64_t>((job.count() + constants::merged_of_item - 1) /
                                                  constants::merged_of_item);
    }
    const int other = 1 - job.current;
    Values values;
    values.add(job.count()).add(division.piece).add(job.length).add(width).add(job.kept);
    values.add(job.keys(job.current)).add(job.places(job.current));
    values.add(job.keys(other)).add(job.places(other));
    invocation.launch(function, {{division.items, 1, 1}}, {job.scratch.handle}, values);
    job.current = other;
  }

  static void pick(Invocation& invocation, const Job& job) {
    const bp_tensor& a = invocation.tensor(0);
    const bp_tensor& values_out = invocation.output(0);
    const bp_tensor& indices_out = invocation.output(1);
    // Lines in row-major order, as they lie in the scratch, and then along each.
    Walk walk = lines_then_along(values_out, indices_out, a, job);
    walk.simplify(true);
    const int rank = walk.rank_class();
    bp_function* function =
        invocation.function(pick_variant | static_cast<std::uint64_t>(a.itemsize) << 4 |
                                static_cast<std::uint64_t>(rank) << 16 | wide(job) << 24,
                            [&] { return pick_text(a.itemsize, job.words, rank); });
    const Division division = divide(invocation, walk.count());
    Values values;
    add_walk_values(values, walk, division,
                    {offset_of(values_out), offset_of(indices_out), offset_of(a)});
    values.add(job.places(job.current)).add(job.length).add(job.kept).add(job.along);
    invocation.launch(
        function, {{division.items, 1, 1}},
        {handle_of(values_out), handle_of(indices_out), handle_of(a), job.scratch.handle}, values);
  }

  static Walk lines_then_along(const bp_tensor& values, const bp_tensor& indices,
                               const bp_tensor& a, const Job& job) {
    std::array<std::int64_t, BP_MAX_RANK> shape{}, strides[3] = {};
    std::size_t rank = 0;
    const bp_tensor* tensors[] = {&values, &indices, &a};
    for (int d = 0; d < a.dl.ndim; ++d) {
      if (d == job.dim) continue;
      shape[rank] = a.dl.shape[d];
      for (int k = 0; k < 3; ++k) strides[k][rank] = tensors[k]->dl.strides[d];
      ++rank;
    }
    shape[rank] = job.kept;
    for (int k = 0; k < 2; ++k)
      strides[k][rank] = a.dl.ndim == 0 ? 0 : tensors[k]->dl.strides[job.dim];
    Walk walk({shape.data(), rank + 1});
    for (const auto& each : strides) walk.add(each.data());
    return walk;
  }

  static std::uint64_t wide(const Job& job) { return job.words.place == "i64"; }

  bool is_topk_;
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_sort(const Operator& op) {
  const std::string_view name = op.name();
  if (name != "sort" && name != "topk") return nullptr;
  auto kernel = std::make_unique<Sort>(name == "topk");
  const bp_dtype_set dtypes = dtypes::real | set_of(Dtype::boolean);
  kernel->places = strided_places(op, dtypes);
  kernel->places.back() = tensor_place(set_of(Dtype::i64));
  kernel->uses_scratch = true;
  return kernel;
}

}  // namespace bp::codegen
