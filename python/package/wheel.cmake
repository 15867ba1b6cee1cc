# What a wheel has: `cmake --install BUILD --component python` lays the whole package into the prefix, in which it runs
# on a machine where only Python is installed. Component sdk beside it is for makers of plugins: `backplane new-backend`
# needs it.
add_library(wheel_no_crypto SHARED EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/no_crypto.c)
target_link_options(wheel_no_crypto PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/no_crypto.map")
set_target_properties(wheel_no_crypto PROPERTIES C_VISIBILITY_PRESET default OUTPUT_NAME backplane_no_crypto
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")

set(parts bp_python backplane_codegen backplane-command backplane-probe wheel_no_crypto)
# What `backplane conform` runs, and its reference, which only the suite loads. Both targets are added later.
set(suite "")
set(suite_program "")
if(NOT BACKPLANE_SANITIZE)
  list(APPEND parts backplane-conform backplane_oracle)
  set(suite --suite "$<TARGET_FILE:backplane_oracle>")
  set(suite_program "$<TARGET_FILE:backplane-conform>")
endif()
set(plugins "")
foreach(name IN ITEMS cpu opencl reference) # cuda's is a wheel of its own, beside NVIDIA's
  if(TARGET backplane_${name})
    list(APPEND parts backplane_${name})
    list(APPEND plugins "$<TARGET_FILE:backplane_${name}>")
  endif()
endforeach()
add_custom_target(wheel_parts DEPENDS ${parts}) # builds just these

set(bundle "${Python_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/bundle.py" "\${CMAKE_INSTALL_PREFIX}"
  --strip "${CMAKE_STRIP}" --module "$<TARGET_FILE:bp_python>" --libraries "$<TARGET_FILE:backplane_codegen>" --plugins ${plugins}
  --programs "$<TARGET_FILE:backplane-command>" "$<TARGET_FILE:backplane-probe>" ${suite_program} ${suite}
  --instead "libcrypto.so.3=$<TARGET_FILE:wheel_no_crypto>")
list(JOIN bundle "\" \"" bundle)
install(CODE "execute_process(COMMAND \"${bundle}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/backplane/" DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(CODE "execute_process(COMMAND \"${Python_EXECUTABLE}\" \"${CMAKE_CURRENT_LIST_DIR}/stubs.py\" \"\${CMAKE_INSTALL_PREFIX}\"
  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT python EXCLUDE_FROM_ALL)
