// Factorizations by cuSOLVER, one matrix after the other: what has many small ones is left to the host, which walks all of a
// batch at once. None is recorded, since the library waits for the card.
#include <algorithm>
#include <string_view>

#include "constants.hpp"
#include "kernels/cusolver/solver.hpp"
#include "kernels/matrices.hpp"

namespace cuda_backend::cusolver {
namespace {

int64_t rows_of(const bp::AnyTensor& a) {
  return a.size(a.ndim() - 2);
}
int64_t columns_of(const bp::AnyTensor& a) {
  return a.size(a.ndim() - 1);
}
int64_t count_of(const bp::AnyTensor& a) {
  return a.numel() / (rows_of(a) * columns_of(a));
}

// Its `orgqr` counts elements, and those of its work areas, in ints, as LAPACK does.
constexpr int64_t largest_size = 16000;

bool is_worth_it(const bp::AnyTensor& a) {
  if (a.numel() == 0) return false;
  const auto [least, most] = std::minmax({rows_of(a), columns_of(a)});
  return least >= constants::least_factored && most <= largest_size &&
         count_of(a) <=
             std::min(constants::most_factored, least / constants::size_for_each_factored) &&
         library() != nullptr;
}

// The batch without the last two dimensions.
Strided batch_strides(const bp::AnyTensor& a) {
  Strided made;
  for (int32_t dim = 0; dim < a.ndim() - 2; ++dim) {
    made.size[made.rank] = a.size(dim);
    made.stride[made.rank++] = a.stride(dim);
  }
  return made;
}

MatrixMove move_of(const bp::AnyTensor& a, void* to) {
  const int32_t rank = a.ndim();
  MatrixMove move{};
  move.from = bp::address_of<void>(a.handle(), a.byte_offset());
  move.from_batch = batch_strides(a);
  move.from_row = a.stride(rank - 2);
  move.from_column = a.stride(rank - 1);
  move.to = to;
  move.count = count_of(a);
  move.rows = rows_of(a);
  move.columns = columns_of(a);
  move.to_matrix = move.rows * move.columns;
  move.itemsize = static_cast<int32_t>(a.itemsize());
  return move;
}
void load_rows(const OnCard& card, const bp::AnyTensor& a, void* to, Half half = Half::all) {
  MatrixMove move = move_of(a, to);
  move.to_row = move.columns;
  move.to_column = 1;
  move.half = half;
  move_matrices(card, move);
}
void load_columns(const OnCard& card, const bp::AnyTensor& a, void* to) {
  MatrixMove move = move_of(a, to);
  move.to_row = 1;
  move.to_column = move.rows;
  move_matrices(card, move);
}
// As a result without gaps, of columns that are `leading` elements apart.
void store_columns(const OnCard& card, const bp::AnyTensor& out, const void* from,
                   int64_t from_matrix, int64_t leading, Half half = Half::all) {
  MatrixMove move = move_of(out, bp::address_of<void>(out.handle(), out.byte_offset()));
  move.from = from;
  move.from_batch = {};
  move.from_batch.rank = 1;
  move.from_batch.size[0] = move.count;
  move.from_batch.stride[0] = from_matrix;
  move.from_row = 1;
  move.from_column = leading;
  move.to_row = move.columns;
  move.to_column = 1;
  move.half = half;
  move_matrices(card, move);
}

template <class T> constexpr cudaDataType type_of = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

// Calls f(T()) with float or double.
template <class F> bp::Status with_type(const bp::AnyTensor& a, F&& f) {
  return a.dtype() == bp::f64 ? f(double()) : f(float());
}

// What a kernel has while it runs: the card, the handle, locked, and memory for the library.
class Run {
 public:
  Run(const bp::Call& call, const char* op)
      : card(call, op), op_(op), solver_(*solver_of(card)), lock_(solver_.use(card)),
        l(solver_.library()), handle(solver_.handle()), params(solver_.params()) {}

