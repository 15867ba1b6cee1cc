// Schur's form of a complex matrix by steps with one shift (Golub and Van Loan, Matrix Computations, 7.3 to 7.5).
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "decompositions/eigen.hpp"

namespace bp {
namespace {

using Complex = std::complex<double>;

double size_of(const Complex& number) {
  return std::fabs(number.real()) + std::fabs(number.imag());
}

// Turns rows, then columns, so that eigenvalues stay, and columns of the basis.
class UnitarySimilarity {
 public:
  UnitarySimilarity(Complex* matrix, Complex* basis, std::int64_t n)
      : matrix_(matrix), basis_(basis), n_(n) {}

  Complex& at(std::int64_t row, std::int64_t column) { return matrix_[row * n_ + column]; }
  std::int64_t size() const { return n_; }

  // By the reflection that makes zeros of all but the first of `vector`, which is overwritten.
  void reflect(std::vector<Complex>& vector, std::int64_t start) {
    double largest = 0, squares = 0;
    for (const Complex& each : vector) largest = std::max(largest, std::abs(each));
    if (largest == 0) return;
    for (Complex& each : vector) {
      each /= largest;
      squares += std::norm(each);
    }
    const double length = std::sqrt(squares), head = std::abs(vector[0]);
    const Complex phase = head == 0 ? 1 : vector[0] / head;
    const double factor = 1 / (squares + head * length);
    vector[0] += phase * length;
    for (std::int64_t column = 0; column < n_; ++column) {
      Complex sum = 0;
      for (std::size_t i = 0; i < vector.size(); ++i)
        sum += std::conj(vector[i]) * at(start + static_cast<std::int64_t>(i), column);
      for (std::size_t i = 0; i < vector.size(); ++i)
        at(start + static_cast<std::int64_t>(i), column) -= factor * sum * vector[i];
    }
    for (Complex* rows : {matrix_, basis_})
      for (std::int64_t row = 0; row < n_; ++row)
        reflect_line(rows + row * n_ + start, vector, factor);
  }

  // Of the places k and k + 1, so that (first, second), a column of those rows, becomes (r, 0). Nothing but zeros lies left
  // of `left`, or below `bottom`.
  void rotate(std::int64_t k, const Complex& first, const Complex& second, std::int64_t left,
              std::int64_t bottom) {
    const double head = std::abs(first), length = std::hypot(head, std::abs(second));
    if (length == 0) return;
    const double c = head / length;
    const Complex s = (head == 0 ? 1 : first / head) * std::conj(second) / length;
    for (std::int64_t j = left; j < n_; ++j) {
      const Complex kept = at(k, j);
      at(k, j) = c * kept + s * at(k + 1, j);
      at(k + 1, j) = c * at(k + 1, j) - std::conj(s) * kept;
    }
    turn_columns(matrix_, bottom + 1, k, c, s);
    turn_columns(basis_, n_, k, c, s);
  }

 private:
  static void reflect_line(Complex* line, const std::vector<Complex>& vector, double factor) {
    Complex sum = 0;
    for (std::size_t i = 0; i < vector.size(); ++i) sum += line[i] * vector[i];
    for (std::size_t i = 0; i < vector.size(); ++i) line[i] -= factor * sum * std::conj(vector[i]);
  }

  void turn_columns(Complex* rows, std::int64_t count, std::int64_t k, double c, const Complex& s) {
    for (std::int64_t i = 0; i < count; ++i) {
      Complex &first = rows[i * n_ + k], &second = rows[i * n_ + k + 1];
      const Complex kept = first;
      first = c * kept + std::conj(s) * second;
      second = c * second - s * kept;
    }
  }

  Complex* matrix_;
  Complex* basis_;
  std::int64_t n_;
};

// Zeros below the first subdiagonal.
void make_complex_hessenberg(UnitarySimilarity& all) {
  const std::int64_t n = all.size();
  for (std::int64_t k = 0; k + 2 < n; ++k) {
    std::vector<Complex> vector;
    for (std::int64_t i = k + 1; i < n; ++i) vector.push_back(all.at(i, k));
    all.reflect(vector, k + 1);
    for (std::int64_t i = k + 2; i < n; ++i) all.at(i, k) = 0;
  }
}

// Where the block that ends at `last` begins: behind the last element of the subdiagonal that is as good as zero.
std::int64_t start_of_complex_block(UnitarySimilarity& all, std::int64_t last) {
  for (std::int64_t k = last; k > 0; --k) {
    double around = size_of(all.at(k - 1, k - 1)) + size_of(all.at(k, k));
    if (around == 0) around = 1;  // the largest element is about 1
    if (size_of(all.at(k, k - 1)) > std::numeric_limits<double>::epsilon() * around) continue;
    all.at(k, k - 1) = 0;
    return k;
  }
  return 0;
}

// The eigenvalue of the last two rows that lies next to the last element (Wilkinson).
Complex shift_of(UnitarySimilarity& all, std::int64_t last) {
  const Complex a = all.at(last - 1, last - 1), d = all.at(last, last), half = (a - d) / 2.0;
  const Complex product = all.at(last - 1, last) * all.at(last, last - 1);
  if (product == 0.0) return d;
  Complex root = std::sqrt(half * half + product);
  if (half.real() * root.real() + half.imag() * root.imag() < 0) root = -root;
  return d - product / (half + root);
}

void step_of_one_shift(UnitarySimilarity& all, std::int64_t first, std::int64_t last,
                       const Complex& shift) {
  all.rotate(first, all.at(first, first) - shift, all.at(first + 1, first), first,
             std::min(first + 2, last));
  for (std::int64_t k = first + 1; k < last; ++k) {
    all.rotate(k, all.at(k, k - 1), all.at(k + 1, k - 1), k - 1, std::min(k + 2, last));
    all.at(k + 1, k - 1) = 0;
  }
}

}  // namespace

bool make_complex_schur(Complex* matrix, Complex* basis, std::int64_t n) {
  for (std::int64_t i = 0; i < n * n; ++i) basis[i] = i % (n + 1) == 0 ? 1 : 0;
  UnitarySimilarity all(matrix, basis, n);
  make_complex_hessenberg(all);
  constexpr int most_steps = 60;
  int steps = 0;
  for (std::int64_t last = n - 1; last > 0;) {
    const std::int64_t first = start_of_complex_block(all, last);
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > most_steps) return false;
    const Complex out_of_circle = all.at(last, last) + 1.5 * size_of(all.at(last, last - 1));
    step_of_one_shift(all, first, last, steps % 10 == 0 ? out_of_circle : shift_of(all, last));
  }
  return true;
}

}  // namespace bp
