// QR, eigenvalues and singular values by LAPACK. The last two are iterations, which might not end with an element that is not
// finite: such a matrix gets NaN without a call.
#include <complex>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "lapack.hpp"

namespace bp::cpu {
namespace lapack {

std::unique_lock<std::mutex> try_to_use_threads() {
  static std::mutex one_call;
  return std::unique_lock(one_call, std::try_to_lock);
}

}  // namespace lapack

namespace {

using namespace lapack;

// ---- QR

// Makes of m columns of `columns` numbers, m rows each, the Q and R of their QR, as many columns of Q as `wanted`.
template <class T> class Reflector {
 public:
  Reflector(int m, int n, int wanted)
      : m_(m), n_(n), wanted_(wanted), least_(std::min(m, n)), room_(64 * std::max({m, n, 1})) {
    columns = scratch<T>(int64_t{m} * std::max(n, wanted), m);
    tau_ = scratch<T>(least_);
    work_ = scratch<T>(room_, std::max(m, n));
  }

  // `columns` become the reflections, and R on and above the diagonal.
  void factor() {
    int info = 0;
    l_.geqrf(&m_, &n_, columns.get(), &m_, tau_.get(), work_.get(), &room_, &info);
  }
  // Then Q.
  void make_q() {
    int info = 0;
    l_.orgqr(&m_, &wanted_, &least_, columns.get(), &m_, tau_.get(), work_.get(), &room_, &info);
  }

  std::unique_ptr<T[]> columns;

 private:
  const Functions<T>& l_ = *functions<T>();
  int m_, n_, wanted_, least_, room_;
  std::unique_ptr<T[]> tau_, work_;
};

template <class T>
void run_qr(const bp_tensor& a, bool has_q, const bp_tensor& q, const bp_tensor& r) {
  const Batch from(a, batch_of(r));
  const int m = static_cast<int>(from.rows), n = static_cast<int>(from.columns);
  const int rows = static_cast<int>(rows_of(r));
  const double work = 2.0 * m * n * std::min(m, n) + 2.0 * m * rows * std::min(m, n);
  for_matrices(count_of(batch_of(r)), work, [&](int64_t begin, int64_t end) {
    Reflector<T> of(m, n, has_q ? rows : 0);
    for (int64_t i = begin; i < end; ++i) {
      load_columns(from, data_of<T>(a) + from.offset(i), of.columns.get());
      of.factor();
      T* const upper = data_of<T>(r) + i * rows * n;
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < n; ++column)
          upper[row * n + column] = column < row ? T(0) : of.columns[column * m + row];
      if (!has_q) continue;
      of.make_q();
      store_columns(m, rows, of.columns.get(), data_of<T>(q) + i * m * rows);
    }
  });
}

Status qr(Stream, In a, std::string_view mode, Out q, Out r) {
  return with_type(a.abi(),
                   [&]<class T>(Tag<T>) { run_qr<T>(a.abi(), mode != "r", q.abi(), r.abi()); });
}

bool supports_qr(Stream, In a, std::string_view, Out, Out) {
  return is_worth_calls(a.abi());
}

// ---- Symmetric and Hermitian matrices

// Of one matrix, of which LAPACK sees the other half: of complex numbers the conjugate one, and so are the vectors.
template <class T> class Eigh {
 public:
  Eigh(int n, bool has_vectors) : n_(n), job_(has_vectors ? "V" : "N") {
    T room = 0;
    Real<T> real_room = 0;
    int int_room = 0;
    lwork_ = lrwork_ = liwork_ = -1;
    call(false, nullptr, nullptr, &room, &real_room, &int_room);
    const double size = static_cast<double>(n) * n;
    const double least = is_complex<T> ? 2.0 * n + size : 1 + 6.0 * n + 2 * size;
    lwork_ = static_cast<int>(std::max(std::real(room) * 1.0001, least));
    lrwork_ = is_complex<T> ? static_cast<int>(real_room * 1.0001) + 1 : 0;
    liwork_ = int_room;
    matrix = scratch<T>(int64_t{n} * n, n);
    work_ = scratch<T>(lwork_, n);
    reals_ = scratch<Real<T>>(lrwork_);
    ints_ = scratch<int>(liwork_);
  }

  // Of `matrix`, of which there is this half, and whose rows become the vectors, if they are wanted. False: LAPACK found none.
  bool find(bool upper, Real<T>* values) {
    return all_finite(matrix.get(), int64_t{n_} * n_) &&
           call(upper, matrix.get(), values, work_.get(), reals_.get(), ints_.get()) == 0;
  }

  std::unique_ptr<T[]> matrix;

 private:
  int call(bool upper, T* a, Real<T>* values, T* work, Real<T>* reals, int* ints) const {
    int failed = 0;
    const char* const half = upper ? "L" : "U";
    if constexpr (is_complex<T>)
      l_.heevd(job_, half, &n_, a, &n_, values, work, &lwork_, reals, &lrwork_, ints, &liwork_,
               &failed, 1, 1);
    else
      l_.syevd(job_, half, &n_, a, &n_, values, work, &lwork_, ints, &liwork_, &failed, 1, 1);
    return failed;
  }

  const Functions<T>& l_ = *functions<T>();
  int n_, lwork_, lrwork_, liwork_;
  const char* job_;
  std::unique_ptr<T[]> work_;
  std::unique_ptr<Real<T>[]> reals_;
  std::unique_ptr<int[]> ints_;
};

// `vectors` may be null.
template <class T>
void run_eigh(const bp_tensor& a, bool upper, const bp_tensor& values, const bp_tensor* vectors) {
  const Batch from(a, batch_of(values, 1));
  const int n = static_cast<int>(from.rows);
  const int64_t size = int64_t{n} * n;
  for_matrices(count_of(batch_of(values, 1)), 9.0 * size * n, [&](int64_t begin, int64_t end) {
    Eigh<T> of(n, vectors != nullptr);
    T* const found = of.matrix.get();
    for (int64_t i = begin; i < end; ++i) {
      Real<T>* const own = data_of<Real<T>>(values) + i * n;
      // OpenBLAS 0.3.21 reads beyond its numbers in the upper half, on processors with AVX-512: what an earlier call left there,
      // often of another dtype, makes NaN of all. So the lower one goes first, and a failure is tried again in the other.
      bool is_found = false;
      for (const bool as_upper : {false, true}) {
        if (is_found) break;
        load_hermitian(from, data_of<T>(a) + from.offset(i), found, upper, as_upper);
        is_found = of.find(as_upper, own);
      }
      if (!is_found) {
        fill_nan(own, n);
        fill_nan(found, size);
      }
      if (vectors == nullptr) continue;
      unify_phases(n, n, found, 1, n);
      for (int64_t k = 0; is_complex<T> && k < size; ++k) found[k] = conjugated(found[k]);
      store_columns(n, n, found, data_of<T>(*vectors) + i * size);
    }
  });
}

bool is_upper(std::string_view half) {
  return half == "U" || half == "u";
}

Status eigh(Stream, In a, std::string_view half, Out values, Out vectors) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) {
    run_eigh<T>(a.abi(), is_upper(half), values.abi(), &vectors.abi());
  });
}
Status eigvalsh(Stream, In a, std::string_view half, Out values) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) {
    run_eigh<T>(a.abi(), is_upper(half), values.abi(), nullptr);
  });
}

