// expect: op::sub::place
#include <backplane/plugin.hpp>

bp::Status relu(bp::Stream, bp::In a, bp::Out out);

BP_KERNELS(acme) {
  k.add<bp::op::relu>(relu).dtypes(bp::op::sub::place::input, bp::f32);
}
