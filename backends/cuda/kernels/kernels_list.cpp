// What the kernels that nvcc compiles accept.
#include "kernels/kernels.hpp"

BP_KERNELS(cuda_nonzero) {
  k.add<bp::op::nonzero>(cuda_backend::nonzero)
      .dtypes(bp::numeric | bp::boolean)
      .layouts(bp::strided)
      .deterministic()
      .scratch();
}

BP_KERNELS(cuda_sort) {
  k.add<bp::op::sort>(cuda_backend::sort)
      .dtypes(bp::real | bp::boolean)
      .layouts(bp::strided)
      .supports(cuda_backend::is_worth_sorting)
      .deterministic()
      .capturable()
      .scratch();
}