  void require(cusolverStatus_t status) const { cusolver::require(card, status, op_); }

  const OnCard card;

 private:
  const OutsideCapture outside_;  // the library allocates
  const char* op_;
  Solver& solver_;
  std::unique_lock<std::mutex> lock_;

 public:
  const Library& l;
  const cusolverDnHandle_t handle;
  const cusolverDnParams_t params;
  size_t device_bytes = 0, host_bytes = 0;
  std::vector<char> host;
};

// ---- Cholesky. The lower half of a row-major matrix is the upper one of the library's, and the same for factors.

template <class T>
bp::Status run_cholesky(const bp::Call& call, bp::In a, bool upper, bp::Out out) {
  Run run(call, "linalg_cholesky");
  const int64_t n = rows_of(a), count = count_of(a);
  const cublasFillMode_t half = upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  run.require(run.l.potrf_size(run.handle, run.params, half, n, type_of<T>, nullptr, n, type_of<T>,
                               &run.device_bytes, &run.host_bytes));
  run.host.resize(run.host_bytes);
  Scratch scratch;
  char* work = nullptr;
  int* failed = nullptr;
  const bp::Status allocated = scratch.allocate(call, [&] {
    work = scratch.take<char>(run.device_bytes);
    failed = scratch.take<int>(static_cast<uint64_t>(count));
  });
  if (!allocated.is_ok()) return allocated;
  T* const factors = out.data<T>();
  const Half given = upper ? Half::upper : Half::lower;
  load_rows(run.card, a, factors, given);
  for (int64_t i = 0; i < count; ++i)
    run.require(run.l.potrf(run.handle, run.params, half, n, type_of<T>, factors + i * n * n, n,
                            type_of<T>, work, run.device_bytes, run.host.data(), run.host_bytes,
                            failed + i));
  MatrixMove again = move_of(a, factors);
  again.to_row = n;
  again.to_column = 1;
  again.half = given;
  again.flags = failed;
  move_matrices(run.card, again);
  factor_up_to_failure(run.card, factors, failed, count, n, upper);
  return run.card.check_launches();
}

bp::Status cholesky(bp::Call call, bp::In a, bool upper, bp::Out out) {
  return with_type(a, [&]<class T>(T) { return run_cholesky<T>(call, a, upper, out); });
}
bool takes_cholesky(bp::Call, bp::In a, bool, bp::Out) {
  return is_worth_it(a);
}

// ---- LU

template <class T> bp::Status run_lu(const bp::Call& call, bp::In a, bp::Out lu, bp::Out pivots) {
  Run run(call, "linalg_lu_factor");
  const int64_t m = rows_of(a), n = columns_of(a), count = count_of(a), least = std::min(m, n);
  run.require(run.l.getrf_size(run.handle, run.params, m, n, type_of<T>, nullptr, m, type_of<T>,
                               &run.device_bytes, &run.host_bytes));
  run.host.resize(run.host_bytes);
  const auto all = static_cast<uint64_t>(count * m * n),
             places = static_cast<uint64_t>(count * least);
  Scratch scratch;
  char* work = nullptr;
  T* columns = nullptr;
  int64_t* wide = nullptr;
  int* failed = nullptr;
  const bp::Status allocated = scratch.allocate(call, [&] {
    work = scratch.take<char>(run.device_bytes);
    columns = scratch.take<T>(all);
    wide = scratch.take<int64_t>(places);
    failed = scratch.take<int>(static_cast<uint64_t>(count));
  });
  if (!allocated.is_ok()) return allocated;
  load_columns(run.card, a, columns);
  for (int64_t i = 0; i < count; ++i)
    run.require(run.l.getrf(run.handle, run.params, m, n, type_of<T>, columns + i * m * n, m,
                            wide + i * least, type_of<T>, work, run.device_bytes, run.host.data(),
                            run.host_bytes, failed + i));
  store_columns(run.card, lu, columns, m * n, m);
  narrow_pivots(run.card, wide, pivots.data<int32_t>(), count * least);
  return run.card.check_launches();
}

bp::Status lu_factor(bp::Call call, bp::In a, bool, bp::Out lu, bp::Out pivots) {
  return with_type(a, [&]<class T>(T) { return run_lu<T>(call, a, lu, pivots); });
}
bool takes_lu_factor(bp::Call, bp::In a, bool pivot, bp::Out, bp::Out) {
  return pivot && is_worth_it(a);
}

// ---- QR

int q_room(const Run& run, int m, int wanted, int k, const float*) {
  int lwork = 0;
  run.require(run.l.sorgqr_size(run.handle, m, wanted, k, nullptr, m, nullptr, &lwork));
  return lwork;
}
int q_room(const Run& run, int m, int wanted, int k, const double*) {
  int lwork = 0;
  run.require(run.l.dorgqr_size(run.handle, m, wanted, k, nullptr, m, nullptr, &lwork));
  return lwork;
}
void make_q(const Run& run, int m, int wanted, int k, float* a, const float* tau, float* work,
            int lwork, int* failed) {
  run.require(run.l.sorgqr(run.handle, m, wanted, k, a, m, tau, work, lwork, failed));
}
void make_q(const Run& run, int m, int wanted, int k, double* a, const double* tau, double* work,
            int lwork, int* failed) {
  run.require(run.l.dorgqr(run.handle, m, wanted, k, a, m, tau, work, lwork, failed));
}

template <class T>
bp::Status run_qr(const bp::Call& call, bp::In a, bool has_q, bp::Out q, bp::Out r) {
  Run run(call, "linalg_qr");
  const int64_t m = rows_of(a), n = columns_of(a), count = count_of(a), least = std::min(m, n);
  const int64_t wanted = rows_of(r), size = m * std::max(n, wanted);
  run.require(run.l.geqrf_size(run.handle, run.params, m, n, type_of<T>, nullptr, m, type_of<T>,
                               nullptr, type_of<T>, &run.device_bytes, &run.host_bytes));
  run.host.resize(run.host_bytes);
  const auto q_rows = static_cast<int>(m), q_columns = static_cast<int>(wanted);
  const auto num_reflections = static_cast<int>(least);
  const int lwork =
      has_q ? q_room(run, q_rows, q_columns, num_reflections, static_cast<const T*>(nullptr)) : 0;
  const auto all = static_cast<uint64_t>(count * size), taus = static_cast<uint64_t>(count * least);
  const size_t bytes = std::max(run.device_bytes, static_cast<size_t>(lwork) * sizeof(T));
  Scratch scratch;
  char* work = nullptr;
  T *columns = nullptr, *tau = nullptr;
  int* failed = nullptr;
  const bp::Status allocated = scratch.allocate(call, [&] {
    work = scratch.take<char>(bytes);
    columns = scratch.take<T>(all);
    tau = scratch.take<T>(taus);
    failed = scratch.take<int>(1);
  });
  if (!allocated.is_ok()) return allocated;
  MatrixMove load = move_of(a, columns);
  load.to_matrix = size;
  load.to_row = 1;
  load.to_column = m;
  move_matrices(run.card, load);
  for (int64_t i = 0; i < count; ++i)
    run.require(run.l.geqrf(run.handle, run.params, m, n, type_of<T>, columns + i * size, m,
                            type_of<T>, tau + i * least, type_of<T>, work, run.device_bytes,
                            run.host.data(), run.host_bytes, failed));
  store_columns(run.card, r, columns, size, m, Half::upper);
  if (!has_q) return run.card.check_launches();
  for (int64_t i = 0; i < count; ++i)
    make_q(run, q_rows, q_columns, num_reflections, columns + i * size, tau + i * least,
           reinterpret_cast<T*>(work), lwork, failed);
  store_columns(run.card, q, columns, size, m);
  return run.card.check_launches();
}

bp::Status qr(bp::Call call, bp::In a, std::string_view mode, bp::Out q, bp::Out r) {
  return with_type(a, [&]<class T>(T) { return run_qr<T>(call, a, mode != "r", q, r); });
}
bool takes_qr(bp::Call, bp::In a, std::string_view, bp::Out, bp::Out) {
  return is_worth_it(a);
}

// ---- Symmetric matrices

template <class T>
bp::Status run_eigh(const bp::Call& call, bp::In a, bool upper, bp::Out values, bp::Out vectors) {
  Run run(call, "linalg_eigh");
  const int64_t n = rows_of(a), count = count_of(a);
  const cublasFillMode_t half = upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  run.require(run.l.syevd_size(run.handle, run.params, CUSOLVER_EIG_MODE_VECTOR, half, n,
                               type_of<T>, nullptr, n, type_of<T>, nullptr, type_of<T>,
                               &run.device_bytes, &run.host_bytes));
  run.host.resize(run.host_bytes);
  const auto all = static_cast<uint64_t>(count * n * n), flags = static_cast<uint64_t>(count);
  Scratch scratch;
  char* work = nullptr;
  T* columns = nullptr;
  int *not_finite = nullptr, *failed = nullptr;
  const bp::Status allocated = scratch.allocate(call, [&] {
    work = scratch.take<char>(run.device_bytes);
    columns = scratch.take<T>(all);
    not_finite = scratch.take<int>(flags);
    failed = scratch.take<int>(flags);
  });
  if (!allocated.is_ok()) return allocated;
  T* const found = values.data<T>();
  load_rows(run.card, a, columns, upper ? Half::upper : Half::lower);
  take_out_not_finite(run.card, columns, count, n * n, not_finite);
  for (int64_t i = 0; i < count; ++i)
    run.require(run.l.syevd(run.handle, run.params, CUSOLVER_EIG_MODE_VECTOR, half, n, type_of<T>,
                            columns + i * n * n, n, type_of<T>, found + i * n, type_of<T>, work,
                            run.device_bytes, run.host.data(), run.host_bytes, failed + i));
  unify_signs<T>(run.card, {columns, n * n, n, 1, n}, {}, count, n);
  store_columns(run.card, vectors, columns, n * n, n);
  spoil_failed(run.card, found, count, n, not_finite, failed);
  spoil_failed(run.card, vectors.data<T>(), count, n * n, not_finite, failed);
  return run.card.check_launches();
}

bp::Status eigh(bp::Call call, bp::In a, std::string_view half, bp::Out values, bp::Out vectors) {
  const bool upper = half == "U" || half == "u";
  return with_type(a, [&]<class T>(T) { return run_eigh<T>(call, a, upper, values, vectors); });
}
bool takes_eigh(bp::Call, bp::In a, std::string_view, bp::Out, bp::Out) {
  return is_worth_it(a);
}

// ---- Singular values. The library takes matrices with at least as many rows as columns: of others the transposed one, which a
// row-major matrix is to it, with U and Vh changing places.

template <class T>
bp::Status run_svd(const bp::Call& call, bp::In a, bp::Out u, bp::Out s, bp::Out vh) {
  Run run(call, "linalg_svd");
  const int64_t m = rows_of(a), n = columns_of(a), count = count_of(a), k = std::min(m, n);
  const bool is_tall = m >= n;
  const int64_t rows = is_tall ? m : n, size = m * n;
  run.require(run.l.gesvd_size(run.handle, run.params, 'S', 'S', rows, k, type_of<T>, nullptr, rows,
                               type_of<T>, nullptr, type_of<T>, nullptr, rows, type_of<T>, nullptr,
                               k, type_of<T>, &run.device_bytes, &run.host_bytes));
  run.host.resize(run.host_bytes);
  const auto all = static_cast<uint64_t>(count * size), flags = static_cast<uint64_t>(count);
  const auto left_size = is_tall ? all : 0,
             right_size = is_tall ? flags * static_cast<uint64_t>(k * k) : 0;
  Scratch scratch;
  char* work = nullptr;
  T *matrix = nullptr, *left_columns = nullptr, *right_columns = nullptr;
  int *not_finite = nullptr, *failed = nullptr;
  const bp::Status allocated = scratch.allocate(call, [&] {
    work = scratch.take<char>(run.device_bytes);
    matrix = scratch.take<T>(all);
    left_columns = scratch.take<T>(left_size);
    right_columns = scratch.take<T>(right_size);
    not_finite = scratch.take<int>(flags);
    failed = scratch.take<int>(flags);
  });
  if (!allocated.is_ok()) return allocated;
  // Of a wide matrix the results lie as they are wanted.
  T* const first = is_tall ? left_columns : vh.data<T>();
  T* const second = is_tall ? right_columns : u.data<T>();
  if (is_tall)
    load_columns(run.card, a, matrix);
  else
    load_rows(run.card, a, matrix);
  take_out_not_finite(run.card, matrix, count, size, not_finite);
  for (int64_t i = 0; i < count; ++i)
    run.require(run.l.gesvd(
        run.handle, run.params, 'S', 'S', rows, k, type_of<T>, matrix + i * size, rows, type_of<T>,
        s.data<T>() + i * k, type_of<T>, first + i * rows * k, rows, type_of<T>, second + i * k * k,
        k, type_of<T>, work, run.device_bytes, run.host.data(), run.host_bytes, failed + i));
  if (is_tall) {
    store_columns(run.card, u, left_columns, m * k, m);
    store_columns(run.card, vh, right_columns, k * n, k);
  }
  unify_signs<T>(run.card, {u.data<T>(), m * k, 1, k, m}, {vh.data<T>(), k * n, n, 1, n}, count, k);
  spoil_failed(run.card, u.data<T>(), count, m * k, not_finite, failed);
  spoil_failed(run.card, s.data<T>(), count, k, not_finite, failed);
  spoil_failed(run.card, vh.data<T>(), count, k * n, not_finite, failed);
  return run.card.check_launches();
}

bp::Status svd(bp::Call call, bp::In a, bool, bp::Out u, bp::Out s, bp::Out vh) {
  return with_type(a, [&]<class T>(T) { return run_svd<T>(call, a, u, s, vh); });
}
// Vectors beyond the smaller size are what the decomposition makes them.
bool takes_svd(bp::Call, bp::In a, bool is_full, bp::Out, bp::Out, bp::Out) {
  return is_worth_it(a) && (!is_full || rows_of(a) == columns_of(a));
}

}  // namespace
}  // namespace cuda_backend::cusolver

