// needs: cpu
// Factors of complex matrices by LAPACK: multiplied again they are the matrix, and have the phases that the rows promise.
#include <cmath>
#include <complex>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <numeric>

#include "complex_matrices.hpp"

namespace {

using namespace bp_test;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bp_value text(const char* letters) {
  bp_value value{};
  value.tag = BP_STRING;
  value.aux = static_cast<uint32_t>(std::strlen(letters));
  value.u.ptr = letters;
  return value;
}

template <class C> class CpuLapackComplex : public testing::Test {
 protected:
  static constexpr uint32_t dtype = sizeof(C) == 8 ? BP_COMPLEX64 : BP_COMPLEX128;
  static constexpr uint32_t real_dtype = sizeof(C) == 8 ? BP_F32 : BP_F64;

  void SetUp() override {
    if (dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL) == nullptr)
      GTEST_SKIP() << "no LAPACK: apt install libopenblas0-openmp";
  }

  // Of sums of `terms` products of numbers up to `largest`.
  static double allowed(int64_t terms, double largest = 1) {
    return static_cast<double>(terms + 8) * largest * (sizeof(C) == 8 ? 1e-6 : 2e-15);
  }
  static double largest_of(const Matrix& a) {
    double largest = 1;
    for (const Number each : a.numbers) largest = std::max(largest, std::abs(each));
    return largest;
  }

  // The singular or real eigenvalues of matrix `index` of a batch of k.
  static std::vector<Number> reals(Data& values, int64_t k, int64_t index) {
    std::vector<Number> found;
    for (int64_t i = 0; i < k; ++i)
      found.emplace_back(values.at<typename C::value_type>(index * k + i));
    return found;
  }

  // What was rounded to C: the tests' own numbers have more digits.
  static Matrix rounded(Matrix a) {
    for (Number& each : a.numbers) each = Number(C(each));
    return a;
  }

  // A batch of two.
  template <class F> static std::vector<Matrix> two(F&& make) {
    return {rounded(make(1)), rounded(make(2))};
  }
};

using Types = testing::Types<std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CpuLapackComplex, Types);

constexpr Layout layouts[] = {Layout::rows, Layout::columns, Layout::gaps};
struct Square {
  int64_t n;
  Layout layout;
};
constexpr Square squares[] = {{1, Layout::rows},     {2, Layout::gaps},  {3, Layout::columns},
                              {10, Layout::columns}, {10, Layout::gaps}, {40, Layout::columns},
                              {40, Layout::gaps},    {150, Layout::rows}};

struct Shape {
  int64_t rows, columns;
};
constexpr Shape shapes[] = {{1, 1}, {2, 2},   {1, 5},   {5, 1},  {7, 3},
                            {3, 7}, {40, 40}, {90, 30}, {30, 90}};

// The first of the components that are as large as the largest is real and positive. Those that nearly are may be either.
void expect_phases(const Matrix& vectors, int64_t count, double allowed) {
  for (int64_t j = 0; j < count; ++j) {
    double largest = 0;
    for (int64_t i = 0; i < vectors.rows; ++i)
      largest = std::max(largest, std::abs(vectors.at(i, j)));
    bool is_found = false;
    for (int64_t i = 0; i < vectors.rows && !is_found; ++i) {
      const Number each = vectors.at(i, j);
      is_found =
          std::abs(each) >= (0.999 - allowed) * largest && each.imag() == 0 && each.real() > 0;
      if (std::abs(each) > (0.999 + allowed) * largest) break;
    }
    EXPECT_TRUE(is_found) << "column " << j;
  }
}

// NaN in what is not read of Hermitian matrices: the other half, and the diagonal's imaginary part.
std::vector<Matrix> with_one_half(std::vector<Matrix> given, bool upper) {
  for (Matrix& each : given)
    for (int64_t i = 0; i < each.rows; ++i) {
      each.at(i, i).imag(nan);
      for (int64_t j = 0; j < i; ++j) (upper ? each.at(i, j) : each.at(j, i)) = Number(nan, nan);
    }
  return given;
}

