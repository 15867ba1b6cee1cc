#include "decompositions/linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/factorization.hpp"
#include "decompositions/matrices.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

// ---- By LU

// [batch, n, n] and [batch, n, k].
Tensor flat_solution(const Tensor& matrix, const Tensor& wanted) {
  const LinalgLuFactorResult factors = linalg_lu_factor(matrix);
  const Tensor order = order_by_pivots(factors.pivots, matrix.size(1));
  const Tensor x = gather(wanted, 1, expand(transpose_last(order), wanted.shape()));
  solve_triangular_in_place(factors.LU, x, false, true);
  solve_triangular_in_place(factors.LU, x, true, false);
  return x;
}

Tensor matrix_solution(const Tensor& A, const Tensor& B, bool left) {
  const Dims batch = batch_of_system("linalg_solve", A, B, left);
  const Tensor wanted = expand_batch(B, batch);
  if (is_shape_alone(wanted)) return zeros(wanted.shape(), B.dtype(), B.device());
  const Tensor matrix = flat_batch(expand_batch(A, batch)), given = flat_batch(wanted);
  if (left) return with_batch(flat_solution(matrix, given), batch);
  const Tensor x = flat_solution(transpose_last(matrix), transpose_last(given));
  return with_batch(contiguous(transpose_last(x)), batch);
}

// The sign that the rows' order gives, and the diagonal.
struct LuDiagonal {
  Tensor sign, elements;
};
LuDiagonal lu_diagonal(const char* op, const Tensor& A) {
  check_square(op, "A", A);
  const LinalgLuFactorResult factors = linalg_lu_factor(A);
  const Tensor places = arange(1, A.size(-1) + 1, 1, i32, A.device());
  const Tensor stayed = cast(eq(factors.pivots, places), to_real(A.dtype()));
  return {prod(sub(mul(stayed, 2), 1), -1), diagonal(factors.LU, 0, -2, -1)};
}

// x^0 / 0! + ... + x^15 / 15!, four at a time.
Tensor sixteen_terms(const Tensor& x, const Tensor& one) {
  const Tensor x2 = matmul(x, x), x3 = matmul(x2, x), x4 = matmul(x2, x2);
  double factorials[16] = {1};
  for (int i = 1; i < 16; ++i) factorials[i] = factorials[i - 1] * i;
  Tensor result;
  for (int i = 12; i >= 0; i -= 4) {
    const Tensor four = add(add(div(one, factorials[i]), div(x, factorials[i + 1])),
                            add(div(x2, factorials[i + 2]), div(x3, factorials[i + 3])));
    result = result.defined() ? add(matmul(result, x4), four) : four;
  }
  return result;
}

// ---- By singular values

// Below which singular values count as 0, the largest of which is [..., 1].
Tensor cut_for(const Tensor& input, const Tensor& largest, std::optional<double> atol,
               std::optional<double> rtol) {
  const double relative = rtol ? *rtol : atol.value_or(0) > 0 ? 0 : usual_cut(input);
  return clamp_min(mul(largest, relative), atol.value_or(0));
}

Tensor spectral_norm(const Tensor& moved, std::string_view ord) {
  const Tensor values = linalg_svdvals(moved);
  if (ord == "nuc") return sum(values, -1);
  return ord == "2" ? max(values, -1) : min(values, -1);
}

// The largest or smallest sum of magnitudes of a column (1) or a row (inf).
Tensor norm_by_sums(const Tensor& moved, std::string_view ord) {
  const bool is_negative = ord.front() == '-', is_of_columns = ord.back() == '1';
  const Tensor sums = sum(abs(moved), is_of_columns ? -2 : -1);
  return is_negative ? min(sums, -1) : max(sums, -1);
}

}  // namespace

