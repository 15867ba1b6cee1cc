// logsumexp over one dimension: one pass for the largest and one for the sum, where the chain of calls has four and keeps what lies between.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "../constants.hpp"
#include "../rounding.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"
#include "tile/softmax.hpp"
#include "tile/space.hpp"

namespace bp::cpu {
namespace {

constexpr int64_t block_columns = constants::softmax_columns;

// The dimension, if it is one alone; -1 if not.
int64_t only_dimension(const bp_tensor& in, const std::optional<Ints>& dims) {
  if (!dims) return in.dl.ndim == 1 ? 0 : -1;
  if (dims->size() != 1 || in.dl.ndim == 0) return -1;
  const int64_t dim = (*dims)[0];
  return dim < 0 ? dim + in.dl.ndim : dim;
}

class LogSumExp {
 public:
  LogSumExp(const bp_tensor& in, int64_t along, const bp_tensor& out)
      : in_(in), out_(out), is_f64_(in.dtype == BP_F64), count_(in.dl.shape[along]),
        stride_(in.dl.strides[along]) {
    int64_t in_strides[BP_MAX_RANK], out_strides[BP_MAX_RANK];
    const bool keeps = out.dl.ndim == in.dl.ndim;
    for (int i = 0; i < in.dl.ndim; ++i) {
      if (i == along) continue;
      rows_.numel *= in.dl.shape[i];
      in_strides[rows_.rank] = in.dl.strides[i];
      out_strides[rows_.rank] = out.dl.strides[keeps || i < along ? i : i - 1];
      rows_.shape[rows_.rank++] = in.dl.shape[i];
    }
    rows_.add(out_strides);
    rows_.add(in_strides);
    rows_.join();
    if (in.dtype == BP_F16 || in.dtype == BP_BF16) {
      load_ = tile::find_convert(in.dtype, BP_F32);
      store_ = tile::find_convert(BP_F32, in.dtype);
    }
  }

  void operator()() const {
    const bool has_columns = stride_ != 1 && rows_.rank > 0 && rows_.inner() > 1 &&
                             rows_.inner_stride(1) == 1 &&
                             count_ <= constants::softmax_longest_column;
    if (has_columns) return columns();
    if (is_cut()) return rows(0, rows_.numel);
    const int64_t grain = std::max<int64_t>(1, constants::softmax_elements / count_);
    parallel_for(rows_.numel, grain, [&](int64_t begin, int64_t end) { rows(begin, end); });
  }

 private:
  int64_t computed_bytes() const { return is_f64_ ? 8 : 4; }
  // Few long rows are cut for threads to share; the cut decides about bits and so does not depend on their number.
  bool is_cut() const {
    return rows_.numel < constants::logsumexp_rows && count_ >= 2 * constants::logsumexp_part;
  }

  // For `count` numbers of a row as they are computed and, behind them, as they are kept, if they need it.
  std::unique_ptr<char[]> scratch_for(int64_t count) const {
    const int64_t bytes = stride_ != 1 || load_ ? count * (in_.itemsize + computed_bytes()) : 0;
    return std::unique_ptr<char[]>(bytes != 0 ? new char[static_cast<size_t>(bytes)] : nullptr);
  }

  void rows(int64_t begin, int64_t end) const {
    const int64_t item = in_.itemsize;
    const std::unique_ptr<char[]> scratch = scratch_for(is_cut() ? 0 : count_);
    tile::Position at;
    at.seek(rows_, begin);
    double result = 0;
    for (int64_t i = begin, last = 0; i < end; ++i) {
      const char* row = data_of<char>(in_) + at.offsets[1] * item;
      // The same row again, if it is repeated.
      if (i == begin || at.offsets[1] != last)
        result = is_cut() ? of_parts(row) : of_part(row, count_, scratch.get());
      last = at.offsets[1];
      store(data_of<char>(out_) + at.offsets[0] * item, result);
      at.next_outer(rows_, rows_.rank);
    }
  }

