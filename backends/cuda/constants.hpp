// From which sizes on a way pays on a card, what is kept, and how much is spent on comparing ways: each number with its unit and what it
// trades. They are right where the tuner has decided nothing else.
//
// Measured, with figures, are only those that name a machine: an NVIDIA H200. All others were chosen and not measured: the kernels
// that use them have rows in bench/cuda, but nobody kept the times of another value. What follows from hardware, a library or
// mathematics stays where it is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_backend::constants {

// ---- What is worth comparing several ways, by measuring them at the first call: below, a call takes microseconds on a large card, and
// a gain is less than one

// Operations of a product, two for each multiplication, or elements of its matrices.
inline constexpr double measured_product_operations = 2e8, measured_product_elements = 8e6;
// Multiplications of a convolution, or elements of its tensors.
inline constexpr double measured_convolution = 1e8;
inline constexpr int64_t measured_convolution_elements = 8'000'000;
// Algorithms that the library is asked for: it puts first what it expects to be the fastest, and each costs a plan and runs.
inline constexpr size_t most_algorithms = 8;  // of a product
inline constexpr size_t most_ways = 8;        // of a graph of cuDNN's

// By what a way must beat the library's first one, as a share of its time: what is measured in a burst may change by some percent
// when a card works for long and its power is the limit, as where each element takes part in so many multiplications.
inline constexpr double product_gain = 0.98, product_gain_at_full_power = 0.95;
inline constexpr double uses_at_full_power = 256;
inline constexpr double graph_gain = 0.96;

// ---- Comparing

// Milliseconds that one comparison may take. The caller waits.
inline constexpr double budget_ms = 30;
// A way that is this much slower at the first look is not looked at again.
inline constexpr double hopeless = 1.2;
// Milliseconds of a sample at least: shorter ones measure the resolution of the card's clock, half a microsecond.
inline constexpr double least_sample_ms = 0.1;
// Runs of a sample at most, and rounds of samples: accuracy, against the budget.
inline constexpr std::size_t most_repeats = 32, most_rounds = 6;
// How often a way runs at least: to be loaded, at the first look, and again if it is among the best.
inline constexpr double least_runs = 2.75;
// Milliseconds from which one run says enough about how long it takes; of shorter ones so many are measured, since the host's own time
// is a part of the first.
inline constexpr double long_enough_ms = 0.5;
inline constexpr std::size_t first_repeats = 8;

// ---- What is kept for later calls

// Plans of products: about 2 KiB each, and 30 microseconds to make again (H200). Choices outlive them, so that a plan that is made
// again does not change bits; they bound what a program whose shapes are always new spends on measuring.
inline constexpr size_t product_plans = 256, product_choices = 1024;
// The same of cuDNN's graphs, of which a convolution's takes about 20 ms to make (H200).
inline constexpr size_t graph_plans = 512, graph_choices = 4096;
// Plans of Fourier transforms, which hold memory on the card, and those that recordings keep for good.
inline constexpr size_t fourier_plans = 64, recorded_fourier_plans = 256;
// Calls of the host's functions that have run and wait to be deleted: memory, against a look at all of them at each new one.
inline constexpr size_t kept_host_calls = 16;

// ---- Memory that a way may take for itself, in bytes

// Of a product: what NVIDIA advises for Hopper; smaller cards choose algorithms that need less of it.
inline constexpr uint64_t product_workspace = uint64_t{32} << 20;
// Of a graph: a way that needs more must not push what the application keeps out of the card, unless there is no other.
inline constexpr uint64_t graph_workspace = uint64_t{1} << 30;

// ---- Which way pays

// Scores of attention from which cuDNN's graph is used: each new shape costs it a second of compiling (H200), which small problems
// never earn back.
inline constexpr int64_t attention_scores = 1 << 16;
// Length of lines from which a sort takes whole blocks or CUB: shorter ones are better sorted by a thread each, as generated kernels do.
inline constexpr int64_t shortest_sorted_line = 32;
// Matrices that cuSOLVER factors, one after the other: their smaller size at least, how many at most, and this size for each of them.
// The operators that a factorization is composed of walk a whole batch at once.
inline constexpr int64_t least_factored = 32, most_factored = 256, size_for_each_factored = 8;

// ---- Blocks of our own kernels: work for all multiprocessors, against the cost of each block

// Threads of a block that goes over elements, and blocks at most, after which each goes over several.
inline constexpr int usual_threads = 256;
inline constexpr int64_t most_blocks = 16384, most_blocks_of_matrices = 1 << 20,
                         most_blocks_of_lines = 1 << 20;
// Rows and columns of a tile that turns pictures, and its rows that are read at once: a warp reads 32 neighbours.
inline constexpr int turned_tile = 32, turned_rows = 8;
// Threads and elements of each, of blocks that sort a line in their registers: lines up to their product, short and longer ones.
inline constexpr int short_sort_threads = 128, short_sort_items = 4, long_sort_threads = 512,
                     long_sort_items = 8;
// Of nonzero: elements of a thread, which it reads at once; and the threads and parts of each for the one block that adds up all
// parts' counts, which bounds how many parts there are.
inline constexpr int nonzero_items = 8, nonzero_scan_threads = 1024, nonzero_parts_of_thread = 4;

}  // namespace cuda_backend::constants
