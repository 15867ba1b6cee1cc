// expect: a kernel returns bp::Status
#include <backplane/plugin.hpp>

int relu(bp::Stream, bp::In a, bp::Out out);

BP_KERNELS(acme) {
  k.add<bp::op::relu>(relu).dtypes(bp::f32);
}
