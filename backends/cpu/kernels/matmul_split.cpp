// Each f32 is the exact sum of three bf16. Of the nine products of parts the six largest are taken; the others are less than
// half a unit in the last place of the product. Sums are f32 in tiles, in squares of 32 x 32.
//
// A thread's block is some panels of b, which stay in the second cache, times rows of a, 32 at a time. What a square reads
// is packed while the one before is multiplied, and the one before that is written.
#include "matmul_split.hpp"

#include "../constants.hpp"

#if defined(__x86_64__)
#  include <algorithm>
#  include <atomic>

#  include "../threads.hpp"
#  include "amx.hpp"
#  include "amx_plan.hpp"
#  include "onednn.hpp"
#  include "split_packing.hpp"
#  include "split_squares.hpp"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,amx-tile,amx-bf16")

namespace bp::cpu {
namespace {

constexpr AmxLimits limits{constants::split_panels, constants::split_depth, constants::split_rows};

// 32 lines of one cut.
int64_t packed_bytes(const AmxPlan& plan) {
  return plan.depth / tile_depth * step_bytes;
}
// One panel more, for the first of the next block, and two times 32 rows.
int64_t thread_bytes(const AmxPlan& plan) {
  return (limits.block_panels + 1 + 2) * packed_bytes(plan) + plan.sums_bytes;
}

// A square of sums that are to be written.
struct Finished {
  void write_rows(int64_t until) {
    constexpr int nan_or_infinity = 0x99;
    const __m512 scale = _mm512_set1_ps(down);
    for (; row < std::min(until, num_rows); ++row) {
      const float* const from = sums + row * square;
      float* const to = out + row * out_stride;
      const __m512 first = _mm512_load_ps(from), last = _mm512_load_ps(from + 16);
      overflowed |= _mm512_fpclass_ps_mask(first, nan_or_infinity) |
                    _mm512_fpclass_ps_mask(last, nan_or_infinity);
      _mm512_mask_storeu_ps(to, first_of_16(columns), _mm512_mul_ps(first, scale));
      _mm512_mask_storeu_ps(to + 16, first_of_16(columns - 16), _mm512_mul_ps(last, scale));
    }
  }

  alignas(64) float sums[square * square];
  float* out = nullptr;
  int64_t out_stride = 0;
  int64_t row = 0, num_rows = 0;
  int64_t columns = 0;
  unsigned overflowed = 0;  // something did, in any square
};

// One square of the result, or what one cut of k adds to it.
struct Square {
  // Where a row of this square will be written, and where the next one's sums are.
  void fetch_row(int64_t row) const {
    const float* const place = out + row * out_stride;
    const float* const next = sums + (square + row) * square;
    if (last && row < num_rows) {
      __builtin_prefetch(place, 1);
      __builtin_prefetch(place + 16, 1);
    }
    if (sums != nullptr && row < square) {
      __builtin_prefetch(next, 1);
      __builtin_prefetch(next + 16, 1);
    }
  }

  const char *rows, *panel;  // packed
  int64_t steps;
  float* sums;  // of the cuts before this one and with it; NULL: there is one cut
  bool first, last;
  float* out;
  int64_t out_stride;
  int64_t num_rows, num_columns;
};

// 32 lines of a factor that are packed a step at a time, while others are multiplied.
class Packing {
 public:
  Packing() = default;  // nothing to do
  Packing(const Factor& factor, TileRows rows, int64_t line, int64_t k, int64_t depth, char* to)
      : factor_(&factor), rows_(rows), line_(line), k_(k), end_(k + depth), to_(to) {}

  void set_pace(int64_t steps) {
    num_ = (end_ - k_) / tile_depth;
    per_ = steps;
    due_ = 0;
  }
  void go_on() {
    for (due_ += num_; due_ >= per_; due_ -= per_) pack();
  }
  void finish() {
    while (k_ < end_) pack();
  }

 private:
  void pack() {
    if (k_ >= end_) return;
    pack_step(*factor_, line_, k_, rows_, to_);
    k_ += tile_depth;
    to_ += step_bytes;
  }

  const Factor* factor_ = nullptr;
  TileRows rows_ = TileRows::lines;
  int64_t line_ = 0, k_ = 0, end_ = 0;
  char* to_ = nullptr;
  int64_t num_ = 0, per_ = 1, due_ = 0;
};

// What one thread does: the tasks of a range, a block at a time.
class Worker {
 public:
  Worker(const Product& p, const AmxPlan& plan, char* memory)
      : p_(p), plan_(plan), a_{reinterpret_cast<const float*>(p.a.data), p.m, p.a.row_stride, p.k,
                               p.a.column_stride},
        b_{reinterpret_cast<const float*>(p.b.data), p.n, p.b.column_stride, p.k, p.b.row_stride},
        rows_{memory, memory + packed_bytes(plan)}, panels_(memory + 2 * packed_bytes(plan)),
        sums_(reinterpret_cast<float*>(panels_ + (limits.block_panels + 1) * packed_bytes(plan))) {}

  void run(int64_t begin, int64_t end) {
    end_ = end;
    AmxBlock block{begin, 0};
    begin_rows(block, 0);
    begin_panel(block, 0);
    for (; block.task < end && finished_.overflowed == 0; block = after(block))
      multiply_block(block);
    finished_.write_rows(square);
  }

  bool overflowed() const { return finished_.overflowed != 0; }

 private:
  AmxBlock after(const AmxBlock& block) const { return plan_.after(block, end_); }

