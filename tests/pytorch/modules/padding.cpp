#include <backplane/nn/padding.hpp>

#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

template <class M> Made padding_module(Args& args) {
  return made(M(args.get<nn::Sizes>("padding")));
}

template <class M> Made constant_padding(Args& args) {
  return made(M(args.get<nn::Sizes>("padding"), args.get<Scalar>("value")));
}

}  // namespace

Makers padding_modules() {
  return {
      {"CircularPad1d", padding_module<nn::CircularPad1d>},
      {"CircularPad2d", padding_module<nn::CircularPad2d>},
      {"CircularPad3d", padding_module<nn::CircularPad3d>},
      {"ConstantPad1d", constant_padding<nn::ConstantPad1d>},
      {"ConstantPad2d", constant_padding<nn::ConstantPad2d>},
      {"ConstantPad3d", constant_padding<nn::ConstantPad3d>},
      {"ReflectionPad1d", padding_module<nn::ReflectionPad1d>},
      {"ReflectionPad2d", padding_module<nn::ReflectionPad2d>},
      {"ReflectionPad3d", padding_module<nn::ReflectionPad3d>},
      {"ReplicationPad1d", padding_module<nn::ReplicationPad1d>},
      {"ReplicationPad2d", padding_module<nn::ReplicationPad2d>},
      {"ReplicationPad3d", padding_module<nn::ReplicationPad3d>},
      {"ZeroPad1d", padding_module<nn::ZeroPad1d>},
      {"ZeroPad2d", padding_module<nn::ZeroPad2d>},
      {"ZeroPad3d", padding_module<nn::ZeroPad3d>},
  };
}

}  // namespace bp::test