TYPED_TEST(CpuLapackComplex, products_of_cholesky_factors_are_the_matrix) {
  for (const Square& square : squares) {
    const auto n = square.n;
    for (const bool upper : {false, true}) {
      const auto given = this->two([&](uint64_t seed) { return positive_definite(n, seed); });
      const std::vector<Matrix> shown = with_one_half(given, upper);
      Data a = data_of_matrices<TypeParam>(shown, square.layout), out(this->dtype, {2, n, n});
      run("linalg_cholesky", {value(a), value(upper)}, {&out});
      for (int64_t index : {0, 1}) {
        const Matrix factor = matrix_of<TypeParam>(out, index);
        const Matrix& wanted = given[static_cast<size_t>(index)];
        const Matrix product = upper ? adjoint(factor) * factor : factor * adjoint(factor);
        EXPECT_LT(distance(product, wanted), this->allowed(n, this->largest_of(wanted))) << n;
        EXPECT_EQ(distance(factor, half(factor, upper)), 0);
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_EQ(factor.at(i, i).imag(), 0);
          EXPECT_GT(factor.at(i, i).real(), 0);
        }
      }
    }
  }
}

// The columns before the first pivot that is not positive are those of the factor; from there on all is NaN.
TYPED_TEST(CpuLapackComplex, factors_end_where_a_matrix_is_not_positive) {
  constexpr int64_t n = 130;
  for (const int64_t bad : {0, 1, 70, 129})
    for (const bool upper : {false, true}) {
      Matrix matrix = positive_definite(n, 3);
      Data good(this->dtype, {1, n, n}), out(this->dtype, {1, n, n});
      Data a = data_of_matrices<TypeParam>({matrix}, Layout::rows);
      run("linalg_cholesky", {value(a), value(upper)}, {&good});
      matrix.at(bad, bad) = -1;
      a = data_of_matrices<TypeParam>({matrix}, Layout::rows);
      run("linalg_cholesky", {value(a), value(upper)}, {&out});
      const Matrix found = matrix_of<TypeParam>(out), wanted = matrix_of<TypeParam>(good);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) {
          const Number each = upper ? found.at(j, i) : found.at(i, j);
          if (j >= bad) {
            ASSERT_TRUE(std::isnan(each.real()) && std::isnan(each.imag())) << i << " " << j;
          } else if (i != bad) {
            const Number same = upper ? wanted.at(j, i) : wanted.at(i, j);
            ASSERT_LT(std::abs(each - same), this->allowed(n)) << i << " " << j;
          }
        }
    }
}

TYPED_TEST(CpuLapackComplex, products_of_lu_factors_are_the_matrix_with_swapped_rows) {
  for (const Shape shape : shapes)
    for (const Layout layout : layouts) {
      const int64_t m = shape.rows, n = shape.columns, least = std::min(m, n);
      auto given = this->two([&](uint64_t seed) { return random_matrix(m, n, seed); });
      Data a = data_of_matrices<TypeParam>(given, layout);
      Data out(this->dtype, {2, m, n}), pivots(BP_I32, {2, least});
      run("linalg_lu_factor", {value(a), value(true)}, {&out, &pivots});
      for (int64_t index : {0, 1}) {
        const Matrix factors = matrix_of<TypeParam>(out, index);
        Matrix swapped = given[static_cast<size_t>(index)], lower{m, least}, upper{least, n};
        for (int64_t i = 0; i < least; ++i) {
          const int64_t other = pivots.at<int32_t>(index * least + i) - 1;
          for (int64_t j = 0; j < n; ++j) std::swap(swapped.at(i, j), swapped.at(other, j));
        }
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            (i > j ? lower.at(i, j) : upper.at(i, j)) = factors.at(i, j);
        for (int64_t i = 0; i < least; ++i) lower.at(i, i) = 1;
        EXPECT_LT(distance(lower * upper, swapped), this->allowed(least, 8)) << m << " " << n;
      }
    }
}

