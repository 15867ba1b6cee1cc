# The package for Python: a module of C++, and files of Python beside it.

# bp_find_nanobind(RESULT) finds a Python, its headers, and nanobind, which is on PyPI alone. RESULT is empty, or says what is missing.
macro(bp_find_nanobind result)
  set(${result} "")
  # The stable ABI serves CPython 3.12 and all later ones; before, a module is for one version.
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule QUIET)
  if(NOT Python_Development.Module_FOUND)
    set(${result} "Python 3.11 with its headers is missing (apt install python3-dev)")
  else()
    execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
      OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE bp_failed ERROR_QUIET)
    if(bp_failed)
      set(${result} "${Python_EXECUTABLE} has no nanobind; ./dev test installs it, or give -DPython_EXECUTABLE=")
    else()
      find_package(nanobind CONFIG REQUIRED)
      set_property(GLOBAL PROPERTY bp_python_interpreter "${Python_EXECUTABLE}") # for the tests
    endif()
  endif()
endmacro()

# bp_python_module(NAME SOURCES FILE... LIBS TARGET...) makes backplane/_core in the build's python/.
function(bp_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  nanobind_add_module(${name} STABLE_ABI FREE_THREADED NB_DOMAIN backplane NB_STATIC NOMINSIZE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE backplane bp_warnings fmt::fmt ${arg_LIBS})
  # As a system's headers, whose warnings are not ours; a target's own place would come first.
  target_include_directories(${name} SYSTEM BEFORE PRIVATE "${NB_DIR}/include")
  target_compile_definitions(${name} PRIVATE BP_VERSION="${PROJECT_VERSION}")
  # Types of CPython and of nanobind are filled in part, and cast to one another.
  target_compile_options(${name} PRIVATE -Wno-pedantic -Wno-missing-field-initializers -Wno-cast-function-type)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python/backplane"
    INSTALL_RPATH "$ORIGIN/lib")
endfunction()

# bp_python_files(FOLDER) links the files written in Python to their place beside the module, as they are in the wheel.
function(bp_python_files folder)
  set(package "${CMAKE_BINARY_DIR}/python/${folder}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/${folder}" ${folder}/*.py ${folder}/*.pyi
    ${folder}/py.typed)
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH inner)
    file(MAKE_DIRECTORY "${package}/${inner}")
    file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${file}" "${package}/${file}" SYMBOLIC)
  endforeach()
endfunction()
