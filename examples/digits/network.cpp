#include "network.hpp"

#include <backplane/backplane.hpp>

#include "data_set.hpp"

namespace digits {
namespace {

constexpr std::int64_t num_edges = 32;
constexpr std::int64_t num_shapes = 64;
constexpr std::int64_t num_scored = num_shapes * (image_size / 2) * (image_size / 2);

bp::nn::Conv2dOptions same_size(bp::Device device) {
  return {.padding = 1, .bias = false, .device = device};
}

}  // namespace

Network::Network(bp::Device device)
    : edges_(1, num_edges, 3, same_size(device)), edge_norm_(num_edges, {.device = device}),
      shapes_(num_edges, num_shapes, 3, same_size(device)),
      shape_norm_(num_shapes, {.device = device}), dropout_({.p = 0.5}),
      scores_(num_scored, num_classes, {.device = device}) {}

void Network::list_parts(bp::nn::Parts& parts) {
  parts.module("edges", edges_);
  parts.module("edge_norm", edge_norm_);
  parts.module("shapes", shapes_);
  parts.module("shape_norm", shape_norm_);
  parts.module("dropout", dropout_);
  parts.module("scores", scores_);
}

bp::Tensor Network::forward(const bp::Tensor& images) const {
  const bp::Tensor edges = bp::max_pool2d(bp::relu(edge_norm_(edges_(images))), {2});
  const bp::Tensor shapes = bp::relu(shape_norm_(shapes_(edges)));
  return scores_(dropout_(bp::flatten(shapes, 1)));
}

}  // namespace digits
