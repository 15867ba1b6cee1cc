// Cholesky and LU factors, systems and inverses by LAPACK.
#include "kernels.hpp"
#include "lapack.hpp"

namespace bp::cpu {
namespace {

using namespace lapack;

constexpr const char* half_of(bool upper) {
  return upper ? "U" : "L";
}

// ---- Cholesky. The lower half of a row-major matrix is the upper one of LAPACK's, and the same for factors: of complex
// numbers too, since A transposed is U^H U where A is L L^H, and U is L transposed.

// From column `good` on there is no factor: those before it, and NaN.
template <class T> void save_good_columns(T* factor, int n, int good, bool upper) {
  const Functions<T>& l = *functions<T>();
  const T one = 1;
  int info = 0;
  const int rest = n - good;
  if (good > 0) l.potrf(half_of(!upper), &good, factor, &n, &info, 1);
  if (info != 0) return fill_nan(factor, int64_t{n} * n);
  if (good > 0 && upper)
    l.trsm("R", "L", "C", "N", &rest, &good, &one, factor, &n, factor + good, &n, 1, 1, 1, 1);
  else if (good > 0)
    l.trsm("L", "U", "C", "N", &good, &rest, &one, factor, &n, factor + int64_t{good} * n, &n, 1, 1,
           1, 1);
  for (int64_t i = good; i < n; ++i)
    for (int64_t j = good; j <= i; ++j) fill_nan(factor + (upper ? j * n + i : i * n + j), 1);
}

template <class T> void run_cholesky(const bp_tensor& a, bool upper, const bp_tensor& out) {
  const Functions<T>& l = *functions<T>();
  const Batch from(a, batch_of(out));
  const int n = static_cast<int>(from.rows);
  const int64_t size = int64_t{n} * n;
  for_matrices(count_of(batch_of(out)), size * n / 3.0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* const given = data_of<T>(a) + from.offset(i);
      T* const factor = data_of<T>(out) + i * size;
      int info = 0;
      load_hermitian(from, given, factor, upper, upper);
      l.potrf(half_of(!upper), &n, factor, &n, &info, 1);
      if (info <= 0) continue;
      load_hermitian(from, given, factor, upper, upper);
      save_good_columns(factor, n, info - 1, upper);
    }
  });
}

Status cholesky(Stream, In a, bool upper, Out out) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) { run_cholesky<T>(a.abi(), upper, out.abi()); });
}

bool supports_cholesky(Stream, In a, bool, Out) {
  return is_worth_calls(a.abi());
}

// ---- LU

template <class T>
void run_lu_factor(const bp_tensor& a, const bp_tensor& lu, const bp_tensor& pivots) {
  const Functions<T>& l = *functions<T>();
  const Batch from(a, batch_of(lu));
  const int m = static_cast<int>(from.rows), n = static_cast<int>(from.columns);
  const int64_t size = int64_t{m} * n, least = std::min(m, n);
  for_matrices(count_of(batch_of(lu)), static_cast<double>(size) * least,
               [&](int64_t begin, int64_t end) {
                 const auto columns = scratch<T>(size);
                 for (int64_t i = begin; i < end; ++i) {
                   int info = 0;
                   load_columns(from, data_of<T>(a) + from.offset(i), columns.get());
                   l.getrf(&m, &n, columns.get(), &m, data_of<int>(pivots) + i * least, &info);
                   store_columns(m, n, columns.get(), data_of<T>(lu) + i * size);
                 }
               });
}

Status lu_factor(Stream, In a, bool, Out lu, Out pivots) {
  return with_type(a.abi(),
                   [&]<class T>(Tag<T>) { run_lu_factor<T>(a.abi(), lu.abi(), pivots.abi()); });
}

bool supports_lu_factor(Stream, In a, bool pivot, Out, Out) {
  return pivot && is_worth_calls(a.abi());
}

// ---- Systems

bool is_vector_side(const bp_tensor& a, const bp_tensor& b) {
  if (b.dl.ndim == 1) return true;
  return b.dl.ndim == a.dl.ndim - 1 && std::equal(b.dl.shape, b.dl.shape + b.dl.ndim, a.dl.shape);
}

// Factors of the transposed matrix serve both sides: what LAPACK sees of a row-major matrix.
template <class T>
void run_solve(const bp_tensor& a, const bp_tensor& b, bool left, const bp_tensor& out) {
  const Functions<T>& l = *functions<T>();
  const bool is_vector = is_vector_side(a, b);
  const std::span<const int64_t> batch = batch_of(out, is_vector ? 1 : 2);
  const Batch matrices(a, batch), sides(b, batch, is_vector);
  const int n = static_cast<int>(matrices.rows);
  const int k = static_cast<int>(left ? sides.columns : sides.rows);
  const int64_t size = int64_t{n} * k;
  const double work = static_cast<double>(n) * n * (n / 1.5 + 2.0 * k);
  for_matrices(count_of(batch), work, [&](int64_t begin, int64_t end) {
    const auto factors = scratch<T>(int64_t{n} * n), columns = scratch<T>(size);
    const auto pivots = scratch<int>(n);
    int64_t factored = -1;
    for (int64_t i = begin; i < end; ++i) {
      int info = 0;
      if (const int64_t at = matrices.offset(i); at != factored) {
        load_rows(matrices, data_of<T>(a) + at, factors.get());
        l.getrf(&n, &n, factors.get(), &n, pivots.get(), &info);
        factored = at;
      }
      T* const x = data_of<T>(out) + i * size;
      const T* const side = data_of<T>(b) + sides.offset(i);
      if (left && k > 1) {
        load_columns(sides, side, columns.get());
        l.getrs("T", &n, &k, factors.get(), &n, pivots.get(), columns.get(), &n, &info, 1);
        store_columns(n, k, columns.get(), x);
      } else {
        load_rows(sides, side, x);
        l.getrs(left ? "T" : "N", &n, &k, factors.get(), &n, pivots.get(), x, &n, &info, 1);
      }
    }
  });
}

