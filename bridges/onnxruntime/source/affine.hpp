// Constants that a graph multiplies channels by and adds to them, which become part of a convolution's weight and bias.
#pragma once

#include "fused.hpp"

namespace bp::onnx {

// A factor and a summand for each channel: of pictures, whose second dimension they are, or of products, whose last.
class ChannelAffine {
 public:
  enum Place { second, last };
  explicit ChannelAffine(std::int64_t channels, Place place = second)
      : factors_(static_cast<std::size_t>(channels), 1.0), summands_(factors_.size(), 0.0),
        place_(place) {}

  // Has `node` done as well, which reads `value`. False, with nothing changed, where it does something else, or a constant is not
  // finite: zeros of a weight times infinity would be NaN.
  bool add(const GraphNode& node, const std::string& value);

  bool is_identity() const;
  // [channels], of float32 on the host.
  Tensor factors() const;
  // Of a bias [channels] on the host, undefined where there is none.
  Tensor applied_to(const Tensor& bias) const;

 private:
  using Numbers = std::vector<double>;
  // One for each channel; none where the constant has another shape.
  std::optional<Numbers> numbers_of(const GraphValue& value, std::int64_t rank) const;
  std::optional<Numbers> list_of(const GraphValue& value) const;
  bool add_normalization(const GraphNode& node, const std::string& value);

  Numbers factors_, summands_;
  Place place_;
};

// Adds the nodes behind the last of `fused` that `affine` can do, as long as nobody else reads what is between.
void take_affine(const std::vector<GraphNode>& nodes, const Readers& readers,
                 const std::vector<bool>& taken, FusedNodes& fused, ChannelAffine& affine);

// Normalizations by constants, with what `affine` can do behind them and limits: one call for each, which keeps the order of pictures
// whose channels lie last.
std::vector<FusedNodes> fuse_normalizations(const std::vector<GraphNode>& nodes,
                                            const Readers& readers, Device device,
                                            std::vector<bool>& taken);

// Takes the node behind the last of `fused` if it adds another tensor to the result, which becomes an input.
void take_summand(const std::vector<GraphNode>& nodes, const Readers& readers,
                  const std::vector<bool>& taken, FusedNodes& fused);

// Takes the node behind the last of `fused` if it brings the result into a range.
Limits take_limits(const std::vector<GraphNode>& nodes, const Readers& readers,
                   const std::vector<bool>& taken, FusedNodes& fused);

}  // namespace bp::onnx
