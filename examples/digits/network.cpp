#include "network.hpp"

#include <backplane/backplane.hpp>

#include "data_set.hpp"

namespace digits {
namespace {

constexpr std::int64_t num_edges = 16;
constexpr std::int64_t num_shapes = 32;
constexpr std::int64_t num_scored = num_shapes * (image_size / 2) * (image_size / 2);

bp::nn::Conv2dOptions same_size(bp::Device device) {
  return {.padding = 1, .device = device};
}

}  // namespace

Network::Network(bp::Device device)
    : edges_(1, num_edges, 3, same_size(device)),
      shapes_(num_edges, num_shapes, 3, same_size(device)),
      scores_(num_scored, num_classes, {.device = device}) {}

void Network::list_parts(bp::nn::Parts& parts) {
  parts.module("edges", edges_);
  parts.module("shapes", shapes_);
  parts.module("scores", scores_);
}

bp::Tensor Network::forward(const bp::Tensor& images) const {
  const bp::Tensor edges = bp::relu(edges_(images));
  const bp::Tensor shapes = bp::relu(shapes_(edges));
  return scores_(bp::flatten(bp::max_pool2d(shapes, {2}), 1));
}

}  // namespace digits
