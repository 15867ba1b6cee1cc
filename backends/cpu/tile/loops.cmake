# The loops that are to become vector code, at -O3 alone, for several instruction sets: objects of their own, since a precompiled
# header keeps the level at which it was made.
file(GLOB loops CONFIGURE_DEPENDS
  tile/*.cpp kernels/matmul_few_rows.cpp kernels/matmul_loops.cpp kernels/matmul_small.cpp kernels/random.cpp)
list(REMOVE_ITEM sources ${loops})
add_library(backplane_cpu_loops OBJECT ${loops})
target_link_libraries(backplane_cpu_loops PRIVATE Backplane::sdk bp_warnings ${libraries})
target_compile_options(backplane_cpu_loops PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique> -O3 ${options})
target_include_directories(backplane_cpu_loops PRIVATE .)
target_precompile_headers(backplane_cpu_loops PRIVATE <algorithm> <array> <cmath> <complex> <cstring> <limits> <string> <vector>
  <backplane/plugin.hpp>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_precompile_headers(backplane_cpu_loops PRIVATE <immintrin.h>)
endif()

# A product of norm.cpp fused into one difference and not into the other would leave its rounding in rows that cancel; fused.cpp
# promises bits.
set_source_files_properties(tile/norm.cpp tile/fused.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -ffp-contract=off)
