// batch_norm of pictures in f32 and f64 whose channels lie one behind the other, and its gradients. A channel's short rows are
// brought together first. Other layouts, and short rows of many images, decompose: there the operators inside walk memory better.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../constants.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/move.hpp"
#include "tile/norm.hpp"

namespace bp::cpu {
namespace {

// Where a range of channels brings short rows together, one channel after the other.
struct Memory {
  std::vector<char> input, gradient, output;
};

// Of one channel.
struct Rows {
  char* first;
  int64_t step, count, length;

  char* at(int64_t i) const { return first + i * step; }
};

// [n, channels, ...] as rows of one image and channel each.
struct Channels {
  explicit Channels(const bp_tensor& a)
      : num_images(a.dl.shape[0]), count(a.dl.shape[1]), item(a.itemsize),
        row_length(a.numel / (a.dl.shape[0] * a.dl.shape[1])), is_f64(a.dtype == BP_F64) {}

  bool are_short() const { return row_length < constants::batch_norm_row; }
  int64_t size_of_channel() const { return num_images * row_length; }
  // Of a tensor laid out like this.
  Rows rows(const bp_tensor& tensor, int64_t channel) const {
    return {address(tensor) + channel * row_length * item, count * row_length * item, num_images,
            row_length};
  }
  bool streams(const bp_tensor& out, int num_tensors) const {
    return row_length * item >= 256 &&
           tile::worth_streaming((num_tensors - 1) * out.numel * item, out.numel * item);
  }
  // Calls body(channel, memory) for all, on several threads.
  template <class F> void for_each(F&& body) const {
    const int64_t grain = std::max<int64_t>(1, constants::batch_norm_elements / size_of_channel());
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      Memory memory;
      for (int64_t channel = begin; channel < end; ++channel) body(channel, memory);
      tile::finish_streaming();
    });
  }
  tile::NormSums sums(const Rows& in, const Rows* grad, double center) const {
    tile::NormSums all{};
    for (int64_t i = 0; i < in.count; ++i) {
      const void* const by = grad != nullptr ? grad->at(i) : nullptr;
      const tile::NormSums part = is_f64 ? tile::norm_sums_f64(in.at(i), by, in.length, center)
                                         : tile::norm_sums_f32(in.at(i), by, in.length, center);
      all.first += part.first;
      all.second += part.second;
    }
    return all;
  }
  // `affine` says the numbers.
  void write(const Rows& out, const Rows& in, const Rows* grad, tile::AffineRow affine) const {
    affine.count = in.length;
    for (int64_t i = 0; i < in.count; ++i) {
      affine.out = out.at(i);
      affine.in = in.at(i);
      affine.grad = grad != nullptr ? grad->at(i) : nullptr;
      is_f64 ? tile::affine_f64(affine) : tile::affine_f32(affine);
    }
  }

  int64_t num_images, count, item, row_length;
  bool is_f64;
};

// A channel of a tensor; its short rows are one row, in `memory`.
class OneChannel {
 public:
  OneChannel(const Channels& channels, const bp_tensor& tensor, int64_t channel,
             std::vector<char>& memory)
      : item_(channels.item), own_(channels.rows(tensor, channel)), rows_(own_),
        is_short_(channels.are_short()) {
    if (!is_short_) return;
    memory.resize(static_cast<size_t>(channels.size_of_channel() * item_));
    rows_ = {memory.data(), 0, 1, channels.size_of_channel()};
  }

  const Rows& read() {
    exchange([](auto& there, auto& here) { here = there; });
    return rows_;
  }
  const Rows& rows() const { return rows_; }
  // What was written to rows().
  void write_back() {
    exchange([](auto& there, auto& here) { there = here; });
  }

 private:
  template <class Move> void exchange(Move move) {
    if (!is_short_) return;
    item_ == 8 ? exchange_all<double>(move) : exchange_all<float>(move);
  }
  template <class T, class Move> void exchange_all(Move move) {
    T* here = reinterpret_cast<T*>(rows_.first);
    for (int64_t i = 0; i < own_.count; ++i) {
      T* const there = reinterpret_cast<T*>(own_.at(i));
      for (int64_t j = 0; j < own_.length; ++j) move(there[j], *here++);
    }
  }

  int64_t item_;
  Rows own_, rows_;
  bool is_short_;
};