bool supports_eigh(Stream, In a, std::string_view, Out, Out) {
  return is_worth_calls(a.abi());
}
bool supports_eigvalsh(Stream, In a, std::string_view, Out) {
  return is_worth_calls(a.abi());
}

// ---- Singular values

// What the decomposition takes for vectors beyond the smaller size: the rest of Q, of the QR of those that there are. As rows
// of `count` numbers, of which the first `known` are there. The rest depends on the phases of complex ones: those are taken
// whose largest components are real.
template <class T> void complete_rows(T* rows, int count, int known) {
  Reflector<T> of(count, known, count);
  std::copy_n(rows, int64_t{known} * count, of.columns.get());
  if (is_complex<T>) unify_phases(count, known, of.columns.get(), 1, count);
  of.factor();
  of.make_q();
  const int64_t done = int64_t{known} * count, all = int64_t{count} * count;
  std::copy(of.columns.get() + done, of.columns.get() + all, rows + done);
  unify_phases(count, count - known, rows + done, 1, count);
}

enum class SingularVectors { none, of_smaller_size, square };

// Of one matrix. LAPACK sees A transposed, whose left vectors are ours on the right.
template <class T> class Svd {
 public:
  Svd(int m, int n, SingularVectors wanted) : m_(m), n_(n), k_(std::min(m, n)) {
    job_ = wanted == SingularVectors::none ? "N" : "S";
    T room = 0;
    lwork_ = -1;
    call(nullptr, &room);
    lwork_ = static_cast<int>(std::real(room) * Real<T>(1.0001)) + 1;
    const int64_t step = std::max(m, n);
    rows = scratch<T>(int64_t{m} * n, step);
    work_ = scratch<T>(lwork_, step);
    if (is_complex<T>) reals_ = scratch<Real<T>>(num_reals(wanted));
    ints_ = scratch<int>(8 * int64_t{k_});
    if (wanted == SingularVectors::none) return;
    const bool is_square = wanted == SingularVectors::square;
    left = scratch<T>(int64_t{m} * (is_square ? m : k_), step);
    right = scratch<T>(int64_t{n} * (is_square ? n : k_), step);
  }

  // Of `rows`, which are lost: `left`, m by k, and `right`, k by n.
  void find(Real<T>* values) {
    if (all_finite(rows.get(), int64_t{m_} * n_) && call(values, work_.get()) == 0) return;
    fill_nan(values, k_);
    if (!left) return;
    fill_nan(left.get(), int64_t{m_} * k_);
    fill_nan(right.get(), int64_t{n_} * k_);
  }

  void unify() {
    unify_phases(m_, k_, left.get(), k_, 1, [&](int64_t j, T factor) {
      scale_column(n_, right.get() + j * n_, 1, conjugated(factor));
    });
  }

  // Makes both square, for which they have room where that is wanted.
  void complete() {
    if (n_ > k_) return complete_rows(right.get(), n_, k_);
    if (m_ == k_) return;
    const auto columns = scratch<T>(int64_t{m_} * m_, m_);
    copy_matrix(int64_t{m_}, int64_t{k_}, left.get(), int64_t{k_}, int64_t{1}, columns.get(),
                int64_t{1}, int64_t{m_});
    complete_rows(columns.get(), m_, k_);
    store_columns(m_, m_, columns.get(), left.get());
  }

  std::unique_ptr<T[]> rows, left, right;

 private:
  int call(Real<T>* values, T* work) {
    int info = 0;
    if constexpr (is_complex<T>)
      l_.gesdd(job_, &n_, &m_, rows.get(), &n_, values, right.get(), &n_, left.get(), &k_, work,
               &lwork_, reals_.get(), ints_.get(), &info, 1);
    else
      l_.gesdd(job_, &n_, &m_, rows.get(), &n_, values, right.get(), &n_, left.get(), &k_, work,
               &lwork_, ints_.get(), &info, 1);
    return info;
  }

  // As LAPACK's manual asks for, and older ones did.
  int64_t num_reals(SingularVectors wanted) const {
    const int64_t least = k_, most = std::max(m_, n_);
    if (wanted == SingularVectors::none) return 7 * least;
    return least * std::max(5 * least + 5, 2 * most + 2 * least + 1);
  }

  const Functions<T>& l_ = *functions<T>();
  const char* job_;
  int m_, n_, k_, lwork_;
  std::unique_ptr<T[]> work_;
  std::unique_ptr<Real<T>[]> reals_;
  std::unique_ptr<int[]> ints_;
};

