// The result is made in squares of 32 x 32, whose sums stay in four tiles, from rows of a, in place where they lie in whole
// cache lines, and packed panels of b. A block of panels fits the second cache. Between the instructions of the tiles stand
// those that pack the next block, write the square before as bf16, and ask for what is read next: at 2048 each of these saves
// 3 to 7 %.
// See docs/decisions/0019-amx-by-hand.md.
#include "matmul_amx.hpp"

#if defined(__x86_64__)
#  include <algorithm>
#  include <atomic>
#  include <utility>

#  include "../threads.hpp"
#  include "amx.hpp"
#  include "matmul_packing.hpp"
#  include "onednn.hpp"

namespace bp::cpu {
namespace {

// 128 columns of at most 2048 rows, twice, are half of a second cache of 2 MiB; 192 and 256 columns were slower.
constexpr int64_t block_panels = 4;
constexpr int64_t max_depth = 2048;
// Sums of one block lie in memory between two cuts of k.
constexpr int64_t max_part_rows = 4096;

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t round_up(int64_t a, int64_t b) {
  return divide_up(a, b) * b;
}

// How a product is cut: into tasks of one panel of columns and one part of the rows, and k into cuts.
struct Plan {
  explicit Plan(const Product& p)
      : depth(round_up(divide_up(p.k, divide_up(p.k, max_depth)), tile_depth)),
        num_panels(divide_up(p.n, square)), threads(num_threads()) {
    // Each thread a block at least, if the rows allow.
    const int64_t for_threads =
        std::min(divide_up(threads * block_panels, num_panels), std::max<int64_t>(p.m / 256, 1));
    const int64_t parts = std::max(for_threads, divide_up(p.m, max_part_rows));
    part_rows = round_up(divide_up(p.m, parts), square);
    num_parts = divide_up(p.m, part_rows);
    sums_bytes = p.k > depth ? part_rows * block_panels * square * 4 : 0;
  }

  int64_t depth;  // of a cut, but for the last
  int64_t num_panels;
  int64_t threads;
  int64_t part_rows = 0, num_parts = 0;
  int64_t sums_bytes = 0;
  int64_t block_bytes() const { return block_panels * square * depth * 2; }
  int64_t thread_bytes() const { return 2 * block_bytes() + sums_bytes; }
};

// a with whole tiles in each row.
struct Rows {
  const uint16_t* data;
  int64_t stride;
  const uint16_t* rest;  // the last m % 32, where only they had to be packed
  int64_t rest_from, rest_stride;

  std::pair<const uint16_t*, int64_t> at(int64_t row) const {
    if (row < rest_from) return {data + row * stride, stride};
    return {rest, rest_stride};
  }
};

// Rows that a power of two lies between would all want the same few places of the first cache.
int64_t packed_stride(int64_t k) {
  return round_up(k, tile_depth) | tile_depth;
}

bool can_stay(const Product& p) {
  return p.a.column_stride == 1 && p.k % tile_depth == 0 && p.a.row_stride % tile_depth == 0 &&
         p.a.batch_stride % tile_depth == 0 && reinterpret_cast<uintptr_t>(p.a.data) % 64 == 0;
}

int64_t packed_rows(const Product& p) {
  return can_stay(p) ? (p.m % square == 0 ? 0 : square) : round_up(p.m, square);
}

Rows pack_a(const Product& p, uint16_t* to) {
  const int64_t stride = packed_stride(p.k);
  const int64_t whole = p.m / square * square;
  const int64_t first = can_stay(p) ? whole : 0;
  parallel_for(divide_up(p.m - first, square), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pack_rows(p.a, p.m, p.k, first + i * square, to + i * square * stride, stride);
  });
  if (can_stay(p)) return {elements(p.a), p.a.row_stride, to, whole, stride};
  return {to, stride, nullptr, round_up(p.m, square), 0};
}

}  // namespace
}  // namespace bp::cpu

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512bf16,amx-tile,amx-bf16")

namespace bp::cpu {
namespace {

// A square of sums that are to be written as bf16.
struct Finished {
  void write_rows(int64_t until) {
    for (; row < std::min(until, num_rows); ++row) {
      const float* const from = sums + row * square;
      const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_load_ps(from + 16), _mm512_load_ps(from));
      _mm512_mask_storeu_epi16(out + row * out_stride, columns, reinterpret_cast<__m512i>(both));
    }
  }

