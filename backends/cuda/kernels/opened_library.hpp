// How libraries of the card's maker are opened, which are not linked: the plugin loads without them.
#pragma once

#include <dlfcn.h>
#include <string>

namespace cuda_backend {

// Where the loader looks (also what another library of the process, say PyTorch's, has opened already), then where the
// maker's installer puts it. Null where it is in neither. Never closed.
inline void* open_library(const char* name, int version) {
  const std::string file = std::string(name) + ".so." + std::to_string(version);
  for (const std::string& path : {file, "/usr/local/cuda/lib64/" + file})
    if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  return nullptr;
}

template <class F> bool find_function(void* opened, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(opened, name));
  return function != nullptr;
}

// Of the last of these calls on this thread, which failed.
inline const char* why_not_opened() {
  const char* const why = dlerror();
  return why != nullptr ? why : "a function is missing";
}

}  // namespace cuda_backend
