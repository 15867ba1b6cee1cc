// What stands behind a convolution is done to its sums before they are written: constants of channels by its weight and bias, then an
// addition, then limits.
#include "convolutions.hpp"

#include <algorithm>

#include <backplane/backplane.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_registry.hpp>

#include "affine.hpp"
#include "recipes/windows.hpp"
#include "transposed.hpp"

namespace bp::onnx {
namespace {

Axes list_of(const GraphNode& node, std::string_view name) {
  const Attribute* const found = find_attribute(node, name);
  return found ? Axes(IntList(found->ints.data(), found->ints.size())) : std::nullopt;
}
std::int64_t groups_of(const GraphNode& node) {
  return int_of(node, "group", 1);
}

// Weights that packing suits: of two dimensions or one, and wide enough that panels hold more than zeros.
bool is_packable(const GraphNode& node) {
  if (!is_of_onnx(node) || node.type != "Conv" || node.outputs.size() != 1) return false;
  const GraphValue &input = node.inputs.at(0), &weight = node.inputs.at(1);
  const std::size_t rank = weight.facts.shape.size();
  if (!weight.constant || (rank != 4 && rank != 3)) return false;
  // ONNX Runtime says 0 where it does not know a rank, as in branches: it is the weight's, or the call fails.
  const bool fits = input.facts.ndim <= 0 || input.facts.ndim == static_cast<std::int64_t>(rank);
  if (input.facts.dtype != f32 || !fits) return false;
  if (node.inputs.size() > 2 && node.inputs[2].facts.exists && !node.inputs[2].constant)
    return false;
  constexpr std::int64_t fewest_results = 8;  // of one group among several
  const std::int64_t to = weight.facts.shape[0], each = weight.facts.shape[1],
                     groups = groups_of(node);
  for (const std::int64_t size : weight.facts.shape)
    if (size <= 0) return false;
  return groups == 1 ||
         (to % groups == 0 && ((each == 1 && to == groups) || to / groups >= fewest_results));
}

// With channels last, as the row takes pictures; a line is a picture of one row.
Tensor as_pictures(const Tensor& input) {
  return contiguous(input.ndim() == 3 ? unsqueeze(permute(input, {0, 2, 1}), 1)
                                      : permute(input, {0, 2, 3, 1}));
}
Tensor from_pictures(const Tensor& pictures, bool are_lines) {
  return are_lines ? permute(squeeze(pictures, 1), {0, 2, 1}) : permute(pictures, {0, 3, 1, 2});
}

class PackedConvolution : public Action {
 public:
  // `other` is added, if there is a second input.
  PackedConvolution(const GraphNode& node, const ChannelAffine& affine, const Limits& limits,
                    Device device, std::string name)
      : are_lines_(node.inputs[1].facts.shape.size() == 3), groups_(groups_of(node)),
        limits_(limits) {
    name_ = std::move(name);
    const Attribute* const auto_pad = find_attribute(node, "auto_pad");
    auto_pad_ = auto_pad ? auto_pad->text : "NOTSET";
    for (const auto& [to, from] : {std::pair(&strides_, "strides"), std::pair(&pads_, "pads"),
                                   std::pair(&dilations_, "dilations")})
      if (const Axes list = list_of(node, from)) to->assign(list->begin(), list->end());
    Tensor weight = borrow(node.inputs[1].constant, host_device());
    kernel_ = kernel_of(weight);
    if (!affine.is_identity()) {
      Dims each(static_cast<std::uint32_t>(weight.ndim()), 1);
      each[0] = weight.size(0);
      weight = mul(weight, reshape(affine.factors(), each));
    }
    if (are_lines_) weight = unsqueeze(weight, 2);
    size_ = weight.shape();
    weight_ = copy_on(pack_convolution(weight, groups_), device);
    Tensor bias;
    if (node.inputs.size() > 2 && node.inputs[2].constant)
      bias = borrow(node.inputs[2].constant, host_device());
    if (!affine.is_identity()) bias = affine.applied_to(bias);
    if (bias.defined()) bias_ = copy_on(bias, device);
  }

