#include <backplane/nn/layers.hpp>
#include <backplane/nn/parametrizations.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

// A Linear whose member `name` is computed by what `parametrize` makes of the arguments.
template <class Parametrize> Maker linear_with(Parametrize parametrize) {
  return [=](Args& args) {
    std::string name = "weight";
    args.read("name", name);
    nn::Linear linear(args.get<std::int64_t>("in_features"),
                      args.get<std::int64_t>("out_features"));
    parametrize(args, linear, name);
    return made(std::move(linear), [](const nn::Linear& m, const Tensors& in) { return m(in[0]); });
  };
}

}  // namespace

Makers parametrized_modules() {
  namespace functions = nn::utils::parametrizations;
  return {
      {"weight_norm", linear_with([](Args& args, nn::Linear& linear, const std::string& name) {
         std::int64_t dim = 0;
         args.read("dim", dim);
         functions::weight_norm(linear, name, dim);
       })},
      {"spectral_norm", linear_with([](Args& args, nn::Linear& linear, const std::string& name) {
         std::int64_t n_power_iterations = 1, dim = 0;
         args.read("n_power_iterations", n_power_iterations);
         args.read("dim", dim);
         functions::spectral_norm(linear, name, n_power_iterations, 1e-12, dim);
       })},
      {"orthogonal", linear_with([](Args& args, nn::Linear& linear, const std::string& name) {
         nn::OrthogonalOptions options;
         OPTION(orthogonal_map);
         OPTION(use_trivialization);
         functions::orthogonal(linear, name, options);
       })},
  };
}

}  // namespace bp::test
