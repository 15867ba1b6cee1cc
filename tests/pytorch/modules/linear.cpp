#include <backplane/nn/linear.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {

Makers linear_modules() {
  return {
      {"Identity", [](Args&) { return made(nn::Identity()); }},
      {"Linear",
       [](Args& args) {
         nn::LinearOptions options;
         OPTION(bias);
         return made(nn::Linear(args.get<std::int64_t>("in_features"),
                                args.get<std::int64_t>("out_features"), options));
       }},
      {"Bilinear",
       [](Args& args) {
         nn::LinearOptions options;
         OPTION(bias);
         return made(nn::Bilinear(args.get<std::int64_t>("in1_features"),
                                  args.get<std::int64_t>("in2_features"),
                                  args.get<std::int64_t>("out_features"), options));
       }},
  };
}

}  // namespace bp::test
