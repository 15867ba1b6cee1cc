// Eigenvalues of matrices that are not symmetric, by LAPACK, in the order and with the phases of linalg_eig.
#include <complex>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "lapack.hpp"

namespace bp::cpu {
namespace {

using namespace lapack;

// Below it the host's own iteration takes less time.
constexpr int64_t least_size = 9;

template <class T> class Eig {
 public:
  using Complex = std::complex<T>;

  Eig(int n, bool has_vectors) : n_(n), job_(has_vectors ? "V" : "N"), order_(n), vector_(n) {
    const int64_t size = int64_t{n} * n;
    T room = 0;
    int info = 0;
    const int ask = -1;
    l_.geev("N", job_, &n_, nullptr, &n_, nullptr, nullptr, nullptr, &n_, nullptr, &n_, &room, &ask,
            &info, 1, 1);
    lwork_ = std::max(static_cast<int>(room * T(1.0001)) + 1, 4 * n);
    columns = scratch<T>(size);
    real_ = scratch<T>(n);
    imaginary_ = scratch<T>(n);
    work_ = scratch<T>(lwork_);
    if (has_vectors) vectors_ = scratch<T>(size);
  }

  // Of `columns`, which are lost; `vectors`, row-major, may be null.
  void find(Complex* values, Complex* vectors) {
    const int64_t size = int64_t{n_} * n_;
    int info = 0;
    const bool are_finite = all_finite(columns.get(), size);
    if (are_finite)
      l_.geev("N", job_, &n_, columns.get(), &n_, real_.get(), imaginary_.get(), nullptr, &n_,
              vectors_.get(), &n_, work_.get(), &lwork_, &info, 1, 1);
    if (!are_finite || info != 0) {
      const T nan = std::numeric_limits<T>::quiet_NaN();
      std::fill_n(values, n_, Complex(nan, nan));
      if (vectors != nullptr) std::fill_n(vectors, size, Complex(nan, nan));
      return;
    }
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      if (real_[a] != real_[b]) return real_[a] < real_[b];
      return imaginary_[a] < imaginary_[b];
    });
    for (int j = 0; j < n_; ++j) {
      values[j] = Complex(real_[order_[j]], imaginary_[order_[j]]);
      if (vectors == nullptr) continue;
      read_vector(order_[j]);
      normalize();
      for (int64_t i = 0; i < n_; ++i) vectors[i * n_ + j] = vector_[i];
    }
  }

  std::unique_ptr<T[]> columns;

 private:
  // Of a pair the real parts stand before the imaginary ones; the second vector is the first one's conjugate.
  void read_vector(int j) {
    const bool is_second = imaginary_[j] < 0;
    const T* const re = vectors_.get() + int64_t{is_second ? j - 1 : j} * n_;
    const T sign = imaginary_[j] == 0 ? T(0) : is_second ? T(-1) : T(1);
    for (int i = 0; i < n_; ++i) vector_[i] = Complex(re[i], sign == 0 ? T(0) : sign * re[n_ + i]);
  }

  // Length 1; the first component that is as large as the largest, within a thousandth, is real and positive.
  void normalize() {
    T largest = 0, squares = 0;
    for (const Complex& each : vector_) {
      largest = std::max(largest, std::abs(each));
      squares += std::norm(each);
    }
    for (Complex& chosen : vector_) {
      const T size = std::abs(chosen);
      if (!(size >= T(0.999) * largest)) continue;
      const Complex factor = std::conj(chosen) / (size * std::sqrt(squares));
      for (Complex& each : vector_) each *= factor;
      chosen = chosen.real();
      return;
    }
  }

  const Functions<T>& l_ = *functions<T>();
  int n_, lwork_ = 0;
  const char* job_;
  std::unique_ptr<T[]> real_, imaginary_, work_, vectors_;
  std::vector<int> order_;
  std::vector<Complex> vector_;
};

template <class T>
void run_eig(const bp_tensor& a, const bp_tensor& values, const bp_tensor* vectors) {
  using Complex = std::complex<T>;
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
  return rows_of(a.abi()) >= least_size && is_worth_calls(a.abi());
}
bool supports_eigvals(Stream, In a, Out) {
  return rows_of(a.abi()) >= least_size && is_worth_calls(a.abi());
}

}  // namespace

void add_eig_kernels(Kernels& k) {
  k.add<op::linalg_eig>(eig)
      .supports(supports_eig)
      .dtypes(f32, f64)
      .layouts(op::linalg_eig::place::A, strided)
      .deterministic();
  k.add<op::linalg_eigvals>(eigvals)
      .supports(supports_eigvals)
      .dtypes(f32, f64)
      .layouts(op::linalg_eigvals::place::A, strided)
      .deterministic();
}

}  // namespace bp::cpu