  alignas(64) float sums[square * square];
  uint16_t* out = nullptr;
  int64_t out_stride = 0;
  int64_t row = 0, num_rows = 0;
  __mmask32 columns = 0;
};

// One square of the result, or what one cut of k adds to it.
struct Square {
  const uint16_t* a;
  int64_t a_stride;
  const uint16_t* panel;  // of b
  int64_t depth;
  float* sums;  // of the cuts before this one and with it; NULL: there is one cut
  bool first, last;
  // Rows of a that the squares after this one read.
  const uint16_t* ahead;
  int64_t num_ahead;
  uint16_t* out;
  int64_t out_stride;
  int64_t num_rows, num_columns;
};

void load_sums(const float* from) {
  _tile_loadd(0, from, square * 4);
  _tile_loadd(1, from + 16, square * 4);
  _tile_loadd(2, from + 16 * square, square * 4);
  _tile_loadd(3, from + 16 * square + 16, square * 4);
}
void store_sums(float* to) {
  _tile_stored(0, to, square * 4);
  _tile_stored(1, to + 16, square * 4);
  _tile_stored(2, to + 16 * square, square * 4);
  _tile_stored(3, to + 16 * square + 16, square * 4);
}
void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Meanwhile packs `units` for each step, writes the square before, and asks for the memory that comes next.
void multiply_square(const Square& s, PanelPacker& packer, int64_t units, Finished& finished) {
  // The tiles' instructions do not tell GCC 12 what they read.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (s.first)
    clear_sums();
  else
    load_sums(s.sums);
  const int64_t a_bytes = s.a_stride * 2;
  const int64_t rows_per_step = divide_up(square, s.depth / tile_depth);
  int64_t row = 0;
  for (int64_t at = 0; at < s.depth; at += tile_depth) {
    const uint16_t* const a = s.a + at;
    const uint16_t* const b = s.panel + at * square;
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + tile_elements, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + 16 * s.a_stride, a_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    for (int64_t i = 0; i < s.num_ahead; ++i)
      _mm_prefetch(reinterpret_cast<const char*>(s.ahead + i * s.a_stride + at), _MM_HINT_T1);
    for (const int64_t until = std::min(row + rows_per_step, s.num_rows); row < until; ++row)
      __builtin_prefetch(s.out + row * s.out_stride, 1);
    finished.write_rows(finished.row + rows_per_step);
    packer.pack(units);
  }
  finished.write_rows(square);
  if (!s.last) return store_sums(s.sums);
  store_sums(finished.sums);
  finished.out = s.out;
  finished.out_stride = s.out_stride;
  finished.row = 0;
  finished.num_rows = s.num_rows;
  finished.columns = first_of_32(s.num_columns);
}

// What one thread does: the tasks of a range, a block at a time.
class Worker {
 public:
  Worker(const Product& p, const Plan& plan, const Rows& a, char* memory)
      : p_(p), plan_(plan), a_(a), current_(reinterpret_cast<uint16_t*>(memory)),
        next_(reinterpret_cast<uint16_t*>(memory + plan.block_bytes())),
        sums_(reinterpret_cast<float*>(memory + 2 * plan.block_bytes())) {}

  void run(int64_t begin, int64_t end) {
    end_ = end;
    Block block{begin, 0};
    PanelPacker packer = packer_of(block, current_);
    packer.pack(packer.units_left());
    for (; block.task < end; block = after(block)) {
      packer = packer_of(after(block), next_);
      multiply_block(block, packer);
      packer.pack(packer.units_left());
      std::swap(current_, next_);
    }
    finished_.write_rows(square);
  }

 private:
  // Some tasks of one part of the rows, and one cut of k.
  struct Block {
    int64_t task, k;
  };

  int64_t num_panels(const Block& block) const {
    const int64_t in_part = plan_.num_panels - block.task % plan_.num_panels;
    return std::min({block_panels, in_part, end_ - block.task});
  }
  int64_t depth(const Block& block) const {
    return std::min(plan_.depth, round_up(p_.k - block.k, tile_depth));
  }
  Block after(const Block& block) const {
    if (block.k + plan_.depth < p_.k) return {block.task, block.k + plan_.depth};
    return {block.task + num_panels(block), 0};
  }

