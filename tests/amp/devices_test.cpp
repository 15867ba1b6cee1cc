// needs: cpu reference
// Training in float16 on a device whose work is queued, as on the host.
#include <limits>

#include <backplane/amp/grad_scaler.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/optim/sgd.hpp>

#include "amp/networks.hpp"

namespace bp::test {
namespace {

using amp::Autocast;
using amp::GradScaler;

struct Mlp {
  explicit Mlp(Device device)
      : w1(set_requires_grad(to(waves({8, 4}), device))),
        w2(set_requires_grad(to(waves({2, 8}, 0.3), device))), x(to(waves({16, 4}, 1.1), device)),
        y(to(waves({16, 2}, 0.05), device)) {}

  Tensor loss() const { return mse_loss(linear(tanh(linear(x, w1)), w2), y); }

  Tensor w1, w2, x, y;
};

class AmpOn : public testing::TestWithParam<const char*> {
 protected:
  const Device place = device(GetParam());
};

TEST_P(AmpOn, trains_and_leaves_out_what_overflows) {
  Mlp net(place);
  optim::SGD optimizer({net.w1, net.w2}, {.lr = 0.2, .momentum = 0.9});
  GradScaler scaler({.init_scale = 0x1p24, .growth_interval = 10});
  Values losses, scales;
  for (int step = 0; step < 40; ++step) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const Autocast half(place, {.dtype = f16});
      loss = net.loss();
    }
    if (step == 20) loss = loss * std::numeric_limits<double>::quiet_NaN();
    const Values before = numbers_in(net.w1);
    backward(scaler.scale(loss));
    EXPECT_EQ(grad(net.w1).dtype(), f32);
    scaler.step(optimizer);
    scaler.update();
    if (step == 20) {
      EXPECT_EQ(numbers_in(net.w1), before);
    }
    losses.push_back(numbers_in(loss)[0]);
    scales.push_back(scaler.get_scale());
  }
  EXPECT_LT(scales.front(), 0x1p24) << "the first scale is too large for float16";
  EXPECT_EQ(scales[20], scales[19] / 2);
  EXPECT_LT(losses.back(), 0.9 * losses.front());
}

// A capture refuses whatever waits for the device or copies from it. (On reference, float16 goes to the host.)
TEST(AmpCaptured, steps_without_a_wait) {
  const Device place = device("cpu");
  Mlp net(place);
  optim::SGD optimizer({net.w1, net.w2}, {.lr = 0.1, .momentum = 0.9});
  GradScaler scaler({.init_scale = 1024, .growth_interval = 1});
  const auto iterate = [&] {
    optimizer.zero_grad();
    Tensor loss;
    {
      const Autocast half(place, {.dtype = f16});
      loss = net.loss();
    }
    backward(scaler.scale(loss));
    scaler.unscale_(optimizer);
    scaler.step(optimizer);
    scaler.update();
  };
  iterate();
  const Values before = numbers_in(net.w1);
  Recording recording = capture(place, iterate);
  recording.replay();
  recording.replay();
  EXPECT_EQ(scaler.get_scale(), 8192);
  EXPECT_NE(numbers_in(net.w1), before);
}

INSTANTIATE_TEST_SUITE_P(devices, AmpOn, testing::Values("cpu", "reference"));

}  // namespace
}  // namespace bp::test
