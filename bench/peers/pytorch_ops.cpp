// PyTorch's side of the operators in ops_cases.hpp, on all cores.
#include <ATen/ATen.h>
#include <thread>
#include <torch/utils.h>

#include "ops_cases.hpp"

namespace {

struct Side {
  using Tensor = at::Tensor;
  using Scalar = at::Scalar;

  static at::ScalarType type(const std::string& dtype) {
    return dtype == "f32" ? at::kFloat : dtype == "bf16" ? at::kBFloat16 : at::kLong;
  }
  // From 0.1 to 0.9, or from 1 to 9.
  static Tensor random(int64_t rows, int64_t columns, const std::string& dtype) {
    if (dtype == "i64") return at::randint(1, 10, {rows, columns}, at::kLong);
    return (at::rand({rows, columns}) * 0.8 + 0.1).to(type(dtype));
  }
  static Tensor indices(int64_t end, int64_t rows, int64_t columns) {
    return at::randint(0, end, {rows, columns}, at::kLong);
  }
  static Tensor indices(int64_t end, int64_t count) {
    return at::randint(0, end, {count}, at::kLong);
  }
  // Made once for each tensor, so that the condition costs nothing when it is used.
  static Tensor first_half(const Tensor& like) {
    static Tensor of, condition;
    if (!of.is_same(like)) of = like, condition = at::lt(like, like.mean(at::kFloat));
    return condition;
  }
  static Tensor transpose(const Tensor& x) { return x.transpose(0, 1); }
  static Tensor contiguous(const Tensor& x) { return x.contiguous(); }
  static Tensor expand(const Tensor& x, int64_t rows, int64_t columns) {
    return x.expand({rows, columns});
  }
  static Tensor cast(const Tensor& x, const std::string& dtype) { return x.to(type(dtype)); }
  static Tensor sum(const Tensor& x) { return at::sum(x); }
  static Tensor sum(const Tensor& x, int64_t dim) { return at::sum(x, at::IntArrayRef(dim)); }
  static Tensor max(const Tensor& x) { return at::amax(x); }
  static Tensor max(const Tensor& x, int64_t dim) { return at::amax(x, at::IntArrayRef(dim)); }
  static Tensor mean(const Tensor& x, int64_t dim) { return at::mean(x, at::IntArrayRef(dim)); }
  static Tensor var(const Tensor& x, int64_t dim) { return at::var(x, at::IntArrayRef(dim)); }
  static Tensor norm(const Tensor& x) { return at::norm(x); }
  static Tensor logsumexp(const Tensor& x, int64_t dim) {
    return at::logsumexp(x, at::IntArrayRef(dim));
  }
  static Tensor cat(const Tensor& a, const Tensor& b, int64_t dim) { return at::cat({a, b}, dim); }
  static Tensor index_put(const Tensor& x, const Tensor& index, const Tensor& values) {
    return at::index_put(x, {index}, values);
  }
  static Tensor layer_norm(const Tensor& x) { return at::layer_norm(x, {x.size(1)}); }
  static Tensor rms_norm(const Tensor& x) { return at::rms_norm(x, {x.size(1)}); }
  static Tensor randint(int64_t rows, int64_t columns) {
    return at::randint(0, 100, {rows, columns}, at::kLong);
  }
  static Tensor randperm(int64_t size) { return at::randperm(size); }
  static Tensor rand(int64_t rows, int64_t columns, const std::string& dtype) {
    return at::rand({rows, columns}, type(dtype));
  }
  static Tensor randn(int64_t rows, int64_t columns, const std::string& dtype) {
    return at::randn({rows, columns}, type(dtype));
  }
};

}  // namespace

int main() {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  torch::NoGradGuard no_grad;
  bench::serve_cases<Side>();
}
