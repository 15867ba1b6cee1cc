// expect: a parameter of this kernel does not have the type that the operator's schema asks for
#include <backplane/plugin.hpp>

// `dim` is an int.
bp::Status softmax(bp::Stream, bp::In a, double dim, std::optional<bp::Dtype>, bp::Out out);

BP_KERNELS(acme) {
  k.add<bp::op::softmax>(softmax).dtypes(bp::f32);
}
