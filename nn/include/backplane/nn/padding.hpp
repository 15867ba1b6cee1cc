// Layers that put elements around their input.
#pragma once

#include <backplane/nn/module.hpp>
#include <backplane/nn/sizes.hpp>

namespace bp::nn {

// Over the last one to three dimensions. Padding is one number for all sides, or two for each dimension, the last one
// first: {left, right, top, bottom}; negative numbers cut away. Throws bad_argument for another count.
class BP_API Padding : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  std::string extra_repr() const override;

 protected:
  Padding(const char* layer, std::size_t rank, const char* mode, const Sizes& padding,
          const Scalar& value = 0);

 private:
  const char* layer_;
  std::size_t rank_;
  const char* mode_;
  Sizes padding_;
  Scalar value_;
};

#define BP_NN_PADDING(Name, rank, mode)                                          \
  class Name : public Padding {                                                  \
   public:                                                                       \
    explicit Name(const Sizes& padding) : Padding(#Name, rank, mode, padding) {} \
  }
// Zeros.
BP_NN_PADDING(ZeroPad1d, 1, "zeros");
BP_NN_PADDING(ZeroPad2d, 2, "zeros");
BP_NN_PADDING(ZeroPad3d, 3, "zeros");
// The input, mirrored at its edge, which is not repeated.
BP_NN_PADDING(ReflectionPad1d, 1, "reflect");
BP_NN_PADDING(ReflectionPad2d, 2, "reflect");
BP_NN_PADDING(ReflectionPad3d, 3, "reflect");
// The input's edge.
BP_NN_PADDING(ReplicationPad1d, 1, "replicate");
BP_NN_PADDING(ReplicationPad2d, 2, "replicate");
BP_NN_PADDING(ReplicationPad3d, 3, "replicate");
// The input's other end.
BP_NN_PADDING(CircularPad1d, 1, "circular");
BP_NN_PADDING(CircularPad2d, 2, "circular");
BP_NN_PADDING(CircularPad3d, 3, "circular");
#undef BP_NN_PADDING

#define BP_NN_PADDING(Name, rank)                             \
  class Name : public Padding {                               \
   public:                                                    \
    Name(const Sizes& padding, const Scalar& value)           \
        : Padding(#Name, rank, "constant", padding, value) {} \
  }
// One number.
BP_NN_PADDING(ConstantPad1d, 1);
BP_NN_PADDING(ConstantPad2d, 2);
BP_NN_PADDING(ConstantPad3d, 3);
#undef BP_NN_PADDING

}  // namespace bp::nn
