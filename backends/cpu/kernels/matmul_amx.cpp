// The result is made in squares of 32 x 32, whose sums stay in four tiles, from rows of a, in place where they lie in whole
// cache lines, and packed panels of b. A block of panels fits the second cache. Between the instructions of the tiles stand
// those that pack the next block, write the square before as bf16, and ask for what is read next: at 2048 each of these saves
// 3 to 7 %.
// See docs/decisions/0019-amx-by-hand.md.
#include "matmul_amx.hpp"

#include "../constants.hpp"

#if defined(__x86_64__)
#  include <algorithm>
#  include <atomic>
#  include <utility>

#  include "../threads.hpp"
#  include "amx.hpp"
#  include "amx_plan.hpp"
#  include "matmul_packing.hpp"
#  include "onednn.hpp"

namespace bp::cpu {
namespace {

constexpr AmxLimits limits{constants::amx_panels, constants::amx_depth, constants::amx_rows};

int64_t block_bytes(const AmxPlan& plan) {
  return limits.block_panels * square * plan.depth * 2;
}
int64_t thread_bytes(const AmxPlan& plan) {
  return 2 * block_bytes(plan) + plan.sums_bytes;
}

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

// Meanwhile packs `units` for each step, writes the square before, and asks for the memory that comes next.
void multiply_square(const Square& s, PanelPacker& packer, int64_t units, Finished& finished) {
  // The tiles' instructions do not tell GCC 12 what they read.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (s.first)
    clear_sums();
  else
    load_sums(s.sums, square);
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
  if (!s.last) return store_sums(s.sums, square);
  store_sums(finished.sums, square);
  finished.out = s.out;
  finished.out_stride = s.out_stride;
  finished.row = 0;
  finished.num_rows = s.num_rows;
  finished.columns = first_of_32(s.num_columns);
}

// What one thread does: the tasks of a range, a block at a time.
class Worker {
 public:
  Worker(const Product& p, const AmxPlan& plan, const Rows& a, char* memory)
      : p_(p), plan_(plan), a_(a), current_(reinterpret_cast<uint16_t*>(memory)),
        next_(reinterpret_cast<uint16_t*>(memory + block_bytes(plan))),
        sums_(reinterpret_cast<float*>(memory + 2 * block_bytes(plan))) {}

  void run(int64_t begin, int64_t end) {
    end_ = end;
    AmxBlock block{begin, 0};
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
  AmxBlock after(const AmxBlock& block) const { return plan_.after(block, end_); }
  int64_t num_panels(const AmxBlock& block) const { return plan_.panels(block, end_); }

  PanelPacker packer_of(const AmxBlock& block, uint16_t* to) const {
    if (block.task >= end_) return {};
    const Cut cut{block.k, plan_.depth_of(block), plan_.first_panel(block), num_panels(block)};
    return {p_.b, p_.k, p_.n, cut, to};
  }

  void multiply_block(const AmxBlock& block, PanelPacker& packer) {
    const int64_t first_row = plan_.first_row(block), last_row = first_row + plan_.rows(block);
    const int64_t panels = num_panels(block);
    Square s{};
    s.depth = plan_.depth_of(block);
    s.first = block.k == 0;
    s.last = plan_.is_last_cut(block);
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
        const int64_t column = (plan_.first_panel(block) + i) * square;
        s.panel = current_ + i * square * s.depth;
        s.sums = sums_ + ((row - first_row) * limits.block_panels + i * square) * square;
        s.ahead = s.a + (square + square * i / panels) * stride;
        s.num_ahead = followed ? square * (i + 1) / panels - square * i / panels : 0;
        s.out = reinterpret_cast<uint16_t*>(p_.out) + row * p_.n + column;
        s.num_columns = p_.n - column;
        multiply_square(s, packer, units, finished_);
      }
    }
  }

  const Product& p_;
  const AmxPlan& plan_;
  const Rows& a_;
  uint16_t *current_, *next_;  // packed blocks
  float* sums_;
  int64_t end_ = 0;
  Finished finished_;
};

void multiply_one(const Product& p, const AmxPlan& plan, char* packed_a, char* memory) {
  const Rows a = pack_a(p, reinterpret_cast<uint16_t*>(packed_a));
  std::atomic<int64_t> workers{0};
  const int64_t tasks = plan.num_tasks();
  // The grain lets no more threads in than there is memory for, should their number change meanwhile.
  parallel_for(tasks, divide_up(tasks, plan.threads), [&](int64_t begin, int64_t end) {
    const Tiles tiles;
    Worker(p, plan, a, memory + workers++ * thread_bytes(plan)).run(begin, end);
  });
}

}  // namespace

bool suits_amx(const Product& p) {
  if (p.dtype != BP_BF16 || std::min({p.m, p.n, p.k}) < constants::amx_size) return false;
  return has_amx_bf16();
}

bp_code multiply_by_amx(const bp_call* call, const Product& product) {
  const AmxPlan plan(product, limits);
  const auto a_bytes =
      static_cast<uint64_t>(round_up(packed_rows(product) * packed_stride(product.k) * 2, 4096));
  char* memory = nullptr;
  const bp_code code = take_workspace(
      call, a_bytes + static_cast<uint64_t>(plan.threads * thread_bytes(plan)), memory);
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
