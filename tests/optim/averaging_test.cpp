// needs: cpu reference
// Averages of weights against the same sums in plain numbers.
#include <backplane/optim/averaging.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

TEST(Averages, are_the_mean_of_all_updates) {
  const Tensor average = tensor(Values{9.0}), weight = leaf({1.0});
  optim::AveragedModel averaged({average});
  for (const double value : {1.0, 2.0, 6.0}) {
    set_data(weight, tensor(Values{value}));
    averaged.update_parameters({weight});
  }
  EXPECT_NEAR(values_of(average)[0], 3, 1e-15);
  EXPECT_EQ(averaged.n_averaged(), 3);
}

TEST(Averages, forget_exponentially_if_asked) {
  const Tensor average = tensor(Values{9.0}), weight = leaf({1.0});
  optim::AveragedModel averaged({average}, {}, {.ema_decay = 0.75});
  for (const double value : {4.0, 8.0, 2.0}) {
    set_data(weight, tensor(Values{value}));
    averaged.update_parameters({weight});
  }
  EXPECT_NEAR(values_of(average)[0], 0.75 * (0.75 * 4 + 0.25 * 8) + 0.25 * 2, 1e-15);
}

TEST(Averages, copy_buffers_or_average_them) {
  for (const bool use_buffers : {false, true}) {
    const Tensor average = tensor(Values{0.0}), weight = leaf({0.0});
    const Tensor mean = tensor(Values{0.0}), count = tensor({0});
    optim::AveragedModel averaged({average}, {mean, count}, {.use_buffers = use_buffers});
    for (const int value : {2, 4}) {
      const Tensor now = tensor(Values{static_cast<double>(value)}), steps = tensor({value});
      averaged.update_parameters({weight}, {now, steps});
    }
    EXPECT_EQ(values_of(mean), Values{use_buffers ? 3.0 : 4.0});
    EXPECT_EQ(item<int>(count), 4);
  }
}

TEST(Averages, may_be_elsewhere_and_complex) {
  const Tensor average = to(zeros({1}, complex128), device("reference:0"));
  optim::AveragedModel averaged({average});
  for (const double part : {1.0, 3.0})
    averaged.update_parameters(
        {clone(view_as_complex(reshape(tensor(Values{part, -part}), {1, 2})))});
  EXPECT_EQ(values_of(view_as_real(average)), (Values{2, -2}));
}

TEST(Averages, go_on_from_their_count) {
  const Tensor average = tensor(Values{2.0});
  optim::AveragedModel averaged({average});
  averaged.load_state_dict(State::dict({{"n_averaged", 3}}));
  averaged.update_parameters({tensor(Values{6.0})});
  EXPECT_EQ(values_of(average), Values{3.0});
  EXPECT_EQ(averaged.state_dict().at("n_averaged").as_int(), 4);
}

TEST(Averages, refuse_another_network) {
  const Tensor average = tensor(Values{2.0});
  optim::AveragedModel averaged({average});
  EXPECT_THAT(sentence_of([&] {
                averaged.update_parameters({average, average});
              }),
              HasSubstr("1 averages of parameters and 2 of the model"));
  EXPECT_THAT(sentence_of([&] {
                averaged.update_parameters({tensor(Values{1.0, 2.0})});
              }),
              HasSubstr("average 0 of parameters has shape [1], and the model's has [2]"));
  EXPECT_THAT(sentence_of([&] { averaged.update_parameters({to(average, complex128)}); }),
              HasSubstr("average 0 of parameters is float64, and the model's is complex128"));
  EXPECT_EQ(averaged.n_averaged(), 0);
  EXPECT_THAT(sentence_of([&] { optim::AveragedModel({average}, {}, {.ema_decay = 2}); }),
              HasSubstr("ema_decay is 2"));
}

}  // namespace
}  // namespace bp::test
