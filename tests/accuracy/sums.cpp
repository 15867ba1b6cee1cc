#include "sums.hpp"

#include <cmath>
#include <functional>
#include <quadmath.h>

#include <backplane/tensors.hpp>

#include "functions.hpp"
#include "inputs/values.hpp"
#include "truth.hpp"

namespace bp::accuracy {
namespace {

using Values = std::vector<double>;

// Numbers that are hard to add: `cancelling` ones leave little of terms up to 2^20, `ascending` ones lose small terms to a
// large sum, and with `equal` ones all roundings of a plain sum lean one way.
Values hard_values(const std::string& kind, std::int64_t size) {
  Values values(static_cast<std::size_t>(size));
  std::uint64_t random = 1;
  for (std::int64_t i = 0; i < size; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const double unit = std::ldexp(static_cast<double>(random >> 11), -53);
    double& value = values[static_cast<std::size_t>(i)];
    if (kind == "uniform") value = unit;
    if (kind == "ascending")
      value = static_cast<double>(i + 1) / static_cast<double>(size) + unit * 1e-3;
    if (kind == "equal") value = 0.1;
    if (kind == "cancelling")
      value = (i % 2 == 0 ? 1 : -1) * std::ldexp(1 + unit, static_cast<int>(random >> 59) % 20);
  }
  return values;
}

Values back(const Tensor& tensor) {
  const Tensor host = contiguous(to(tensor, host_device()));
  return conform::to_doubles(host.data_ptr(), static_cast<std::size_t>(host.numel()), host.dtype());
}

struct Exact {
  Quad value = 0, absolute = 0;
  void add(Quad term) {
    value += term;
    absolute += fabsq(term);
  }
};

double units_of(double got, Quad exact, Quad absolute, double u) {
  if (absolute == 0) return 0;
  return static_cast<double>(fabsq(Quad(got) - exact) / (absolute * Quad(u)));
}

// One figure of one call.
struct Question {
  const char* what;
  std::function<double(const Tensor& x, const Values& v, double u)> error;
};

double sum_like(const Values& got, const Values& v, double u, double scale) {
  Exact exact;
  for (const double x : v) exact.add(x);
  return units_of(got[0], exact.value * Quad(scale), exact.absolute * Quad(scale), u);
}

double product_error(const Tensor& product, const Values& v, double u) {
  // Rows and columns are all `v`, forwards and backwards.
  Exact exact;
  for (std::size_t i = 0; i < v.size(); ++i) exact.add(Quad(v[i]) * Quad(v[v.size() - 1 - i]));
  double worst = 0;
  for (const double got : back(product))
    worst = std::max(worst, units_of(got, exact.value, exact.absolute, u));
  return worst;
}

double norm_error(const Tensor& result, const Values& v, double u) {
  Exact squares;
  for (const double x : v) squares.add(Quad(x) * Quad(x));
  const Quad norm = sqrtq(squares.value);
  return units_of(back(result)[0], norm, norm, u);
}

double prefix_error(const Tensor& result, const Values& v, double u) {
  const Values got = back(result);
  Exact exact;
  double worst = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    exact.add(v[i]);
    worst = std::max(worst, units_of(got[i], exact.value, exact.absolute, u));
  }
  return worst;
}

// In units of each result: exponentials of a number up to `v`'s range away from the largest.
double softmax_error(const Tensor& result, const Values& v, double u) {
  const Values got = back(result);
  double largest = v[0];
  for (const double x : v) largest = std::max(largest, x);
  // exp in double is far better than f32's last place; f64 is not asked.
  Quad total = 0;
  std::vector<double> exponentials(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) total += exponentials[i] = std::exp(v[i] - largest);
  double worst = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Quad exact = Quad(exponentials[i]) / total;
    if (exact > Quad(1e-37)) worst = std::max(worst, units_of(got[i], exact, exact, u));
  }
  return worst;
}

std::vector<Question> questions() {
  return {
      {"sum",
       [](const Tensor& x, const Values& v, double u) { return sum_like(back(sum(x)), v, u, 1); }},
      {"mean",
       [](const Tensor& x, const Values& v, double u) {
         return sum_like(back(mean(x)), v, u, 1.0 / static_cast<double>(v.size()));
       }},
      {"sum of columns",
       [](const Tensor& x, const Values& v, double u) {
         const Tensor columns = contiguous(expand(reshape(x, {x.numel(), 1}), {x.numel(), 3}));
         return sum_like(back(sum(columns, {0})), v, u, 1);
       }},
      {"norm",
       [](const Tensor& x, const Values& v, double u) { return norm_error(norm(x), v, u); }},
      {"cumsum",
       [](const Tensor& x, const Values& v, double u) { return prefix_error(cumsum(x, 0), v, u); }},
      {"matmul, 1 by 1",
       [](const Tensor& x, const Values& v, double u) {
         return product_error(
             matmul(reshape(x, {1, x.numel()}), reshape(flip(x, {0}), {x.numel(), 1})), v, u);
       }},
      {"matmul, 16 by 16",
       [](const Tensor& x, const Values& v, double u) {
         const Tensor a = contiguous(expand(reshape(x, {1, x.numel()}), {16, x.numel()}));
         const Tensor b =
             contiguous(expand(reshape(flip(x, {0}), {x.numel(), 1}), {x.numel(), 16}));
         return product_error(matmul(a, b), v, u);
       }},
      {"softmax", [](const Tensor& x, const Values& v,
                     double u) { return softmax_error(softmax(x, 0), v, u); }},
  };
}

}  // namespace

std::vector<SumError> sum_errors(Device device, std::int64_t largest) {
  std::vector<SumError> all;
  for (const Question& question : questions())
    for (const char* kind : {"uniform", "ascending", "equal", "cancelling"})
      for (const std::int64_t size : {std::int64_t{1} << 10, std::int64_t{1} << 14,
                                      std::int64_t{1} << 20, std::int64_t{1} << 24}) {
        const std::string what = question.what;
        const bool is_long_block = what == "matmul, 16 by 16" && size > (1 << 20);
        if (size > largest || is_long_block) continue;
        if (what == "softmax" && std::string(kind) == "cancelling") continue;
        Values values = hard_values(kind, size);
        const Tensor host = empty({size}, f32, host_device());
        auto* floats = static_cast<float*>(host.data_ptr());
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = floats[i] = static_cast<float>(values[i]);
        const double u = conform::format_of(f32).unit_roundoff();
        all.push_back({what, kind, f32, size, question.error(to(host, device), values, u)});
      }
  return all;
}

}  // namespace bp::accuracy
