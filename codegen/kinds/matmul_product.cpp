#include "kinds/matmul_product.hpp"

#include <algorithm>
#include <utility>

#include <backplane/tensor/check.hpp>

namespace bp::codegen {
namespace {

Matrix matrix_of(const bp_tensor& tensor) {
  const std::int64_t* shape = tensor.dl.shape + tensor.dl.ndim - 2;
  const std::int64_t* strides = tensor.dl.strides + tensor.dl.ndim - 2;
  Matrix matrix;
  matrix.memory = handle_of(tensor);
  matrix.start = offset_of(tensor);
  // The stride of a single row or column means nothing; 1 is the one that kernels find easiest.
  matrix.row = shape[0] == 1 ? 1 : strides[0];
  matrix.column = shape[1] == 1 ? 1 : strides[1];
  return matrix;
}

// Right-aligned with the output; 0 where `tensor` is broadcast.
std::int64_t batch_stride(const bp_tensor& tensor, int dim, int out_rank) {
  const int own = dim - (out_rank - tensor.dl.ndim);
  return own < 0 || tensor.dl.shape[own] == 1 ? 0 : tensor.dl.strides[own];
}

struct BatchDimension {
  std::int64_t size, a, b, out;
};

void add(Product& p, const BatchDimension& dim) {
  const int last = p.batch_rank - 1;
  if (last >= 0 && p.a.batch[last] == dim.a * dim.size && p.b.batch[last] == dim.b * dim.size &&
      p.out.batch[last] == dim.out * dim.size) {
    p.batch_size[static_cast<std::size_t>(last)] *= dim.size;
  } else {
    if (p.batch_rank == max_batch_rank)
      throw_error(ErrorClass::unsupported,
                  fmt::format("matmul: batches of more than {} dimensions that do not join",
                              max_batch_rank));
    p.batch_size[p.batch_rank++] = dim.size;
  }
  const int at = p.batch_rank - 1;
  p.a.batch[at] = dim.a;
  p.b.batch[at] = dim.b;
  p.out.batch[at] = dim.out;
}

void add_batches(Product& p, const bp_tensor& a, const bp_tensor& b, const bp_tensor& out) {
  const int rank = out.dl.ndim;
  for (int dim = 0; dim < rank - 2; ++dim)
    if (out.dl.shape[dim] != 1)
      add(p, {out.dl.shape[dim], batch_stride(a, dim, rank), batch_stride(b, dim, rank),
              out.dl.strides[dim]});
}

// One b for all: its batch is more rows of a, if these follow each other.
void fold_batch_into_rows(Product& p) {
  if (p.batch_rank != 1 || !p.b.is_same_in_all_batches()) return;
  const bool follows =
      p.m == 1 || (p.a.batch[0] == p.m * p.a.row && p.out.batch[0] == p.m * p.out.row);
  if (!follows) return;
  if (p.m == 1) {
    p.a.row = p.a.batch[0];
    p.out.row = p.out.batch[0];
  }
  p.m *= p.batch_size[0];
  p.batch_rank = 0;
  p.a.batch = p.out.batch = p.batch_size = {};
}

// Kernels load neighbouring columns of b at once. The transposed product has them where this one has not.
void transpose_if_better(Product& p) {
  const bool vector_right = p.n == 1 && p.m > 1;
  const bool columns_apart = p.b.column != 1 && p.a.row == 1 && p.m > 1;
  if (!vector_right && !columns_apart) return;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  for (Matrix* each : {&p.a, &p.b, &p.out}) std::swap(each->row, each->column);
}

}  // namespace

std::int64_t Product::num_batches() const {
  std::int64_t count = 1;
  for (int i = 0; i < batch_rank; ++i) count *= batch_size[static_cast<std::size_t>(i)];
  return count;
}

std::int64_t Product::work_per_batch() const {
  std::int64_t work = m, limit = std::int64_t{1} << 62;
  for (std::int64_t size : {n, k}) work = size && work > limit / size ? limit : work * size;
  return work;
}

Product product_of(const bp_call& call) {
  const bp_tensor& a = *call.args[0].u.tensor;
  const bp_tensor& b = *call.args[1].u.tensor;
  const bp_tensor& out = *call.outputs[0];
  Product p;
  p.dtype = static_cast<Dtype>(out.dtype);
  p.m = out.dl.shape[out.dl.ndim - 2];
  p.n = out.dl.shape[out.dl.ndim - 1];
  p.k = a.dl.shape[a.dl.ndim - 1];
  p.a = matrix_of(a);
  p.b = matrix_of(b);
  p.out = matrix_of(out);
  add_batches(p, a, b, out);
  if (p.k == 0) {  // of nothing; its memory need not be there
    p.a.memory = p.b.memory = p.out.memory;
    p.a.start = p.b.start = p.out.start;
  }
  fold_batch_into_rows(p);
  transpose_if_better(p);
  return p;
}

}  // namespace bp::codegen
