# What `cmake --install` puts where, by component:
#   core     libbackplane, its companions and the commands: what a program needs to run
#   plugins  the backends built here
#   dev      headers, names to link with and CMake targets of these libraries, for applications
#   sdk      headers, CMake function and template for plugins; no library
#   doc      the pages, and the sources that they point to
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Backplane)
configure_package_config_file(cmake/BackplaneConfig.cmake.in "${CMAKE_BINARY_DIR}/BackplaneConfig.cmake"
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/BackplaneConfigVersion.cmake" COMPATIBILITY SameMajorVersion)

install(FILES
  "${CMAKE_BINARY_DIR}/BackplaneConfig.cmake" "${CMAKE_BINARY_DIR}/BackplaneConfigVersion.cmake"
  cmake/BackplanePlugin.cmake cmake/plugin.map
  DESTINATION ${package_folder} COMPONENT sdk)
install(EXPORT BackplaneSdk NAMESPACE Backplane:: DESTINATION ${package_folder} COMPONENT sdk)
install(EXPORT BackplaneCore NAMESPACE Backplane:: DESTINATION ${package_folder} COMPONENT dev)

# For a prefix that neither the shell nor the compiler nor the loader knows.
configure_file(cmake/environment.sh.in "${CMAKE_BINARY_DIR}/environment.sh" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/environment.sh" DESTINATION ${CMAKE_INSTALL_DATADIR}/backplane COMPONENT core)

set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/backplane)
# Debian looks for a package's licence under this name.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT core RENAME copyright)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING PATTERN "*.md" PATTERN "*.svg"
  PATTERN "*.json")

# Each page names a source as it lies in the tree; below this folder it lies the same way.
set(sources_to_read "[.](c|cpp|h|hpp|cu|cl|txt|cmake|json|csv|py|md)$")
foreach(folder IN ITEMS backends examples tests/plugins/lists tests/plugins/npu tests/linked)
  cmake_path(GET folder PARENT_PATH parent)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/backplane/${parent} COMPONENT doc
    FILES_MATCHING REGEX "${sources_to_read}")
endforeach()

include(Package)