Dims shape_of_solution(const Tensor& A, const Tensor& B, bool left) {
  const char* const op = "linalg_solve";
  check_square(op, "A", A);
  check_dtypes_agree(op, A, B);
  if (B.ndim() == 0 || !is_vector_side(A, B)) {
    check_matrices(op, "B", B);
    Dims shape = batch_of_system(op, A, B, left);
    shape.push_back(B.size(-2));
    shape.push_back(B.size(-1));
    return shape;
  }
  BP_CHECK(left, "linalg_solve: B has shape {}, vectors, which stand on the right; leave left",
           to_string(B.shape()));
  Dims shape = batch_of_system(op, A, unsqueeze(B, -1), true);
  shape.push_back(B.size(-1));
  return shape;
}

Tensor solution_by_lu(const Tensor& A, const Tensor& B, bool left) {
  if (!is_vector_side(A, B)) return matrix_solution(A, B, left);
  return squeeze(matrix_solution(A, unsqueeze(B, -1), true), {-1});
}

Tensor inverse_by_lu(const Tensor& A) {
  check_square("linalg_inv", "A", A);
  if (is_shape_alone(A)) return zeros(A.shape(), A.dtype(), A.device());
  const Tensor flat = flat_batch(A);
  const Tensor ones_inside = expand(eye_like(A, flat.size(1), flat.size(1)), flat.shape());
  return with_batch(flat_solution(flat, ones_inside), batch_of_matrices(A));
}

Tensor determinant_by_lu(const Tensor& A) {
  const LuDiagonal of = lu_diagonal("linalg_det", A);
  return mul(prod(of.elements, -1), of.sign);
}

LinalgSlogdetResult log_determinant_by_lu(const Tensor& A) {
  const LuDiagonal of = lu_diagonal("linalg_slogdet", A);
  return {mul(prod(sign(of.elements), -1), of.sign), sum(log(abs(of.elements)), -1)};
}

namespace {

// Up to three rows, by their minors.
Tensor small_adjugate(const Tensor& A, std::int64_t size) {
  if (size == 1) return ones(A.shape(), A.dtype(), A.device());
  if (size == 2) {
    const Tensor signs = sub(mul(eye_like(A, 2, 2), 2), 1);
    return mul(transpose_last(flip(A, {-2, -1})), signs);
  }
  const Tensor first = select(A, -2, 0), second = select(A, -2, 1), third = select(A, -2, 2);
  return stack({cross(second, third), cross(third, first), cross(first, second)}, -1);
}

}  // namespace

// That of U diag(S) Vh is Vh^H diag(products of all other S) U^H, times the signs of the determinants of U and Vh.
Tensor adjugate_by_svd(const Tensor& A) {
  check_square("linalg_adjugate", "A", A);
  if (is_shape_alone(A)) return zeros(A.shape(), A.dtype(), A.device());
  const std::int64_t size = A.size(-1);
  if (size <= 3) return small_adjugate(A, size);
  const LinalgSvdResult of = linalg_svd(A, true);
  const Tensor turned = mul(linalg_slogdet(of.U).sign, linalg_slogdet(of.Vh).sign);
  const Tensor is_own = eq(eye_like(of.S, size, size), 1);
  const Tensor others = prod(where(is_own, 1, unsqueeze(of.S, -2)), -1);
  const Tensor factors = mul(others, unsqueeze(turned, -1));
  return matmul(mul(adjoint(of.Vh), unsqueeze(factors, -2)), adjoint(of.U));
}

Tensor power_by_squaring(const Tensor& input, std::int64_t n) {
  check_square("linalg_matrix_power", "input", input);
  const std::int64_t size = input.size(-1);
  if (n == 0) return copy(expand(eye_like(input, size, size), input.shape()));
  Tensor square_of = n < 0 ? linalg_inv(input) : input, result;
  for (std::uint64_t left = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
       left != 0; left >>= 1) {
    if (left & 1u) result = result.defined() ? matmul(result, square_of) : square_of;
    if (left > 1) square_of = matmul(square_of, square_of);
  }
  return fresh(result, input);
}

