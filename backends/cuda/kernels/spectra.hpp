// What a transform needs besides the library: a factor, conjugates, and real numbers where a half of a spectrum has them.
#pragma once

#include <backplane/plugin.hpp>

#include "kernels/on_card.hpp"

namespace cuda_backend {

// Multiplies `count` real numbers of the card's memory, f64 or else f32: those at even places by `even`, the others by `odd`.
// Asynchronous.
bp::Status scale_parts(const OnCard& card, void* numbers, int64_t count, bool is_double,
                       double even, double odd);

// Halves of spectra in a row, of n / 2 + 1 complex numbers each: makes the first of each real, and that in the middle of an even
// n; with `conjugates` the others become their conjugates. Asynchronous.
bp::Status settle_halves(const OnCard& card, void* halves, int64_t n, int64_t batch, bool is_double,
                         bool conjugates);

}  // namespace cuda_backend
