// LAPACK, opened when the first call comes that it can serve: without it the plugin loads, and the host computes
// factorizations from smaller operators. Debian's alternatives decide whose it is: OpenBLAS's, whose OpenMP is the pool of
// threads that all share, or the reference.
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

namespace bp::cpu::lapack {

template <class T> struct RealPart { using type = T; };
template <class T> struct RealPart<std::complex<T>> { using type = T; };
template <class T> using Real = typename RealPart<T>::type;

using Text = const char*;
using Size = const int*;
using Length = std::size_t;

// Those of which complex numbers have other arguments than real ones.
template <class T> struct Iterations {
  void (*syevd)(Text job, Text uplo, Size n, T* a, Size lda, T* values, T* work, Size lwork,
                int* iwork, Size liwork, int* info, Length, Length);
  void (*gesdd)(Text job, Size m, Size n, T* a, Size lda, T* s, T* u, Size ldu, T* vt, Size ldvt,
                T* work, Size lwork, int* iwork, int* info, Length);
  void (*geev)(Text left, Text right, Size n, T* a, Size lda, T* real, T* imaginary, T* vl,
               Size ldvl, T* vr, Size ldvr, T* work, Size lwork, int* info, Length, Length);
};
template <class R> struct Iterations<std::complex<R>> {
  using T = std::complex<R>;
  void (*heevd)(Text job, Text uplo, Size n, T* a, Size lda, R* values, T* work, Size lwork,
                R* rwork, Size lrwork, int* iwork, Size liwork, int* info, Length, Length);
  void (*gesdd)(Text job, Size m, Size n, T* a, Size lda, R* s, T* u, Size ldu, T* vt, Size ldvt,
                T* work, Size lwork, R* rwork, int* iwork, int* info, Length);
  void (*geev)(Text left, Text right, Size n, T* a, Size lda, T* values, T* vl, Size ldvl, T* vr,
               Size ldvr, T* work, Size lwork, R* rwork, int* info, Length, Length);
};

// The functions for one type, without the letter that stands for it; texts of one letter are followed by their lengths.
// `orgqr` is ungqr of complex numbers.
template <class T> struct Functions : Iterations<T> {
  void (*potrf)(Text uplo, Size n, T* a, Size lda, int* info, Length);
  void (*getrf)(Size m, Size n, T* a, Size lda, int* pivots, int* info);
  void (*getrs)(Text trans, Size n, Size k, const T* a, Size lda, const int* pivots, T* b, Size ldb,
                int* info, Length);
  void (*getri)(Size n, T* a, Size lda, const int* pivots, T* work, Size lwork, int* info);
  void (*trsm)(Text side, Text uplo, Text trans, Text diag, Size m, Size n, const T* alpha,
               const T* a, Size lda, T* b, Size ldb, Length, Length, Length, Length);
  void (*geqrf)(Size m, Size n, T* a, Size lda, T* tau, T* work, Size lwork, int* info);
  void (*orgqr)(Size m, Size n, Size k, T* a, Size lda, const T* tau, T* work, Size lwork,
                int* info);
};

// For float, double and complex numbers of them. Opened at the first call, never closed; null where it is not installed.
// Threads: any.
template <class T> const Functions<T>* functions();

// All of them.
bool is_there();

}  // namespace bp::cpu::lapack
