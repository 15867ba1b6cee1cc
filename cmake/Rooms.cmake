# Rooms and what is made of them. A room is a folder whose include path is its permission: it compiles with its own
# headers and those of the rooms that it SEES (and that these see), and with nothing else of this tree.

# bp_room(NAME SEES ROOM... [LIBS TARGET...] [JOIN NUMBER] [APART] [COLD])
#   NAME/include/      what others may include
#   NAME/inside/       what other rooms of the same library may include besides, and applications may not
#   NAME/, NAME/*/     its own sources and headers; NAME/generated/ holds the generator's committed output
# Makes the object library bp_NAME. LIBS stay inside the room: public headers must not need them. JOIN: see
# bp_join_sources; default 16. APART: a static library, for programs that have the core from elsewhere. COLD: called a
# few times by a program, so that the compiler need not try hard.
function(bp_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART;COLD" "JOIN" "SEES;LIBS")
  if(NOT arg_JOIN)
    set(arg_JOIN 16)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS *.cpp *.hpp */*.cpp */*.hpp)
  if(NOT sources MATCHES "[.]cpp")
    list(APPEND sources "${CMAKE_BINARY_DIR}/empty.cpp")
  endif()
  list(TRANSFORM arg_SEES PREPEND bp_)
  if(arg_APART)
    add_library(bp_${name} STATIC ${sources})
    foreach(seen IN LISTS arg_SEES)
      target_include_directories(bp_${name} PUBLIC $<TARGET_PROPERTY:${seen},INTERFACE_INCLUDE_DIRECTORIES>)
    endforeach()
  else()
    add_library(bp_${name} OBJECT ${sources})
    target_link_libraries(bp_${name} PUBLIC ${arg_SEES})
  endif()
  target_include_directories(bp_${name} PUBLIC include PRIVATE .)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/inside)
    target_include_directories(bp_${name} PUBLIC inside)
  endif()
  target_link_libraries(bp_${name} PRIVATE ${arg_LIBS} bp_warnings fmt::fmt Threads::Threads)
  target_compile_options(bp_${name} PRIVATE ${bp_core_options} $<$<AND:$<BOOL:${arg_COLD}>,$<CONFIG:Release>>:-O1>)
  target_precompile_headers(bp_${name} REUSE_FROM bp_standard_headers)
  bp_join_sources(bp_${name} ${arg_JOIN})
  if(NOT arg_APART)
    set_property(GLOBAL APPEND PROPERTY bp_rooms ${name})
  endif()
endfunction()

# bp_library(NAME ROOMS ROOM... [LINK TARGET...]) joins rooms into the shared library Backplane::NAME and installs it
# with their headers. LINK: libraries of ours below it.
function(bp_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;LINK")
  add_library(${name} SHARED)
  add_library(Backplane::${name} ALIAS ${name})
  target_link_libraries(${name} PUBLIC bp_sdk ${arg_LINK})
  target_compile_features(${name} INTERFACE cxx_std_20)
  target_link_options(${name} PRIVATE LINKER:-Bsymbolic-functions,--as-needed,-z,defs,-z,nodelete)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  foreach(room IN LISTS arg_ROOMS)
    target_link_libraries(${name} PRIVATE bp_${room})
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/${room}/include>)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/${room}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev OPTIONAL)
  endforeach()
  install(TARGETS ${name} EXPORT BackplaneCore
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core NAMELINK_COMPONENT dev
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  add_dependencies(programs ${name})
endfunction()

# bp_program(NAME SOURCES FILE... [LIBS TARGET...] [INSTALL] [APART]) makes bin/NAME, an application like any other. What is
# APART, `./dev build` leaves to those who measure or test.
function(bp_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSTALL;APART" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE backplane ${arg_LIBS} bp_warnings Threads::Threads)
  if(NOT arg_APART)
    add_dependencies(programs ${name})
  endif()
  if(arg_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT core)
  endif()
endfunction()

# bp_skip(WHAT WHY...) says in one line that an optional part is left out. The caller returns.
function(bp_skip what)
  list(JOIN ARGN " " why)
  set_property(GLOBAL APPEND PROPERTY bp_skipped "${what}: ${why}")
endfunction()

function(bp_print_summary)
  get_property(backends GLOBAL PROPERTY bp_backends)
  list(JOIN backends " " backends)
  message(STATUS "Backplane ${PROJECT_VERSION}, ABI level ${BACKPLANE_ABI_LEVEL}, ${CMAKE_BUILD_TYPE}; backends: ${backends}")
  get_property(skipped GLOBAL PROPERTY bp_skipped)
  foreach(line IN LISTS skipped)
    message(STATUS "Left out: ${line}")
  endforeach()
endfunction()
