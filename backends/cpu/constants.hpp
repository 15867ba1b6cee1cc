// What was measured and not derived: from which sizes on a way pays, and how large pieces are. Each with its unit, what it trades and the
// machine on which it was chosen: Zen 5 (EPYC, two cores), Xeon (Sapphire Rapids with AMX, two cores), or both; or "not measured", where
// nobody compared it with other values. They are right
// where the tuner has decided nothing else (choices.hpp). What follows from hardware or mathematics stays where it is used.
#pragma once

#include <cstdint>

namespace bp::cpu::constants {

// ---- Threads: the least that one more thread must get, where waking it costs 5 to 50 us (Zen 5)

inline constexpr int64_t element_grain = 1 << 14;  // elements, where nothing else is said
inline constexpr int64_t copy_bytes = 1 << 20;     // of a plain copy
inline constexpr int64_t strided_copy_bytes =
    128 << 10;  // of a copy in another order, which waits for memory more
inline constexpr int64_t argmax_elements = 1 << 14;
inline constexpr int64_t reduction_elements = 1 << 15;  // less work for each than in other kernels
inline constexpr int64_t softmax_elements = 1 << 13;    // more of it
inline constexpr int64_t norm_elements = 1 << 13;
inline constexpr int64_t pooled_elements = 1 << 16;  // read for windows
inline constexpr int64_t pooled_channels = 64;       // that one thread adds up together
inline constexpr int64_t batch_norm_elements = 1 << 14;
inline constexpr int64_t optimizer_elements = 1 << 14;
inline constexpr int64_t fourier_elements = 1 << 11;
inline constexpr int64_t attention_products = 1 << 18;  // multiplications
inline constexpr int64_t loop_products = 1 << 16;       // multiplications by our own loops
inline constexpr int64_t product_work = 1 << 17;        // multiplications of a product by oneDNN
inline constexpr int64_t convolution_work = 1 << 17;    // the same of a convolution
inline constexpr int64_t recurrence_work = 1 << 17;     // of one step of a recurrent layer
// Not measured:
inline constexpr int64_t averaged_elements = 1
                                             << 14;  // read for windows by our own average pooling
inline constexpr int64_t gradient_sums = 1 << 14;    // of parts' gradients that are added up
inline constexpr int64_t selected_bytes = 1 << 16;   // of blocks that index_select copies
// Of a pointwise program: this divided by its steps' cost and one, but no fewer than the second.
inline constexpr int64_t pointwise_work = 1 << 16, pointwise_elements = 1 << 12;

// Parts for each thread: one that comes late leaves some to the others, and each part costs a call of oneDNN (both).
inline constexpr int64_t product_parts = 2, convolution_parts = 2;

// ---- Caches and pages

// Bytes that a call reads and writes together from which it writes past the caches, which spares the read of each line before it is
// overwritten: below, the result is still in the last cache when it is needed next. Two cores of Zen 4 with a last cache of 32 MiB: copies of
// 20 MiB take the same time either way, of 64 MiB 0.7 past the caches; sums of two times 16 MiB 0.6, but of two times 8 MB twice as long. Two
// of a Xeon with one of 300 MiB: copies of 16 MiB 0.8. And the same of calls that write more than twice what they read: on Zen 4 up to four
// times as long past the caches, alike from 64 MiB on; on the Xeon alike up to 40 MiB, and a third from 64 MiB on.
inline constexpr int64_t streamed_bytes = int64_t{36} << 20, streamed_writes = int64_t{56} << 20;
// Bytes up to which a reduction's elements are expected in a cache, so that nothing is fetched ahead (Zen 4, a last cache of 32 MiB).
inline constexpr int64_t near_bytes = int64_t{20} << 20;
// Bytes of a row that softmax keeps in a scratch of its own, to write its result past the caches: the second cache has
// 1 to 2 MB (both).
inline constexpr int64_t softmax_scratch_bytes = 64 << 10;
// Bytes of a tile, which a register of a pointwise program holds: its few registers lie in the first cache, and the cost of going
// from step to step is spread over at least 256 elements (not measured).
inline constexpr int64_t tile_bytes = 2048;
// Bytes of a tile whose results go past the caches: short ones let these writes overlap with the next computations. And bytes of a row
// from which they do (not measured).
inline constexpr int64_t streamed_tile_bytes = 1024, streamed_row_bytes = 1024;
// Elements of a row from which a tile is a piece of one row; several shorter ones are gathered into one. And tiles of a piece of
// a row, for threads to share (not measured).
inline constexpr int64_t row_of_tiles = 128, tiles_of_piece = 32;
// Elements that are converted by way of another dtype at a time, whose middle lies in the first cache; and those whose
// conversion, or quotient by way of f64, is tried as vectors, all of them: one too large makes the rest slow (not measured).
inline constexpr int64_t converted_elements = 256, tried_conversions = 64, tried_quotients = 64;
// Columns that softmax takes together, four lines of a cache of f32, and how long they may be for such a block to stay in the
// second cache (Xeon without AMX).
inline constexpr int64_t softmax_columns = 64, softmax_longest_column = 1 << 12;
// Elements of a part of a long row of logsumexp, and rows up to which it is cut into such (not measured).
inline constexpr int64_t logsumexp_part = 1 << 16, logsumexp_rows = 8;
// Copies of a row that is the same for all others, in bytes: they stay in a core's first cache beside what they meet. And elements of
// a call from which they pay (Zen 4).
inline constexpr int64_t repeated_row_bytes = 8192, repeated_row_elements = 4096;
// Bytes of rows and of columns that a thread turns at a time: two lines of each of the source's rows, which a processor fetches in
// pairs, and lines enough of the destination's that its pages stay in the address cache. And where the destination is written past the
// caches: of 64 MiB of f32 35 GB/s on Zen 4, of 50 that a copy has, which the former turns at 17; the best of 16 sizes on Zen 5; on a
// Xeon 38 GB/s and 42.
inline constexpr int64_t turned_rows_bytes = 128, turned_columns_bytes = 1024;
inline constexpr int64_t turned_far_rows_bytes = 2048, turned_far_columns_bytes = 1024;
// Rows and columns from which that pays; and bytes that are turned at a time where 2 to 4 numbers lie together, as colours do (not
// measured).
inline constexpr int64_t turned_side = 8, turned_few_bytes = 1 << 13;
// Elements of a row that runs backwards, from which a call of vector code is worth it (not measured).
inline constexpr int64_t reversed_elements = 16;
// Elements of a tile of a reduction, and of a piece of columns: these are longer, since each row's piece begins a new page
// (Zen 5).
inline constexpr int64_t reduction_tile = 512, reduction_columns = 2048;
// A long reduction is cut into parts of at least so many elements, at most so many: the cut decides about bits and so does not depend on
// the number of threads (Zen 5).
inline constexpr int64_t reduction_part = 1 << 16, reduction_parts = 128;
// Elements of a tile of argmax, and rows whose extremes are taken at once where it goes along columns; and elements whose norm is taken at once in lists of tensors: the cut decides about bits (not
// measured).
inline constexpr int64_t argmax_tile = 512, argmax_band = 16, list_norm_elements = 1 << 14;
// Elements of a row of small floats that scatter_add adds to in f32, on the stack and in the first cache.
inline constexpr int64_t widened_row = 4096;
// Windows that pooling takes together, whose places lie in the first cache; neighbouring lines that scatter_add goes through
// together; and elements of each line that Fourier transforms move at a time: lines of a cache (not measured).
inline constexpr int64_t pooled_windows = 256, scattered_columns = 64, moved_elements = 16;
// Counters that random numbers are computed from at a time; and rows and columns of a tile of a matrix that LAPACK gets by columns
// (not measured).
inline constexpr int random_counters = 64;
inline constexpr int64_t turned_matrix_tile = 16;
// Rows whose gradients norms add up at a time, and lines that scans take at once: a line of a cache for each (Zen 5).
inline constexpr int64_t norm_rows = 32, scan_lines = 32;
// Lines along memory that scans take in turns, since each addition waits for the one before it (Xeon without AMX).
inline constexpr int64_t scan_rows = 4;
// Bytes that maxima fetch ahead: each of eight loads looks like a walk in large strides, and without it they reach half of
// the memory's speed. Sums of f32 have smaller strides and are slower with it (Zen 5).
inline constexpr int64_t reduction_fetch_bytes = 2048;
// Blocks of our own products: panels of the depth fit the first cache, three blocks the second (Zen 5).
inline constexpr int64_t loop_rows = 192, loop_columns = 192, loop_depth = 128;
// Blocks of products on AMX: panels of 32 columns, steps of k, and rows of which a block's sums lie in memory between two cuts of k.
// 128 columns of at most 2048 steps, twice, are half of a second cache of 2 MiB; 192 and 256 columns were slower (Xeon).
inline constexpr int64_t amx_panels = 4, amx_depth = 2048, amx_rows = 4096;
// The same of f32 in three parts: in these blocks, 768 KiB, b stays in a second cache of 2 MiB while rows of a pass (Xeon).
inline constexpr int64_t split_panels = 8, split_depth = 512, split_rows = 2048;
// Queries and keys of a block of attention: with its factors it fits into the second cache (not measured).
inline constexpr int64_t attention_queries = 72, attention_keys = 128;
// Queries of a block of causal attention: a block meets all keys that its last query sees, so that fewer are met in vain, but the
// gradients of keys are added to more often (Zen 3).
inline constexpr int64_t attention_causal_queries = 36;
// Pairs of rows that packing for AMX fetches ahead (Xeon).
inline constexpr int64_t packing_ahead = 8;

// ---- Which way pays

// oneDNN's older function is 5 % faster on one pair of f32 matrices with all sizes from here on (Zen 5: 2048).
inline constexpr int64_t older_product_size = 512;
// Multiplications, and results, up to which a product is a loop without oneDNN's call, unless its sums are longer than the second
// and its columns fewer than the third (not measured).
inline constexpr int64_t tiny_work = 4096, tiny_depth = 64, tiny_columns = 8;
// Points of a plane from which our own batch norm goes along them (not measured); and images of which it brings shorter planes of a
// channel together, whose lines stay in the caches for the next channels: 16 by 512 of 2x2 take 67 us in place of 455, 1000 by 64
// 130 in place of 1920 (Zen 4).
inline constexpr int64_t batch_norm_row = 16, batch_norm_images = 1 << 14;
// Multiplications, and uses of each element, from which factors whose lines collide in the cache are copied apart (Zen 3: 512 by 256 by
// 1024 of f32 takes 2.2 ms after it and 4.0 ms before, and 384 by 1024 by columns by 384 3.5 and 4.2 ms).
inline constexpr int64_t spread_work = 1 << 24, spread_reuse = 128;
// Multiplications from which one of two factors by columns is turned: 256 by 512 by 1024 of f32 gives 192 GFLOP/s in place of 90 on two
// threads (Zen 4).
inline constexpr int64_t turned_product = 1 << 22;
// Terms that each thread needs for products to be cut along them: each part is a matrix more to add (Zen 3, two threads: 384 by 1024
// by columns by 1536 takes 7.3 ms and 9.9 in bands, 1152 by 1024 by 384 5.5 and 7.0).
inline constexpr int64_t terms_of_part = 256;
// Rows up to which a product of f32 reads the right factor once for all of them, its columns and terms from which that was
// measured, and columns that stay in the first cache meanwhile (Zen 3).
inline constexpr int64_t few_rows = 8, few_rows_side = 32, few_rows_columns = 1024;
// Multiplications up to which a product of f32 is done by one thread where its factors lie, its terms, which are added one after the
// other, and numbers of a right factor by columns that are turned first, if it has so many rows (Zen 4; the same on a Xeon with AMX).
inline constexpr int64_t small_product = 1 << 18, small_depth = 256, small_turned = 1 << 12,
                         small_turned_rows = 4;
// Sizes from which products of bf16 go to our own code for AMX: below, oneDNN is ahead where the left is by columns (448: 1.2
// times as fast), and level where not (Xeon).
inline constexpr int64_t amx_size = 480;
// Sizes, and multiplications, from which products of f32 go to AMX in three parts: oneDNN is as fast for smaller ones (Xeon).
inline constexpr int64_t split_size = 64, split_work = 1 << 23;
// The same of attention: queries and keys, their product, and sizes of a head. Packing costs as much as smaller ones gain (Xeon).
inline constexpr int64_t split_attention_rows = 256, split_attention_work = 1 << 17,
                         split_attention_width = 32;
// Columns, and places of windows, up to which convolutions are products on AMX: 0.4 to 1.0 of oneDNN's time on layers of ResNet-18
// for pictures of 64x64, 1.0 to 1.3 of it beyond (Xeon).
inline constexpr int64_t windowed_columns = 256, windowed_places = 1 << 16;
// Points of a plane up to which the gradient to a window with more places than that is a product by oneDNN where there is no AMX:
// 0.6 ms where its own gradient takes 7.6, of a 3x3 kernel of 512x512 channels for four pictures of 2x2 (Xeon without AMX).
inline constexpr int64_t tiny_plane = 4;
// Of convolutions by packed weights: blocks of points whose table of places stays in the first cache; places up to which a thread
// keeps its panels and goes over all blocks, so that a weight larger than the pictures is read once; and channels below which
// pictures get zeros around, so that a row of the kernel is one run of numbers (Xeon without AMX). And numbers of each point that
// meet a panel before the next points do, 128 KiB of it, which the second cache keeps: up to 1.2 times as fast where a panel is larger
// than that cache, and slower with 16 KiB for the first one (Zen 3).
inline constexpr int64_t packed_blocks = 16, packed_places = 1 << 14, padded_channels = 16,
                         packed_depth = 1024;
// Channels of pictures up to which our own convolutions of padded planes beat oneDNN's, which fills channels up to eight and reorders
// pictures: a gradient to 16 kernels of 3x3 takes 14 us of 79, the results 28 of 33 (Zen 3; with 6 channels up to 1.3 times as
// long). Points of a plane and multiplications for which that was measured; and numbers of gradients that stay in the first cache.
inline constexpr int64_t few_channels = 3, least_own_plane = 32, largest_own_plane = 1024,
                         most_own_work = 1 << 24, plane_gradient_numbers = 1 << 11;
// Points of the result that each number of a weight must serve in a part of a convolution: reordering the weight, or adding up its
// gradients, is little work then (Xeon).
inline constexpr int64_t convolution_points = 256;
// Channels on both sides from which a gradient to a kernel that is one point is a product of ours, and multiplications that each number
// copied for it must serve (Zen 4).
inline constexpr int64_t channels_of_points = 16, reuse_of_points = 128;
// Numbers of the kernel from which that pays on a Xeon with AMX: with 2^20 and 2^21 both gradients take 0.62 to 1.0 of oneDNN's time, with
// fewer up to twice as long.
inline constexpr int64_t weights_of_points_on_amx = 1 << 20;
// Channels, and points of a plane (14x14), from which Winograd's gradient to a 3x3 kernel is 1.3 to 1.8 times as fast (both); and the bytes
// that it may take for transformed pictures.
inline constexpr int64_t winograd_channels = 64, winograd_plane = 196;
inline constexpr uint64_t winograd_bytes = uint64_t{64} << 20;
// Entries from which sorting by digits beats sorting by comparisons (Zen 5).
inline constexpr int64_t radix_entries = 256;
// Entries of a line up to which each key's place is counted, all pairs compared (Zen 3: 40 of f32 took 0.7 us and take 0.25).
inline constexpr int64_t ranked_entries = 128;
// Bytes in which keys differ, up to which they are sorted byte by byte; of more, by bins: a million f32 takes 27 ms for 47 (busy Zen 3).
// Entries of a bin that stay in the first cache and are sorted there by two bytes, those that bins should have, and bits of a number of
// bins; entries that are put in order by insertion; and those that a thread gets at least (not measured).
inline constexpr int radix_bytes = 2, most_bin_bits = 10;
inline constexpr int64_t cached_entries = 1 << 11, wanted_entries = 1 << 9, inserted_entries = 24,
                         sorted_entries = 1 << 13;
// Entries of a part of one long line, which threads put into bins together (Zen 4: a million words take 7 ms in place of 10).
inline constexpr int64_t entries_of_part = 1 << 16;
// Entries of a heap that topk keeps of each line, and so few that they are kept in order instead; more are sorted with the others
// (Xeon, Zen 4).
inline constexpr int64_t heaped_entries = 64, ordered_entries = 16;
// Elements of a line from which all threads work on one, where there are few lines (below 8), and where there are many (Zen 5).
inline constexpr int64_t shared_line_if_few = 1 << 14, shared_line_if_many = 1 << 17,
                         many_lines = 8;
// Packs of lines are transformed together from so many lines on, up to this length: longer ones are faster as matrices that fit
// into caches (both: the choice decides about bits).
inline constexpr int64_t packed_lines = 8, packed_length = 1 << 14;
// Lengths from which one thread keeps what it made for the last transform alone, of lines and of packs: it takes megabytes. And
// that from which a line is transformed as columns and rows of a matrix, by all threads (not measured).
inline constexpr int64_t kept_length = 1 << 17, kept_length_of_packs = 1 << 13,
                         matrix_length = 1 << 12;
// Steps of large factors from which two transforms of more than twice the length are faster; and the length up to which such
// transforms are ours, since of longer ones a thread would keep too much (not measured).
inline constexpr int64_t rough_steps = 50, rough_length = 1 << 20;
// Rows and columns up to which matrices are tiny for LAPACK, and how many are left to the host's operators then, which do all at once
// what LAPACK does one by one (not measured).
inline constexpr int64_t tiny_matrix = 2, many_matrices = 256;
inline constexpr int64_t tiny_triangle = 32, many_triangles = 64;  // the same of triangular systems
// Multiplications from which LAPACK gets threads of its own, for one matrix, and a thread for several; and the cores that must be
// there: its threads wait for each other in loops, and on two busy cores LU of 1,000 rows took 4.5 s by two threads and
// 0.06 s by one (Zen 5).
inline constexpr double lapack_work = 2e8, lapack_thread_work = 1e5;
inline constexpr int lapack_cores = 4;

// ---- Waiting, in microseconds (Xeon, two cores)

// An idle thread looks for the next call so long before it sleeps: a core that only spins is lost to others, who then take it from the
// thread in the middle of its work. With 100 and 300 a small transformer's step beside a busy program took 14.4 and 16.2 ms
// instead of 12.5.
inline constexpr int64_t idle_spin_us = 20;
// A caller looks for the end of what others have begun so long before it asks whether they run at all, and before it sleeps.
inline constexpr int64_t before_asking_us = 100, before_sleeping_us = 2000;
// So long nobody spins after a thread was found that another program kept from its core.
inline constexpr int64_t crowded_us = 20000;
// So long a thread keeps off the core where it met its caller. Without it (Zen 4, two cores, another program on one of them) a step of
// the small transformer mostly took 5.5 ms instead of 4.4, of the MLP 1.55 instead of 1.25 (3.4 and 0.9 alone).
inline constexpr int64_t apart_us = 20000;
// Ranges for each thread: what the slower one has not begun is left to the faster one.
inline constexpr int64_t ranges_per_thread = 4;

// ---- What is worth a question to the tuner, in multiplications: asking costs some 10 ns, and an answer gains a few percent

inline constexpr int64_t asked_product = 1 << 20, asked_convolution = 1 << 22;

// ---- The order in which oneDNN reads a convolution's pictures: the tuner's way 0. Points of the result's plane, numbers of the
// weight in a point of its window, and channels of the input

// Any processor without AMX (Zen 5): from so many numbers reordering the weight takes about as long as the work; and small and
// large planes.
inline constexpr int64_t many_channels = 1 << 18, small_plane = 64, few_weights = 4096;
inline constexpr int64_t large_plane = 128,
                         larger_plane = 512;  // of products, and on Xeons with AMX
// Xeons with AMX (Xeon): a gradient to a kernel of points that is so large is taken by rows, since oneDNN's own reorder of it takes
// as long as the work; and channels from which windows are taken by channels last.
inline constexpr int64_t reordered_channels = 1024, reordered_weights = 1 << 19,
                         channels_of_window = 128;

// ---- Recurrent layers: steps from which a call earns back what bringing its weights into oneDNN's order costs, by numbers of the
// weights up to which they are small and medium; measured with up to 16 sequences on two cores, of which machine was not noted

inline constexpr int64_t small_recurrence = 1 << 15, large_recurrence = 1 << 20,
                         large_gru = 1 << 17;
inline constexpr int64_t steps_of_small = 2, steps_of_medium = 4, steps_of_large = 16;

}  // namespace bp::cpu::constants
