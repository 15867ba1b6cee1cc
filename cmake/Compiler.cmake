# How everything is compiled: language, warnings, sanitizers, ccache, precompiled standard headers.

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED) # the messages of errors; inside only, no public header needs it

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# ccache takes precompiled headers only when told to look past their definitions and times (its manual says so).
find_program(BP_CCACHE ccache)
mark_as_advanced(BP_CCACHE)
if(BP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(sloppiness CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env ${sloppiness} "${BP_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# GCC walks its heap again each time that this has grown by a few tenths, which is a tenth of its time; with a gigabyte to
# begin with it hardly ever does.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)

# No -Wconversion: sizes here are int64_t, kernels compute in small types, and the casts that it asks for hide more than
# they show. GCC 12's -Wrestrict is wrong about std::string (GCC bug 105329), its -Wmaybe-uninitialized about every small
# array with a length beside it; clang-tidy's analyzer and valgrind look for those instead.
add_library(bp_warnings INTERFACE)
target_compile_options(bp_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wundef -Wcast-align -Wvla
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow> # a name at the head of one file may be a local in the next
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wredundant-move>
  $<$<C_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wno-restrict -Wno-maybe-uninitialized>
  $<$<BOOL:${BACKPLANE_WERROR}>:-Werror>)

if(BACKPLANE_SANITIZE)
  string(REPLACE ";" "," sanitizers "${BACKPLANE_SANITIZE}")
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # GCC's own checks on ranges misread code that its sanitizers have changed.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  add_link_options(-fsanitize=${sanitizers})
endif()

# Which line an instruction comes from, for tests/rules/files_to_follow_rule.py: takes no time to compile and changes no
# instruction. Other configurations have their own -g.
set(bp_line_tables $<$<AND:$<BOOL:${BACKPLANE_TESTS}>,$<CONFIG:Release>>:-g1>)

# How the core is compiled. Calls between our own exported functions take no detour through the linker's table. A
# thread's state is one load away instead of a call; tests/rules/symbols_rule.py keeps it small enough for dlopen.
# Loops over shapes are a few steps long: a call of memmove in their place costs ten times as much.
set(bp_core_options ${bp_line_tables} -fno-semantic-interposition -ftls-model=initial-exec
  $<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)

# bp_join_sources(TARGET NUMBER) compiles that many files of the target as one, where BACKPLANE_UNITY is on: most of the
# time goes into headers and templates that all of them share. The presets `dev` and `lint` compile each file by itself
# and so see a forgotten #include. A file that cannot be joined says so in its first comment: `// alone: why`.
function(bp_join_sources target number)
  if(NOT BACKPLANE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${number})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    if(source MATCHES "[.]cpp$" AND EXISTS ${source})
      file(STRINGS ${source} alone REGEX "^// alone: " LIMIT_COUNT 1)
      if(alone)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

# The headers that most sources include, parsed once for all rooms.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/empty.cpp" CONTENT "// A target needs one source even while its folder has none.\n")
add_library(bp_standard_headers OBJECT "${CMAKE_BINARY_DIR}/empty.cpp")
target_link_libraries(bp_standard_headers PRIVATE bp_warnings fmt::fmt Threads::Threads)
target_compile_options(bp_standard_headers PRIVATE ${bp_core_options})
target_precompile_headers(bp_standard_headers PRIVATE
  <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex> <numeric>
  <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h>)
