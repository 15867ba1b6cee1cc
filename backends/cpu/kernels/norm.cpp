// layer_norm and rms_norm over rows that lie one behind the other, and their gradients. Rows of 16-bit floats are
// computed as f32, in a scratch.
#include "tile/norm.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "../constants.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"

namespace bp::cpu {
namespace {

// The elements of a row: how many, of which type, and of which they are computed.
struct RowType {
  RowType(const bp_tensor& a, Ints normalized_shape)
      : dtype(a.dtype), computed(a.dtype == BP_F64 ? BP_F64 : BP_F32), item(a.itemsize),
        computed_item(a.dtype == BP_F64 ? 8 : 4), streams(false) {
    for (const int64_t size : normalized_shape) count *= size;
    num_rows = a.numel / count;
    if (!converts()) return;
    load = tile::find_convert(dtype, computed);
    store = tile::find_convert(computed, dtype);
  }

  bool converts() const { return dtype != computed; }
  int64_t bytes() const { return count * item; }
  int64_t computed_bytes() const { return count * computed_item; }
  int64_t grain() const { return std::max<int64_t>(1, constants::norm_elements / count); }
  // For calls that touch `num` tensors of this size.
  void stream_if_worth(int num) {
    streams = !converts() && bytes() >= 256 &&
              tile::worth_streaming((num - 1) * num_rows * bytes(), num_rows * bytes());
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
  RowArgument(const std::optional<In>& given, const RowType& type) {
    if (!given) return;
    data_ = address(given->abi());
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
  char* raw(int64_t row) const { return data_ + row * type_.bytes(); }
  void* scratch() const { return scratch_.get(); }
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

// `mean` is there for layer_norm, whose rows are centered; rms_norm's are not.
Status run_norm(In input, Ints normalized_shape, const std::optional<In>& given_weight,
                const std::optional<In>& given_bias, double eps, Out result, const bp_tensor* mean,
                Out rstd) {
  const bp_tensor &a = input.abi(), &out = result.abi();
  RowType type(a, normalized_shape);
  type.stream_if_worth(2);
  const RowArgument weight(given_weight, type), bias(given_bias, type);
  parallel_for(type.num_rows, type.grain(), [&](int64_t begin, int64_t end) {
    const Rows from(a, type), to(out, type);
    for (int64_t i = begin; i < end; ++i) {
      tile::NormRow row{.out = nullptr,
                        .in = nullptr,
                        .next = nullptr,
                        .weight = weight.data(),
                        .bias = bias.data(),
                        .count = type.count,
                        .eps = eps,
                        .has_mean = mean != nullptr,
                        .streams = type.streams,
                        .mean = 0,
                        .rstd = 0,
                        .scratch = to.scratch()};
      if (type.dtype == BP_BF16) {
        row.out = to.raw(i);
        row.in = from.raw(i);
        row.next = i + 1 < end ? from.raw(i + 1) : nullptr;
        tile::norm_bf16(row);
      } else {
        row.out = to.target(i);
        row.in = from.load(i);
        row.next = from.ahead(i + 1, end);
        type.computed == BP_F64 ? tile::norm_f64(row) : tile::norm_f32(row);
        to.store(i);
      }
      if (mean != nullptr) put_statistic(*mean, i, row.mean);
      put_statistic(rstd.abi(), i, row.rstd);
    }
    if (type.streams) tile::finish_streaming();
  });
  return ok;
}

Status layer_norm(Stream, In a, Ints normalized_shape, std::optional<In> weight,
                  std::optional<In> bias, double eps, Out result, Out mean, Out rstd) {
  return run_norm(a, normalized_shape, weight, bias, eps, result, &mean.abi(), rstd);
}

Status rms_norm(Stream, In a, Ints normalized_shape, std::optional<In> weight, double eps,
                Out result, Out rstd) {
  return run_norm(a, normalized_shape, weight, std::nullopt, eps, result, nullptr, rstd);
}

Status norm_backward(Stream, In by_result, In input, Ints normalized_shape, std::optional<In> mean,
                     In rstd, std::optional<In> given_weight, Out by_input) {
  const bp_tensor &grad = by_result.abi(), &a = input.abi();
  RowType type(a, normalized_shape);
  type.stream_if_worth(3);
  const RowArgument weight(given_weight, type);
  const bool has_mean = mean.has_value();
  parallel_for(type.num_rows, type.grain(), [&](int64_t begin, int64_t end) {
    const Rows from(a, type), grads(grad, type), to(by_input.abi(), type);
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
                                  has_mean ? statistic(mean->abi(), i) : 0,
                                  statistic(rstd.abi(), i)};
      type.computed == BP_F64 ? tile::norm_back_f64(row) : tile::norm_back_f32(row);
      to.store(i);
    }
    if (type.streams) tile::finish_streaming();
  });
  return ok;
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

Status norm_weight_backward(Stream, In by_result, In input, Ints normalized_shape,
                            std::optional<In> mean, In rstd, Out by_weight) {
  constexpr int64_t rows_of_block = constants::norm_rows;
  const bp_tensor &grad = by_result.abi(), &a = input.abi();
  const RowType type(a, normalized_shape);
  const bool has_mean = mean.has_value();
  std::map<int64_t, std::vector<double>> parts;  // by their first row: added up in one order always
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
                                        has_mean ? statistic(mean->abi(), i) : 0,
                                        statistic(rstd.abi(), i)};
          type.computed == BP_F64 ? tile::norm_weight_f64(row) : tile::norm_weight_f32(row);
          if ((i + 1 - begin) % rows_of_block == 0 || i + 1 == end) sum.end_block();
        }
        const std::lock_guard lock(mutex);
        parts[begin] = sum.total();
      });
  store_sum(parts, by_weight.abi());
  return ok;
}

constexpr DtypeSet statistics = DtypeSet(f32) | f64;

}  // namespace

void add_norm_kernels(Kernels& k) {
  using layer = op::native_layer_norm::place;
  k.add<op::native_layer_norm>(layer_norm)
      .dtypes(floating)
      .dtypes(layer::result, floating)
      .dtypes(layer::mean, statistics)
      .dtypes(layer::rstd, statistics)
      .deterministic();
  using rms = op::native_rms_norm::place;
  k.add<op::native_rms_norm>(rms_norm)
      .dtypes(floating)
      .dtypes(rms::result, floating)
      .dtypes(rms::rstd, statistics)
      .deterministic();
  using back = op::norm_backward::place;
  k.add<op::norm_backward>(norm_backward)
      .dtypes(floating)
      .dtypes(back::mean, statistics)
      .dtypes(back::rstd, statistics)
      .dtypes(back::out, floating)
      .deterministic();
  using weight = op::norm_weight_backward::place;
  k.add<op::norm_weight_backward>(norm_weight_backward)
      .dtypes(floating)
      .dtypes(weight::mean, statistics)
      .dtypes(weight::rstd, statistics)
      .dtypes(weight::out, floating)
      .deterministic();
}

}  // namespace bp::cpu
