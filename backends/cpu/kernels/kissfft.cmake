# What Fourier transforms need: KissFFT's header, whose code is a template.
find_path(BACKPLANE_KISSFFT_HEADERS kissfft/kissfft.hh DOC "Where KissFFT's folder of headers is")
if(NOT BACKPLANE_KISSFFT_HEADERS)
  bp_skip("backends/cpu's Fourier transforms" "not found: KissFFT's headers, kissfft/kissfft.hh (name the folder that has them in BACKPLANE_KISSFFT_HEADERS)")
  list(FILTER sources EXCLUDE REGEX "/fourier(_line|_packs)?[.]cpp$")
  return()
endif()
include_directories(SYSTEM "${BACKPLANE_KISSFFT_HEADERS}")
add_compile_definitions(BP_KISSFFT_KERNELS)
# Products of complex numbers as they are written: the checks for infinite parts are calls. Without fused steps each instruction
# set gives the same bits.
set_source_files_properties(kernels/fourier.cpp kernels/fourier_line.cpp kernels/fourier_packs.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON
  COMPILE_OPTIONS "-O3;-ffp-contract=off;$<$<CXX_COMPILER_ID:GNU>:-fcx-limited-range>")
