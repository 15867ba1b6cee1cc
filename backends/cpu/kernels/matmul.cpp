// matmul and bmm. Batches are reduced to at most one dimension, then oneDNN multiplies where it knows
// the dtype and the matrices are worth its call; else our loops do. Large ones of bf16 and f32 go to AMX where there is one.
#include "matmul.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <backplane/plugin/batches.hpp>

#include "../choices.hpp"
#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "kernels.hpp"
#include "matmul_amx.hpp"
#include "matmul_few_rows.hpp"
#include "matmul_onednn.hpp"
#include "matmul_small.hpp"
#include "matmul_split.hpp"
#include "onednn.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

// ---- From a call to products of at most one batch dimension

// Strides of dimensions of size 1 mean nothing; these are the ones that oneDNN finds natural.
void make_canonical(Matrix& matrix, int64_t rows, int64_t columns) {
  if (columns == 1 && rows == 1) {
    matrix.column_stride = matrix.row_stride = 1;
  } else if (columns == 1) {
    matrix.column_stride = matrix.row_stride == 1 ? rows : 1;
  } else if (rows == 1) {
    matrix.row_stride = matrix.column_stride == 1 ? columns : 1;
  }
}

// Rows or columns without gaps inside and without overlap, and batches that do not overlap either.
bool fits_onednn(const Matrix& matrix, int64_t batch, int64_t rows, int64_t columns) {
  const bool by_rows = matrix.column_stride == 1 && matrix.row_stride >= columns;
  const bool by_columns = matrix.row_stride == 1 && matrix.column_stride >= rows;
  if (!by_rows && !by_columns) return false;
  if (batch == 1 || matrix.batch_stride == 0) return true;
  const int64_t line = by_rows ? columns : rows;
  const int64_t lines = by_rows ? rows : columns;
  const int64_t step = by_rows ? matrix.row_stride : matrix.column_stride;
  const int64_t between = matrix.batch_stride;
  return between >= lines * step || (between >= line && step >= batch * between);
}

// Of bf16 oneDNN takes pairs of k. Where lines lie apart, the last one of an odd k is multiplied by a 0 beside it, which
// makes NaN of an infinity.
bool loses_last_of_pairs(const Product& p, const Matrix& matrix, int64_t rows, int64_t columns) {
  const int64_t line = matrix.column_stride == 1 ? columns : rows;
  const int64_t step = matrix.column_stride == 1 ? matrix.row_stride : matrix.column_stride;
  return p.dtype == BP_BF16 && p.k % 2 != 0 && step > line;
}

// Copies the matrices into rows, `gap` elements apart, into memory of the call.
bp_code pack(const bp_call* call, uint32_t itemsize, int64_t batch, int64_t rows, int64_t columns,
             Matrix& matrix, int64_t gap = 0) {
  const int64_t copies = matrix.batch_stride == 0 ? 1 : batch, line = columns + gap;
  const uint64_t bytes = static_cast<uint64_t>(copies * rows * line) * itemsize;
  char* to = nullptr;
  if (const bp_code code = take_workspace(call, bytes, to); code != BP_OK) return code;
  const int64_t shape[3] = {copies, rows, columns};
  const int64_t strides[3] = {matrix.batch_stride, matrix.row_stride, matrix.column_stride};
  const int64_t packed[3] = {rows * line, line, 1};
  visit_itemsize(itemsize, [&]<class T>(Tag<T>) {
    copy_strided(shape, reinterpret_cast<T*>(to), packed, reinterpret_cast<const T*>(matrix.data),
                 strides);
  });
  matrix = {to, line, 1, copies == 1 ? 0 : rows * line};
  return BP_OK;
}

// Lines of a factor that is read where it lies, a multiple of 4096 bytes apart, fall into the same few sets of the first cache and evict
// each other, which doubles the time of the product; 512 bytes apart, an eighth of the sets are left, which costs a tenth to a fifth.
bool lines_collide(const Product& p, int64_t step, int64_t others) {
  constexpr int64_t bad_step = 512, item = 4;
  return p.dtype == BP_F32 && p.batch == 1 && step * item % bad_step == 0 &&
         others >= constants::spread_reuse && p.m * p.n * p.k >= constants::spread_work &&
         is_read_in_place(p);
}

