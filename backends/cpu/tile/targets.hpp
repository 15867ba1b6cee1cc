// Which instruction sets the vector code is compiled for. Include before hwy/foreach_target.h.
//
// On x86: AVX-512, AVX2, and for all that is older what every processor has, which Highway leaves scalar.
// Each one more adds a third to the time that this plugin takes to compile.
#pragma once

#ifndef HWY_DISABLED_TARGETS
#  define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
