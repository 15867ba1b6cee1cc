// expect: one parameter for each argument of the operator's schema
#include <backplane/plugin.hpp>

bp::Status relu(bp::Stream, bp::In a);

BP_KERNELS(acme) {
  k.add<bp::op::relu>(relu).dtypes(bp::f32);
}
