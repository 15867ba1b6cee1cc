# Where PyTorch lies, without importing it, which takes seconds.

# bp_find_torch(RESULT) sets bp_torch_folder and bp_torch_version ("2.15"). RESULT is empty, or says what is missing.
function(bp_find_torch result)
  set(${result} "" PARENT_SCOPE)
  if(CMAKE_CROSSCOMPILING OR BACKPLANE_SANITIZE OR NOT BACKPLANE_TORCH_PYTHON)
    set(${result} "needs a Python with PyTorch, give -DBACKPLANE_TORCH_PYTHON=" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${BACKPLANE_TORCH_PYTHON}" -c
"import importlib.util as u, pathlib, re
spec = u.find_spec('torch')
folder = pathlib.Path(spec.submodule_search_locations[0])
print(folder, '.'.join(re.search(r\"__version__ = '([^']+)'\", (folder / 'version.py').read_text())[1].split('.')[:2]), sep=';')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    set(${result} "${BACKPLANE_TORCH_PYTHON} has no PyTorch, give -DBACKPLANE_TORCH_PYTHON= one that has" PARENT_SCOPE)
    return()
  endif()
  list(GET found 0 folder)
  list(GET found 1 version)
  set(bp_torch_folder "${folder}" PARENT_SCOPE)
  set(bp_torch_version "${version}" PARENT_SCOPE)
endfunction()
