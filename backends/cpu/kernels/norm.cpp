// layer_norm and rms_norm over rows that lie one behind the other, and their gradients. Rows of 16-bit floats are
// computed as f32, in a scratch.
#include "tile/norm.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"

namespace bp::cpu {
namespace {

constexpr int64_t elements_per_thread = 8192;

bool has_tensor(const bp_call* call, uint32_t place) {
  return call->args[place].tag == BP_TENSOR;
}
double number_arg(const bp_call* call, uint32_t place) {
  const bp_value& value = call->args[place];
  return value.tag == BP_DOUBLE ? value.u.f : static_cast<double>(value.u.i);
}

// The elements of a row: how many, of which type, and of which they are computed.
struct RowType {
  RowType(const bp_tensor& a, const bp_value& normalized_shape)
      : dtype(a.dtype), computed(a.dtype == BP_F64 ? BP_F64 : BP_F32), item(a.itemsize),
        computed_item(a.dtype == BP_F64 ? 8 : 4), streams(false) {
    const auto* sizes = static_cast<const int64_t*>(normalized_shape.u.ptr);
    for (uint32_t i = 0; i < normalized_shape.aux; ++i) count *= sizes[i];
    num_rows = a.numel / count;
    if (!converts()) return;
    load = tile::find_convert(dtype, computed);
    store = tile::find_convert(computed, dtype);
  }

  bool converts() const { return dtype != computed; }
  int64_t bytes() const { return count * item; }
  int64_t computed_bytes() const { return count * computed_item; }
  int64_t grain() const { return std::max<int64_t>(1, elements_per_thread / count); }
  // For calls that touch `num` tensors of this size.
  void stream_if_worth(int num) {
    streams = !converts() && bytes() >= 256 && tile::worth_streaming(num * num_rows * bytes());
  }

  uint32_t dtype, computed;
  int64_t item, computed_item;
  int64_t count = 1, num_rows = 0;
  bool streams;
  tile::Convert load, store;
};

// An argument as long as a row, in the type that is computed; empty if there is none.
class RowArgument {
 public:
  RowArgument(const bp_call* call, uint32_t place, const RowType& type) {
    if (!has_tensor(call, place)) return;
    const bp_tensor& tensor = tensor_arg(call, place);
    data_ = address(tensor);
    if (!type.converts()) return;
    converted_.reset(new char[static_cast<size_t>(type.computed_bytes())]);
    type.load(converted_.get(), data_, type.count);
    data_ = converted_.get();
  }
  const void* data() const { return data_; }

 private:
  std::unique_ptr<char[]> converted_;
  const void* data_ = nullptr;
};

// Rows of a tensor, as they lie or converted one at a time.
class Rows {
 public:
  Rows(const bp_tensor& tensor, const RowType& type) : type_(type), data_(address(tensor)) {
    if (type.converts()) scratch_.reset(new char[static_cast<size_t>(type.computed_bytes())]);
  }
  const void* load(int64_t row) const {
    const char* raw = data_ + row * type_.bytes();
    if (!type_.converts()) return raw;
    type_.load(scratch_.get(), raw, type_.count);
    return scratch_.get();
  }
  // Where a row's result is computed, and brings it home.
  void* target(int64_t row) const {
    return type_.converts() ? scratch_.get() : data_ + row * type_.bytes();
  }
  void store(int64_t row) const {
    if (type_.converts()) type_.store(data_ + row * type_.bytes(), scratch_.get(), type_.count);
  }
  // To be fetched; null behind the last, and for those that are converted.
  const void* ahead(int64_t row, int64_t end) const {
    return type_.converts() || row >= end ? nullptr : data_ + row * type_.bytes();
  }

