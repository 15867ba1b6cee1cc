# How the callers are compiled, and what is run.
foreach(target IN ITEMS client_callers client_of_later client_later)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/sdk/include)
  target_compile_options(${target} PRIVATE -std=c11 -pedantic-errors -Wall -Wextra -Werror)
  target_compile_definitions(${target} PRIVATE BP_LIBRARY="$<TARGET_FILE:backplane>"
    BP_PLUGIN_DIR="${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/backplane" BP_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE $<LINK_ONLY:backplane> ${CMAKE_DL_LIBS} Threads::Threads)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests"
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_dependencies(${target} backplane_cpu backplane_reference)
endforeach()
foreach(target IN ITEMS client_of_later client_later)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/later_include)
endforeach()

function(add_caller name)
  add_test(NAME client.${name} COMMAND ${ARGN})
  set_tests_properties(client.${name} PROPERTIES LABELS "cpu;reference;client" TIMEOUT 300 ENVIRONMENT "${test_environment}")
endfunction()
set(later $<TARGET_FILE:client_later>)
add_caller(callers_of_1.0 client_callers)
add_caller(callers_of_1.0_in_a_later_release client_callers ${later})
add_caller(caller_of_a_later_release client_of_later)
add_caller(caller_of_a_later_release_there client_of_later ${later})

# What is lost is the caller's own: the core keeps what it pools, and says so by pointers.
find_program(BP_VALGRIND valgrind)
find_program(BP_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(BP_PYTHON python3 REQUIRED)
mark_as_advanced(BP_VALGRIND BP_PYTHON)
if(BP_VALGRIND AND NOT BACKPLANE_SANITIZE)
  add_caller(callers_leak_nothing ${BP_VALGRIND} -q --leak-check=full --errors-for-leak-kinds=definite
    --show-leak-kinds=definite --error-exitcode=1 $<TARGET_FILE:client_callers>)
  add_caller(boxed_calls_cost_little ${BP_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cost.py ${CMAKE_BINARY_DIR})
  set_tests_properties(client.boxed_calls_cost_little PROPERTIES SKIP_RETURN_CODE 77)
endif()
