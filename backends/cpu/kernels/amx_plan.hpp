// How a product on AMX is cut: into tasks of one panel of columns and one part of the rows, and k into cuts. A thread has a
// range of tasks, which it does in blocks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../rounding.hpp"
#include "../threads.hpp"
#include "matmul.hpp"
#include "matmul_packing.hpp"

namespace bp::cpu {

// What a kernel's caches hold.
struct AmxLimits {
  int64_t block_panels;   // of 32 columns
  int64_t max_depth;      // of a cut of k
  int64_t max_part_rows;  // of which a block's sums lie in memory between two cuts
};

// Some tasks of one part of the rows, and one cut of k.
struct AmxBlock {
  int64_t task, k;
};

struct AmxPlan {
  AmxPlan(const Product& p, const AmxLimits& of)
      : limits(of), m(p.m), k(p.k),
        depth(round_up(divide_up(p.k, divide_up(p.k, of.max_depth)), tile_depth)),
        num_panels(divide_up(p.n, square)), threads(num_threads()) {
    // Each thread a block at least, if the rows allow.
    const int64_t for_threads =
        std::min(divide_up(threads * of.block_panels, num_panels), std::max<int64_t>(p.m / 256, 1));
    const int64_t parts = std::max(for_threads, divide_up(p.m, of.max_part_rows));
    part_rows = round_up(divide_up(p.m, parts), square);
    num_parts = divide_up(p.m, part_rows);
    sums_bytes = p.k > depth ? part_rows * of.block_panels * square * 4 : 0;
  }

  int64_t num_tasks() const { return num_panels * num_parts; }

  // Of a block: what it covers, and the one that comes after it in the tasks before `end`.
  int64_t first_panel(const AmxBlock& block) const { return block.task % num_panels; }
  int64_t panels(const AmxBlock& block, int64_t end) const {
    return std::min({limits.block_panels, num_panels - first_panel(block), end - block.task});
  }
  int64_t first_row(const AmxBlock& block) const { return block.task / num_panels * part_rows; }
  int64_t rows(const AmxBlock& block) const { return std::min(part_rows, m - first_row(block)); }
  int64_t depth_of(const AmxBlock& block) const {
    return std::min(depth, round_up(k - block.k, tile_depth));
  }
  bool is_last_cut(const AmxBlock& block) const { return block.k + depth >= k; }
  AmxBlock after(const AmxBlock& block, int64_t end) const {
    if (!is_last_cut(block)) return {block.task, block.k + depth};
    return {block.task + panels(block, end), 0};
  }

  AmxLimits limits;
  int64_t m, k;
  int64_t depth;  // of a cut, but for the last
  int64_t num_panels;
  int64_t threads;
  int64_t part_rows = 0, num_parts = 0;
  int64_t sums_bytes = 0;  // of one thread
};

}  // namespace bp::cpu
