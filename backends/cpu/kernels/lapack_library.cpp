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

template <class R> bool find_iterations(const char* letter, Iterations<R>& l) {
  return find_function(letter, "syevd", l.syevd) && find_function(letter, "gesdd", l.gesdd) &&
         find_function(letter, "geev", l.geev);
}
template <class R> bool find_iterations(const char* letter, Iterations<std::complex<R>>& l) {
  return find_function(letter, "heevd", l.heevd) && find_function(letter, "gesdd", l.gesdd) &&
         find_function(letter, "geev", l.geev);
}

template <class T> const Functions<T>* find_all(const char* letter) {
  static Functions<T> l;
  const char* const make_q = std::is_same_v<T, Real<T>> ? "orgqr" : "ungqr";
  const bool has_all =
      opened_library() != nullptr && find_function(letter, "potrf", l.potrf) &&
      find_function(letter, "getrf", l.getrf) && find_function(letter, "getrs", l.getrs) &&
      find_function(letter, "getri", l.getri) && find_function(letter, "trsm", l.trsm) &&
      find_function(letter, "geqrf", l.geqrf) && find_function(letter, make_q, l.orgqr) &&
      find_iterations(letter, l);
  return has_all ? &l : nullptr;
}

template <class T> constexpr const char* letter_of = "d";
template <> constexpr const char* letter_of<float> = "s";
template <> constexpr const char* letter_of<std::complex<float>> = "c";
template <> constexpr const char* letter_of<std::complex<double>> = "z";

}  // namespace

template <class T> const Functions<T>* functions() {
  static const Functions<T>* const found = find_all<T>(letter_of<T>);
  return found;
}
template const Functions<float>* functions<float>();
template const Functions<double>* functions<double>();
template const Functions<std::complex<float>>* functions<std::complex<float>>();
template const Functions<std::complex<double>>* functions<std::complex<double>>();

bool is_there() {
  static const bool are_all = functions<float>() != nullptr && functions<double>() != nullptr &&
                              functions<std::complex<float>>() != nullptr &&
                              functions<std::complex<double>>() != nullptr;
  return are_all;
}

}  // namespace bp::cpu::lapack
