// needs: cpu reference_primitives
// Backward on one thread fills the queues of several devices, which then work at the same time.
#include "autograd/tensors.hpp"
#include "dispatcher/reference_hooks.hpp"

namespace bp::test {
namespace {

constexpr const char* backend = "reference_primitives";

std::uint64_t num_pending(std::uint32_t device) {
  std::uint64_t pending = 0, allocations = 0, bytes = 0;
  reference_hooks(backend).usage(device, &pending, &allocations, &bytes);
  return pending;
}

// x * x * ... on one device.
Tensor tower(const Tensor& x, int height) {
  Tensor top = x;
  for (int i = 0; i < height; ++i) top = top * x;
  return top;
}

TEST(SeveralDevices, all_have_their_work_queued_before_any_has_begun) {
  const bp_reference_hooks& hooks = reference_hooks(backend);
  constexpr int height = 50;
  std::vector<Tensor> leaves, tops, ones_of;
  for (const char* name : {"reference_primitives:0", "reference_primitives:1"}) {
    const Device far = device(name);
    leaves.push_back(to(tensor(Values{1, 1}), far));
    set_requires_grad(leaves.back());
    ones_of.push_back(to(tensor(Values{1, 1}), far));
    tops.push_back(tower(leaves.back(), height));
    synchronize(far);
  }
  for (std::uint32_t i : {0u, 1u}) ASSERT_EQ(hooks.hold(i), BP_OK);
  autograd::backward(tops, ones_of);  // returns while both devices are held
  for (std::uint32_t i : {0u, 1u}) EXPECT_GE(num_pending(i), 2u * height) << "device " << i;
  for (std::uint32_t i : {0u, 1u}) hooks.release(i);
  for (const Tensor& leaf : leaves)
    EXPECT_THAT(values_of(grad(leaf)), ElementsAre(height + 1, height + 1));
}

}  // namespace
}  // namespace bp::test