double work_of_svd(int64_t m, int64_t n) {
  return 14.0 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
}

template <class T>
void run_svd(const bp_tensor& a, bool is_full, const bp_tensor& u, const bp_tensor& s,
             const bp_tensor& vh) {
  const Batch from(a, batch_of(u));
  const int m = static_cast<int>(from.rows), n = static_cast<int>(from.columns);
  const int64_t k = std::min(m, n), left = m * columns_of(u), right = rows_of(vh) * n;
  for_matrices(count_of(batch_of(u)), work_of_svd(m, n), [&](int64_t begin, int64_t end) {
    Svd<T> of(m, n, is_full ? SingularVectors::square : SingularVectors::of_smaller_size);
    for (int64_t i = begin; i < end; ++i) {
      load_rows(from, data_of<T>(a) + from.offset(i), of.rows.get());
      of.find(data_of<Real<T>>(s) + i * k);
      of.unify();
      if (is_full) of.complete();
      std::copy_n(of.left.get(), left, data_of<T>(u) + i * left);
      std::copy_n(of.right.get(), right, data_of<T>(vh) + i * right);
    }
  });
}

template <class T> void run_svdvals(const bp_tensor& a, const bp_tensor& s) {
  const Batch from(a, batch_of(s, 1));
  const int m = static_cast<int>(from.rows), n = static_cast<int>(from.columns);
  for_matrices(count_of(batch_of(s, 1)), work_of_svd(m, n) / 4, [&](int64_t begin, int64_t end) {
    Svd<T> of(m, n, SingularVectors::none);
    for (int64_t i = begin; i < end; ++i) {
      load_rows(from, data_of<T>(a) + from.offset(i), of.rows.get());
      of.find(data_of<Real<T>>(s) + i * std::min(m, n));
    }
  });
}

Status svd(Stream, In a, bool is_full, Out u, Out s, Out vh) {
  return with_type(
      a.abi(), [&]<class T>(Tag<T>) { run_svd<T>(a.abi(), is_full, u.abi(), s.abi(), vh.abi()); });
}
Status svdvals(Stream, In a, Out s) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) { run_svdvals<T>(a.abi(), s.abi()); });
}

bool supports_svd(Stream, In a, bool, Out, Out, Out) {
  return is_worth_calls(a.abi());
}
bool supports_svdvals(Stream, In a, Out) {
  return is_worth_calls(a.abi());
}

}  // namespace

void add_orthogonal_kernels(Kernels& k) {
  k.add<op::linalg_qr>(qr)
      .supports(supports_qr)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_qr::place::A, strided)
      .deterministic();
  k.add<op::linalg_eigh>(eigh)
      .supports(supports_eigh)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_eigh::place::input, strided)
      .deterministic();
  k.add<op::linalg_eigvalsh>(eigvalsh)
      .supports(supports_eigvalsh)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_eigvalsh::place::input, strided)
      .deterministic();
  k.add<op::linalg_svd>(svd)
      .supports(supports_svd)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_svd::place::A, strided)
      .deterministic();
  k.add<op::linalg_svdvals>(svdvals)
      .supports(supports_svdvals)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_svdvals::place::A, strided)
      .deterministic();
}

}  // namespace bp::cpu
