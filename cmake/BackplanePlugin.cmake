# For makers of plugins: this file is installed and comes with find_package(Backplane).

# backplane_add_plugin(TARGET SOURCES FILE...
#   [NAME acme]            the backend's name; default: TARGET without "backplane_"
#   [VENDOR text]          [DESCRIPTION text]      what a person reads in `backplane plugins`
#   [ABI_MIN level]        the oldest host that it can serve; default 1
#   [OFFERS extension...]  for which it is loaded without being asked for a device
#   [LINK library...])     the maker's libraries
#
# Makes libTARGET.so and, beside it, the manifest NAME.json by which it is found. The library exports bp_get_plugin_v1 and
# nothing else, imports nothing of Backplane, and does not share inline variables with other plugins. It lies in
# BACKPLANE_PLUGIN_OUTPUT_DIRECTORY, if that is set, and is installed where Backplane looks, unless
# BACKPLANE_PLUGIN_INSTALL is OFF.
function(backplane_add_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;VENDOR;DESCRIPTION;ABI_MIN" "SOURCES;LINK;OFFERS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "backplane_add_plugin(${target}): needs SOURCES and does not know \"${arg_UNPARSED_ARGUMENTS}\"")
  endif()
  if(TARGET bp_warnings) # in Backplane's own tree
    list(APPEND arg_LINK bp_warnings)
    set_property(GLOBAL APPEND PROPERTY bp_plugins ${target})
    set(CMAKE_INSTALL_RPATH "") # the tree's is for programs
  endif()
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE Backplane::sdk ${arg_LINK})
  set_target_properties(${target} PROPERTIES PREFIX lib C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)

  # Unique symbols are shared between plugins in spite of RTLD_LOCAL, and keep a library mapped after dlclose.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  set(exports "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}" "LINKER:-z,noexecstack" "LINKER:--as-needed")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${exports}")
  # Clang leaves its sanitizers' symbols to the program; everything else must be resolved here and now.
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND "${CMAKE_CXX_FLAGS}${BACKPLANE_SANITIZE}" MATCHES "sanitize|address|thread"))
    target_link_options(${target} PRIVATE "LINKER:-z,defs")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  if(BACKPLANE_PLUGIN_OUTPUT_DIRECTORY)
    set(folder "${BACKPLANE_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${folder}")
  _backplane_write_manifest()

  if(NOT DEFINED BACKPLANE_PLUGIN_INSTALL OR BACKPLANE_PLUGIN_INSTALL)
    if(TARGET programs) # in Backplane's own tree
      add_dependencies(programs ${target})
      set_property(GLOBAL APPEND PROPERTY bp_backends ${arg_NAME})
    endif()
    include(GNUInstallDirs)
    set(place DESTINATION ${CMAKE_INSTALL_LIBDIR}/backplane COMPONENT plugins)
    install(TARGETS ${target} LIBRARY ${place})
    install(FILES "${manifest}" ${place})
  endif()
endfunction()

# backplane_add_linked_plugin(TARGET SOURCES FILE...
#   [NAME acme]            the backend's name, an identifier; default: TARGET without "backplane_"
#   [LINK library...])     the maker's libraries
#
# Makes libTARGET.a of the same sources, for programs that have the plugin linked in. They register it by its entry:
#   extern "C" bp_code bp_get_plugin_v1_acme(const bp_host*, uint32_t*, const bp_plugin**);
#   bp::register_plugin(bp_get_plugin_v1_acme, "acme");
# Any number fit into one program, if each keeps its own names in a namespace of its own.
function(backplane_add_linked_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "SOURCES;LINK")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "backplane_add_linked_plugin(${target}): needs SOURCES and does not know \"${arg_UNPARSED_ARGUMENTS}\"")
  endif()
  if(NOT arg_NAME)
    string(REGEX REPLACE "^backplane_" "" arg_NAME "${target}")
  endif()
  if(NOT arg_NAME MATCHES "^[A-Za-z0-9_]+$")
    message(FATAL_ERROR "backplane_add_linked_plugin(${target}): NAME \"${arg_NAME}\" becomes part of a symbol's name, and may \
have letters, digits and '_' only")
  endif()
  if(TARGET bp_warnings) # in Backplane's own tree
    list(APPEND arg_LINK bp_warnings)
  endif()
  add_library(${target} STATIC ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE Backplane::sdk ${arg_LINK})
  # The second is for entries that are written out, as in C.
  target_compile_definitions(${target} PRIVATE BP_LINKED_AS=${arg_NAME} bp_get_plugin_v1=bp_get_plugin_v1_${arg_NAME})
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
endfunction()

# Writes the manifest from the caller's arg_... and leaves its path in `manifest`.
macro(_backplane_write_manifest)
  if(NOT arg_NAME)
    string(REGEX REPLACE "^backplane_" "" arg_NAME "${target}")
  endif()
  if(NOT arg_ABI_MIN)
    set(arg_ABI_MIN 1)
  endif()
  foreach(text IN ITEMS VENDOR DESCRIPTION)
    string(REPLACE "\\" "\\\\" arg_${text} "${arg_${text}}")
    string(REPLACE "\"" "\\\"" arg_${text} "${arg_${text}}")
  endforeach()
  list(JOIN arg_OFFERS " " offers)
  set(manifest "${folder}/${arg_NAME}.json")
  file(GENERATE OUTPUT "${manifest}" CONTENT "{
  \"name\": \"${arg_NAME}\",
  \"vendor\": \"${arg_VENDOR}\",
  \"description\": \"${arg_DESCRIPTION}\",
  \"offers\": \"${offers}\",
  \"library\": \"$<TARGET_FILE_NAME:${target}>\",
  \"abi_min\": ${arg_ABI_MIN},
  \"abi_max\": ${BACKPLANE_ABI_LEVEL},
  \"architecture\": \"${CMAKE_SYSTEM_PROCESSOR}\"
}
")
endmacro()
