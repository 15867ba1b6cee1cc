// batch_norm of pictures in f32 and f64 whose channels lie one behind the other, and its gradients. Other layouts
// and short rows decompose: there the operators inside walk memory better than rows of a channel would.
#include <algorithm>
#include <cmath>

#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/move.hpp"
#include "tile/norm.hpp"

namespace bp::cpu {
namespace {

constexpr int64_t shortest_row = 16;
constexpr int64_t elements_of_thread = 16384;

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
    const int64_t grain = std::max<int64_t>(1, elements_of_thread / (num_images * row_length));
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
double number_or(const bp_value& value, int64_t i, double otherwise) {
  return value.tag == BP_TENSOR ? number_at(*value.u.tensor, i) : otherwise;
}
void set_number(const bp_tensor& tensor, int64_t i, double value) {
  if (tensor.dtype == BP_F64)
    data_of<double>(tensor)[i] = value;
  else
    data_of<float>(tensor)[i] = static_cast<float>(value);
}
double eps_of(const bp_value& value) {
  return value.tag == BP_DOUBLE ? value.u.f : static_cast<double>(value.u.i);
}

bp_code takes_rows(const bp_call* call, uint32_t place) {
  const bp_tensor& a = tensor_arg(call, place);
  return a.numel / (a.dl.shape[0] * a.dl.shape[1]) >= shortest_row ? BP_OK : BP_UNSUPPORTED;
}
bp_code takes_forward(void*, const bp_call* call) {
  return takes_rows(call, 0);
}
bp_code takes_backward(void*, const bp_call* call) {
  return takes_rows(call, 1);
}

// native_batch_norm(a, weight, bias, eps) -> (result, mean, variance)
bp_code run_batch_norm(void*, const bp_call* call) {
  return guarded("cpu: native_batch_norm", [&] {
    const bp_tensor &a = tensor_arg(call, 0), &out = *call->outputs[0];
    const Channels channels(a);
    const double size = channels.size_of_channel(), eps = eps_of(call->args[3]);
    const bool past_caches = channels.streams(out, 2);
    channels.for_each([&](int64_t c) {
      // Around the first element, the squares of values far from 0 keep their digits.
      const double near = channels.is_f64 ? *reinterpret_cast<double*>(channels.row(a, 0, c))
                                          : *reinterpret_cast<float*>(channels.row(a, 0, c));
      const double mean = near + channels.sums(a, nullptr, c, near).first / size;
      const double variance = channels.sums(a, nullptr, c, mean).second / size;
      tile::AffineRow affine{};
      affine.center = mean;
      affine.slope = number_or(call->args[1], c, 1) / std::sqrt(variance + eps);
      affine.shift = number_or(call->args[2], c, 0);
      affine.streams = past_caches;
      channels.write(out, a, nullptr, c, affine);
      set_number(*call->outputs[1], c, mean);
      set_number(*call->outputs[2], c, variance);
    });
    return bp_code{BP_OK};
  });
}

// batch_norm_backward(grad, a, weight, mean, variance, eps) -> (by a, by weight, by bias)
bp_code run_batch_norm_backward(void*, const bp_call* call) {
  return guarded("cpu: batch_norm_backward", [&] {
    const bp_tensor &grad = tensor_arg(call, 0), &a = tensor_arg(call, 1);
    const bp_tensor& out = *call->outputs[0];
    const Channels channels(a);
    const double size = channels.size_of_channel(), eps = eps_of(call->args[5]);
    const bool past_caches = channels.streams(out, 3);
    channels.for_each([&](int64_t c) {
      const double mean = number_at(tensor_arg(call, 3), c);
      const double rstd = 1 / std::sqrt(number_at(tensor_arg(call, 4), c) + eps);
      const tile::NormSums sums = channels.sums(a, &grad, c, mean);
      tile::AffineRow affine{};
      affine.center = mean;
      affine.factor = number_or(call->args[2], c, 1) * rstd;
      affine.slope = -affine.factor * rstd * rstd * sums.second / size;
      affine.shift = -affine.factor * sums.first / size;
      affine.streams = past_caches;
      channels.write(out, a, &grad, c, affine);
      set_number(*call->outputs[1], c, sums.second * rstd);
      set_number(*call->outputs[2], c, sums.first);
    });
    return bp_code{BP_OK};
  });
}

}  // namespace

void add_batch_norm_kernels(const bp_host& host, KernelList& list) {
  const bp_arg values = tensor_place(dtype_set({BP_F32, BP_F64}), BP_LAYOUT_CONTIGUOUS);
  const bp_arg other = any_place();
  list.add(host, "native_batch_norm", {values, values, values, other, values, values, values},
           run_batch_norm, BP_KERNEL_DETERMINISTIC, nullptr, takes_forward);
  list.add(host, "batch_norm_backward",
           {values, values, values, values, values, other, values, values, values},
           run_batch_norm_backward, BP_KERNEL_DETERMINISTIC, nullptr, takes_backward);
}

}  // namespace bp::cpu
