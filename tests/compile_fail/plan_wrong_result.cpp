// expect: what .plan() gets returns bp::Result<bp::Planned<T>>
#include <backplane/plugin.hpp>

bp::Status relu(bp::Call, bp::In a, bp::Out out);
bp::Status plan_relu(bp::Stream, bp::In a, bp::Out out);

BP_KERNELS(acme) {
  k.add<bp::op::relu>(relu).plan(plan_relu).dtypes(bp::f32);
}
