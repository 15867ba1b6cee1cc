// matmul and bmm by cuBLASLt. Transposed factors and broadcast batches are read where they lie; factors with gaps both
// ways are copied by the host first, for a second kernel that takes rows without gaps alone.
#include <algorithm>
#include <array>

#include <backplane/plugin.hpp>
#include <backplane/plugin/batches.hpp>

#include "kernels/products.hpp"

namespace cuda_backend {
namespace {

// A matrix with any strides, in elements.
struct Matrix {
  const char* data;
  int64_t rows, columns, row_stride, column_stride, batch_stride;

  Matrix transposed() const {
    return {data, columns, rows, column_stride, row_stride, batch_stride};
  }
};

Matrix matrix_of(bp::In tensor) {
  const int32_t rank = tensor.ndim();
  return {tensor.data<char>(),     tensor.size(rank - 2),   tensor.size(rank - 1),
          tensor.stride(rank - 2), tensor.stride(rank - 1), 0};
}

// False if neither rows nor columns lie without gaps. Strides of dimensions of size 1 mean nothing.
bool describe(const Matrix& matrix, Factor& factor) {
  factor.data = matrix.data;
  factor.batch_stride = matrix.batch_stride;
  factor.transposed = false;
  const bool one_row = matrix.rows == 1, one_column = matrix.columns == 1;
  if ((matrix.column_stride == 1 || one_column) &&
      (matrix.row_stride >= matrix.columns || one_row)) {
    factor.leading = one_row ? matrix.columns : matrix.row_stride;
    return true;
  }
  factor.transposed = true;
  factor.leading = one_column ? matrix.rows : matrix.column_stride;
  return (matrix.row_stride == 1 || one_row) && factor.leading >= matrix.rows;
}

bool lies_without_gaps(const Matrix& matrix) {
  Factor factor;
  return describe(matrix, factor);
}

// The library's grids count a batch in 16 bits.
constexpr int64_t most_batches = 65535;

// Fewer or better shaped products with the same result.
void simplify(Product& p, Matrix& a, Matrix& b) {
  // One b for all: its batch is more rows of a, if these follow each other.
  if (p.batch > 1 && b.batch_stride == 0 && p.out_batch_stride == p.m * p.n &&
      (p.m == 1 || a.batch_stride == p.m * a.row_stride)) {
    Matrix joined = a;
    if (p.m == 1) joined.row_stride = a.batch_stride;
    joined.rows = p.m * p.batch;
    if (lies_without_gaps(joined)) {
      a = joined;
      p.m = joined.rows;
      p.batch = 1;
    }
  }
  if (p.batch == 1) a.batch_stride = b.batch_stride = p.out_batch_stride = 0;
  // A column as a row: the library's kernels for vectors want them on that side.
  if (p.n == 1 && p.m > 1) {
    const Matrix column = b;
    b = a.transposed();
    a = column.transposed();
    std::swap(p.m, p.n);
  }
}

bp::Status multiply(const bp::Call& call, const OnCard& card, Products& products, Matrix a,
                    Matrix b, Product p) {
  simplify(p, a, b);
  if (!describe(a, p.a) || !describe(b, p.b)) return bp::Status::from_host(BP_UNSUPPORTED);
  const auto itemsize = static_cast<int64_t>(call.abi().outputs[0]->itemsize);
  for (int64_t left = p.batch; left > 0; left -= most_batches) {
    p.batch = std::min(left, most_batches);
    const bp::Status status = products.run(call, card, p);
    if (!status.is_ok()) return status;
    p.a.data += p.batch * p.a.batch_stride * itemsize;
    p.b.data += p.batch * p.b.batch_stride * itemsize;
    p.out += p.batch * p.out_batch_stride * itemsize;
  }
  return bp::ok;
}

bp::Status matmul(bp::Call call, bp::In a, bp::In b, bp::Out out) {
  const OnCard card(call, "matmul");
  Products* const products = products_of(card);
  if (products == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);

  const bp::Batches batches(out, a, b);
  const bp::Batches::Dim inner = batches.innermost();
  const auto itemsize = static_cast<int64_t>(out.itemsize());
  for (int64_t i = 0; i < batches.count_outer(); ++i) {
    const bp::Batches::Strides offsets = batches.offsets_of(i);
    Matrix left = matrix_of(a), right = matrix_of(b);
    left.batch_stride = inner.strides[0];
    right.batch_stride = inner.strides[1];
    left.data += offsets[0] * itemsize;
    right.data += offsets[1] * itemsize;
    Product product{};
    product.dtype = out.dtype();
    product.batch = inner.size;
    product.m = left.rows;
    product.n = right.columns;
    product.k = left.columns;
    product.out = out.data<char>() + offsets[2] * itemsize;
    product.out_batch_stride = inner.strides[2];
    const bp::Status status = multiply(call, card, *products, left, right, product);
    if (!status.is_ok()) return status;
  }
  return bp::ok;
}

bool takes_as_they_lie(bp::Call, bp::In a, bp::In b, bp::Out) {
  return lies_without_gaps(matrix_of(a)) && lies_without_gaps(matrix_of(b));
}

template <class Op> void add_kernels(bp::Kernels& k) {
  constexpr auto floats = bp::floating | bp::complex;
  k.add<Op>(matmul)
      .dtypes(floats)
      .layouts(bp::strided)
      .supports(takes_as_they_lie)
      .layouts(Op::place::out, bp::contiguous)
      .deterministic()
      .capturable()
      .scratch()
      .priority(1);
  k.add<Op>(matmul).dtypes(floats).deterministic().capturable().scratch();
}

}  // namespace
}  // namespace cuda_backend

BP_KERNELS(cuda_matmul) {
  cuda_backend::add_kernels<bp::op::matmul>(k);
  cuda_backend::add_kernels<bp::op::bmm>(k);
}