double number_at(const bp_tensor& tensor, int64_t i) {
  return tensor.dtype == BP_F64 ? data_of<double>(tensor)[i]
                                : static_cast<double>(data_of<float>(tensor)[i]);
}
double number_or(const std::optional<In>& given, int64_t i, double otherwise) {
  return given ? number_at(given->abi(), i) : otherwise;
}
void set_number(const bp_tensor& tensor, int64_t i, double value) {
  if (tensor.dtype == BP_F64)
    data_of<double>(tensor)[i] = value;
  else
    data_of<float>(tensor)[i] = static_cast<float>(value);
}
bool takes_rows(In a) {
  const int64_t row_length = a.numel() / (a.size(0) * a.size(1));
  return row_length >= constants::batch_norm_row ||
         (row_length > 1 && a.size(0) <= constants::batch_norm_images);
}

Status batch_norm(Stream, In pictures, std::optional<In> weight, std::optional<In> bias, double eps,
                  Out result, Out means, Out variances) {
  const bp_tensor &a = pictures.abi(), &out = result.abi();
  const Channels channels(a);
  const auto size = static_cast<double>(channels.size_of_channel());
  const bool past_caches = channels.streams(out, 2);
  channels.for_each([&](int64_t c, Memory& memory) {
    // Around the first element, the squares of values far from 0 keep their digits.
    OneChannel input(channels, a, c, memory.input), output(channels, out, c, memory.output);
    const Rows& in = input.read();
    const double near = channels.is_f64 ? *reinterpret_cast<double*>(in.first)
                                        : *reinterpret_cast<float*>(in.first);
    const double mean = near + channels.sums(in, nullptr, near).first / size;
    const double variance = channels.sums(in, nullptr, mean).second / size;
    tile::AffineRow affine{};
    affine.center = mean;
    affine.slope = number_or(weight, c, 1) / std::sqrt(variance + eps);
    affine.shift = number_or(bias, c, 0);
    affine.streams = past_caches;
    channels.write(output.rows(), in, nullptr, affine);
    output.write_back();
    set_number(means.abi(), c, mean);
    set_number(variances.abi(), c, variance);
  });
  return ok;
}

Status batch_norm_backward(Stream, In by_result, In pictures, std::optional<In> weight, In means,
                           In variances, double eps, Out by_input, Out by_weight, Out by_bias) {
  const bp_tensor &grad = by_result.abi(), &a = pictures.abi(), &out = by_input.abi();
  const Channels channels(a);
  const auto size = static_cast<double>(channels.size_of_channel());
  const bool past_caches = channels.streams(out, 3);
  channels.for_each([&](int64_t c, Memory& memory) {
    const double mean = number_at(means.abi(), c);
    const double rstd = 1 / std::sqrt(number_at(variances.abi(), c) + eps);
    OneChannel input(channels, a, c, memory.input), gradient(channels, grad, c, memory.gradient),
        output(channels, out, c, memory.output);
    const Rows &in = input.read(), &by = gradient.read();
    const tile::NormSums sums = channels.sums(in, &by, mean);
    tile::AffineRow affine{};
    affine.center = mean;
    affine.factor = number_or(weight, c, 1) * rstd;
    affine.slope = -affine.factor * rstd * rstd * sums.second / size;
    affine.shift = -affine.factor * sums.first / size;
    affine.streams = past_caches;
    channels.write(output.rows(), in, &by, affine);
    output.write_back();
    set_number(by_weight.abi(), c, sums.second * rstd);
    set_number(by_bias.abi(), c, sums.first);
  });
  return ok;
}

}  // namespace

void add_batch_norm_kernels(Kernels& k) {
  constexpr DtypeSet values = DtypeSet(f32) | f64;
  using forward = op::native_batch_norm::place;
  k.add<op::native_batch_norm>(batch_norm)
      .dtypes(values)
      .dtypes(forward::result, values)
      .dtypes(forward::mean, values)
      .dtypes(forward::variance, values)
      .deterministic()
      .supports([](Stream, In a, std::optional<In>, std::optional<In>, double, Out, Out, Out) {
        return takes_rows(a);
      });
  using backward = op::batch_norm_backward::place;
  k.add<op::batch_norm_backward>(batch_norm_backward)
      .dtypes(values)
      .dtypes(backward::grad_input, values)
      .dtypes(backward::grad_weight, values)
      .dtypes(backward::grad_bias, values)
      .deterministic()
      .supports([](Stream, In, In a, std::optional<In>, In, In, double, Out, Out, Out) {
        return takes_rows(a);
      });
}

}  // namespace bp::cpu
