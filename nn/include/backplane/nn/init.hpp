// Initial values of parameters.
#pragma once

#include <optional>
#include <string_view>

#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/tensor.hpp>

// Each function writes the tensor in place, outside of every record, and returns it. Numbers are drawn from `generator`, by
// default the device's. For a weight of [out, in, ...], fan_in is in times the size of the kernel (the dimensions behind), and
// fan_out is out times that.
namespace bp::nn::init {

// The factor for a layer's weights that keeps the variance the same across this nonlinearity: 1 for
// "linear", "sigmoid" and convolutions by name, 5/3 for "tanh", sqrt(2) for "relu", sqrt(2 / (1 +
// param^2)) for "leaky_relu" (by default of 0.01), 3/4 for "selu". Throws bad_argument for another
// name.
BP_API double calculate_gain(std::string_view nonlinearity,
                             std::optional<double> param = std::nullopt);

BP_API const Tensor& uniform_(const Tensor& tensor, double a = 0, double b = 1,
                              Generator* generator = nullptr);
BP_API const Tensor& normal_(const Tensor& tensor, double mean = 0, double std = 1,
                             Generator* generator = nullptr);
// Normal numbers of which those outside of [a, b] are drawn again.
BP_API const Tensor& trunc_normal_(const Tensor& tensor, double mean = 0, double std = 1,
                                   double a = -2, double b = 2, Generator* generator = nullptr);
BP_API const Tensor& constant_(const Tensor& tensor, double val);
BP_API const Tensor& ones_(const Tensor& tensor);
BP_API const Tensor& zeros_(const Tensor& tensor);
// The identity. Throws bad_argument unless the tensor has 2 dimensions.
BP_API const Tensor& eye_(const Tensor& tensor);
// Kernels that pass on as many channels as they can, within each of `groups`. Throws bad_argument
// unless the tensor has 3 to 5 dimensions and the groups divide its first.
BP_API const Tensor& dirac_(const Tensor& tensor, std::int64_t groups = 1);

// These throw bad_argument for tensors of less than 2 dimensions.
// Within +-gain * sqrt(6 / (fan_in + fan_out)), and with a deviation of gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio,
// Understanding the difficulty of training deep feedforward neural networks, 2010).
BP_API const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1,
                                     Generator* generator = nullptr);
BP_API const Tensor& xavier_normal_(const Tensor& tensor, double gain = 1,
                                    Generator* generator = nullptr);
// Within +-gain * sqrt(3 / fan), and with a deviation of gain / sqrt(fan), where `mode` says "fan_in" or "fan_out" and `a` is
// the parameter of a leaky ReLU (He et al., Delving deep into rectifiers, 2015).
BP_API const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0,
                                      std::string_view mode = "fan_in",
                                      std::string_view nonlinearity = "leaky_relu",
                                      Generator* generator = nullptr);
BP_API const Tensor& kaiming_normal_(const Tensor& tensor, double a = 0,
                                     std::string_view mode = "fan_in",
                                     std::string_view nonlinearity = "leaky_relu",
                                     Generator* generator = nullptr);
// Seen as a matrix of size(0) rows: orthonormal rows, or columns if there are fewer of these, times `gain` (Saxe et al., Exact
// solutions to the nonlinear dynamics of learning in deep linear neural networks, 2014).
BP_API const Tensor& orthogonal_(const Tensor& tensor, double gain = 1,
                                 Generator* generator = nullptr);
// Normal numbers of deviation `std`, of which in each column a part `sparsity`, rounded up, is 0 (Martens, Deep learning via
// Hessian-free optimization, 2010). Throws bad_argument unless the tensor has 2 dimensions and the part is from 0 to 1.
BP_API const Tensor& sparse_(const Tensor& tensor, double sparsity, double std = 0.01,
                             Generator* generator = nullptr);

}  // namespace bp::nn::init
