# How a test is declared. There is one executable per room, and one ctest entry per test file.

# Sanitizers report an impossible allocation as a failed one, which is what some tests ask for. What Backplane remembers
# in a person's home is kept in the build instead.
# Tests run beside each other: a pool that spins at its barriers would wait for threads that have no core.
set(test_environment
  GOMP_SPINCOUNT=100
  ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0
  LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0
  TSAN_OPTIONS=allocator_may_return_null=1:second_deadlock_stack=1
  UBSAN_OPTIONS=print_stacktrace=1
  XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/home/cache
  XDG_CONFIG_HOME=${CMAKE_BINARY_DIR}/tests/home/config
  XDG_DATA_HOME=${CMAKE_BINARY_DIR}/tests/home/data)

# What tests of level_zero:0 run on: named in ZE_ENABLE_ALT_DRIVERS, made in tests/level_zero_driver.
set(level_zero_driver "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/level_zero_driver/libze_over_opencl.so")

# What every test may know and use, and what each of them includes, parsed once.
add_library(bp_test_support INTERFACE)
target_link_libraries(bp_test_support INTERFACE GTest::gmock_main GTest::gtest bp_warnings fmt::fmt Threads::Threads)
target_include_directories(bp_test_support INTERFACE ${CMAKE_SOURCE_DIR}/tests)
target_compile_options(bp_test_support INTERFACE -O0) # a test is compiled more often than it runs
if(BACKPLANE_SANITIZE MATCHES undefined) # which takes a third of the time to compile a test, and is asked of what is tested
  target_compile_options(bp_test_support INTERFACE -fno-sanitize=undefined)
endif()
target_compile_definitions(bp_test_support INTERFACE
  BP_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  BP_BUILD_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
  BP_BUILD_LIB_DIR="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}"
  BP_PLUGIN_DIR="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/backplane"
  BP_TEST_PLUGIN_DIR="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/test_plugins")
add_library(bp_test_headers OBJECT "${CMAKE_BINARY_DIR}/empty.cpp")
target_link_libraries(bp_test_headers PRIVATE bp_test_support)
target_precompile_headers(bp_test_headers PRIVATE
  <gmock/gmock.h> <gtest/gtest.h> <algorithm> <atomic> <cmath> <filesystem> <fstream> <functional> <memory> <mutex>
  <optional> <span> <sstream> <string> <string_view> <thread> <vector>)
set_target_properties(bp_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF) # as for executables

# The core as a static library, for tests of what its shared form hides.
get_property(rooms GLOBAL PROPERTY bp_rooms)
add_library(backplane_internal STATIC EXCLUDE_FROM_ALL)
foreach(room IN LISTS core_rooms)
  target_link_libraries(backplane_internal PUBLIC bp_${room})
endforeach()

# bp_test(NAME SOURCES FILE... [LIBS TARGET...]) makes tests/test_NAME and an entry NAME.file for each FILE.
# A first comment `// needs: reference slow` in a file sets its labels (default: host); a test that needs a backend
# which is not built is left out, and so is an executable without any other.
function(bp_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  set(target test_${name})
  set(files ${arg_SOURCES})
  list(FILTER files INCLUDE REGEX "_test[.]cpp$")
  foreach(file IN LISTS files)
    bp_find_needs(${file})
    if(missing)
      list(REMOVE_ITEM files ${file})
    endif()
  endforeach()
  if(NOT files)
    return()
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE bp_test_support bp_samples ${arg_LIBS})
  target_precompile_headers(${target} REUSE_FROM bp_test_headers)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  bp_join_sources(${target} 20)
  get_property(plugins GLOBAL PROPERTY bp_plugins)
  if(plugins)
    add_dependencies(${target} ${plugins})
  endif()
  foreach(file IN LISTS files)
    bp_test_entry(${target} ${name} ${file})
  endforeach()
endfunction()

# `needs`: what the file asks for; `missing`: which backends of these are not built.
function(bp_find_needs file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file}) # its suites and needs are read here
  file(STRINGS ${file} needs REGEX "^// needs: " LIMIT_COUNT 1)
  string(REGEX REPLACE "^// needs: " "" needs "${needs}")
  separate_arguments(needs)
  set(missing "")
  foreach(need IN LISTS needs)
    if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/backends/${need} AND NOT TARGET backplane_${need})
      list(APPEND missing ${need})
    endif()
  endforeach()
  set(needs "${needs}" PARENT_SCOPE)
  set(missing "${missing}" PARENT_SCOPE)
endfunction()

function(bp_test_entry target name file)
  cmake_path(GET file STEM stem)
  string(REGEX REPLACE "_test$" "" stem "${stem}")
  set(entry ${name}.${stem})

  # TEST_P and TYPED_TEST decorate a suite's name with a prefix or a number.
  file(STRINGS ${file} suites REGEX "^(TYPED_)?TEST(_F|_P)?\\(")
  list(TRANSFORM suites REPLACE "^[A-Z_]+\\( *([A-Za-z0-9_]+).*" "\\1")
  list(REMOVE_DUPLICATES suites)
  list(TRANSFORM suites REPLACE "(.+)" "\\1.*:\\1/*:*/\\1.*:*/\\1/*")
  list(JOIN suites ":" filter)
  if(NOT suites)
    message(WARNING "${file} has no test")
    return()
  endif()

  # PoCL compiles a kernel once more when it is asked for the binary: nobody asks but tests of that.
  set(environment ${test_environment})
  file(STRINGS ${file} caches REGEX "BACKPLANE_CACHE_" LIMIT_COUNT 1)
  if(name MATCHES "^(codegen|opencl)$" AND NOT caches)
    list(APPEND environment BACKPLANE_CACHE_BYTES=0)
  endif()

  add_test(NAME ${entry} COMMAND ${target} --gtest_brief=1 "--gtest_filter=${filter}")
  bp_find_needs(${file})
  set(seconds 300)
  if(slow IN_LIST needs OR BACKPLANE_SANITIZE)
    set(seconds 900)
  endif()
  set_tests_properties(${entry} PROPERTIES TIMEOUT ${seconds} ENVIRONMENT "${environment}")
  if(NOT needs)
    set(needs host)
  endif()
  set_property(TEST ${entry} PROPERTY LABELS ${needs} ${name})
endfunction()

# Every folder that fits the pattern and has a CMakeLists.txt of its own.
macro(bp_add_folders pattern)
  file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${pattern}/CMakeLists.txt)
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
endmacro()

# Every other folder with sources: its tests see libbackplane as an application does, those of internal/ link the core
# itself and see the room's private headers.
function(bp_test_rooms)
  file(GLOB folders LIST_DIRECTORIES true RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *)
  foreach(room IN LISTS folders)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/CMakeLists.txt OR room MATCHES "^(plugins|fuzz)$")
      continue()
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${room}/*.cpp)
    set(internal ${sources})
    list(FILTER sources EXCLUDE REGEX "/internal/")
    list(FILTER internal INCLUDE REGEX "/internal/")
    if(sources)
      bp_test(${room} SOURCES ${sources} LIBS backplane)
    endif()
    if(internal)
      bp_test(${room}_internal SOURCES ${internal} LIBS backplane_internal)
      target_include_directories(test_${room}_internal PRIVATE ${CMAKE_SOURCE_DIR}/${room})
    endif()
  endforeach()
endfunction()
