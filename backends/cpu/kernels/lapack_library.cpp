#include "lapack_library.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <string>
#include <string_view>

#include <backplane/plugin.hpp>

namespace bp::cpu::lapack {
namespace {

// OpenBLAS's name for a core with the vectors of this processor; null where they are narrow ones.
const char* wide_core() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512dq")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

// OpenBLAS takes a processor that is younger than itself for one of 2004, whose products are five times as slow: 0.3.21, which
// Debian 12 has, an Emerald Rapids. It reads what to do in the environment while it is opened, which is too late here.
void warn_if_unknown_to(void* library) {
  using Name = char*();
  auto* const name = reinterpret_cast<Name*>(dlsym(library, "openblas_get_corename"));
  if (name == nullptr || wide_core() == nullptr) return;
  constexpr std::array<std::string_view, 6> wide = {"Haswell",  "Zen",        "Excavator",
                                                    "SkylakeX", "Cooperlake", "SapphireRapids"};
  const std::string_view core = name();
  if (std::find(wide.begin(), wide.end(), core) == wide.end())
    log(LogLevel::warning,
        "linear algebra: OpenBLAS takes this processor for '%s', whose vectors are narrower; set "
        "OPENBLAS_CORETYPE=%s before the program starts",
        core.data(), wide_core());
}

// RTLD_LOCAL, so that no other library of the process finds these functions in place of its own.
void* opened_library() {
  static void* const opened = [] {
    void* found = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr)
      log(LogLevel::info, "linear algebra: LAPACK was not found (%s); install libopenblas0-openmp",
          dlerror());
    else
      warn_if_unknown_to(found);
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