// exp(A) = exp(A / 2^s)^(2^s), with s such that no column adds up to more than 1/2: then 15 terms of the series do for
// float64 (Paterson and Stockmeyer 1973). All squarings are made, and those past s are not taken.
Tensor exponential_by_squaring(const Tensor& input) {
  check_square("linalg_matrix_exp", "input", input);
  if (is_shape_alone(input)) return copy(input);  // which is recorded
  constexpr std::int64_t most_squarings = 20;
  const std::int64_t size = input.size(-1);
  const Tensor flat = flat_batch(input);
  const Tensor largest = max(sum(abs(flat), 1, true), 2, true);
  // 1/2, 1, 2 ...
  const Tensor limits =
      exp(mul(arange(-1, most_squarings - 1, 1, largest.dtype(), input.device()), std::log(2.0)));
  const Tensor are_needed = gt(largest, mul(limits, 1.001));  // [batch, 1, squarings]
  const Tensor scaled = mul(flat, prod(where(are_needed, 0.5, ones_like(limits)), 2, true));
  Tensor result = sixteen_terms(scaled, eye_like(input, size, size));
  for (std::int64_t i = 0; i < most_squarings; ++i)
    result = where(narrow(are_needed, 2, i, 1), matmul(result, result), result);
  return reshape(result, input.shape());
}

// With the values below the cut taken as 1, so that what is not taken is finite, and so are its derivatives.
Tensor pseudoinverse_by_svd(const Tensor& input, std::optional<double> atol,
                            std::optional<double> rtol, bool hermitian) {
  check_matrices("linalg_pinv", "input", input);
  if (is_shape_alone(input)) {
    Dims shape(input.shape());
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return zeros(shape, input.dtype(), input.device());
  }
  const auto inverted = [&](const Tensor& values) {
    const Tensor sizes = abs(values);
    const Tensor counts = gt(sizes, cut_for(input, max(sizes, -1, true), atol, rtol));
    return unsqueeze(where(counts, reciprocal(where(counts, values, 1)), 0), -2);
  };
  if (hermitian) {
    const LinalgEighResult of = linalg_eigh(input);
    return matmul(mul(of.eigenvectors, inverted(of.eigenvalues)), adjoint(of.eigenvectors));
  }
  const LinalgSvdResult of = linalg_svd(input, false);
  return matmul(mul(adjoint(of.Vh), inverted(of.S)), adjoint(of.U));
}

Tensor rank_by_svd(const Tensor& input, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian) {
  check_matrices("linalg_matrix_rank", "input", input);
  if (is_shape_alone(input)) return zeros(batch_of_matrices(input), i64, input.device());
  const Tensor values = hermitian ? abs(linalg_eigvalsh(input)) : linalg_svdvals(input);
  const Tensor cut = cut_for(input, max(values, -1, true), atol, rtol);
  return sum(cast(gt(values, cut), i64), -1);
}

Tensor norm_of_matrices(const Tensor& input, std::string_view ord, const DimList& dim,
                        bool keepdim) {
  const char* const op = "linalg_matrix_norm";
  check_matrices(op, "input", input);
  const IntList dims = dim.list() ? *dim.list() : IntList();
  BP_CHECK(!dim.list() || dims.size() == 2, "{}: {} dimensions; pass two, rows and columns", op,
           dims.size());
  const std::int64_t rows = dim.list() ? wrap_dim(op, dims[0], input.ndim()) : input.ndim() - 2;
  const std::int64_t columns = dim.list() ? wrap_dim(op, dims[1], input.ndim()) : input.ndim() - 1;
  BP_CHECK(rows != columns, "{}: dimension {} twice; pass two, rows and columns", op, rows);
  const Tensor moved = movedim(input, {rows, columns}, {-2, -1});
  Tensor result;
  if (ord == "fro")
    result = norm(moved, 2, {-2, -1});
  else if (ord == "nuc" || ord == "2" || ord == "-2")
    result = spectral_norm(moved, ord);
  else if (ord == "1" || ord == "-1" || ord == "inf" || ord == "-inf")
    result = norm_by_sums(moved, ord);
  else
    BP_CHECK(false, "{}: ord is '{}'; choose 'fro', 'nuc', '1', '-1', '2', '-2', 'inf' or '-inf'",
             op, ord);
  if (!keepdim) return result;
  Dims shape(input.shape());
  shape[rows] = shape[columns] = 1;
  return reshape(result, shape);
}

