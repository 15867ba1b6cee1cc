// No window overlaps another, so each point of the input gives the sums of one window: a convolution by a kernel of one point whose
// results are the window's points.
#include "transposed.hpp"

#include <algorithm>

#include <backplane/backplane.hpp>
#include <backplane/runtime/allocator.hpp>

#include "affine.hpp"

namespace bp::onnx {
namespace {

bool is_all(const GraphNode& node, std::string_view name, std::int64_t value) {
  const Attribute* const found = find_attribute(node, name);
  return !found || std::all_of(found->ints.begin(), found->ints.end(),
                               [&](std::int64_t each) { return each == value; });
}

class SpreadProduct : public Action {
 public:
  SpreadProduct(const GraphNode& node, const ChannelAffine& affine, const Limits& limits,
                Device device, std::string name)
      : limits_(limits) {
    name_ = std::move(name);
    Tensor weight = borrow(node.inputs[1].constant, host_device());  // [from, to, height, width]
    height_ = weight.size(2), width_ = weight.size(3), to_ = weight.size(1);
    if (!affine.is_identity()) weight = mul(weight, reshape(affine.factors(), {1, to_, 1, 1}));
    size_ = {height_ * width_ * to_, weight.size(0), 1, 1};
    const Tensor as_results = reshape(permute(weight, {2, 3, 1, 0}), size_);
    weight_ = to(pack_convolution(as_results, 1), device);
    Tensor bias;
    if (node.inputs.size() > 2 && node.inputs[2].constant)
      bias = borrow(node.inputs[2].constant, host_device());
    if (!affine.is_identity()) bias = affine.applied_to(bias);
    if (bias.defined()) bias_ = to(repeat(bias, {height_ * width_}), device);
  }

  void run(std::span<Value* const> inputs, std::span<Value> results) const override {
    const Tensor pictures = contiguous(permute(inputs[0]->tensor, {0, 2, 3, 1}));
    const std::int64_t batch = pictures.size(0), rows = pictures.size(1),
                       columns = pictures.size(2);
    const Tensor windows = packed_convolution(pictures, weight_, bias_, {}, size_, {1, 1},
                                              {0, 0, 0, 0}, {1, 1}, 1, limits_.min, limits_.max);
    const Tensor split = reshape(windows, {batch, rows, columns, height_, width_, to_});
    const Tensor spread =
        reshape(permute(split, {0, 1, 3, 2, 4, 5}), {batch, rows * height_, columns * width_, to_});
    results[0].tensor = permute(spread, {0, 3, 1, 2});
  }

 private:
  Limits limits_;
  std::int64_t height_, width_, to_;
  Dims size_;
  Tensor weight_, bias_;
};

}  // namespace

bool is_spreading(const GraphNode& node) {
  if (!is_of_onnx(node) || node.type != "ConvTranspose" || node.outputs.size() != 1) return false;
  const GraphValue &input = node.inputs.at(0), &weight = node.inputs.at(1);
  const IntList shape(weight.facts.shape.data(), weight.facts.shape.size());
  if (!weight.constant || shape.size() != 4 || input.facts.ndim != 4) return false;
  if (input.facts.dtype != f32 || std::find(shape.begin(), shape.end(), 0) != shape.end())
    return false;
  if (node.inputs.size() > 2 && node.inputs[2].facts.exists && !node.inputs[2].constant)
    return false;
  const Attribute *const strides = find_attribute(node, "strides"), *const auto_pad =
                                                                        find_attribute(node,
                                                                                       "auto_pad");
  const std::vector<std::int64_t> stride =
      strides ? strides->ints : std::vector<std::int64_t>{1, 1};
  if (auto_pad && auto_pad->text != "NOTSET" && auto_pad->text != "VALID") return false;
  return stride.size() == 2 && stride[0] == shape[2] && stride[1] == shape[3] &&
         is_all(node, "group", 1) && is_all(node, "dilations", 1) && is_all(node, "pads", 0) &&
         is_all(node, "output_padding", 0) && !find_attribute(node, "output_shape");
}

void fuse_behind_spreading(const std::vector<GraphNode>& nodes, const Readers& readers,
                           Device device, const std::vector<bool>& taken, FusedNodes& fused) {
  const GraphNode& node = nodes[fused.nodes[0]];
  ChannelAffine affine(node.inputs[1].facts.shape[1]);
  take_affine(nodes, readers, taken, fused, affine);
  const Limits limits = take_limits(nodes, readers, taken, fused);
  std::string name = name_of(node);
  fused.action = std::make_unique<SpreadProduct>(node, affine, limits, device, std::move(name));
}

}  // namespace bp::onnx
