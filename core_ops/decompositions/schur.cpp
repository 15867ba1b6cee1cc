// Schur's form of a matrix by Francis's steps: two shifts at once, so that all numbers stay real.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "decompositions/eigen.hpp"

namespace bp {
namespace {

constexpr double step_of_doubles = 0x1p-52;

// Reflects rows, then columns, so that eigenvalues stay, and columns of the basis.
class Similarity {
 public:
  Similarity(double* matrix, double* basis, std::int64_t n)
      : matrix_(matrix), basis_(basis), n_(n) {}

  double& at(std::int64_t row, std::int64_t column) { return matrix_[row * n_ + column]; }
  std::int64_t size() const { return n_; }

  // By the reflection that makes zeros of all but the first of `vector`, of `count` numbers. It is overwritten.
  void reflect(double* vector, std::int64_t start, std::int64_t count) {
    double largest = 0, squares = 0;
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(vector[i]));
    if (largest == 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      vector[i] /= largest;
      squares += vector[i] * vector[i];
    }
    const double length = std::copysign(std::sqrt(squares), vector[0]);
    const double factor = 1 / (squares + std::fabs(vector[0] * length));
    vector[0] += length;
    for (std::int64_t column = 0; column < n_; ++column)
      apply(matrix_ + start * n_ + column, n_, vector, count, factor);
    for (double* rows : {matrix_, basis_})
      for (std::int64_t row = 0; row < n_; ++row)
        apply(rows + row * n_ + start, 1, vector, count, factor);
  }

  // By the rotation whose first column is (c, s), in the places i and i + 1.
  void rotate(std::int64_t i, double c, double s) {
    const auto turn = [&](double& first, double& second) {
      const double kept = first;
      first = c * kept + s * second;
      second = c * second - s * kept;
    };
    for (std::int64_t k = 0; k < n_; ++k) turn(at(i, k), at(i + 1, k));
    for (double* rows : {matrix_, basis_})
      for (std::int64_t k = 0; k < n_; ++k) turn(rows[k * n_ + i], rows[k * n_ + i + 1]);
  }

 private:
  static void apply(double* to, std::int64_t step, const double* vector, std::int64_t count,
                    double factor) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += vector[i] * to[i * step];
    for (std::int64_t i = 0; i < count; ++i) to[i * step] -= factor * sum * vector[i];
  }

  double* matrix_;
  double* basis_;
  std::int64_t n_;
};

// Zeros below the first subdiagonal.
void make_hessenberg(Similarity& all, double* vector) {
  const std::int64_t n = all.size();
  for (std::int64_t k = 0; k + 2 < n; ++k) {
    for (std::int64_t i = k + 1; i < n; ++i) vector[i - k - 1] = all.at(i, k);
    all.reflect(vector, k + 1, n - k - 1);
    for (std::int64_t i = k + 2; i < n; ++i) all.at(i, k) = 0;
  }
}

// Where the block that ends at `last` begins: behind the last element of the subdiagonal that is as good as zero.
std::int64_t start_of_block(Similarity& all, std::int64_t last) {
  for (std::int64_t k = last; k > 0; --k) {
    double around = std::fabs(all.at(k - 1, k - 1)) + std::fabs(all.at(k, k));
    if (around == 0) around = 1;  // the largest element is about 1
    if (std::fabs(all.at(k, k - 1)) > step_of_doubles * around) continue;
    all.at(k, k - 1) = 0;
    return k;
  }
  return 0;
}

// Two rows with real eigenvalues become triangular.
void split_pair(Similarity& all, std::int64_t i) {
  const double half = (all.at(i, i) - all.at(i + 1, i + 1)) / 2, below = all.at(i + 1, i);
  const double square = half * half + all.at(i, i + 1) * below;
  if (square < 0) return;
  const double step = half + std::copysign(std::sqrt(square), half);
  const double length = std::hypot(step, below);
  if (length == 0) return;
  all.rotate(i, step / length, below / length);
  all.at(i + 1, i) = 0;
}

