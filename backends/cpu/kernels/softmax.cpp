// softmax and log_softmax along one dimension.
#include "tile/softmax.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "../constants.hpp"
#include "../rounding.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"
#include "tile/space.hpp"

namespace bp::cpu {
namespace {

// Bytes of a row that is kept in a scratch of its own.
constexpr int64_t largest_scratch = constants::softmax_scratch_bytes;

constexpr int64_t block_columns = constants::softmax_columns;

class SoftmaxRun {
 public:
  SoftmaxRun(const bp_tensor& in, int64_t along, const bp_tensor& out, bool log)
      : in_(in), out_(out), log_(log), is_f64_(in_.dtype == BP_F64),
        computed_bytes_(is_f64_ ? 8 : 4) {
    const int64_t dim = in_.dl.ndim == 0 ? 0 : along;
    count_ = in_.dl.ndim == 0 ? 1 : in_.dl.shape[dim];
    in_stride_ = in_.dl.ndim == 0 ? 1 : in_.dl.strides[dim];
    out_stride_ = in_.dl.ndim == 0 ? 1 : out_.dl.strides[dim];
    for (int i = 0; i < in_.dl.ndim; ++i) {
      if (i == dim) continue;
      rows_.shape[rows_.rank++] = in_.dl.shape[i];
      rows_.numel *= in_.dl.shape[i];
    }
    add_operand(out_, dim);
    add_operand(in_, dim);
    rows_.join();
    if (in_.dtype == BP_F16 || in_.dtype == BP_BF16) {
      load_ = tile::find_convert(in_.dtype, BP_F32);
      store_ = tile::find_convert(BP_F32, in_.dtype);
    }
  }

  void operator()() {
    const bool as_it_lies = !load_ && in_stride_ == 1 && out_stride_ == 1;
    if (in_stride_ != 1 && rows_.rank > 0 && rows_.inner() > 1 && rows_.inner_stride(0) == 1 &&
        rows_.inner_stride(1) == 1 && count_ <= constants::softmax_longest_column)
      return columns();
    const int64_t grain = std::max<int64_t>(1, constants::softmax_elements / count_);
    parallel_for(rows_.numel, grain, [&](int64_t begin, int64_t end) {
      if (as_it_lies) {
        rows(begin, end);
      } else {
        gathered_rows(begin, end);
      }
    });
  }

 private:
  void add_operand(const bp_tensor& tensor, int64_t without) {
    int64_t strides[BP_MAX_RANK];
    for (int i = 0, kept = 0; i < tensor.dl.ndim; ++i) {
      if (i != without) strides[kept++] = tensor.dl.strides[i];
    }
    rows_.add(strides);
  }

