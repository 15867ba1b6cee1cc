// needs: cpu
// batch_norm of short planes, which a thread brings together, and of longer ones, against sums in double.
#include <cmath>
#include <random>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test {
namespace {

constexpr double eps = 1e-5;

struct Pictures {
  int64_t images, channels, points;

  Sizes shape() const { return {images, channels, 1, points}; }
  int64_t numel() const { return images * channels * points; }
  int64_t channel_of(int64_t i) const { return i / points % channels; }
  double size() const { return static_cast<double>(images * points); }
};

Data numbers(uint32_t dtype, const Sizes& shape, uint32_t seed, double around) {
  Data data(dtype, shape);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(around);
  for (int64_t i = 0; i < data.numel(); ++i) set_number(data, dtype, i, normal(random));
  return data;
}

std::vector<double> per_channel(const Pictures& p, const std::function<double(int64_t)>& term) {
  std::vector<double> sums(static_cast<size_t>(p.channels));
  for (int64_t i = 0; i < p.numel(); ++i) sums[static_cast<size_t>(p.channel_of(i))] += term(i);
  return sums;
}

void expect_near(Data& found, uint32_t dtype, double bound, const std::string& what,
                 const std::function<double(int64_t)>& wanted) {
  for (int64_t i = 0; i < found.numel(); ++i)
    ASSERT_NEAR(get_number(found, dtype, i), wanted(i), bound * (1 + std::abs(wanted(i))))
        << what << ", element " << i;
}

void expect_right(const Pictures& p, uint32_t dtype, bool is_affine, const std::string& what) {
  const double bound = dtype == BP_F64 ? 1e-12 : 2e-5;
  Data input = numbers(dtype, p.shape(), 1, 100), grad = numbers(dtype, p.shape(), 2, 0);
  Data weight = numbers(dtype, {p.channels}, 3, 1), bias = numbers(dtype, {p.channels}, 4, 0);
  Data result(dtype, p.shape()), mean(dtype, {p.channels}), variance(dtype, {p.channels});
  run("native_batch_norm",
      {value(input), is_affine ? value(weight) : none(), is_affine ? value(bias) : none(),
       value(eps)},
      {&result, &mean, &variance});
  const auto x = [&](int64_t i) { return get_number(input, dtype, i); };
  const auto g = [&](int64_t i) { return get_number(grad, dtype, i); };
  std::vector<double> means = per_channel(p, x);
  for (double& each : means) each /= p.size();
  const auto at = [&](const std::vector<double>& list, int64_t i) {
    return list[static_cast<size_t>(p.channel_of(i))];
  };
  const auto off = [&](int64_t i) { return x(i) - at(means, i); };
  std::vector<double> variances = per_channel(p, [&](int64_t i) { return off(i) * off(i); });
  for (double& each : variances) each /= p.size();
  const auto rstd = [&](int64_t i) { return 1 / std::sqrt(at(variances, i) + eps); };
  const auto factor = [&](int64_t i) {
    return is_affine ? get_number(weight, dtype, p.channel_of(i)) : 1;
  };
  expect_near(mean, dtype, bound, what, [&](int64_t c) { return means[static_cast<size_t>(c)]; });
  expect_near(variance, dtype, 10 * bound, what,
              [&](int64_t c) { return variances[static_cast<size_t>(c)]; });
  expect_near(result, dtype, 10 * bound, what, [&](int64_t i) {
    return off(i) * rstd(i) * factor(i) +
           (is_affine ? get_number(bias, dtype, p.channel_of(i)) : 0);
  });

  Data by_input(dtype, p.shape()), by_weight(dtype, {p.channels}), by_bias(dtype, {p.channels});
  run("batch_norm_backward",
      {value(grad), value(input), is_affine ? value(weight) : none(), value(mean), value(variance),
       value(eps)},
      {&by_input, &by_weight, &by_bias});
  const std::vector<double> sums = per_channel(p, g),
                            along =
                                per_channel(p, [&](int64_t i) { return g(i) * off(i) * rstd(i); });
  const double size = 10 * bound * std::sqrt(p.size());
  expect_near(by_bias, dtype, size, what, [&](int64_t c) { return sums[static_cast<size_t>(c)]; });
  expect_near(by_weight, dtype, size, what,
              [&](int64_t c) { return along[static_cast<size_t>(c)]; });
  expect_near(by_input, dtype, 100 * bound, what, [&](int64_t i) {
    return factor(i) * rstd(i) *
           (g(i) - at(sums, i) / p.size() - off(i) * rstd(i) * at(along, i) / p.size());
  });
}

TEST(BatchNorm, is_right_for_planes_of_any_size_with_each_instruction_set) {
  for_each_target([](const std::string& target) {
    for (const int64_t points : {2, 3, 4, 9, 15, 16, 17, 33, 64})
      for (const auto& [images, channels] : {std::pair<int64_t, int64_t>{16, 37}, {7, 3}, {2, 1}})
        for (const uint32_t dtype : {uint32_t{BP_F32}, uint32_t{BP_F64}})
          for (const bool is_affine : {false, true})
            expect_right({images, channels, points}, dtype, is_affine,
                         target + ", " + std::to_string(images) + " images of " +
                             std::to_string(points) + " points");
  });
}

TEST(BatchNorm, gives_the_same_bits_on_any_number_of_threads) {
  const Pictures p{40, 300, 5};
  Data input = numbers(BP_F32, p.shape(), 1, 3);
  std::vector<std::vector<float>> results;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    CpuPlugin::get().set_num_threads(threads);
    Data result(BP_F32, p.shape()), mean(BP_F32, {p.channels}), variance(BP_F32, {p.channels});
    run("native_batch_norm", {value(input), none(), none(), value(eps)},
        {&result, &mean, &variance});
    results.push_back(result.values<float>());
  }
  CpuPlugin::get().set_num_threads(0);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace bp_test
