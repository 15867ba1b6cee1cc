# What the wheel backplane-cuda has (cuda/pyproject.toml): the plugin with its manifest. BACKPLANE_CUDA_WHEEL, which that
# file sets, makes it look for NVIDIA's libraries where pip puts them: nvidia/ beside the package.
if(NOT BACKPLANE_CUDA_WHEEL)
  return()
endif()
if(NOT TARGET backplane_cuda)
  message(FATAL_ERROR "backplane-cuda: NVIDIA's CUDA toolkit 13 is missing; name it in CUDAToolkit_ROOT")
endif()
set_target_properties(backplane_cuda PROPERTIES INSTALL_RPATH "$ORIGIN/../nvidia/cu13/lib:$ORIGIN/../nvidia/cudnn/lib")
install(TARGETS backplane_cuda LIBRARY DESTINATION . COMPONENT cuda_wheel EXCLUDE_FROM_ALL)
install(FILES "$<TARGET_FILE_DIR:backplane_cuda>/cuda.json" DESTINATION . COMPONENT cuda_wheel EXCLUDE_FROM_ALL)
