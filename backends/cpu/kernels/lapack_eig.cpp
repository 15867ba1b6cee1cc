// Eigenvalues of matrices that need not be symmetric, by LAPACK, in the order and with the phases of linalg_eig.
#include <complex>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "lapack.hpp"

namespace bp::cpu {
namespace {

using namespace lapack;

// Of fewer rows the host's own iteration takes less time.
bool has_enough_rows(const bp_tensor& a) {
  return rows_of(a) >= (complex_dtypes >> a.dtype & 1u ? 3 : 8);
}

template <class T> class Eig {
 public:
  using Complex = std::complex<Real<T>>;

  Eig(int n, bool has_vectors)
      : n_(n), job_(has_vectors ? "V" : "N"), order_(n), values_(n), vector_(n) {
    const int64_t size = int64_t{n} * n;
    T room = 0;
    real_ = scratch<Real<T>>(int64_t{n} * 2);
    lwork_ = -1;
    call(&room);
    lwork_ = std::max(static_cast<int>(std::real(room) * Real<T>(1.0001)) + 1, 4 * n);
    columns = scratch<T>(size, n);
    work_ = scratch<T>(lwork_, n);
    if (has_vectors) vectors_ = scratch<T>(size, n);
  }

  // Of `columns`, which are lost; `vectors`, row-major, may be null.
  void find(Complex* values, Complex* vectors) {
    const int64_t size = int64_t{n_} * n_;
    if (!all_finite(columns.get(), size) || call(work_.get()) != 0) {
      fill_nan(values, n_);
      if (vectors != nullptr) fill_nan(vectors, size);
      return;
    }
    if constexpr (!is_complex<T>)
      for (int j = 0; j < n_; ++j) values_[j] = Complex(real_[j], real_[n_ + j]);
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      if (values_[a].real() != values_[b].real()) return values_[a].real() < values_[b].real();
      return values_[a].imag() < values_[b].imag();
    });
    for (int j = 0; j < n_; ++j) {
      values[j] = values_[order_[j]];
      if (vectors == nullptr) continue;
      read_vector(order_[j]);
      normalize();
      for (int64_t i = 0; i < n_; ++i) vectors[i * n_ + j] = vector_[i];
    }
  }

  std::unique_ptr<T[]> columns;

 private:
  int call(T* work) {
    int info = 0;
    if constexpr (is_complex<T>)
      l_.geev("N", job_, &n_, columns.get(), &n_, values_.data(), nullptr, &n_, vectors_.get(), &n_,
              work, &lwork_, real_.get(), &info, 1, 1);
    else
      l_.geev("N", job_, &n_, columns.get(), &n_, real_.get(), real_.get() + n_, nullptr, &n_,
              vectors_.get(), &n_, work, &lwork_, &info, 1, 1);
    return info;
  }

  // Of a pair of a real matrix the real parts stand before the imaginary ones; the second vector is the first one's conjugate.
  void read_vector(int j) {
    if constexpr (is_complex<T>) {
      std::copy_n(vectors_.get() + int64_t{j} * n_, n_, vector_.begin());
    } else {
      const T imaginary = values_[j].imag();
      const bool is_second = imaginary < 0;
      const T* const re = vectors_.get() + int64_t{is_second ? j - 1 : j} * n_;
      const T sign = imaginary == 0 ? T(0) : is_second ? T(-1) : T(1);
      for (int i = 0; i < n_; ++i)
        vector_[i] = Complex(re[i], sign == 0 ? T(0) : sign * re[n_ + i]);
    }
  }

  // Length 1; the first component that is as large as the largest is real and positive.
  void normalize() {
    const int64_t place = first_of_largest(n_, vector_.data(), 1);
    if (place < 0) return;
    Real<T> squares = 0;
    for (const Complex& each : vector_) squares += std::norm(each);
    Complex& chosen = vector_[place];
    const Complex factor = std::conj(chosen) / (std::abs(chosen) * std::sqrt(squares));
    for (Complex& each : vector_) each *= factor;
    chosen = chosen.real();
  }

  const Functions<T>& l_ = *functions<T>();
  int n_, lwork_;
  const char* job_;
  std::unique_ptr<T[]> work_, vectors_;
  std::unique_ptr<Real<T>[]> real_;  // of real matrices the values' parts, of complex ones room
  std::vector<int> order_;
  std::vector<Complex> values_, vector_;
};

template <class T>
void run_eig(const bp_tensor& a, const bp_tensor& values, const bp_tensor* vectors) {
  using Complex = std::complex<Real<T>>;
  const Batch from(a, batch_of(values, 1));
  const int n = static_cast<int>(from.rows);
  const int64_t size = int64_t{n} * n;
  for_matrices(count_of(batch_of(values, 1)), 25.0 * size * n, [&](int64_t begin, int64_t end) {
    Eig<T> of(n, vectors != nullptr);
    for (int64_t i = begin; i < end; ++i) {
      load_columns(from, data_of<T>(a) + from.offset(i), of.columns.get());
      of.find(data_of<Complex>(values) + i * n,
              vectors != nullptr ? data_of<Complex>(*vectors) + i * size : nullptr);
    }
  });
}

Status eig(Stream, In a, Out values, Out vectors) {
  return with_type(a.abi(),
                   [&]<class T>(Tag<T>) { run_eig<T>(a.abi(), values.abi(), &vectors.abi()); });
}
Status eigvals(Stream, In a, Out values) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) { run_eig<T>(a.abi(), values.abi(), nullptr); });
}

bool supports_eig(Stream, In a, Out, Out) {
  return has_enough_rows(a.abi()) && is_worth_calls(a.abi());
}
bool supports_eigvals(Stream, In a, Out) {
  return has_enough_rows(a.abi()) && is_worth_calls(a.abi());
}

}  // namespace

void add_eig_kernels(Kernels& k) {
  k.add<op::linalg_eig>(eig)
      .supports(supports_eig)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_eig::place::A, strided)
      .deterministic();
  k.add<op::linalg_eigvals>(eigvals)
      .supports(supports_eigvals)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_eigvals::place::A, strided)
      .deterministic();
}

}  // namespace bp::cpu