  void run(std::span<Value* const> inputs, std::span<Value> results) const override {
    const Tensor& input = inputs[0]->tensor;
    const Tensor other = inputs.size() > 1 ? inputs[1]->tensor : Tensor();
    const Dims stride = with_line(ones_or(axes(strides_), kernel_.size()), 1),
               dilation = with_line(ones_or(axes(dilations_), kernel_.size()), 1);
    const Tensor pictures = as_pictures(input);
    const Dims padding = padding_for(input.shape());
    const Dims shape = result_shape(pictures.shape(), padding, stride, dilation);
    const bool fits = other.defined() && other.ndim() == input.ndim() &&
                      as_pictures_shape(other.shape()) == IntList(shape);
    const bool finishes = fits || !other.defined();
    Tensor result = packed_convolution(pictures, weight_, bias_,
                                       fits ? as_pictures(other) : Tensor(), size_, stride, padding,
                                       dilation, groups_, finishes ? limits_.min : std::nullopt,
                                       finishes ? limits_.max : std::nullopt);
    result = from_pictures(result, are_lines_);
    results[0].tensor = finishes ? result : finished(result, other, limits_);
  }

 private:
  static Axes axes(const std::vector<std::int64_t>& list) {
    return list.empty() ? std::nullopt : Axes(IntList(list.data(), list.size()));
  }
  // Of a line's only dimension, with one more in front of it.
  Dims with_line(const Dims& list, std::int64_t first) const {
    return are_lines_ ? Dims{first, list[0]} : list;
  }
  Dims padding_for(IntList shape) const {
    const Window window{auto_pad_,   kernel_.size(),   kernel_, axes(strides_),
                        axes(pads_), axes(dilations_), false};
    const Dims padding = padding_of(window, shape);
    return are_lines_ ? Dims{0, padding[0], 0, padding[1]} : padding;
  }
  Dims as_pictures_shape(IntList shape) const {
    return are_lines_ ? Dims{shape[0], 1, shape[2], shape[1]}
                      : Dims{shape[0], shape[2], shape[3], shape[1]};
  }
  Dims result_shape(IntList pictures, const Dims& padding, const Dims& stride,
                    const Dims& dilation) const {
    Dims shape{pictures[0]};
    for (std::size_t i = 0; i < 2; ++i)
      shape.push_back(
          (pictures[i + 1] + padding[i] + padding[i + 2] - dilation[i] * (size_[i + 2] - 1) - 1) /
              stride[i] +
          1);
    shape.push_back(size_[0]);
    return shape;
  }

  bool are_lines_;
  std::int64_t groups_;
  Limits limits_;
  std::string auto_pad_;
  std::vector<std::int64_t> strides_, pads_, dilations_;
  Dims kernel_, size_;  // as ONNX has the kernel; as the row has the weight
  Tensor weight_, bias_;
};

void fuse_behind(const std::vector<GraphNode>& nodes, const Readers& readers, Device device,
                 const std::vector<bool>& taken, FusedNodes& fused) {
  const GraphNode& node = nodes[fused.nodes[0]];
  ChannelAffine affine(node.inputs[1].facts.shape[0]);
  take_affine(nodes, readers, taken, fused, affine);
  take_summand(nodes, readers, taken, fused);
  const Limits limits = take_limits(nodes, readers, taken, fused);
  std::string name = name_of(node);
  fused.action = std::make_unique<PackedConvolution>(node, affine, limits, device, std::move(name));
}

}  // namespace

bool has_packed_convolution(Device device) {
  const Operator* const row = find_operator("packed_convolution");
  if (!row) return false;
  const KernelTable* const table =
      row->tables[device_record(device).backend_number].load(std::memory_order_acquire);
  return table && table->num_native != 0;
}

std::vector<FusedNodes> fuse_convolutions(const std::vector<GraphNode>& nodes,
                                          const Readers& readers, Device device,
                                          std::vector<bool>& taken) {
  std::vector<FusedNodes> all;
  if (!has_packed_convolution(device)) return all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    const bool is_usual = is_packable(node);
    if (!is_usual && !is_spreading(node)) continue;
    FusedNodes fused{{i}, {&node.inputs[0]}, nullptr};
    (is_usual ? fuse_behind : fuse_behind_spreading)(nodes, readers, device, taken, fused);
    for (const std::size_t each : fused.nodes) taken[each] = true;
    all.push_back(std::move(fused));
  }
  return all;
}

}  // namespace bp::onnx