TYPED_TEST(CpuLapackComplex, the_pivot_is_that_of_the_largest_sum_of_parts) {
  const Matrix matrix{3, 1, {{0, 0.5}, {0.6, 0.6}, {-0.9, 0}}};  // the last one is longer
  Data a = data_of_matrices<TypeParam>({matrix}, Layout::rows);
  Data out(this->dtype, {1, 3, 1}), pivots(BP_I32, {1, 1});
  run("linalg_lu_factor", {value(a), value(true)}, {&out, &pivots});
  EXPECT_EQ(pivots.at<int32_t>(0), 2);
}

TYPED_TEST(CpuLapackComplex, solutions_give_the_sides_again) {
  for (const Square& square : squares) {
    const auto n = square.n;
    for (const int64_t k : {1, 5})
      for (const bool left : {true, false}) {
        const auto given = this->two([&](uint64_t seed) { return positive_definite(n, seed); });
        const auto sides = this->two(
            [&](uint64_t seed) { return random_matrix(left ? n : k, left ? k : n, seed + 10); });
        Data a = data_of_matrices<TypeParam>(given, square.layout);
        Data b = data_of_matrices<TypeParam>(sides, square.layout), x(this->dtype, b.shape());
        run("linalg_solve", {value(a), value(b), value(left)}, {&x});
        for (int64_t index : {0, 1}) {
          const Matrix found = matrix_of<TypeParam>(x, index);
          const Matrix& matrix = given[static_cast<size_t>(index)];
          EXPECT_LT(
              distance(left ? matrix * found : found * matrix, sides[static_cast<size_t>(index)]),
              this->allowed(n, 4))
              << n << " " << k << " " << left;
        }
      }
  }
}

TYPED_TEST(CpuLapackComplex, triangular_solutions_read_one_half) {
  for (const Square& square : squares) {
    const auto n = square.n;
    for (const int choice : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool upper = (choice & 1) != 0, left = (choice & 2) != 0, unit = (choice & 4) != 0;
      const int64_t k = 3;
      auto given = this->two([&](uint64_t seed) {
        Matrix made = half(random_matrix(n, n, seed), upper);
        for (Number& each : made.numbers) each /= static_cast<double>(n);
        for (int64_t i = 0; i < n; ++i) made.at(i, i) = unit ? Number(1) : Number(1, 1);
        return made;
      });
      const auto sides = this->two(
          [&](uint64_t seed) { return random_matrix(left ? n : k, left ? k : n, seed + 10); });
      std::vector<Matrix> shown = given;
      for (Matrix& each : shown)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j)
            if (i == j ? unit : (upper ? j < i : j > i)) each.at(i, j) = {nan, nan};
      Data a = data_of_matrices<TypeParam>(shown, square.layout);
      Data b = data_of_matrices<TypeParam>(sides, square.layout), x(this->dtype, b.shape());
      run("linalg_solve_triangular", {value(a), value(b), value(upper), value(left), value(unit)},
          {&x});
      for (int64_t index : {0, 1}) {
        const Matrix found = matrix_of<TypeParam>(x, index);
        const Matrix& matrix = given[static_cast<size_t>(index)];
        EXPECT_LT(
            distance(left ? matrix * found : found * matrix, sides[static_cast<size_t>(index)]),
            this->allowed(n, 4))
            << n << " " << choice;
      }
    }
  }
}

TYPED_TEST(CpuLapackComplex, inverses_times_the_matrix_are_the_identity) {
  for (const Square& square : squares) {
    const auto n = square.n;
    const auto given = this->two([&](uint64_t seed) { return positive_definite(n, seed); });
    Data a = data_of_matrices<TypeParam>(given, square.layout), out(this->dtype, {2, n, n});
    run("linalg_inv", {value(a)}, {&out});
    for (int64_t index : {0, 1})
      EXPECT_LT(distance(matrix_of<TypeParam>(out, index) * given[static_cast<size_t>(index)],
                         identity(n)),
                this->allowed(n, 4));
  }
}

