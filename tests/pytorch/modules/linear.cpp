#include <backplane/nn/layers.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {

Makers linear_modules() {
  return {
      {"Linear",
       [](Args& args) {
         nn::LinearOptions options;
         OPTION(bias);
         return made(nn::Linear(args.get<std::int64_t>("in_features"),
                                args.get<std::int64_t>("out_features"), options));
       }},
  };
}

}  // namespace bp::test