Status solve(Stream, In a, In b, bool left, Out x) {
  return with_type(a.abi(),
                   [&]<class T>(Tag<T>) { run_solve<T>(a.abi(), b.abi(), left, x.abi()); });
}

bool supports_solve(Stream, In a, In b, bool, Out) {
  return is_worth_calls(a.abi()) && b.abi().numel > 0 && columns_of(b.abi()) <= largest_size &&
         (b.abi().dl.ndim < 2 || rows_of(b.abi()) <= largest_size);
}

// Read where it lies, if its rows or its columns have no gaps: the other half is not looked at.
template <class T>
void run_triangular(const bp_tensor& a, const bp_tensor& b, bool upper, bool left, bool unit,
                    const bp_tensor& out) {
  const Functions<T>& l = *functions<T>();
  const Batch matrices(a, batch_of(out)), sides(b, batch_of(out));
  const int n = static_cast<int>(matrices.rows);
  const int k = static_cast<int>(left ? sides.columns : sides.rows);
  const int64_t size = int64_t{n} * k;
  const auto can_lead = [&](int64_t step) {
    return step >= n && step <= std::numeric_limits<int>::max();
  };
  const bool has_rows = matrices.column_step == 1 && can_lead(matrices.row_step);
  const bool has_columns = !has_rows && matrices.row_step == 1 && can_lead(matrices.column_step);
  const int lead = has_rows      ? static_cast<int>(matrices.row_step)
                   : has_columns ? static_cast<int>(matrices.column_step)
                                 : n;
  const T one = 1;
  for_matrices(count_of(batch_of(out)), static_cast<double>(size) * n,
               [&](int64_t begin, int64_t end) {
                 const auto rows = scratch<T>(has_rows || has_columns ? 0 : int64_t{n} * n);
                 for (int64_t i = begin; i < end; ++i) {
                   T* const x = data_of<T>(out) + i * size;
                   const T* factor = data_of<T>(a) + matrices.offset(i);
                   load_rows(sides, data_of<T>(b) + sides.offset(i), x);
                   if (!has_rows && !has_columns) {
                     load_half(matrices, factor, rows.get(), upper);
                     factor = rows.get();
                   }
                   l.trsm(left ? "R" : "L", half_of(upper == has_columns), has_columns ? "T" : "N",
                          unit ? "U" : "N", left ? &k : &n, left ? &n : &k, &one, factor, &lead, x,
                          left ? &k : &n, 1, 1, 1, 1);
                 }
               });
}

Status solve_triangular(Stream, In a, In b, bool upper, bool left, bool unit, Out x) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) {
    run_triangular<T>(a.abi(), b.abi(), upper, left, unit, x.abi());
  });
}

bool supports_triangular(Stream, In a, In b, bool, bool, bool, Out) {
  return is_worth_calls(a.abi(), constants::tiny_triangle, constants::many_triangles) &&
         fits(b.abi());
}

template <class T> void run_inverse(const bp_tensor& a, const bp_tensor& out) {
  const Functions<T>& l = *functions<T>();
  const Batch from(a, batch_of(out));
  const int n = static_cast<int>(from.rows), room = n * 64;
  const int64_t size = int64_t{n} * n;
  for_matrices(count_of(batch_of(out)), 2.0 * size * n, [&](int64_t begin, int64_t end) {
    const auto work = scratch<T>(room);
    const auto pivots = scratch<int>(n);
    for (int64_t i = begin; i < end; ++i) {
      T* const made = data_of<T>(out) + i * size;
      int info = 0;
      load_rows(from, data_of<T>(a) + from.offset(i), made);
      l.getrf(&n, &n, made, &n, pivots.get(), &info);
      if (info == 0) l.getri(&n, made, &n, pivots.get(), work.get(), &room, &info);
      if (info != 0) fill_nan(made, size);
    }
  });
}

Status inverse(Stream, In a, Out out) {
  return with_type(a.abi(), [&]<class T>(Tag<T>) { run_inverse<T>(a.abi(), out.abi()); });
}

bool supports_inverse(Stream, In a, Out) {
  return is_worth_calls(a.abi());
}

}  // namespace

void add_system_kernels(Kernels& k) {
  k.add<op::linalg_cholesky>(cholesky)
      .supports(supports_cholesky)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_cholesky::place::input, strided)
      .deterministic();
  k.add<op::linalg_lu_factor>(lu_factor)
      .supports(supports_lu_factor)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_lu_factor::place::A, strided)
      .deterministic();
  k.add<op::linalg_solve>(solve)
      .supports(supports_solve)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_solve::place::A, strided)
      .layouts(op::linalg_solve::place::B, strided)
      .deterministic();
  k.add<op::linalg_solve_triangular>(solve_triangular)
      .supports(supports_triangular)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_solve_triangular::place::A, strided)
      .layouts(op::linalg_solve_triangular::place::B, strided)
      .deterministic();
  k.add<op::linalg_inv>(inverse)
      .supports(supports_inverse)
      .dtypes(matrix_dtypes)
      .layouts(op::linalg_inv::place::A, strided)
      .deterministic();
}

}  // namespace bp::cpu