BP_KERNELS(cuda_factors) {
  using namespace cuda_backend::cusolver;
  k.add<bp::op::linalg_cholesky>(cholesky)
      .supports(takes_cholesky)
      .dtypes(bp::f32, bp::f64)
      .layouts(bp::op::linalg_cholesky::place::input, bp::strided)
      .deterministic()
      .scratch();
  k.add<bp::op::linalg_lu_factor>(lu_factor)
      .supports(takes_lu_factor)
      .dtypes(bp::f32, bp::f64)
      .layouts(bp::op::linalg_lu_factor::place::A, bp::strided)
      .deterministic()
      .scratch();
  k.add<bp::op::linalg_qr>(qr)
      .supports(takes_qr)
      .dtypes(bp::f32, bp::f64)
      .layouts(bp::op::linalg_qr::place::A, bp::strided)
      .deterministic()
      .scratch();
  k.add<bp::op::linalg_eigh>(eigh)
      .supports(takes_eigh)
      .dtypes(bp::f32, bp::f64)
      .layouts(bp::op::linalg_eigh::place::input, bp::strided)
      .deterministic()
      .scratch();
  k.add<bp::op::linalg_svd>(svd)
      .supports(takes_svd)
      .dtypes(bp::f32, bp::f64)
      .layouts(bp::op::linalg_svd::place::A, bp::strided)
      .deterministic()
      .scratch();
}
