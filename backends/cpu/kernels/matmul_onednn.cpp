#include "matmul_onednn.hpp"

#include <algorithm>
#include <atomic>

#include "../constants.hpp"
#include "../host.hpp"
#include "../threads.hpp"
#include "matmul_cut.hpp"
#include "onednn.hpp"

namespace bp::cpu {
namespace {

// ---- One part, on one thread

// What a primitive is made for. Compared as bytes: every field has eight.
struct Key {
  int64_t dtype, batch, m, n, k;
  int64_t a_row, a_column, a_batch, b_row, b_column, b_batch;
  int64_t out_row, out_batch;
};

struct Primitive {
  dnnl::matmul multiply;  // empty: oneDNN cannot do this one
  dnnl::memory a, b, out, scratch;
  uint64_t scratch_bytes = 0;
  bool is_older = false;  // see NoSignals
};

Key key_of(const Product& part, const Product& whole) {
  return {part.dtype,
          part.batch,
          part.m,
          part.n,
          part.k,
          part.a.row_stride,
          part.a.column_stride,
          part.a.batch_stride,
          part.b.row_stride,
          part.b.column_stride,
          part.b.batch_stride,
          whole.n,
          whole.m * whole.n};
}

dnnl::memory::desc describe(dnnl::memory::data_type type, int64_t batch, int64_t rows,
                            int64_t columns, const Matrix& matrix) {
  if (batch == 1) return {{rows, columns}, type, {matrix.row_stride, matrix.column_stride}};
  const int64_t own_batch = matrix.batch_stride == 0 ? 1 : batch;
  const int64_t stride = matrix.batch_stride == 0
                             ? std::max(rows * matrix.row_stride, columns * matrix.column_stride)
                             : matrix.batch_stride;
  return {{own_batch, rows, columns}, type, {stride, matrix.row_stride, matrix.column_stride}};
}

Primitive make_primitive(const Key& key) {
  const auto type =
      key.dtype == BP_BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  const auto a =
      describe(type, key.batch, key.m, key.k, {nullptr, key.a_row, key.a_column, key.a_batch});
  const auto b =
      describe(type, key.batch, key.k, key.n, {nullptr, key.b_row, key.b_column, key.b_batch});
  const auto out =
      describe(type, key.batch, key.m, key.n, {nullptr, key.out_row, 1, key.out_batch});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the host counts it
  Primitive made;
  try {
    const dnnl::matmul::primitive_desc description({a, b, out}, attributes, onednn_engine());
    made.multiply = dnnl::matmul(description);
    made.is_older = runs_older_kernels(description.impl_info_str());
    made.a = dnnl::memory(a, onednn_engine(), nullptr);
    made.b = dnnl::memory(b, onednn_engine(), nullptr);
    made.out = dnnl::memory(out, onednn_engine(), nullptr);
    made.scratch = dnnl::memory(description.scratchpad_desc(), onednn_engine(), nullptr);
    made.scratch_bytes = description.scratchpad_desc().get_size();
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
    made = Primitive();
  }
  return made;
}

using Primitives = PrimitiveCache<Key, Primitive, 64>;

Primitives& primitives() {
  thread_local Primitives cache;
  return cache;
}

Primitive& primitive_for(const Product& part, const Product& whole) {
  const Key key = key_of(part, whole);
  return primitives().find(key, [&] { return make_primitive(key); });
}

void run_primitive(Primitive& primitive, const Product& part, char* scratch) {
  primitive.a.set_data_handle(const_cast<char*>(part.a.data));
  primitive.b.set_data_handle(const_cast<char*>(part.b.data));
  primitive.out.set_data_handle(part.out);
  if (scratch) primitive.scratch.set_data_handle(scratch);
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, primitive.a.get()},
                                  {DNNL_ARG_WEIGHTS, primitive.b.get()},
                                  {DNNL_ARG_DST, primitive.out.get()},
                                  {DNNL_ARG_SCRATCHPAD, primitive.scratch.get()}};
  const NoSignals quiet(primitive.is_older);
  execute(primitive.multiply, primitives().stream(), std::span(args, scratch ? 4 : 3),
          "oneDNN could not run a matmul");
}

// oneDNN's older way, a few percent faster on one pair of large matrices (2048: 5 %). It takes memory of its own for packing,
// some megabytes that the host does not count.
bool is_large(const Product& p) {
  return p.dtype == BP_F32 && p.batch == 1 &&
         std::min({p.m, p.n, p.k}) >= constants::older_product_size;
}

