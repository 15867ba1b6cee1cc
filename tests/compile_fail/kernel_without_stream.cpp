// expect: a kernel's first parameter is bp::Stream or bp::Call
#include <backplane/plugin.hpp>

bp::Status relu(bp::In, bp::In a, bp::Out out);

BP_KERNELS(acme) {
  k.add<bp::op::relu>(relu).dtypes(bp::f32);
}