TYPED_TEST(CpuLapackComplex, singular_matrices_give_numbers_that_are_not_finite) {
  Matrix singular = random_matrix(4, 4, 1);
  for (int64_t j = 0; j < 4; ++j) singular.at(2, j) = 0;
  Data a = data_of_matrices<TypeParam>({singular}, Layout::rows), out(this->dtype, {1, 4, 4});
  Data b = data_of_matrices<TypeParam>({random_matrix(4, 1, 2)}, Layout::rows);
  Data x(this->dtype, {1, 4, 1});
  run("linalg_inv", {value(a)}, {&out});
  for (const Number each : matrix_of<TypeParam>(out).numbers)
    EXPECT_FALSE(std::isfinite(each.real()));
  run("linalg_solve", {value(a), value(b), value(true)}, {&x});
  for (const Number each : matrix_of<TypeParam>(x).numbers)
    EXPECT_FALSE(std::isfinite(each.real()) && std::isfinite(each.imag()));
}

TYPED_TEST(CpuLapackComplex, q_is_unitary_and_the_diagonal_of_r_real) {
  for (const Shape shape : shapes)
    for (const Layout layout : layouts)
      for (const char* mode : {"reduced", "complete", "r"}) {
        const int64_t m = shape.rows, n = shape.columns;
        const int64_t rows = mode[0] == 'c' ? m : std::min(m, n);
        const auto given = this->two([&](uint64_t seed) { return random_matrix(m, n, seed); });
        Data a = data_of_matrices<TypeParam>(given, layout), r(this->dtype, {2, rows, n});
        Data q = mode[0] == 'r' && mode[1] == 0 ? Data(this->dtype, {0})
                                                : Data(this->dtype, {2, m, rows});
        run("linalg_qr", {value(a), text(mode)}, {&q, &r});
        for (int64_t index : {0, 1}) {
          const Matrix right = matrix_of<TypeParam>(r, index);
          const Matrix& wanted = given[static_cast<size_t>(index)];
          EXPECT_EQ(distance(right, half(right, true)), 0);
          for (int64_t i = 0; i < std::min(rows, n); ++i) EXPECT_EQ(right.at(i, i).imag(), 0);
          if (q.numel() == 0) {
            EXPECT_LT(distance(adjoint(right) * right, adjoint(wanted) * wanted),
                      this->allowed(m, 8.0 * static_cast<double>(m)));
            continue;
          }
          const Matrix left = matrix_of<TypeParam>(q, index);
          EXPECT_LT(distance(left * right, wanted), this->allowed(m, 4)) << m << " " << n;
          EXPECT_LT(distance(adjoint(left) * left, identity(rows)), this->allowed(m));
        }
      }
}

TYPED_TEST(CpuLapackComplex, eigenvectors_of_hermitian_matrices_are_unitary) {
  for (const Square& square : squares) {
    const auto n = square.n;
    for (const bool upper : {false, true}) {
      const auto given = this->two([&](uint64_t seed) { return hermitian(n, seed); });
      const std::vector<Matrix> shown = with_one_half(given, upper);
      Data a = data_of_matrices<TypeParam>(shown, square.layout), vectors(this->dtype, {2, n, n});
      Data values(this->real_dtype, {2, n}), alone(this->real_dtype, {2, n});
      run("linalg_eigh", {value(a), text(upper ? "U" : "L")}, {&values, &vectors});
      run("linalg_eigvalsh", {value(a), text(upper ? "U" : "L")}, {&alone});
      for (int64_t index : {0, 1}) {
        const Matrix found = matrix_of<TypeParam>(vectors, index);
        const std::vector<Number> own = this->reals(values, n, index);
        const double slack = this->allowed(n, static_cast<double>(n));
        EXPECT_LT(distance(given[static_cast<size_t>(index)] * found, found * diagonal(own, n, n)),
                  slack)
            << n;
        EXPECT_LT(distance(adjoint(found) * found, identity(n)), this->allowed(n)) << n;
        EXPECT_LT(distance(diagonal(own, n, n), diagonal(this->reals(alone, n, index), n, n)),
                  slack);
        for (size_t i = 1; i < own.size(); ++i) EXPECT_LE(own[i - 1].real(), own[i].real());
        expect_phases(found, n, this->allowed(n));
      }
    }
  }
}

