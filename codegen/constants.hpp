// How generated kernels share out work, how large their pieces are, and from which sizes on a way pays: each number with its unit and
// what it trades. They are right where the tuner has decided nothing else.
//
// Measured, with figures, are only those that name a machine: PoCL 3.1 on two cores (a Zen 4, a Xeon with AMX), or an NVIDIA H200.
// All others were chosen and not measured: the kernels that use them have rows in bench/, but nobody kept the times of another value.
//
// Not here: what follows from hardware, a language or mathematics, and what a text is written out for (four loads side by side);
// both stay where they are used.
#pragma once

#include <cstdint>

namespace bp::codegen::constants {

// ---- Processors: elements that are worth a work-item of their own, against the start of another thread

inline constexpr std::int64_t copied_elements = 65536;
inline constexpr std::int64_t factory_elements = 65536;
// Of a pointwise expression: this divided by its steps' cost, but no fewer than the second.
inline constexpr std::int64_t pointwise_work = 131072, pointwise_elements = 4096;
inline constexpr std::int64_t line_elements = 16384;   // reductions, scans, norms, softmax
inline constexpr std::int64_t moved_elements = 16384;  // cat and pad
inline constexpr std::int64_t walked_elements = 4096;  // where nothing else is said
inline constexpr std::int64_t merged_elements = 4096;  // of a sort's pass
inline constexpr std::int64_t scattered_elements = 4096;
inline constexpr std::int64_t sorted_runs = 32;
inline constexpr std::int64_t random_chunks = 16;  // each of 4 * random_lanes numbers

// Work-items for each core: what a slow one leaves is taken by others, against the cost of each. Products have some dozen.
inline constexpr std::uint64_t items_per_core = 4;
inline constexpr std::int64_t matmul_items_per_core = 16;
// Pieces of rows for each work-item, where there are fewer rows: evener shares, against shorter runs.
inline constexpr std::int64_t pieces_per_item = 4;

// ---- Processors: caches and memory

// Bytes from which a result is written past the caches: the lines are not read before, and nobody finds the result there. Through the
// caches exp and tanh took 1.43 and 1.54 of a copy's time, past them 0.7 to 1.0 (PoCL); where it begins was not measured.
inline constexpr std::int64_t streamed_bytes = std::int64_t{8} << 20;
// Bytes of a line, in the accumulator's type, up to which softmax keeps it aside in the first caches, where its result goes past
// them: 1.03 to 1.1 of a copy's time, and 1.25 without (PoCL); where it ends was not measured. Only where a vector is a whole line of
// the cache: with halves 64 MiB took 13.1 ms so and 6.2 to 7.5 through the caches (PoCL, Zen 3).
inline constexpr std::int64_t softmax_kept_bytes = 32 << 10;
// Bytes of a line up to which softmax fetches the next one meanwhile: longer ones leave the cache before their turn comes.
inline constexpr std::int64_t softmax_fetched_bytes = 65536;
// Vectors of a piece of columns: memory likes long runs, and the accumulators must stay in the first cache. Of f32, 2 KiB and,
// of softmax, 4.
inline constexpr int reduction_vectors = 32, norm_vectors = 32, softmax_vectors = 64;
inline constexpr std::int64_t argmax_vectors = 32, scan_vectors = 32;
// Vectors of a tile whose best is found first, and only then its place.
inline constexpr int argmax_tile_vectors = 16;
// Elements from which a run is read at four places: one stream leaves the memory idle, 4.8 against 3.4 ms for 64 MiB (PoCL); in short
// runs the fetching ahead stops too often.
inline constexpr int far_elements = 16384;
// Rows and columns of a tile of a transposed copy, which share the cache's lines and pages; and the least of both.
inline constexpr int turned_tile = 256, least_turned = 16;
// Counters that random numbers are computed from at a time: vectors, against registers.
inline constexpr int random_lanes = 64;
// Elements of the runs that a sort begins with and then merges, on processors and elsewhere.
inline constexpr int sorted_run = 32, sorted_run_of_gpu = 16;

// ---- Parts of long reductions. They decide about bits, and so do not depend on the number of cores. A part costs a place in
// scratch, and a step of the launch that joins them. Elements of one at least, and pieces of work at most; those of GPUs are for
// devices of that shape that have no groups.

inline constexpr std::int64_t cpu_reduced = 32768, cpu_reductions = 256;
inline constexpr std::int64_t gpu_reduced = 32, gpu_reductions = 131072;
inline constexpr std::int64_t cpu_compared = 32768, cpu_comparisons = 256;
inline constexpr std::int64_t gpu_compared = 256, gpu_comparisons = 65536;
inline constexpr std::int64_t cpu_scanned = 16384, cpu_scans = 256;
inline constexpr std::int64_t gpu_scanned = 64, gpu_scans = 65536;
// Whose totals one work-item goes through.
inline constexpr std::int64_t most_chunks_of_scan = 4096;

// ---- Accuracy against time: additions into one accumulator before it is added to the next one. The error of a sum grows with the
// length of the chain, and these keep it within the rows' tolerances.

inline constexpr int block_of_sum = 64;             // vectors, on processors
inline constexpr int block_of_norm = 64;            // pairs of vectors
inline constexpr std::int64_t chain_of_sum = 256;   // packs of one work-item of a group
inline constexpr std::int64_t chain_of_norm = 256;  // rows of a normalization's gradients

// ---- Devices shaped like a GPU: how many work together

// Work-items of a group, where a kernel has no reason for another number.
inline constexpr unsigned usual_group = 256;
// Of the largest groups, which hold long rows in registers that would else be read twice: fewer of them run at once.
inline constexpr unsigned largest_group = 1024;
// Work-items that take units side by side before they go on to others.
inline constexpr std::uint64_t items_side_by_side = 256;
// Groups that a compute unit is given for a long job, so that the slow ones do not hold up the rest; columns, whose every work-item
// has loads of its own under way, are given fewer by this factor.
inline constexpr std::int64_t groups_per_unit = 16, fewer_groups_of_columns = 2;
// Work-items of one launch, beyond which each takes several elements.
inline constexpr std::uint64_t most_items = 1ull << 22;
// Elements of a work-item at least, where that leaves a part for each group.
inline constexpr std::int64_t least_of_item = 32;

// ---- Devices shaped like a GPU: what one work-item has under way

// Packs that are loaded before the first is looked at: they hide the memory's latency, against registers. Of short rows, and
// of columns of scans, more.
inline constexpr unsigned loads_at_once = 4, loads_of_short_row = 8, loads_of_scan_column = 8;
// Bytes of a work-item's loads; elements at most, since its text is written out for each; and loads at most.
inline constexpr unsigned bytes_under_way = 64, most_elements = 16, most_unroll = 4;
// Bytes of a row that a work-item holds in registers, so that it is read once; half as many of each of two tensors.
inline constexpr unsigned held_bytes = 128;
// The same of a normalization's gradients, which hold two rows and two sums, and the work-items of a compute unit that do so and
// stay until the end: two groups of 256 reach the rate of a copy, three groups three quarters of it, and longer teams
// hold too much (H200).
inline constexpr unsigned norm_held_bytes = 64, norm_items_of_unit = 512;
// Neighbouring columns of a work-item at most: more would leave too few of them.
inline constexpr unsigned pack_of_columns = 4;
// Elements of which gather loads the indices at once, and its loads under way: of slices or single elements, and of packs.
inline constexpr unsigned gathered_elements = 4, gather_loads = 4, gather_loads_of_packs = 2;
// Elements of a merge for each work-item: the bisection is paid once for each.
inline constexpr std::int64_t merged_of_item = 16;

// ---- Devices shaped like a GPU: who takes a row or a column

// Length of a column below which all of a group's work-items go down columns of their own.
inline constexpr std::int64_t short_column = 64;
// Packs of a row that 32 work-items reduce rather than a group: below the first, and up to the second where there are so many rows
// that groups of such teams fill the device as often as the third says.
inline constexpr std::int64_t packs_of_subgroup = 256, packs_of_subgroup_if_many = 4096,
                              rounds_if_many = 2;
// Packs of a line that 32 work-items scan rather than a group, where there are so many times more lines than groups that keep
// the device busy.
inline constexpr std::int64_t scanned_packs_of_subgroup = 128, scan_rounds_if_many = 4;
// Parts of a column of a scan at most, each of which adds up the totals of all before it; and elements of a part at least.
inline constexpr std::int64_t most_parts_of_scan = 512, least_part_of_scan = 16;
// Rows of a part of a normalization's gradients at least; and columns side by side where many chunks are added up.
inline constexpr std::int64_t least_rows_of_norm = 8;
inline constexpr unsigned norm_columns_of_team = 32;

// ---- scatter: ranges of the output, each of which costs another look at all indices

// Cores from which there are two, and so on; ranges and lines together on other devices; and ranges at most.
inline constexpr std::int64_t scatter_cores = 4, scatter_of_gpu = 16384, most_scatter_ranges = 4096;
// Length of lines below which there is one, and lines side by side that are gone through together.
inline constexpr std::int64_t least_scatter_line = 256, scatter_lines = 64;

// ---- matmul on processors. Packing at all is 5 times as fast at 2048 (PoCL); where it begins was not measured

// A tile: rows, and vectors of columns.
struct Blocking {
  unsigned rows, vectors;
};
// For the tuner to choose from, the one to take unmeasured first: by the bytes of the device's vectors. `blockings_version` is that
// of the lists.
inline constexpr int blockings_version = 1;
inline constexpr Blocking blockings_of_64_bytes[] = {{6, 4}, {8, 2}, {4, 4}};
inline constexpr Blocking blockings_of_32_bytes[] = {{6, 1}, {4, 1}, {8, 1}};
// What is worth a question to the tuner: multiplications and rows. It measures as many multiplications, and rows, as take
// some milliseconds.
inline constexpr std::int64_t asked_product = 1 << 26, asked_rows = 64;
inline constexpr std::int64_t measured_product = 1 << 28, measured_rows = 128;
// Multiplications from which b is packed whose columns are not neighbours, the same where rows of a and columns of b are, and
// from which a is packed too. Below, an unsuitable layout costs less than a second launch.
inline constexpr std::int64_t packed_product = 1 << 15, packed_product_of_rows = 1 << 21,
                              packed_product_of_a = 1 << 24;
// Rows from which packing pays at all, and from which a suitable b is packed that is larger, in bytes, than the third: caches
// keep what is smaller.
inline constexpr std::int64_t packed_rows = 4, packed_rows_if_suitable = 64,
                              largest_unpacked_bytes = 2 << 20;
// Bytes of scratch for packed batches; one alone may need more. Memory, against launches.
inline constexpr std::int64_t packed_bytes = 64 << 20;
// Steps of k that one work-item packs.
inline constexpr std::int64_t packed_depth = 512;
// A tile of several vectors is taken unless it computes more than one column in so many for nothing: each size more is a kernel
// more to compile.
inline constexpr std::int64_t unused_columns = 4;
// Columns of a tile without vectors; vectors of a single row; sides of the scalar tile; and rows of tiles along k.
inline constexpr std::int64_t columns_without_vectors = 8, vectors_of_one_row = 4;
inline constexpr unsigned scalar_tile = 4, rows_along = 2;
// Tiles of a work-item at most, which share b's panel, and batches: fewer items, against evener shares.
inline constexpr std::int64_t most_row_tiles = 16, most_batches_of_item = 64;

// ---- matmul on devices shaped like a GPU (products go to a library where there is one)

// Sides of a work-item's tile, of complex numbers, and of results with so few columns; and sides of a group.
inline constexpr unsigned gpu_tile = 8, gpu_tile_of_complex = 4, gpu_tile_of_few_columns = 4;
inline constexpr unsigned gpu_group = 16;

// ---- Between kernels, and their look-up

// Seconds in which the tuner chooses between a generated kernel and another: the first call compiles, and another's library may
// take seconds to make itself ready.
inline constexpr double kernel_choice_seconds = 10;
// Kernels of one operator on one device that are found without a lock: 2 to this power. 8 bytes each.
inline constexpr int recent_kernels_bits = 4;

}  // namespace bp::codegen::constants