  // Lines across memory, whose neighbours lie side by side: blocks of them, small floats in a scratch.
  void columns() {
    const int64_t inner = rows_.inner(), blocks = divide_up(inner, block_columns);
    const int64_t grain = std::max<int64_t>(
        1, constants::softmax_elements / (count_ * std::min(inner, block_columns)));
    parallel_for(rows_.numel / inner * blocks, grain, [&](int64_t begin, int64_t end) {
      std::unique_ptr<float[]> scratch(
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

  void column_block(char* out, const char* in, int64_t width, float* scratch) {
    if (scratch == nullptr) {
      const tile::SoftmaxColumns block{out, in, in_stride_, out_stride_, count_, width, log_};
      return is_f64_ ? tile::softmax_columns_f64(block) : tile::softmax_columns_f32(block);
    }
    for (int64_t row = 0; row < count_; ++row)
      load_(scratch + row * width, in + row * in_stride_ * in_.itemsize, width);
    tile::softmax_columns_f32({scratch, scratch, width, width, count_, width, log_});
    for (int64_t row = 0; row < count_; ++row)
      store_(out + row * out_stride_ * out_.itemsize, scratch + row * width, width);
  }

  void rows(int64_t begin, int64_t end) {
    alignas(64) char scratch[largest_scratch];
    const int64_t row_bytes = count_ * computed_bytes_;
    const bool fits = row_bytes <= largest_scratch;
    const bool streams =
        fits && row_bytes >= 256 && data_of<char>(in_) != data_of<char>(out_) &&
        tile::worth_streaming(out_.numel * out_.itemsize, out_.numel * out_.itemsize);
    const bool waits = streams && 2 * row_bytes <= largest_scratch &&
                       tile::are_lines(data_of<char>(out_), row_bytes) && is_contiguous(out_);
    tile::SoftmaxRow last_two[2];
    tile::Position at;
    at.seek(rows_, begin);
    for (int64_t i = begin; i < end; ++i) {
      char* out = data_of<char>(out_) + at.offsets[0] * out_.itemsize;
      const char* in = data_of<char>(in_) + at.offsets[1] * in_.itemsize;
      at.next_outer(rows_, rows_.rank);
      const char* next = data_of<char>(in_) + at.offsets[1] * in_.itemsize;
      tile::SoftmaxRow& row = last_two[i % 2];
      row = row_of(out, in, fits ? scratch + (waits ? i % 2 * row_bytes : 0) : out);
      row.next = i + 1 < end ? next : nullptr;
      row.streams = streams;
      row.waits = waits && i + 1 < end;
      row.before = waits && i > begin ? &last_two[(i + 1) % 2] : nullptr;
      compute(row);
    }
    if (streams) tile::finish_streaming();
  }

  // Rows that lie apart or are of another type, in a scratch.
  void gathered_rows(int64_t begin, int64_t end) {
    alignas(64) char on_stack[largest_scratch];
    const int64_t item = in_.itemsize, bytes = count_ * (computed_bytes_ + item);
    std::unique_ptr<char[]> on_heap(bytes > largest_scratch ? new char[static_cast<size_t>(bytes)]
                                                            : nullptr);
    char* row = on_heap ? on_heap.get() : on_stack;
    char* raw = load_ ? row + count_ * computed_bytes_ : row;
    tile::Position at;
    at.seek(rows_, begin);
    for (int64_t i = begin; i < end; ++i) {
      const char* from = data_of<char>(in_) + at.offsets[1] * item;
      char* const to = data_of<char>(out_) + at.offsets[0] * item;
      if (!load_ || in_stride_ != 1) {
        tile::gather(raw, from, item, in_stride_, count_);
        from = raw;
      }
      if (load_) load_(row, from, count_);
      tile::SoftmaxRow alone = row_of(row, row, row);
      compute(alone);
      if (store_) store_(out_stride_ == 1 ? to : raw, row, count_);
      if (!store_ || out_stride_ != 1) tile::scatter(to, raw, item, out_stride_, count_);
      at.next_outer(rows_, rows_.rank);
    }
  }

  tile::SoftmaxRow row_of(void* out, const void* in, void* scratch) const {
    return {.out = out,
            .in = in,
            .scratch = scratch,
            .next = nullptr,
            .count = count_,
            .log = log_,
            .streams = false,
            .waits = false,
            .before = nullptr,
            .shift = 0,
            .rest = 0};
  }

  void compute(tile::SoftmaxRow& row) const {
    if (is_f64_) {
      tile::softmax_f64(row);
    } else {
      tile::softmax_f32(row);
    }
  }

  const bp_tensor& in_;
  const bp_tensor& out_;
  bool log_, is_f64_;
  int64_t computed_bytes_;
  int64_t count_, in_stride_, out_stride_;
  tile::Space rows_;  // operand 0: the output, operand 1: the input
  tile::Convert load_, store_;
};

template <bool log> Status run_softmax(Stream, In a, int64_t dim, std::optional<Dtype>, Out out) {
  SoftmaxRun(a.abi(), dim, out.abi(), log)();
  return ok;
}

template <class Op, class F> void add_softmax(Kernels& k, F run) {
  k.add<Op>(run)
      .dtypes(floating)
      .dtypes(Op::place::out, floating)
      .layouts(strided)
      .deterministic()
      .in_place_safe();
}

}  // namespace

void add_softmax_kernels(Kernels& k) {
  add_softmax<op::softmax>(k, run_softmax<false>);
  add_softmax<op::log_softmax>(k, run_softmax<true>);
}

}  // namespace bp::cpu