  PanelPacker packer_of(const Block& block, uint16_t* to) const {
    if (block.task >= end_) return {};
    const int64_t panel = block.task % plan_.num_panels;
    return {p_.b, p_.k, p_.n, {block.k, depth(block), panel, num_panels(block)}, to};
  }

  void multiply_block(const Block& block, PanelPacker& packer) {
    const int64_t first_row = block.task / plan_.num_panels * plan_.part_rows;
    const int64_t last_row = std::min(first_row + plan_.part_rows, p_.m);
    const int64_t panels = num_panels(block);
    Square s{};
    s.depth = depth(block);
    s.first = block.k == 0;
    s.last = block.k + s.depth >= p_.k;
    s.out_stride = p_.n;
    const int64_t steps = divide_up(last_row - first_row, square) * panels * (s.depth / tile_depth);
    const int64_t units = divide_up(packer.units_left(), steps);
    for (int64_t row = first_row; row < last_row; row += square) {
      const auto [a, stride] = a_.at(row);
      s.a = a + block.k;
      s.a_stride = stride;
      s.num_rows = std::min(square, last_row - row);
      const bool followed = row + square < last_row && row + square < a_.rest_from;
      for (int64_t i = 0; i < panels; ++i) {
        const int64_t column = (block.task % plan_.num_panels + i) * square;
        s.panel = current_ + i * square * s.depth;
        s.sums = sums_ + ((row - first_row) * block_panels + i * square) * square;
        s.ahead = s.a + (square + square * i / panels) * stride;
        s.num_ahead = followed ? square * (i + 1) / panels - square * i / panels : 0;
        s.out = reinterpret_cast<uint16_t*>(p_.out) + row * p_.n + column;
        s.num_columns = p_.n - column;
        multiply_square(s, packer, units, finished_);
      }
    }
  }

  const Product& p_;
  const Plan& plan_;
  const Rows& a_;
  uint16_t *current_, *next_;  // packed blocks
  float* sums_;
  int64_t end_ = 0;
  Finished finished_;
};

void multiply_one(const Product& p, const Plan& plan, char* packed_a, char* memory) {
  const Rows a = pack_a(p, reinterpret_cast<uint16_t*>(packed_a));
  std::atomic<int64_t> workers{0};
  const int64_t tasks = plan.num_panels * plan.num_parts;
  // The grain lets no more threads in than there is memory for, should their number change meanwhile.
  parallel_for(tasks, divide_up(tasks, plan.threads), [&](int64_t begin, int64_t end) {
    const Tiles tiles;
    Worker(p, plan, a, memory + workers++ * plan.thread_bytes()).run(begin, end);
  });
}

}  // namespace

bool suits_amx(const Product& p) {
  // Below it oneDNN is ahead where a is by columns (448: 1.2 times as fast), and level where not.
  constexpr int64_t worthwhile = 480;
  if (p.dtype != BP_BF16 || std::min({p.m, p.n, p.k}) < worthwhile) return false;
  return has_amx_bf16();
}

bp_code multiply_by_amx(const bp_call* call, const Product& product) {
  const Plan plan(product);
  const auto a_bytes =
      static_cast<uint64_t>(round_up(packed_rows(product) * packed_stride(product.k) * 2, 4096));
  char* memory = nullptr;
  const bp_code code = take_workspace(
      call, a_bytes + static_cast<uint64_t>(plan.threads * plan.thread_bytes()), memory);
  if (code != BP_OK) return code;
  Product p = product;
  p.batch = 1;
  for (int64_t i = 0; i < product.batch; ++i) {
    multiply_one(p, plan, memory, memory + a_bytes);
    p.a.data += product.a.batch_stride * 2;
    p.b.data += product.b.batch_stride * 2;
    p.out += product.m * product.n * 2;
  }
  return BP_OK;
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES

#else

namespace bp::cpu {

bool suits_amx(const Product&) {
  return false;
}
bp_code multiply_by_amx(const bp_call*, const Product&) {
  return BP_UNSUPPORTED;
}

}  // namespace bp::cpu

#endif