  double of_parts(const char* row) const {
    std::vector<double> results(static_cast<size_t>(divide_up(count_, constants::logsumexp_part)));
    parallel_for(static_cast<int64_t>(results.size()), 1, [&](int64_t begin, int64_t end) {
      const std::unique_ptr<char[]> scratch = scratch_for(constants::logsumexp_part);
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = part * constants::logsumexp_part;
        results[static_cast<size_t>(part)] =
            of_part(row + first * stride_ * in_.itemsize,
                    std::min(constants::logsumexp_part, count_ - first), scratch.get());
      }
    });
    return tile::logsumexp_f64(results.data(), static_cast<int64_t>(results.size()));
  }

  double of_part(const char* row, int64_t count, char* scratch) const {
    if (stride_ != 1) {
      char* const raw = scratch + count * computed_bytes();
      tile::gather(raw, row, in_.itemsize, stride_, count);
      row = raw;
    }
    if (load_) {
      load_(scratch, row, count);
      row = scratch;
    }
    return is_f64_ ? tile::logsumexp_f64(row, count) : tile::logsumexp_f32(row, count);
  }

  void store(char* to, double result) const {
    if (is_f64_) {
      *reinterpret_cast<double*>(to) = result;
      return;
    }
    const auto narrow = static_cast<float>(result);
    if (store_)
      store_(to, &narrow, 1);
    else
      *reinterpret_cast<float*>(to) = narrow;
  }

  // Lines across memory, whose neighbours lie side by side: blocks of them, small floats in a scratch.
  void columns() const {
    const int64_t inner = rows_.inner(), blocks = divide_up(inner, block_columns);
    const int64_t work = count_ * std::min(inner, block_columns);
    const int64_t grain = std::max<int64_t>(1, constants::softmax_elements / work);
    parallel_for(rows_.numel / inner * blocks, grain, [&](int64_t begin, int64_t end) {
      const std::unique_ptr<float[]> scratch(
          load_ ? new float[static_cast<size_t>(count_ * block_columns)] : nullptr);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * block_columns;
        tile::Position at;
        at.seek(rows_, i / blocks * inner + first);
        column_block(data_of<char>(out_) + at.offsets[0] * out_.itemsize,
                     data_of<char>(in_) + at.offsets[1] * in_.itemsize,
                     std::min(block_columns, inner - first), scratch.get());
      }
    });
  }

  void column_block(char* out, const char* in, int64_t width, float* scratch) const {
    alignas(64) double results[block_columns];
    alignas(64) char stored[block_columns * sizeof(double)];
    tile::SoftmaxColumns block{results, in, stride_, 0, count_, width, true};
    if (scratch != nullptr) {
      for (int64_t row = 0; row < count_; ++row)
        load_(scratch + row * width, in + row * stride_ * in_.itemsize, width);
      block.in = scratch;
      block.in_step = width;
    }
    is_f64_ ? tile::logsumexp_columns_f64(block) : tile::logsumexp_columns_f32(block);
    const void* made = results;
    if (store_) {
      store_(stored, results, width);
      made = stored;
    }
    tile::scatter(out, made, out_.itemsize, rows_.inner_stride(0), width);
  }

  const bp_tensor& in_;
  const bp_tensor& out_;
  bool is_f64_;
  int64_t count_, stride_;
  tile::Space rows_;  // operand 0: the output, operand 1: the input
  tile::Convert load_, store_;
};

Status logsumexp(Stream, In a, const std::optional<Ints>& dim, bool, Out out) {
  LogSumExp(a.abi(), only_dimension(a.abi(), dim), out.abi())();
  return ok;
}

bool takes_logsumexp(Stream, In a, const std::optional<Ints>& dim, bool, Out) {
  const int64_t along = only_dimension(a.abi(), dim);
  if (along < 0 || a.abi().numel == 0) return false;
  // Long lines across memory: one at a time, each number would cost a line of the cache.
  const int64_t count = a.abi().dl.shape[along];
  return a.abi().dl.strides[along] == 1 || count <= constants::softmax_longest_column ||
         count == a.abi().numel;
}

}  // namespace

void add_logsumexp_kernels(Kernels& k) {
  k.add<op::logsumexp>(logsumexp)
      .dtypes(floating)
      .dtypes(op::logsumexp::place::out, floating)
      .layouts(strided)
      .deterministic()
      .supports(takes_logsumexp);
}

}  // namespace bp::cpu