  // The first panel of a block has two places in turn, since the block before may have no other.
  char* panel_at(int64_t panel) const {
    return panels_ + (panel == 0 ? first_panel_ : panel) * packed_bytes(plan_);
  }
  void begin_rows(const AmxBlock& block, int64_t row) {
    std::swap(rows_[0], rows_[1]);
    row_packing_ = {};
    if (block.task < end_)
      row_packing_ = {a_,      TileRows::lines,       plan_.first_row(block) + row,
                      block.k, plan_.depth_of(block), rows_[1]};
  }
  void begin_panel(const AmxBlock& block, int64_t panel) {
    if (panel == 0) first_panel_ = limits.block_panels - first_panel_;
    panel_packing_ = {};
    const int64_t column = (plan_.first_panel(block) + panel) * square;
    if (block.task < end_)
      panel_packing_ = {b_,      TileRows::pairs,       column,
                        block.k, plan_.depth_of(block), panel_at(panel)};
  }

  void multiply_block(const AmxBlock& block) {
    const int64_t from = plan_.first_row(block), rows = plan_.rows(block);
    const int64_t panels = plan_.panels(block, end_);
    Square s{};
    s.steps = plan_.depth_of(block) / tile_depth;
    s.first = block.k == 0;
    s.last = plan_.is_last_cut(block);
    s.out_stride = p_.n;
    for (int64_t row = 0; row < rows; row += square) {
      const bool last_rows = row + square >= rows;
      row_packing_.finish();
      begin_rows(last_rows ? after(block) : block, last_rows ? 0 : row + square);
      row_packing_.set_pace(panels * s.steps);
      s.rows = rows_[0];
      s.num_rows = std::min(square, rows - row);
      for (int64_t i = 0; i < panels; ++i) {
        panel_packing_.finish();
        s.panel = panel_at(i);
        if (row == 0 && i + 1 < panels) begin_panel(block, i + 1);
        if (last_rows && i + 1 == panels) begin_panel(after(block), 0);
        panel_packing_.set_pace(s.steps);
        const int64_t column = (plan_.first_panel(block) + i) * square;
        s.out = reinterpret_cast<float*>(p_.out) + (from + row) * p_.n + column;
        s.num_columns = p_.n - column;
        if (plan_.sums_bytes != 0)
          s.sums = sums_ + (row / square * limits.block_panels + i) * square * square;
        multiply_square(s);
      }
    }
  }

  // Meanwhile packs, writes the square before, and asks for the memory that comes next.
  void multiply_square(const Square& s) {
    // The tiles' instructions do not tell GCC 12 what they read.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (s.first)
      clear_sums();
    else
      load_sums(s.sums, square);
    const int64_t rows_per_step = divide_up(square, s.steps);
    for (int64_t step = 0; step < s.steps; ++step) {
      multiply_step(s.rows + step * step_bytes, s.panel + step * step_bytes);
      finished_.write_rows(finished_.row + rows_per_step);
      for (int64_t i = 0; i < rows_per_step; ++i) s.fetch_row(step * rows_per_step + i);
      panel_packing_.go_on();
      row_packing_.go_on();
    }
    finished_.write_rows(square);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!s.last) return store_sums(s.sums, square);
    store_sums(finished_.sums, square);
    finished_.out = s.out;
    finished_.out_stride = s.out_stride;
    finished_.row = 0;
    finished_.num_rows = s.num_rows;
    finished_.columns = s.num_columns;
  }

  const Product& p_;
  const AmxPlan& plan_;
  const Factor a_, b_;
  char* rows_[2];  // packed: those in use, and the next
  char* panels_;
  int64_t first_panel_ = 0;
  float* sums_;
  int64_t end_ = 0;
  Packing row_packing_, panel_packing_;
  Finished finished_;
};

bool multiply_one(const Product& p, const AmxPlan& plan, char* memory) {
  std::atomic<int64_t> workers{0};
  std::atomic<bool> overflowed{false};
  const int64_t tasks = plan.num_tasks();
  // The grain lets no more threads in than there is memory for, should their number change meanwhile.
  parallel_for(tasks, divide_up(tasks, plan.threads), [&](int64_t begin, int64_t end) {
    const Tiles tiles;
    Worker worker(p, plan, memory + workers++ * thread_bytes(plan));
    worker.run(begin, end);
    if (worker.overflowed()) overflowed = true;
  });
  return !overflowed;
}

}  // namespace

bool suits_split(const Product& p) {
  return p.dtype == BP_F32 && std::min({p.m, p.n, p.k}) >= constants::split_size &&
         p.m * p.n * p.k >= constants::split_work && has_amx_bf16();
}

bool multiply_split(const bp_call* call, const Product& product, bp_code& code) {
  const AmxPlan plan(product, limits);
  char* memory = nullptr;
  code = take_workspace(call, static_cast<uint64_t>(plan.threads * thread_bytes(plan)), memory);
  if (code != BP_OK) return true;
  Product p = product;
  p.batch = 1;
  for (int64_t i = 0; i < product.batch; ++i) {
    if (!multiply_one(p, plan, memory)) return false;
    p.a.data += product.a.batch_stride * 4;
    p.b.data += product.b.batch_stride * 4;
    p.out += product.m * product.n * 4;
  }
  return true;
}

}  // namespace bp::cpu

HWY_POP_ATTRIBUTES

#else

namespace bp::cpu {

bool suits_split(const Product&) {
  return false;
}
bool multiply_split(const bp_call*, const Product&, bp_code&) {
  return false;
}

}  // namespace bp::cpu

#endif
