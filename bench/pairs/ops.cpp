#include "ops.hpp"

#include <algorithm>

#include <backplane/tensors.hpp>

#include "../peers/ops_cases.hpp"

namespace {

struct Side {
  using Tensor = bp::Tensor;
  using Scalar = bp::Scalar;

  static bp::Dtype type(const std::string& dtype) {
    return dtype == "f32" ? bp::f32 : dtype == "bf16" ? bp::bf16 : bp::i64;
  }
  // From 0.1 to 0.9, or from 1 to 9.
  static Tensor random(std::int64_t rows, std::int64_t columns, const std::string& dtype) {
    if (dtype == "i64") return bp::randint(1, 10, {rows, columns});
    return bp::to(bp::add(bp::mul(bp::rand({rows, columns}), 0.8), 0.1), type(dtype));
  }
  static Tensor indices(std::int64_t end, std::int64_t rows, std::int64_t columns) {
    return bp::randint(0, end, {rows, columns});
  }
  static Tensor indices(std::int64_t end, std::int64_t count) {
    return bp::randint(0, end, {count});
  }
  // Made once for each tensor, so that the condition costs nothing when it is used.
  static Tensor first_half(const Tensor& like) {
    static Tensor of, condition;
    if (!of.defined() || of.impl() != like.impl())
      of = like, condition = bp::lt(like, bp::mean(bp::to(like, bp::f32)));
    return condition;
  }
  static Tensor transpose(const Tensor& x) { return bp::transpose(x, 0, 1); }
  static Tensor contiguous(const Tensor& x) { return bp::contiguous(x); }
  static Tensor expand(const Tensor& x, std::int64_t rows, std::int64_t columns) {
    return bp::expand(x, {rows, columns});
  }
  static Tensor cast(const Tensor& x, const std::string& dtype) { return bp::to(x, type(dtype)); }
  static Tensor sum(const Tensor& x) { return bp::sum(x); }
  static Tensor sum(const Tensor& x, std::int64_t dim) { return bp::sum(x, {dim}); }
  static Tensor max(const Tensor& x) { return bp::max(x); }
  static Tensor max(const Tensor& x, std::int64_t dim) { return bp::max(x, {dim}); }
  static Tensor mean(const Tensor& x, std::int64_t dim) { return bp::mean(x, {dim}); }
  static Tensor var(const Tensor& x, std::int64_t dim) { return bp::var(x, {dim}); }
  static Tensor norm(const Tensor& x) { return bp::norm(x); }
  static Tensor logsumexp(const Tensor& x, std::int64_t dim) { return bp::logsumexp(x, {dim}); }
  static Tensor cat(const Tensor& a, const Tensor& b, std::int64_t dim) {
    return bp::cat({a, b}, dim);
  }
  static Tensor index_put(const Tensor& x, const Tensor& index, const Tensor& values) {
    return bp::index_put(x, {index}, values);
  }
  static Tensor layer_norm(const Tensor& x) { return bp::layer_norm(x, {x.size(1)}); }
  static Tensor rms_norm(const Tensor& x) { return bp::rms_norm(x, {x.size(1)}); }
  static Tensor randint(std::int64_t rows, std::int64_t columns) {
    return bp::randint(0, 100, {rows, columns});
  }
  static Tensor randperm(std::int64_t size) { return bp::randperm(size); }
  static Tensor rand(std::int64_t rows, std::int64_t columns, const std::string& dtype) {
    return bp::rand({rows, columns}, type(dtype));
  }
  static Tensor randn(std::int64_t rows, std::int64_t columns, const std::string& dtype) {
    return bp::randn({rows, columns}, type(dtype));
  }
};

}  // namespace

void serve_ops() {
  bench::serve_cases<Side>();
}
