// A product is a convolution whose kernel is one point: its rows are the points of one picture.
#include "products.hpp"

#include <cmath>

#include <backplane/backplane.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "affine.hpp"
#include "convolutions.hpp"

namespace bp::onnx {
namespace {

bool is_transposed(const GraphNode& node) {
  return node.type == "Gemm" && int_of(node, "transB", 0);
}

std::int64_t results_of(const GraphNode& node) {
  return node.inputs[1].facts.shape[is_transposed(node) ? 0 : 1];
}

// What a Gemm adds is one number for each result, or for all of them.
bool has_usual_summand(const GraphNode& node) {
  if (node.inputs.size() < 3 || !node.inputs[2].facts.exists) return true;
  const GraphValue& value = node.inputs[2];
  if (!value.constant || value.facts.dtype != f32 || value.facts.ndim > 2) return false;
  const std::vector<std::int64_t>& shape = value.facts.shape;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && (i + 1 != shape.size() || shape[i] != results_of(node))) return false;
  return true;
}

bool is_packable(const GraphNode& node) {
  if (!is_of_onnx(node) || node.outputs.size() != 1) return false;
  const bool is_gemm = node.type == "Gemm" && node.version >= 7;
  if (!is_gemm && node.type != "MatMul") return false;
  const GraphValue &input = node.inputs.at(0), &weight = node.inputs.at(1);
  if (!weight.constant || weight.facts.shape.size() != 2 || input.facts.dtype != f32) return false;
  constexpr std::int64_t fewest_results = 8;  // or panels hold little but zeros
  if (weight.facts.shape[0] <= 0 || weight.facts.shape[1] <= 0) return false;
  if (results_of(node) < fewest_results) return false;
  // Zeros of a matrix times an infinite factor would be NaN.
  return !is_gemm || (!int_of(node, "transA", 0) && std::isfinite(real_of(node, "alpha", 1)) &&
                      has_usual_summand(node));
}

class PackedProduct : public Action {
 public:
  // `other` is added, if there is a second input.
  PackedProduct(const GraphNode& node, const ChannelAffine& affine, const Limits& limits,
                Device device)
      : limits_(limits) {
    name_ = name_of(node);
    Tensor weight = borrow(node.inputs[1].constant, host_device());
    if (!is_transposed(node)) weight = transpose(weight, 0, 1);
    const std::int64_t to = weight.size(0);
    size_ = {to, weight.size(1), 1, 1};
    if (!affine.is_identity()) weight = mul(weight, reshape(affine.factors(), {to, 1}));
    const double alpha = real_of(node, "alpha", 1), beta = real_of(node, "beta", 1);
    if (alpha != 1) weight = mul(weight, alpha);
    weight_ = copy_on(pack_convolution(reshape(weight, size_), 1), device);
    Tensor bias;
    if (node.inputs.size() > 2 && node.inputs[2].constant && beta != 0)  // or NaN would stay
      bias =
          mul(clone(expand(flatten(borrow(node.inputs[2].constant, host_device())), {to})), beta);
    if (!affine.is_identity()) bias = affine.applied_to(bias);
    if (bias.defined()) bias_ = copy_on(bias, device);
  }

  void run(std::span<Value* const> inputs, std::span<Value> results) const override {
    const Tensor& input = inputs[0]->tensor;
    const std::int64_t each = size_[1], to = size_[0];
    BP_CHECK(input.ndim() > 0 && input.size(-1) == each,
             "the input has shape {}; its last dimension must be {}, as the constant matrix has it",
             bp::to_string(input.shape()), each);
    Dims shape = input.shape();
    shape.back() = to;
    const std::int64_t rows = input.numel() / each;
    if (rows == 0) {
      results[0].tensor = empty(shape, {.dtype = f32, .device = input.device()});
      return;
    }
    const Tensor other = inputs.size() > 1 ? inputs[1]->tensor : Tensor();
    const bool fits = other.defined() && other.shape() == IntList(shape);
    const bool finishes = fits || !other.defined();
    Tensor result = packed_convolution(
        reshape(contiguous(input), {1, rows, 1, each}), weight_, bias_,
        fits ? reshape(contiguous(other), {1, rows, 1, to}) : Tensor(), size_, {1, 1}, {0, 0, 0, 0},
        {1, 1}, 1, finishes ? limits_.min : std::nullopt, finishes ? limits_.max : std::nullopt);
    result = reshape(result, shape);
    results[0].tensor = finishes ? result : finished(result, other, limits_);
  }

 private:
  Limits limits_;
  Dims size_;  // [to, each, 1, 1]
  Tensor weight_, bias_;
};

}  // namespace

std::vector<FusedNodes> fuse_products(const std::vector<GraphNode>& nodes, const Readers& readers,
                                      Device device, std::vector<bool>& taken) {
  std::vector<FusedNodes> all;
  if (!has_packed_convolution(device)) return all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    if (!is_packable(node)) continue;
    FusedNodes fused{{i}, {&node.inputs[0]}, nullptr};
    ChannelAffine affine(results_of(node), ChannelAffine::last);
    take_affine(nodes, readers, taken, fused, affine);
    take_summand(nodes, readers, taken, fused);
    const Limits limits = take_limits(nodes, readers, taken, fused);
    fused.action = std::make_unique<PackedProduct>(node, affine, limits, device);
    for (const std::size_t each : fused.nodes) taken[each] = true;
    all.push_back(std::move(fused));
  }
  return all;
}

}  // namespace bp::onnx