TYPED_TEST(CpuLapackComplex, products_of_singular_vectors_are_the_matrix) {
  for (const Shape shape : shapes)
    for (const Layout layout : layouts)
      for (const bool is_full : {false, true}) {
        const int64_t m = shape.rows, n = shape.columns, k = std::min(m, n);
        const int64_t left = is_full ? m : k, right = is_full ? n : k;
        const auto given = this->two([&](uint64_t seed) { return random_matrix(m, n, seed); });
        Data a = data_of_matrices<TypeParam>(given, layout), u(this->dtype, {2, m, left});
        Data s(this->real_dtype, {2, k}), alone(this->real_dtype, {2, k}),
            vh(this->dtype, {2, right, n});
        run("linalg_svd", {value(a), value(is_full)}, {&u, &s, &vh});
        run("linalg_svdvals", {value(a)}, {&alone});
        for (int64_t index : {0, 1}) {
          const Matrix rows = matrix_of<TypeParam>(vh, index),
                       columns = matrix_of<TypeParam>(u, index);
          const std::vector<Number> own = this->reals(s, k, index);
          const double slack = this->allowed(m + n, 4);
          EXPECT_LT(distance(columns * diagonal(own, left, right) * rows,
                             given[static_cast<size_t>(index)]),
                    slack)
              << m << " " << n << " " << is_full;
          EXPECT_LT(distance(adjoint(columns) * columns, identity(left)), this->allowed(m));
          EXPECT_LT(distance(rows * adjoint(rows), identity(right)), this->allowed(n));
          EXPECT_LT(distance(diagonal(own, k, k), diagonal(this->reals(alone, k, index), k, k)),
                    slack);
          for (size_t i = 1; i < own.size(); ++i) EXPECT_GE(own[i - 1].real(), own[i].real());
          EXPECT_GE(own.back().real(), 0);
          expect_phases(columns, left, this->allowed(m));
        }
      }
}

TYPED_TEST(CpuLapackComplex, eigenvectors_have_length_one_and_are_in_order) {
  for (const Square& square : squares) {
    const auto n = square.n;
    const auto given = this->two([&](uint64_t seed) { return random_matrix(n, n, seed); });
    Data a = data_of_matrices<TypeParam>(given, square.layout), vectors(this->dtype, {2, n, n});
    Data values(this->dtype, {2, n}), alone(this->dtype, {2, n});
    run("linalg_eig", {value(a)}, {&values, &vectors});
    run("linalg_eigvals", {value(a)}, {&alone});
    for (int64_t index : {0, 1}) {
      const Matrix found = matrix_of<TypeParam>(vectors, index);
      std::vector<Number> own, others;
      for (int64_t i = 0; i < n; ++i) {
        own.emplace_back(values.at<TypeParam>(index * n + i));
        others.emplace_back(alone.at<TypeParam>(index * n + i));
      }
      const double slack = this->allowed(n, 8 * std::sqrt(static_cast<double>(n)));
      EXPECT_LT(distance(given[static_cast<size_t>(index)] * found, found * diagonal(own, n, n)),
                slack)
          << n;
      EXPECT_LT(std::abs(std::accumulate(own.begin(), own.end(), Number()) -
                         std::accumulate(others.begin(), others.end(), Number())),
                slack * static_cast<double>(n));
      const Matrix lengths = adjoint(found) * found;
      for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(lengths.at(i, i).real(), 1, this->allowed(n));
      for (size_t i = 1; i < own.size(); ++i) EXPECT_LE(own[i - 1].real(), own[i].real());
      expect_phases(found, n, this->allowed(n));
    }
  }
}