 private:
  const RowType& type_;
  char* data_;
  std::unique_ptr<char[]> scratch_;
};

// Statistics are f64 for f64, else f32.
void put_statistic(const bp_tensor& tensor, int64_t row, double value) {
  if (tensor.dtype == BP_F64)
    data_of<double>(tensor)[row] = value;
  else
    data_of<float>(tensor)[row] = static_cast<float>(value);
}
double statistic(const bp_tensor& tensor, int64_t row) {
  return tensor.dtype == BP_F64 ? data_of<double>(tensor)[row]
                                : static_cast<double>(data_of<float>(tensor)[row]);
}

// native_layer_norm(a, normalized_shape, weight, bias, eps) -> (result, mean, rstd), and
// native_rms_norm(a, normalized_shape, weight, eps) -> (result, rstd).
template <bool has_mean> bp_code run_norm(void*, const bp_call* call) {
  return guarded(has_mean ? "cpu: layer_norm" : "cpu: rms_norm", [&] {
    const bp_tensor& a = tensor_arg(call, 0);
    const bp_tensor& out = *call->outputs[0];
    RowType type(a, call->args[1]);
    type.stream_if_worth(2);
    const RowArgument weight(call, 2, type);
    // Without a mean there is no bias, and its place is that of eps.
    const RowArgument bias(call, 3, type);
    const double eps = number_arg(call, has_mean ? 4 : 3);
    parallel_for(type.num_rows, type.grain(), [&](int64_t begin, int64_t end) {
      const Rows from(a, type), to(out, type);
      for (int64_t i = begin; i < end; ++i) {
        tile::NormRow row{to.target(i),
                          from.load(i),
                          from.ahead(i + 1, end),
                          weight.data(),
                          bias.data(),
                          type.count,
                          eps,
                          has_mean,
                          type.streams,
                          0,
                          0};
        type.computed == BP_F64 ? tile::norm_f64(row) : tile::norm_f32(row);
        to.store(i);
        if (has_mean) put_statistic(*call->outputs[1], i, row.mean);
        put_statistic(*call->outputs[has_mean ? 2 : 1], i, row.rstd);
      }
      if (type.streams) tile::finish_streaming();
    });
    return bp_code{BP_OK};
  });
}

// norm_backward(grad, a, normalized_shape, mean, rstd, weight) -> by a
bp_code run_norm_backward(void*, const bp_call* call) {
  return guarded("cpu: norm_backward", [&] {
    const bp_tensor& grad = tensor_arg(call, 0);
    const bp_tensor& a = tensor_arg(call, 1);
    RowType type(a, call->args[2]);
    type.stream_if_worth(3);
    const RowArgument weight(call, 5, type);
    const bool has_mean = has_tensor(call, 3);
    parallel_for(type.num_rows, type.grain(), [&](int64_t begin, int64_t end) {
      const Rows from(a, type), grads(grad, type), to(*call->outputs[0], type);
      for (int64_t i = begin; i < end; ++i) {
        const tile::NormBackRow row{to.target(i),
                                    grads.load(i),
                                    from.load(i),
                                    grads.ahead(i + 1, end),
                                    from.ahead(i + 1, end),
                                    weight.data(),
                                    type.count,
                                    has_mean,
                                    type.streams,
                                    has_mean ? statistic(tensor_arg(call, 3), i) : 0,
                                    statistic(tensor_arg(call, 4), i)};
        type.computed == BP_F64 ? tile::norm_back_f64(row) : tile::norm_back_f32(row);
        to.store(i);
      }
      if (type.streams) tile::finish_streaming();
    });
    return bp_code{BP_OK};
  });
}

// The sum over many rows: in blocks, which are added up in double.
class SumOfRows {
 public:
  explicit SumOfRows(const RowType& type)
      : type_(type), block_(static_cast<size_t>(type.computed_bytes())),
        total_(static_cast<size_t>(type.count)) {}

  void* block() { return block_.data(); }
  void end_block() {
    if (type_.computed == BP_F64)
      add_up(reinterpret_cast<double*>(block_.data()));
    else
      add_up(reinterpret_cast<float*>(block_.data()));
  }
  const std::vector<double>& total() const { return total_; }

 private:
  template <class T> void add_up(T* block) {
    for (size_t i = 0; i < total_.size(); ++i) {
      total_[i] += static_cast<double>(block[i]);
      block[i] = 0;
    }
  }
  const RowType& type_;
  std::vector<char> block_;
  std::vector<double> total_;
};

void store_sum(const std::map<int64_t, std::vector<double>>& parts, const bp_tensor& out) {
  visit_dtype<floating_dtypes>(out.dtype, [&]<class T>(Tag<T>) {
    T* to = data_of<T>(out);
    for (int64_t i = 0; i < out.numel; ++i) {
      double sum = 0;
      for (const auto& [begin, part] : parts) sum += part[static_cast<size_t>(i)];
      to[i] = static_cast<T>(static_cast<Wide<T>>(sum));
    }
  });
}

// norm_weight_backward(grad, a, normalized_shape, mean, rstd) -> by the weight
bp_code run_norm_weight_backward(void*, const bp_call* call) {
  constexpr int64_t rows_of_block = 32;
  return guarded("cpu: norm_weight_backward", [&] {
    const bp_tensor& grad = tensor_arg(call, 0);
    const bp_tensor& a = tensor_arg(call, 1);
    const RowType type(a, call->args[2]);
    const bool has_mean = has_tensor(call, 3);
    std::map<int64_t, std::vector<double>>
        parts;  // by their first row: added up in one order always
    std::mutex mutex;
    // Each range has sums of its own, which are worth making for many rows only.
    parallel_for(
        type.num_rows, std::max(type.grain(), rows_of_block), [&](int64_t begin, int64_t end) {
          const Rows from(a, type), grads(grad, type);
          SumOfRows sum(type);
          for (int64_t i = begin; i < end; ++i) {
            const tile::NormWeightRow row{sum.block(),
                                          grads.load(i),
                                          from.load(i),
                                          type.count,
                                          has_mean ? statistic(tensor_arg(call, 3), i) : 0,
                                          statistic(tensor_arg(call, 4), i)};
            type.computed == BP_F64 ? tile::norm_weight_f64(row) : tile::norm_weight_f32(row);
            if ((i + 1 - begin) % rows_of_block == 0 || i + 1 == end) sum.end_block();
          }
          const std::lock_guard lock(mutex);
          parts[begin] = sum.total();
        });
    store_sum(parts, *call->outputs[0]);
    return bp_code{BP_OK};
  });
}

}  // namespace

void add_norm_kernels(const bp_host& host, KernelList& list) {
  const bp_arg values = tensor_place(floating_dtypes, BP_LAYOUT_CONTIGUOUS);
  const bp_arg statistics = tensor_place(dtype_set({BP_F32, BP_F64}), BP_LAYOUT_CONTIGUOUS);
  const bp_arg other = any_place();
  list.add(host, "native_layer_norm",
           {values, other, values, values, other, values, statistics, statistics}, run_norm<true>);
  list.add(host, "native_rms_norm", {values, other, values, other, values, statistics},
           run_norm<false>);
  list.add(host, "norm_backward", {values, values, other, statistics, statistics, values, values},
           run_norm_backward);
  list.add(host, "norm_weight_backward", {values, values, other, statistics, statistics, values},
           run_norm_weight_backward);
}

}  // namespace bp::cpu
