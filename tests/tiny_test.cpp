// needs: cpu reference
// Ten seconds that show that all is alive: the core, its two plugins, a plugin for tests, a gradient step.
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

namespace {

TEST(Tiny, cpu_computes) {
  const bp::Tensor a = bp::tensor({{1.0, 2.0}, {3.0, 4.0}});
  EXPECT_EQ(bp::to_vector<float>(bp::matmul(a, bp::add(a, 1))),
            (std::vector<float>{10, 13, 22, 29}));
  EXPECT_EQ(bp::item<float>(bp::sum(a)), 10.0f);
}

TEST(Tiny, reference_computes_through_the_host) {
  const bp::Tensor a = bp::ones({2, 3}, bp::f32, bp::device("reference"));
  EXPECT_EQ(bp::to_vector<float>(bp::sum(a, 1)), (std::vector<float>{3, 3}));
}

TEST(Tiny, a_plugin_is_loaded_used_and_unloaded) {
  bp::Backend& c11 = bp::load_plugin(BP_TEST_PLUGIN_DIR "/libbackplane_c11.so");
  EXPECT_EQ(bp::to_vector<float>(bp::mul(bp::full({2}, 3, bp::f32, bp::device("c11")), 2)),
            (std::vector<float>{6, 6}));
  bp::unload_plugin(c11);
}

TEST(Tiny, views_in_place_and_errors) {
  const bp::Tensor a = bp::zeros({2, 2});
  bp::add_(bp::select(a, 0, 1), 5);
  EXPECT_EQ(bp::to_vector<float>(a), (std::vector<float>{0, 0, 5, 5}));
  EXPECT_THROW(bp::add(a, bp::zeros({3})), bp::Error);
}

TEST(Tiny, a_step_of_training_lowers_the_loss) {
  bp::manual_seed(1);
  const bp::Tensor x = bp::randn({32, 4}), truth = bp::matmul(x, bp::ones({4, 1})),
                   w = bp::zeros({4, 1});
  const auto loss = [&] {
    const bp::Tensor error = bp::sub(bp::matmul(x, w), truth);
    return bp::item<float>(bp::mean(bp::mul(error, error)));
  };
  const float before = loss();
  for (int i = 0; i < 50; ++i) {
    const bp::Tensor error = bp::sub(bp::matmul(x, w), truth);
    bp::sub_(w, bp::matmul(bp::transpose(x, 0, 1), error), 0.01);
  }
  EXPECT_LT(loss(), 0.01f * before);
}

}  // namespace
