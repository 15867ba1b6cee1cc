// Distances, losses of them, and gates, from other operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor all_distances(const Tensor& x1, const Tensor& x2, double p);
Tensor distances_of_pairs(const Tensor& input, double p);
Tensor gated_half(const Tensor& input, std::int64_t dim);
Tensor leaky_by_channel(const Tensor& input, const Tensor& weight);
Tensor logarithm_of_odds(const Tensor& input, std::optional<double> eps);
Tensor cosine_sides(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                    std::string_view reduction);
Tensor triplet_by_distances(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                            double margin, double p, double eps, bool swap,
                            std::string_view reduction);
Tensor margins_of_classes(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                          const Tensor& weight, std::string_view reduction);

}  // namespace bp
