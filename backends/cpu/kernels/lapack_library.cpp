#include "lapack_library.hpp"

#include <dlfcn.h>
#include <string>

#include <backplane/plugin.hpp>

namespace bp::cpu::lapack {
namespace {

// RTLD_LOCAL, so that no other library of the process finds these functions in place of its own.
void* opened_library() {
  static void* const opened = [] {
    void* found = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr)
      log(LogLevel::info, "linear algebra: LAPACK was not found (%s); install libopenblas0-openmp",
          dlerror());
    return found;
  }();
  return opened;
}

template <class F> bool find_function(const char* letter, const char* name, F& function) {
  const std::string symbol = std::string(letter) + name + "_";
  function = reinterpret_cast<F>(dlsym(opened_library(), symbol.c_str()));
  return function != nullptr;
}

template <class T> const Functions<T>* find_all(const char* letter) {
  static Functions<T> l;
  const bool has_all =
      opened_library() != nullptr && find_function(letter, "potrf", l.potrf) &&
      find_function(letter, "getrf", l.getrf) && find_function(letter, "getrs", l.getrs) &&
      find_function(letter, "getri", l.getri) && find_function(letter, "trsm", l.trsm) &&
      find_function(letter, "geqrf", l.geqrf) && find_function(letter, "orgqr", l.orgqr) &&
      find_function(letter, "syevd", l.syevd) && find_function(letter, "gesdd", l.gesdd) &&
      find_function(letter, "geev", l.geev);
  return has_all ? &l : nullptr;
}

}  // namespace

template <> const Functions<float>* functions<float>() {
  static const Functions<float>* const found = find_all<float>("s");
  return found;
}

template <> const Functions<double>* functions<double>() {
  static const Functions<double>* const found = find_all<double>("d");
  return found;
}

}  // namespace bp::cpu::lapack