// One step with the shifts whose sum and product are given, in the rows from `first` to `last`.
void step_of_francis(Similarity& all, std::int64_t first, std::int64_t last, double sum,
                     double product) {
  const double a = all.at(first, first), b = all.at(first, first + 1);
  const double c = all.at(first + 1, first), d = all.at(first + 1, first + 1);
  double vector[3] = {a * a + b * c - sum * a + product, c * (a + d - sum),
                      c * all.at(first + 2, first + 1)};
  for (std::int64_t k = first; k < last; ++k) {
    const std::int64_t count = std::min<std::int64_t>(3, last - k + 1);
    if (k > first)
      for (std::int64_t i = 0; i < count; ++i) vector[i] = all.at(k + i, k - 1);
    all.reflect(vector, k, count);
    if (k > first)
      for (std::int64_t i = 1; i < count; ++i) all.at(k + i, k - 1) = 0;
  }
}

}  // namespace

bool make_real_schur(double* matrix, double* basis, std::int64_t n) {
  for (std::int64_t i = 0; i < n * n; ++i) basis[i] = i % (n + 1) == 0 ? 1 : 0;
  Similarity all(matrix, basis, n);
  std::vector<double> vector(static_cast<std::size_t>(n));
  make_hessenberg(all, vector.data());
  constexpr int most_steps = 60;
  int steps = 0;
  for (std::int64_t last = n - 1; last >= 0;) {
    const std::int64_t first = start_of_block(all, last);
    if (first + 1 < last) {
      if (++steps > most_steps) return false;
      const double a = all.at(last - 1, last - 1), d = all.at(last, last);
      double sum = a + d, product = a * d - all.at(last - 1, last) * all.at(last, last - 1);
      if (steps % 10 == 0) {  // out of a circle
        const double size =
            std::fabs(all.at(last, last - 1)) + std::fabs(all.at(last - 1, last - 2));
        sum = 1.5 * size;
        product = size * size;
      }
      step_of_francis(all, first, last, sum, product);
      continue;
    }
    if (first < last) split_pair(all, first);
    last = first - 1;
    steps = 0;
  }
  return true;
}

namespace {

using Complex = std::complex<double>;

// Blocks of two rows become triangular, by complex rotations.
void make_triangular(std::vector<Complex>& T, std::vector<Complex>& Q, std::int64_t n) {
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    const auto at = [&](std::int64_t row, std::int64_t column) -> Complex& {
      return T[static_cast<std::size_t>(row * n + column)];
    };
    const double below = at(i + 1, i).real();
    if (below == 0) continue;
    const double mean = (at(i, i).real() + at(i + 1, i + 1).real()) / 2;
    const double half = (at(i, i).real() - at(i + 1, i + 1).real()) / 2;
    const Complex value(mean, std::sqrt(-(half * half + at(i, i + 1).real() * below)));
    Complex c = value - at(i + 1, i + 1);
    const double length = std::hypot(std::abs(c), below);
    c /= length;
    const double s = below / length;
    for (std::int64_t k = 0; k < n; ++k) {
      const Complex first = at(i, k), second = at(i + 1, k);
      at(i, k) = std::conj(c) * first + s * second;
      at(i + 1, k) = c * second - s * first;
    }
    for (std::vector<Complex>* rows : {&T, &Q})
      for (std::int64_t k = 0; k < n; ++k) {
        Complex& first = (*rows)[static_cast<std::size_t>(k * n + i)];
        Complex& second = (*rows)[static_cast<std::size_t>(k * n + i + 1)];
        const Complex kept = first;
        first = kept * c + second * s;
        second = second * std::conj(c) - kept * s;
      }
    at(i, i) = value;
    at(i + 1, i + 1) = std::conj(value);
    at(i + 1, i) = 0;
  }
}

