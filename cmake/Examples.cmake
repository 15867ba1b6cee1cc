# How examples are compiled: their headers parsed once for all, and not optimized, since the libraries do the work.
set(bp_not_optimized $<$<CONFIG:Release>:-O0>)
add_library(bp_example_headers OBJECT "${CMAKE_BINARY_DIR}/empty.cpp")
target_link_libraries(bp_example_headers PRIVATE backplane bp_warnings CLI11::CLI11 Threads::Threads)
target_compile_options(bp_example_headers PRIVATE ${bp_not_optimized})
target_precompile_headers(bp_example_headers PRIVATE <iostream> <backplane/backplane.hpp>)
set_target_properties(bp_example_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF) # as for executables

# bp_example(NAME SOURCES FILE... [LIBS TARGET...]) makes bin/NAME, which finds the files beside its sources by BP_EXAMPLE_DIR.
function(bp_example name)
  bp_program(${name} ${ARGN})
  list(GET ARGN 1 source)
  cmake_path(ABSOLUTE_PATH source)
  cmake_path(GET source PARENT_PATH folder)
  target_compile_options(${name} PRIVATE ${bp_not_optimized})
  target_compile_definitions(${name} PRIVATE BP_EXAMPLE_DIR="${folder}")
  target_precompile_headers(${name} REUSE_FROM bp_example_headers)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  bp_join_sources(${name} 10)
endfunction()