// oneDNN makes its tables for the older way at the first call.
void make_tables_of_large() {
  static std::atomic<bool> are_made{false};
  if (are_made.load(std::memory_order_acquire)) return;
  const std::unique_lock lock = while_making();
  const float one = 1;
  float product = 0;
  dnnl_sgemm('N', 'N', 1, 1, 1, 1, &one, 1, &one, 1, 0, &product, 1);
  are_made.store(true, std::memory_order_release);
}

bool multiply_large(const Product& part, int64_t out_row) {
  make_tables_of_large();
  const NoSignals quiet;
  const auto is_by_rows = [](const Matrix& matrix) { return matrix.column_stride == 1; };
  const auto step = [&](const Matrix& matrix) {
    return is_by_rows(matrix) ? matrix.row_stride : matrix.column_stride;
  };
  const auto floats = [](const char* data) { return reinterpret_cast<const float*>(data); };
  return dnnl_sgemm(is_by_rows(part.a) ? 'N' : 'T', is_by_rows(part.b) ? 'N' : 'T', part.m, part.n,
                    part.k, 1, floats(part.a.data), step(part.a), floats(part.b.data), step(part.b),
                    0, reinterpret_cast<float*>(part.out), out_row) == dnnl_success;
}

bool packs_by_size(const Product& p) {
  return p.dtype == BP_F32 && dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core;
}

ProductCut cut_of(const Product& p, ProductWay way) {
  return ProductCut::of(p, num_threads(), way == ProductWay::across, packs_by_size(p));
}

// ---- Parts of terms, which are added up

// Where the parts of a cut have their results: bands within the whole, sums of terms in matrices of their own but for the first.
class Results {
 public:
  Results(const ProductCut& cut, const Product& whole) : cut_(cut), whole_(whole) {}

  bp_code take_memory(const bp_call* call) {
    if (cut_.along != ProductCut::terms || cut_.parts == 1) return BP_OK;
    return take_workspace(call, (cut_.parts - 1) * bytes(), sums_);
  }
  Product part(int64_t index) const {
    Product one = cut_.part(whole_, index);
    if (sums_ && index != 0) one.out = sums_ + (index - 1) * bytes();
    return one;
  }
  void add_up() const {
    if (!sums_) return;
    const int64_t count = whole_.m * whole_.n;
    parallel_for(count, constants::element_grain, [&](int64_t begin, int64_t end) {
      float* const to = reinterpret_cast<float*>(whole_.out);
      for (int64_t part = 0; part < cut_.parts - 1; ++part) {
        const float* const from = reinterpret_cast<const float*>(sums_) + part * count;
        for (int64_t i = begin; i < end; ++i) to[i] += from[i];
      }
    });
  }

 private:
  int64_t bytes() const { return whole_.m * whole_.n * static_cast<int64_t>(sizeof(float)); }

  const ProductCut& cut_;
  const Product& whole_;
  char* sums_ = nullptr;
};

}  // namespace

bool is_read_in_place(const Product& p) {
  return packs_by_size(p) &&
         ProductCut::is_read_in_place(cut_of(p, ProductWay::by_shape).part(p, 0));
}

bool multiply_by_onednn(const bp_call* call, const Product& p, bp_code& code, ProductWay way) {
  const ProductCut cut = cut_of(p, way);
  const int64_t parts = cut.count(p);
  const int64_t worth = p.batch * p.m * p.n * p.k / constants::product_work;
  Results results(cut, p);
  code = results.take_memory(call);
  if (code != BP_OK) return true;
  if (way == ProductWay::older || (way == ProductWay::by_shape && is_large(p))) {
    std::atomic<bool> done{true};
    parallel_parts(parts, worth, [&](int64_t index) {
      const ThreadLimit one(1);
      if (!multiply_large(results.part(index), p.n)) done = false;
    });
    if (done) {
      results.add_up();
      return true;
    }
  }
  const ThreadLimit one(1);
  uint64_t scratch_bytes = 0;
  for (const int64_t index : {int64_t{0}, parts - 1}) {  // of two sizes
    const Primitive& primitive = primitive_for(cut.part(p, index), p);
    if (!primitive.multiply) return false;
    scratch_bytes = std::max(scratch_bytes, (primitive.scratch_bytes + 63) & ~uint64_t{63});
  }
  char* scratch = nullptr;
  if (scratch_bytes != 0) code = take_workspace(call, scratch_bytes * parts, scratch);
  if (code != BP_OK) return true;
  parallel_parts(parts, worth, [&](int64_t index) {
    const ThreadLimit here(1);
    const Product part = results.part(index);
    run_primitive(primitive_for(part, p), part,
                  scratch ? scratch + scratch_bytes * index : nullptr);
  });
  results.add_up();
  return true;
}

}  // namespace bp::cpu