// The eigenvector of the triangle for its diagonal's element j. What would leave the range is made smaller on the way.
void solve_backwards(const std::vector<Complex>& T, std::int64_t n, std::int64_t j, double least,
                     std::vector<Complex>& x) {
  constexpr double large = 1e100;
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return T[static_cast<std::size_t>(row * n + column)];
  };
  std::fill(x.begin(), x.end(), 0);
  x[static_cast<std::size_t>(j)] = 1;
  for (std::int64_t i = j - 1; i >= 0; --i) {
    Complex sum = 0;
    for (std::int64_t k = i + 1; k <= j; ++k) sum += at(i, k) * x[static_cast<std::size_t>(k)];
    Complex distance = at(j, j) - at(i, i);
    if (std::abs(distance) < least) distance = least;
    Complex& made = x[static_cast<std::size_t>(i)];
    made = sum / distance;
    if (std::abs(made) > large)
      for (Complex& each : x) each /= large;
  }
}

// Length 1; the first component that is as large as the largest, within a thousandth, is real and positive.
void normalize(std::vector<Complex>& vector) {
  double largest = 0, squares = 0;
  for (const Complex& each : vector) largest = std::max(largest, std::abs(each));
  for (Complex& each : vector) {
    each /= largest;
    squares += std::norm(each);
  }
  for (Complex& chosen : vector) {
    const double size = std::abs(chosen);
    if (!(size >= 0.999)) continue;
    const Complex factor = std::conj(chosen) / (size * std::sqrt(squares));
    for (Complex& each : vector) each *= factor;
    chosen = chosen.real();
    return;
  }
}

// Of the matrix Q T Q^H, one by one.
class Eigenvectors {
 public:
  Eigenvectors(std::vector<Complex> T, std::vector<Complex> Q, std::int64_t n)
      : T_(std::move(T)), Q_(std::move(Q)), n_(n), x_(static_cast<std::size_t>(n)), made_(x_) {
    double norm = 0;
    for (const Complex& each : T_) norm = std::max(norm, std::abs(each));
    least_ = std::max(norm * step_of_doubles, 1e-290);
  }

  const Complex& value(std::int64_t j) const { return T_[static_cast<std::size_t>(j * n_ + j)]; }

  const std::vector<Complex>& vector(std::int64_t j) {
    solve_backwards(T_, n_, j, least_, x_);
    for (std::int64_t i = 0; i < n_; ++i) {
      Complex sum = 0;
      for (std::int64_t k = 0; k <= j; ++k)
        sum += Q_[static_cast<std::size_t>(i * n_ + k)] * x_[static_cast<std::size_t>(k)];
      made_[static_cast<std::size_t>(i)] = sum;
    }
    normalize(made_);
    return made_;
  }

 private:
  std::vector<Complex> T_, Q_;
  std::int64_t n_;
  double least_ = 0;
  std::vector<Complex> x_, made_;
};

}  // namespace

void eigen_of_schur(const double* triangle, const double* basis, std::int64_t n, Complex* values,
                    Complex* vectors) {
  std::vector<Complex> T(triangle, triangle + n * n), Q(basis, basis + n * n);
  make_triangular(T, Q, n);
  Eigenvectors of(std::move(T), std::move(Q), n);
  for (std::int64_t j = 0; j < n; ++j) {
    values[j] = of.value(j);
    if (values[j].imag() < 0) {  // it stands behind its conjugate
      for (std::int64_t i = 0; i < n; ++i) vectors[i * n + j] = std::conj(vectors[i * n + j - 1]);
      continue;
    }
    const std::vector<Complex>& vector = of.vector(j);
    for (std::int64_t i = 0; i < n; ++i) {
      const Complex each = vector[static_cast<std::size_t>(i)];
      vectors[i * n + j] = values[j].imag() == 0 ? each.real() : each;
    }
  }
}

void eigen_of_schur(const Complex* triangle, const Complex* basis, std::int64_t n, Complex* values,
                    Complex* vectors) {
  Eigenvectors of({triangle, triangle + n * n}, {basis, basis + n * n}, n);
  for (std::int64_t j = 0; j < n; ++j) {
    values[j] = of.value(j);
    const std::vector<Complex>& vector = of.vector(j);
    for (std::int64_t i = 0; i < n; ++i) vectors[i * n + j] = vector[static_cast<std::size_t>(i)];
  }
}

}  // namespace bp
