// batch_norm of pictures in f32 and f64 whose channels lie one behind the other, and its gradients. Other layouts
// and short rows decompose: there the operators inside walk memory better than rows of a channel would.
#include <algorithm>
#include <cmath>

#include "../constants.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/move.hpp"
#include "tile/norm.hpp"

namespace bp::cpu {
namespace {

// [n, channels, ...] as rows of one image and channel each.
struct Channels {
  explicit Channels(const bp_tensor& a)
      : num_images(a.dl.shape[0]), count(a.dl.shape[1]), item(a.itemsize),
        row_length(a.numel / (a.dl.shape[0] * a.dl.shape[1])), is_f64(a.dtype == BP_F64) {}

  // A row of a tensor laid out like this.
  char* row(const bp_tensor& tensor, int64_t image, int64_t channel) const {
    return address(tensor) + (image * count + channel) * row_length * item;
  }
  double size_of_channel() const { return static_cast<double>(num_images * row_length); }
  bool streams(const bp_tensor& out, int num_tensors) const {
    return row_length * item >= 256 && tile::worth_streaming(num_tensors * out.numel * item);
  }
  // Calls body(channel) for all, on several threads.
  template <class F> void for_each(F&& body) const {
    const int64_t grain =
        std::max<int64_t>(1, constants::batch_norm_elements / (num_images * row_length));
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t channel = begin; channel < end; ++channel) body(channel);
      tile::finish_streaming();
    });
  }
  tile::NormSums sums(const bp_tensor& a, const bp_tensor* grad, int64_t channel,
                      double center) const {
    tile::NormSums all{};
    for (int64_t image = 0; image < num_images; ++image) {
      const void* const in = row(a, image, channel);
      const void* const by = grad != nullptr ? row(*grad, image, channel) : nullptr;
      const tile::NormSums part = is_f64 ? tile::norm_sums_f64(in, by, row_length, center)
                                         : tile::norm_sums_f32(in, by, row_length, center);
      all.first += part.first;
      all.second += part.second;
    }
    return all;
  }
  // In a channel, rows of `out` and `in`, and of `grad` if there is one; `affine` says the numbers.
  void write(const bp_tensor& out, const bp_tensor& in, const bp_tensor* grad, int64_t channel,
             tile::AffineRow affine) const {
    affine.count = row_length;
    for (int64_t image = 0; image < num_images; ++image) {
      affine.out = row(out, image, channel);
      affine.in = row(in, image, channel);
      affine.grad = grad != nullptr ? row(*grad, image, channel) : nullptr;
      is_f64 ? tile::affine_f64(affine) : tile::affine_f32(affine);
    }
  }

  int64_t num_images, count, item, row_length;
  bool is_f64;
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
  return a.numel() / (a.size(0) * a.size(1)) >= constants::batch_norm_row;
}

Status batch_norm(Stream, In input, std::optional<In> weight, std::optional<In> bias, double eps,
                  Out result, Out means, Out variances) {
  const bp_tensor &a = input.abi(), &out = result.abi();
  const Channels channels(a);
  const double size = channels.size_of_channel();
  const bool past_caches = channels.streams(out, 2);
  channels.for_each([&](int64_t c) {
    // Around the first element, the squares of values far from 0 keep their digits.
    const double near = channels.is_f64 ? *reinterpret_cast<double*>(channels.row(a, 0, c))
                                        : *reinterpret_cast<float*>(channels.row(a, 0, c));
    const double mean = near + channels.sums(a, nullptr, c, near).first / size;
    const double variance = channels.sums(a, nullptr, c, mean).second / size;
    tile::AffineRow affine{};
    affine.center = mean;
    affine.slope = number_or(weight, c, 1) / std::sqrt(variance + eps);
    affine.shift = number_or(bias, c, 0);
    affine.streams = past_caches;
    channels.write(out, a, nullptr, c, affine);
    set_number(means.abi(), c, mean);
    set_number(variances.abi(), c, variance);
  });
  return ok;
}

Status batch_norm_backward(Stream, In by_result, In input, std::optional<In> weight, In means,
                           In variances, double eps, Out by_input, Out by_weight, Out by_bias) {
  const bp_tensor &grad = by_result.abi(), &a = input.abi(), &out = by_input.abi();
  const Channels channels(a);
  const double size = channels.size_of_channel();
  const bool past_caches = channels.streams(out, 3);
  channels.for_each([&](int64_t c) {
    const double mean = number_at(means.abi(), c);
    const double rstd = 1 / std::sqrt(number_at(variances.abi(), c) + eps);
    const tile::NormSums sums = channels.sums(a, &grad, c, mean);
    tile::AffineRow affine{};
    affine.center = mean;
    affine.factor = number_or(weight, c, 1) * rstd;
    affine.slope = -affine.factor * rstd * rstd * sums.second / size;
    affine.shift = -affine.factor * sums.first / size;
    affine.streams = past_caches;
    channels.write(out, a, &grad, c, affine);
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
