// Random draws by probabilities, from other operators.
#pragma once

#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor bernoulli_by_uniforms(const Tensor& input, std::optional<double> p, Generator* generator);
Tensor multinomial_by_race(const Tensor& input, std::int64_t num_samples, bool replacement,
                           Generator* generator);
Tensor normal_by_scaling(const Tensor& mean, const Tensor& std, Generator* generator);

}  // namespace bp
