# What `cmake --install` lays down: component sdk for makers of plugins (headers and the CMake package, no library),
# core for applications, plugins for the backends built here.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Backplane)
configure_package_config_file(cmake/BackplaneConfig.cmake.in "${CMAKE_BINARY_DIR}/BackplaneConfig.cmake"
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/BackplaneConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

install(FILES
  "${CMAKE_BINARY_DIR}/BackplaneConfig.cmake" "${CMAKE_BINARY_DIR}/BackplaneConfigVersion.cmake"
  cmake/BackplanePlugin.cmake cmake/plugin.map
  DESTINATION ${package_folder} COMPONENT sdk)
install(EXPORT BackplaneSdk NAMESPACE Backplane:: DESTINATION ${package_folder} COMPONENT sdk)
install(EXPORT BackplaneCore NAMESPACE Backplane:: DESTINATION ${package_folder} COMPONENT core)