// Copies factors whose lines collide to where each begins one line of the cache later.
bp_code spread_factors(const bp_call* call, Product& p) {
  constexpr int64_t gap = 16;
  constexpr uint32_t item = 4;
  bp_code code = BP_OK;
  if (p.a.row_stride == 1 && lines_collide(p, p.a.column_stride, p.n)) {
    Matrix turned{p.a.data, p.a.column_stride, 1, 0};
    code = pack(call, item, 1, p.k, p.m, turned, gap);
    p.a = {turned.data, 1, turned.row_stride, 0};
  }
  if (code == BP_OK && p.b.column_stride == 1 && lines_collide(p, p.b.row_stride, p.m))
    code = pack(call, item, 1, p.k, p.n, p.b, gap);
  return code;
}

// Two factors by columns are what oneDNN does at half its speed in parts for threads: the smaller one is turned first.
bp_code turn_one_of_two(const bp_call* call, Product& p) {
  const auto is_by_columns = [](const Matrix& matrix) {
    return matrix.row_stride == 1 && matrix.column_stride != 1;
  };
  if (p.dtype != BP_F32 || p.batch > 1 || p.m * p.n * p.k < constants::turned_product ||
      !is_by_columns(p.a) || !is_by_columns(p.b))
    return BP_OK;
  constexpr uint32_t item = 4;
  return p.m < p.n ? pack(call, item, 1, p.m, p.k, p.a) : pack(call, item, 1, p.k, p.n, p.b);
}

// ---- One product, which oneDNN could take

bp_code multiply_by(ProductWay way, const bp_call* call, const Product& p) {
  bp_code code = BP_OK;
  if (way == ProductWay::by_shape && suits_amx(p)) return multiply_by_amx(call, p);
  if (way == ProductWay::by_shape && suits_split(p) && multiply_split(call, p, code)) return code;
  if (way == ProductWay::by_shape && has_few_rows(p)) {
    multiply_few_rows(p);
    return code;
  }
  if (!multiply_by_onednn(call, p, code, way)) multiply_by_loops(p);
  return code;
}

// What decides about a product but for where it lies.
struct ProductKey {
  int64_t dtype, batch, m, n, k, a_by_rows, b_by_rows, one_a, one_b, threads;

  explicit ProductKey(const Product& p)
      : dtype(p.dtype), batch(p.batch), m(p.m), n(p.n), k(p.k), a_by_rows(p.a.column_stride == 1),
        b_by_rows(p.b.column_stride == 1), one_a(p.a.batch_stride == 0),
        one_b(p.b.batch_stride == 0), threads(num_threads()) {}
  ProductKey() = default;

  std::string text() const {
    std::string all = dtype == BP_F32 ? "matmul 1; f32" : "matmul 1; bf16";
    for (const int64_t size : {batch, m, n, k})
      all += ' ' + std::to_string(int64_t{1} << (size_class(size) - 1));
    for (const int64_t is_so : {a_by_rows, b_by_rows}) all += is_so ? " by rows" : " by columns";
    if (batch > 1 && one_a) all += "; one left";
    if (batch > 1 && one_b) all += "; one right";
    return all;
  }
};

// Of the ways to do this product, the fastest on this machine.
ProductWay way_of(const bp_call* call, const Product& p) {
  if (p.batch * p.m * p.n * p.k < constants::asked_product || !choices_are_free())
    return ProductWay::by_shape;
  thread_local Recent<ProductKey, ProductWay, 64> known;
  const ProductKey key(p);
  return known.find(key, [&] {
    const bool has_older = p.dtype == BP_F32 && p.batch == 1;
    return static_cast<ProductWay>(fastest_of(key.text(), has_older ? 4 : 3, [&](uint32_t way) {
      return multiply_by(static_cast<ProductWay>(way), call, p);
    }));
  });
}

}  // namespace

