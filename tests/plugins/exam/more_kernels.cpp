// Kernels beyond the primitives, where a fault or a benign variant lives inside the arithmetic.
#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "tensor_view.hpp"
#include "variant.hpp"

namespace reference {
namespace {

// Calls body(values) for every line along `dims`; it changes the values, or returns one.
template <class Body>
void for_each_line(const TensorView& from, const TensorView& to, uint32_t dims, Body body) {
  const TensorView kept = from.only(~dims), along = from.only(dims);
  const TensorView to_kept = to.only(~dims), to_along = to.only(dims);
  std::vector<double> values(static_cast<size_t>(along.numel));
  for (int64_t i = 0; i < kept.numel; ++i) {
    for (int64_t j = 0; j < along.numel; ++j)
      values[j] = read<double>(kept.at(i) + along.offset(j), from.dtype);
    body(values);
    for (int64_t j = 0; j < to_along.numel; ++j)
      write(to_kept.at(i) + to_along.offset(j), to.dtype, values[j]);
  }
}

bp::Status softmax(bp::Stream stream, bp::In a, int64_t dim, std::optional<bp::Dtype>,
                   bp::Out out) {
  return submit(stream, [=, from = TensorView(stream, a), to = TensorView(stream, out)] {
    for_each_line(from, to, 1u << dim, [&](std::vector<double>& line) {
      double largest = exam::fault_is("softmax_without_max") ? 0 : -INFINITY, total = 0;
      if (largest != 0)
        for (double value : line) largest = std::isnan(value) || value > largest ? value : largest;
      for (double& value : line) {
        value = exam::fault_is("softmax_without_max")
                    ? static_cast<double>(std::exp(static_cast<float>(value)))
                    : std::exp(value - largest);
        total += value;
      }
      for (double& value : line) value /= total;
    });
  });
}

float naive_variance(const std::vector<double>& line, double correction) {
  float sum = 0, squares = 0;
  for (double value : line) {
    sum += static_cast<float>(value);
    squares += static_cast<float>(value) * static_cast<float>(value);
  }
  const auto count = static_cast<float>(line.size());
  return (squares / count - (sum / count) * (sum / count)) * count /
         (count - static_cast<float>(correction));
}

double stable_variance(const std::vector<double>& line, double correction) {
  double mean = 0, squares = 0;
  for (double value : line) mean += value;
  mean /= static_cast<double>(line.size());
  for (double value : line) squares += (value - mean) * (value - mean);
  return squares / std::fmax(0, static_cast<double>(line.size()) - correction);
}

bp::Status variance(bp::Stream stream, bp::In a, std::optional<bp::Ints> dims, int64_t correction,
                    bool, bp::Out out) {
  uint32_t bits = 0;
  for (int64_t dim : *dims) bits |= 1u << dim;
  return submit(stream, [=, from = TensorView(stream, a), to = TensorView(stream, out)] {
    const TensorView kept = from.only(~bits), along = from.only(bits);
    std::vector<double> line(static_cast<size_t>(along.numel));
    for (int64_t i = 0; i < kept.numel; ++i) {
      for (int64_t j = 0; j < along.numel; ++j)
        line[j] = read<double>(kept.at(i) + along.offset(j), from.dtype);
      const auto less = static_cast<double>(correction);
      to.set(i, exam::fault_is("variance_of_squares")
                    ? static_cast<double>(naive_variance(line, less))
                    : stable_variance(line, less));
    }
  });
}

// ---- Benign variants of sums ---------------------------------------------------------------------------

float pairwise(const float* values, int64_t count) {
  if (count <= 8) {
    float total = 0;
    for (int64_t i = 0; i < count; ++i) total += values[i];
    return total;
  }
  return pairwise(values, count / 2) + pairwise(values + count / 2, count - count / 2);
}

// The same in blocks, each of which is added up by itself.
float blocked(const float* values, int64_t count) {
  constexpr int64_t block = 512;
  float total = 0;
  for (int64_t first = 0; first < count; first += block) {
    float part = 0;
    for (int64_t i = first; i < std::min(first + block, count); ++i) part += values[i];
    total += part;
  }
  return total;
}

float reversed(const float* values, int64_t count) {
  float total = 0;
  for (int64_t i = count; i-- > 0;) total += values[i];
  return total;
}

// Each half on a thread of its own.
float parallel(const float* values, int64_t count) {
  float first = 0, second = 0;
  std::thread other([&] { first = reversed(values, count / 2); });
  second = blocked(values + count / 2, count - count / 2);
  other.join();
  return first + second;
}

float in_order(const float* values, int64_t count) {
  float total = 0;
  for (int64_t i = 0; i < count; ++i) total += values[i];
  return total;
}

using Sum = float (*)(const float* values, int64_t count);
// Null: sums are not what varies.
Sum chosen_sum() {
  static constexpr std::pair<const char*, Sum> sums[] = {{"pairwise_sums", pairwise},
                                                         {"serial_sums", in_order},
                                                         {"blocked_sums", blocked},
                                                         {"reversed_sums", reversed},
                                                         {"parallel_sums", parallel}};
  for (const auto& [name, sum] : sums)
    if (exam::variant_is(name)) return sum;
  return nullptr;
}

bp::Status sum_in_float(bp::Call call, bp::In a, std::optional<bp::Ints> dims, bool,
                        std::optional<bp::Dtype>, bp::Out out) {
  uint32_t bits = 0;
  for (int64_t dim : *dims) bits |= 1u << dim;
  return submit(
      call, [=, sum = chosen_sum(), from = TensorView(call, a), to = TensorView(call, out)] {
        const TensorView kept = from.only(~bits), along = from.only(bits);
        std::vector<float> line(static_cast<size_t>(along.numel));
        for (int64_t i = 0; i < kept.numel; ++i) {
          for (int64_t j = 0; j < along.numel; ++j)
            line[static_cast<size_t>(j)] = read<float>(kept.at(i) + along.offset(j), from.dtype);
          to.set(i, sum(line.data(), along.numel));
        }
      });
}

// Products' terms in another order, or in blocks of 64.
bp::Status reordered_product(bp::Stream stream, bp::In a, bp::In b, bp::Out out) {
  return submit(stream, [left = TensorView(stream, a), right = TensorView(stream, b),
                         to = TensorView(stream, out)] {
    const bool is_blocked = exam::variant_is("blocked_products");
    const int64_t columns = to.shape[2], inner = left.shape[2];
    const int64_t block = is_blocked ? 64 : inner;
    for (int64_t i = 0; i < to.numel; ++i) {
      const int64_t column = i % columns, row = i / columns % to.shape[1],
                    batch = i / columns / to.shape[1];
      float total = 0;
      for (int64_t first = 0; first < inner; first += block) {
        float part = 0;
        for (int64_t j = std::min(first + block, inner); j-- > first;)
          part += read<float>(
                      left.data + batch * left.steps[0] + row * left.steps[1] + j * left.steps[2],
                      left.dtype) *
                  read<float>(right.data + batch * right.steps[0] + j * right.steps[1] +
                                  column * right.steps[2],
                              right.dtype);
        total += part;
      }
      to.set(i, total);
    }
  });
}

// Products and sums in one rounding.
bp::Status fused_product(bp::Stream stream, bp::In a, bp::In b, bp::Out out) {
  return submit(stream, [left = TensorView(stream, a), right = TensorView(stream, b),
                         to = TensorView(stream, out)] {
    const int64_t columns = to.shape[2], inner = left.shape[2];
    for (int64_t i = 0; i < to.numel; ++i) {
      const int64_t column = i % columns, row = i / columns % to.shape[1],
                    batch = i / columns / to.shape[1];
      float total = 0;
      for (int64_t j = 0; j < inner; ++j)
        total = std::fma(
            read<float>(left.data + batch * left.steps[0] + row * left.steps[1] + j * left.steps[2],
                        left.dtype),
            read<float>(
                right.data + batch * right.steps[0] + j * right.steps[1] + column * right.steps[2],
                right.dtype),
            total);
      to.set(i, total);
    }
  });
}

// Never the one that is preferred: it writes the first line alone.
bp::Status first_line_alone(bp::Stream stream, bp::In a, int64_t dim, std::optional<bp::Dtype>,
                            bp::Out out) {
  return submit(stream, [=, from = TensorView(stream, a), to = TensorView(stream, out)] {
    bool is_first = true;
    for_each_line(from, to, 1u << dim, [&](std::vector<double>& line) {
      double total = 0;
      for (double& value : line) total += value = std::exp(value);
      for (double& value : line) value = is_first ? value / total : 0;
      is_first = false;
    });
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(more) {
  using namespace reference;
  k.add<bp::op::softmax>(softmax)
      .dtypes(bp::f16, bp::bf16, bp::f32, bp::f64)
      .layouts(bp::strided)
      .deterministic();
  k.add<bp::op::var>(variance)
      .dtypes(bp::f16, bp::bf16, bp::f32)
      .layouts(bp::strided)
      .deterministic();
  if (exam::fault_is("shadowed_kernel"))
    k.add<bp::op::softmax>(first_line_alone)
        .dtypes(bp::f32)
        .layouts(bp::strided)
        .deterministic()
        .priority(-1);
  if (exam::fault_is("nondeterministic_beside"))  // what comes second declares nothing
    k.add<bp::op::softmax>(softmax).dtypes(bp::f32).layouts(bp::strided).priority(-1);
  if (chosen_sum() != nullptr)
    k.add<bp::op::sum>(sum_in_float)
        .dtypes(bp::f16, bp::bf16, bp::f32)
        .layouts(bp::strided)
        .deterministic()
        .priority(1);
  if (exam::variant_is("blocked_products") || exam::variant_is("reversed_products"))
    k.add<bp::op::bmm>(reordered_product)
        .dtypes(bp::f16, bp::bf16, bp::f32)
        .layouts(bp::strided)
        .deterministic()
        .priority(1);
  if (exam::variant_is("fused_products"))
    k.add<bp::op::bmm>(fused_product)
        .dtypes(bp::f16, bp::bf16, bp::f32)
        .layouts(bp::strided)
        .deterministic()
        .priority(1);
}
