#include "memory.hpp"

#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"
#include "../peers/resident.hpp"

void measure_memory() {
  const bp::Tensor x = bp::set_requires_grad(bp::randn({4096, 4096}));
  const bp::Tensor w = bp::set_requires_grad(bp::randn({4096}));
  const double before = bench::resident_mb();
  bp::Tensor h = x;
  for (int i = 0; i < 4; ++i) h = bp::tanh(bp::mul(bp::gelu(h), w));
  bp::backward(bp::sum(bp::mul(bp::softmax(h, -1), h)));
  bench::report("backward_peak_memory", bench::largest_resident_mb() - before, "MB");
}