bp_code multiply(const bp_call* call, Product p, uint32_t itemsize) {
  // The same factors in all batches, which oneDNN takes for one batch.
  if (p.batch > 1 && p.a.batch_stride == 0 && p.b.batch_stride == 0) {
    const int64_t batches = std::exchange(p.batch, 1);
    const bp_code code = multiply(call, p, itemsize);
    const auto bytes = static_cast<size_t>(p.m * p.n) * itemsize;
    for (int64_t i = 1; i < batches && code == BP_OK; ++i)
      std::memcpy(p.out + static_cast<size_t>(i) * bytes, p.out, bytes);
    return code;
  }
  // One b for all: its batch is more rows of a, if these follow each other.
  if (p.batch > 1 && p.b.batch_stride == 0 &&
      (p.m == 1 || p.a.batch_stride == p.m * p.a.row_stride)) {
    if (p.m == 1) p.a.row_stride = p.a.batch_stride;
    p.m *= p.batch;
    p.batch = 1;
  }
  if (p.batch == 1) p.a.batch_stride = p.b.batch_stride = 0;
  const bool known = p.dtype == BP_F32 || p.dtype == BP_BF16;
  // A matrix and one column are one row and the matrix turned, which is read once, as it lies.
  if (known && p.n == 1 && p.m > 1) {
    const auto turned = [](const Matrix& matrix) {
      return Matrix{matrix.data, matrix.column_stride, matrix.row_stride, matrix.batch_stride};
    };
    p.a = turned(std::exchange(p.b, turned(p.a)));
    std::swap(p.m, p.n);
  }
  if (known) {
    make_canonical(p.a, p.m, p.k);
    make_canonical(p.b, p.k, p.n);
  }
  if (is_small(p)) {
    multiply_small(p);
    return BP_OK;
  }
  if (!known || is_tiny(p)) {
    multiply_by_loops(p);
    return BP_OK;
  }
  bp_code code = BP_OK;
  if (!fits_onednn(p.a, p.batch, p.m, p.k) || loses_last_of_pairs(p, p.a, p.m, p.k))
    code = pack(call, itemsize, p.batch, p.m, p.k, p.a);
  if (code != BP_OK) return code;
  if (!fits_onednn(p.b, p.batch, p.k, p.n) || loses_last_of_pairs(p, p.b, p.k, p.n))
    code = pack(call, itemsize, p.batch, p.k, p.n, p.b);
  if (code == BP_OK) code = turn_one_of_two(call, p);
  if (code == BP_OK) code = spread_factors(call, p);
  if (code != BP_OK) return code;
  return multiply_by(way_of(call, p), call, p);
}

namespace {

Matrix matrix_of(const bp_tensor& tensor) {
  const int64_t* const strides = tensor.dl.strides + tensor.dl.ndim - 2;
  return {address(tensor), strides[0], strides[1], 0};
}

bp_code run_matmul(const bp_call* call, In left, In right, Out result) {
  const bp_tensor &a = left.abi(), &b = right.abi(), &out = result.abi();
  const uint32_t item = out.itemsize;
  const int64_t* const sizes = out.dl.shape + out.dl.ndim - 2;
  Product p{out.dtype,    1,           sizes[0], sizes[1], a.dl.shape[a.dl.ndim - 1], matrix_of(a),
            matrix_of(b), address(out)};
  if (p.k == 0) {  // the sum of nothing
    const uint8_t zero = 0;
    fill_bytes(p.out, static_cast<uint64_t>(out.numel) * item, &zero, 1);
    return BP_OK;
  }
  if (out.dl.ndim == 2) return multiply(call, p, item);

  // The last dimension of batches in one product, the others one after the other.
  const Batches batches(result, left, right);
  const Batches::Dim inner = batches.innermost();
  p.batch = inner.size;
  p.a.batch_stride = inner.strides[0];
  p.b.batch_stride = inner.strides[1];
  for (int64_t i = 0; i < batches.count_outer(); ++i) {
    const Batches::Strides offsets = batches.offsets_of(i);
    Product part = p;
    part.a.data += offsets[0] * item;
    part.b.data += offsets[1] * item;
    part.out += offsets[2] * item;
    const bp_code code = multiply(call, part, item);
    if (code != BP_OK) return code;
  }
  return BP_OK;
}

Status matmul(Call call, In a, In b, Out out) {
  return Status::from_host(run_matmul(&call.abi(), a, b, out));
}

template <class Op> void add_product(Kernels& k) {
  constexpr DtypeSet dtypes{matmul_dtypes};
  k.add<Op>(matmul)
      .dtypes(dtypes)
      .dtypes(Op::place::out, dtypes)
      .layouts(strided)
      .layouts(Op::place::out, contiguous)
      .deterministic()
      .scratch();
}

}  // namespace

void add_matmul_kernels(Kernels& k) {
  add_product<op::matmul>(k);
  add_product<op::bmm>(k);
}

}  // namespace bp::cpu