Tensor powers_in_columns(const Tensor& x, std::optional<std::int64_t> count) {
  BP_CHECK(x.ndim() > 0, "linalg_vander: x is 0-dim; pass a vector");
  const std::int64_t columns = count.value_or(x.size(-1));
  BP_CHECK(columns > 1 || (columns > 0 && count), "linalg_vander: N is {}; pass 1 or more",
           columns);
  Dims shape(x.shape());
  shape.push_back(1);
  const Tensor first = ones(shape, x.dtype(), x.device());
  if (columns == 1) return first;
  shape[shape.size() - 1] = columns - 1;
  return cat({first, cumprod(expand(unsqueeze(x, -1), shape), -1)}, -1);
}

namespace {

// cost[i][k]: of the product of matrices i to k; cut[i][k]: before which of them it is cut in two.
struct ProductPlan {
  std::vector<std::vector<double>> cost;
  std::vector<std::vector<std::size_t>> cut;
};
ProductPlan plan_product(const std::vector<Tensor>& matrices) {
  const std::size_t count = matrices.size();
  ProductPlan plan{std::vector(count, std::vector<double>(count)),
                   std::vector(count, std::vector<std::size_t>(count))};
  for (std::size_t length = 2; length <= count; ++length)
    for (std::size_t i = 0; i + length <= count; ++i) {
      const std::size_t k = i + length - 1;
      for (std::size_t at = i + 1; at <= k; ++at) {
        const double own = static_cast<double>(matrices[i].size(0)) *
                           static_cast<double>(matrices[at].size(0)) *
                           static_cast<double>(matrices[k].size(1));
        const double cost = plan.cost[i][at - 1] + plan.cost[at][k] + own;
        if (at > i + 1 && cost >= plan.cost[i][k]) continue;
        plan.cost[i][k] = cost;
        plan.cut[i][k] = at;
      }
    }
  return plan;
}
Tensor planned_product(const std::vector<Tensor>& matrices, const ProductPlan& plan, std::size_t i,
                       std::size_t k) {
  if (i == k) return matrices[i];
  const std::size_t at = plan.cut[i][k];
  return matmul(planned_product(matrices, plan, i, at - 1), planned_product(matrices, plan, at, k));
}

}  // namespace

Tensor product_in_best_order(TensorList tensors) {
  std::vector<Tensor> matrices(tensors.span().begin(), tensors.span().end());
  BP_CHECK(matrices.size() >= 2, "linalg_multi_dot: {} tensors; pass two or more", matrices.size());
  const bool has_row = matrices.front().ndim() == 1, has_column = matrices.back().ndim() == 1;
  if (has_row) matrices.front() = unsqueeze(matrices.front(), 0);
  if (has_column) matrices.back() = unsqueeze(matrices.back(), 1);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    BP_CHECK(matrices[i].ndim() == 2,
             "linalg_multi_dot: tensor {} has shape {}; pass matrices, and at the ends vectors", i,
             to_string(matrices[i].shape()));
    BP_CHECK(i == 0 || matrices[i].size(0) == matrices[i - 1].size(1),
             "linalg_multi_dot: tensors {} and {} have shapes {} and {} ({} against {}); make "
             "them equal",
             i - 1, i, to_string(matrices[i - 1].shape()), to_string(matrices[i].shape()),
             matrices[i - 1].size(1), matrices[i].size(0));
  }
  Tensor result = planned_product(matrices, plan_product(matrices), 0, matrices.size() - 1);
  if (has_row) result = squeeze(result, {0});
  return has_column ? squeeze(result, {-1}) : result;
}

}  // namespace bp