TYPED_TEST(CpuLapackComplex, of_rank_one_there_are_still_all_singular_vectors) {
  const int64_t m = 12, n = 7;
  const Matrix product = this->rounded(random_matrix(m, 1, 1) * random_matrix(1, n, 2));
  for (const Matrix& given : {product, Matrix{m, n}}) {
    Data a = data_of_matrices<TypeParam>({given}, Layout::rows), u(this->dtype, {1, m, m});
    Data s(this->real_dtype, {1, n}), vh(this->dtype, {1, n, n});
    run("linalg_svd", {value(a), value(true)}, {&u, &s, &vh});
    const Matrix left = matrix_of<TypeParam>(u), right = matrix_of<TypeParam>(vh);
    EXPECT_LT(distance(left * diagonal(this->reals(s, n, 0), m, n) * right, given),
              this->allowed(m, 8));
    EXPECT_LT(distance(adjoint(left) * left, identity(m)), this->allowed(m));
    EXPECT_LT(distance(adjoint(right) * right, identity(n)), this->allowed(n));
    expect_phases(left, m, this->allowed(m));
  }
}

// Of e^it A they are those of A, though the rows before them have another phase.
TYPED_TEST(CpuLapackComplex, vectors_beyond_the_smaller_size_do_not_depend_on_phases) {
  const int64_t m = 3, n = 8;
  const Matrix matrix = random_matrix(m, n, 1);
  Matrix turned = matrix;
  for (Number& each : turned.numbers) each *= Number(0.6, 0.8);
  Data u(this->dtype, {1, m, m}), s(this->real_dtype, {1, m});
  Data vh(this->dtype, {1, n, n}), other(this->dtype, {1, n, n});
  Data a = data_of_matrices<TypeParam>({matrix}, Layout::rows);
  Data b = data_of_matrices<TypeParam>({turned}, Layout::rows);
  run("linalg_svd", {value(a), value(true)}, {&u, &s, &vh});
  run("linalg_svd", {value(b), value(true)}, {&u, &s, &other});
  const Matrix first = matrix_of<TypeParam>(vh), second = matrix_of<TypeParam>(other);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      EXPECT_LT(std::abs(first.at(i, j) * (i < m ? Number(0.6, 0.8) : 1) - second.at(i, j)),
                this->allowed(n, 8))
          << i << " " << j;
}

TYPED_TEST(CpuLapackComplex, numbers_that_are_not_finite_end_and_print_nothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Number bad : {Number(nan, 0), Number(0, nan), Number(1, infinity)})
    for (const int64_t n : {1, 2, 30, 130}) {
      Matrix matrix = random_matrix(n, n, 3);
      matrix.at(n - 1, 0) = bad;
      if (n == 1) matrix.at(0, 0) = {nan, nan};
      Data a = data_of_matrices<TypeParam>({matrix}, Layout::rows), out(this->dtype, {1, n, n});
      Data reals(this->real_dtype, {1, n}), values(this->dtype, {1, n}), pivots(BP_I32, {1, n});
      Data left(this->dtype, {1, n, n}), right(this->dtype, {1, n, n}), x(this->dtype, {1, n, n});
      const auto expect_nan = [&](Data& data) {
        EXPECT_TRUE(std::isnan(std::abs(data.at<TypeParam>(0)))) << n;
        EXPECT_TRUE(std::isnan(std::abs(data.at<TypeParam>(data.numel() - 1)))) << n;
      };
      run("linalg_cholesky", {value(a), value(false)}, {&out});
      run("linalg_inv", {value(a)}, {&out});
      run("linalg_lu_factor", {value(a), value(true)}, {&out, &pivots});
      run("linalg_solve", {value(a), value(a), value(true)}, {&x});
      run("linalg_qr", {value(a), text("complete")}, {&left, &right});
      run("linalg_eigh", {value(a), text("L")}, {&reals, &out});
      EXPECT_TRUE(std::isnan(reals.at<typename TypeParam::value_type>(0)));
      expect_nan(out);
      run("linalg_svd", {value(a), value(true)}, {&left, &reals, &right});
      EXPECT_TRUE(std::isnan(reals.at<typename TypeParam::value_type>(0)));
      expect_nan(left);
      expect_nan(right);
      run("linalg_eig", {value(a)}, {&values, &out});
      expect_nan(values);
      expect_nan(out);
    }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
