// needs: cpu
// Convolutions and both gradients against sums in float64, at sizes that reach every order of pictures and every algorithm
// that the plugin chooses from (kernels/convolution_plan.hpp), in both orders of the pictures.
#include <cmath>
#include <random>
#include <thread>

#include "direct_call.hpp"
#include "targets.hpp"

namespace {

using namespace bp_test;

struct Layer {
  int64_t batch, from, to, size, kernel, stride, dilation = 1;

  int64_t padding() const { return kernel / 2 * dilation; }
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
  int64_t result_size() const { return (size + 2 * padding() - reach()) / stride + 1; }
  Sizes input() const { return {batch, from, size, size}; }
  Sizes result() const { return {batch, to, result_size(), result_size()}; }
  Sizes weight() const { return {to, from, kernel, kernel}; }
};

std::ostream& operator<<(std::ostream& out, const Layer& layer) {
  return out << layer.from << " to " << layer.to << " channels, " << layer.size << "x" << layer.size
             << ", kernel " << layer.kernel << ", stride " << layer.stride << ", dilation "
             << layer.dilation;
}

// Row-major, or the channels of a point together.
Data picture(const Sizes& shape, bool channels_last) {
  if (!channels_last) return {BP_F32, shape};
  return Data(BP_F32, {shape[0], shape[2], shape[3], shape[1]}).permuted({0, 3, 1, 2});
}

void fill_with_noise(Data& data, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < data.numel(); ++i) data.at<float>(i) = normal(random);
}

// Sums of products, and of their sizes.
struct Sums {
  std::vector<double> value, size;
  explicit Sums(const Sizes& shape) {
    int64_t count = 1;
    for (int64_t s : shape) count *= s;
    value.resize(static_cast<size_t>(count));
    size = value;
  }
  void add(int64_t at, double product) {
    value[static_cast<size_t>(at)] += product;
    size[static_cast<size_t>(at)] += std::fabs(product);
  }
};

// Calls visit(input, weight, result), all in logical order, for each product of the layer.
template <class Visit> void each_product(const Layer& layer, const Visit& visit) {
  const int64_t out = layer.result_size(), k = layer.kernel;
  for (int64_t n = 0; n < layer.batch; ++n)
    for (int64_t o = 0; o < layer.to; ++o)
      for (int64_t i = 0; i < layer.from; ++i)
        for (int64_t tap = 0; tap < k * k; ++tap)
          for (int64_t point = 0; point < out * out; ++point) {
            const int64_t row =
                point / out * layer.stride + tap / k * layer.dilation - layer.padding();
            const int64_t column =
                point % out * layer.stride + tap % k * layer.dilation - layer.padding();
            if (row < 0 || column < 0 || row >= layer.size || column >= layer.size) continue;
            visit(((n * layer.from + i) * layer.size + row) * layer.size + column,
                  (o * layer.from + i) * k * k + tap, (n * layer.to + o) * out * out + point);
          }
}

struct Tensors {
  Data input, weight, result;
  Tensors(const Layer& layer, bool channels_last)
      : input(picture(layer.input(), channels_last)), weight(BP_F32, layer.weight()),
        result(picture(layer.result(), channels_last)) {
    fill_with_noise(input, 1);
    fill_with_noise(weight, 2);
    fill_with_noise(result, 3);
  }
};

void run_weight_gradient(const Layer& layer, Tensors& t, Data& out) {
  const Sizes shape = layer.weight(), stride = {layer.stride}, padding = {layer.padding()},
              dilation = {layer.dilation};
  run("convolution_backward_weight",
      {value(t.result), value(t.input), value(shape), value(stride), value(padding),
       value(dilation), value(1)},
      {&out});
}

// transposed: the gradient to the input, from that of the result.
void run_convolution(const Layer& layer, Data& from, Data& weight, bool transposed, Data& out,
                     Data* bias = nullptr) {
  const int64_t beyond =
      (layer.size + 2 * layer.padding() - layer.reach()) % layer.stride * (transposed ? 1 : 0);
  const Sizes stride = {layer.stride}, padding = {layer.padding()}, dilation = {layer.dilation},
              output_padding = {beyond};
  run("convolution",
      {value(from), value(weight), bias ? value(*bias) : none(), value(stride), value(padding),
       value(dilation), value(transposed), value(output_padding), value(1)},
      {&out});
}

void expect_near(Data& out, const Sums& wanted, const std::string& what, const Layer& layer,
                 bool channels_last) {
  // Plain sums of this many products of noise stay within 5 units, Winograd's within 10.
  constexpr double allowed = 16 * 0x1p-24;
  double worst = 0;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double error = std::fabs(out.at<float>(i) - wanted.value[at]);
    // A comparison that a NaN fails.
    if (!(error <= allowed * wanted.size[at]))
      worst = std::max(worst, std::isnan(error) ? INFINITY : error / wanted.size[at]);
  }
  EXPECT_EQ(worst, 0) << what << " of " << layer << (channels_last ? ", channels last" : "")
                      << ": the error allowed is " << allowed << " of the sum of sizes";
}

const std::vector<Layer>& layers() {
  static const std::vector<Layer> all = {
      {2, 3, 16, 20, 7, 2},     // few channels
      {1, 64, 32, 24, 1, 1},    // a product of a larger plane
      {2, 64, 64, 14, 1, 1},    // of a large one
      {2, 64, 64, 7, 1, 1},     // of a small one
      {1, 64, 64, 14, 1, 2},    // points, some left out
      {1, 1024, 512, 3, 1, 1},  // a large gradient to points
      {1, 64, 64, 14, 3, 1},    // Winograd's, just
      {2, 64, 80, 17, 3, 1},    // and with edges
      {1, 128, 16, 12, 3, 1},   // a window on many channels
      {1, 128, 32, 14, 3, 2},   // and with a stride
      {1, 512, 512, 2, 3, 1},   // a small plane of many
      {4, 72, 96, 2, 3, 1},     // windows larger than the plane: a product of them without AMX too
      // Gradients to points that are one product: of copies without what a stride leaves out, of copies of planes, and in place.
      {3, 256, 384, 9, 1, 2},
      {5, 272, 256, 3, 1, 1},
      {1, 512, 256, 5, 1, 1},
      // Products of windows, where there is AMX.
      {16, 64, 96, 4, 3, 1},
      {3, 128, 128, 9, 3, 2},    // of 75 columns
      {5, 72, 128, 7, 3, 1},     // of 245
      {1, 64, 64, 15, 5, 1, 2},  // of one picture, with holes
      {2, 256, 256, 8, 1, 1},    // of points
      {1, 256, 256, 12, 1, 1},   // which are the picture
      {1, 64, 256, 64, 3, 8},    // that leave most of the picture out
      {1, 64, 256, 128, 3, 16},  // whose places would take much memory: not so
      {16, 64, 128, 2, 7, 1},    // that see more beside the picture than of it
      // Padded planes of few channels, where there is no AVX-512.
      {32, 1, 16, 8, 3, 1},    // whole vectors
      {3, 3, 6, 13, 5, 1},     // with ends of lines, and results that fill no block
      {2, 2, 5, 19, 3, 1, 2},  // with holes
      {64, 3, 4, 32, 3, 1},    // many pictures, of which some are added up at a time
  };
  return all;
}

TEST(CpuConvolution, agrees_with_float64_in_every_order_and_by_every_algorithm) {
  for (const Layer& layer : layers())
    for (const bool channels_last : {false, true}) {
      Tensors t(layer, channels_last);
      Sums forward(layer.result()), to_input(layer.input()), to_weight(layer.weight());
      const auto input = t.input.values<float>(), weight = t.weight.values<float>(),
                 result = t.result.values<float>();
      each_product(layer, [&](int64_t in, int64_t w, int64_t out) {
        const auto at = [](const std::vector<float>& values, int64_t i) {
          return static_cast<double>(values[static_cast<size_t>(i)]);
        };
        forward.add(out, at(input, in) * at(weight, w));
        to_input.add(in, at(result, out) * at(weight, w));
        to_weight.add(w, at(result, out) * at(input, in));
      });
      Data made = picture(layer.result(), channels_last);
      run_convolution(layer, t.input, t.weight, false, made);
      expect_near(made, forward, "the convolution", layer, channels_last);
      made = picture(layer.input(), channels_last);
      run_convolution(layer, t.result, t.weight, true, made);
      expect_near(made, to_input, "the gradient to the input", layer, channels_last);
      made = Data(BP_F32, layer.weight());
      run_weight_gradient(layer, t, made);
      expect_near(made, to_weight, "the gradient to the weight", layer, channels_last);
    }
}

TEST(CpuConvolution, adds_the_bias_of_each_channel) {
  for (const Layer& layer : layers()) {
    Tensors t(layer, false);
    Data bias(BP_F32, {layer.to}), plain(BP_F32, layer.result()), made(BP_F32, layer.result());
    fill_with_noise(bias, 4);
    run_convolution(layer, t.input, t.weight, false, plain);
    run_convolution(layer, t.input, t.weight, false, made, &bias);
    const int64_t plane = layer.result_size() * layer.result_size();
    // The bias may come first or last: first, it changes the roundings of all that follows. Both sums round.
    const double terms = static_cast<double>(layer.from * layer.kernel * layer.kernel);
    double worst = 0;
    for (int64_t i = 0; i < made.numel(); ++i) {
      const double added = bias.at<float>(i / plane % layer.to), before = plain.at<float>(i);
      const double size = std::fabs(before) + std::fabs(added) + std::sqrt(terms);
      worst = std::max(worst, std::fabs(made.at<float>(i) - before - added) / size);
    }
    EXPECT_LE(worst, 2 * 16 * 0x1p-24) << layer;
  }
}

// A line is a picture of one row, and has the same bits.
TEST(CpuConvolution, takes_pictures_of_one_dimension) {
  const Sizes input = {8, 128, 30}, weight = {128, 128, 5}, result = {8, 128, 15};
  const auto with_a_row = [](Sizes shape) {
    shape.insert(shape.begin() + 2, 1);
    return shape;
  };
  Data line(BP_F32, input), kernel(BP_F32, weight), made(BP_F32, result);
  fill_with_noise(line, 1);
  fill_with_noise(kernel, 2);
  Data picture = Data::of(BP_F32, with_a_row(input), line.values<float>());
  Data flat = Data::of(BP_F32, with_a_row(weight), kernel.values<float>());
  Data wanted(BP_F32, with_a_row(result));
  const Sizes two = {2}, one_two = {1, 2}, none_two = {0, 2}, ones = {1, 1}, one = {1},
              none_of = {0};
  run("convolution",
      {value(line), value(kernel), none(), value(two), value(two), value(one), value(false),
       value(none_of), value(1)},
      {&made});
  run("convolution",
      {value(picture), value(flat), none(), value(one_two), value(none_two), value(ones),
       value(false), value(none_of), value(1)},
      {&wanted});
  EXPECT_EQ(made.values<float>(), wanted.values<float>());
}

TEST(CpuConvolution, gives_the_same_bits_every_time) {
  for (const Layer& layer : layers()) {
    Tensors t(layer, false);
    Data first(BP_F32, layer.weight()), second(BP_F32, layer.weight());
    run_weight_gradient(layer, t, first);
    run_weight_gradient(layer, t, second);
    EXPECT_EQ(first.values<float>(), second.values<float>()) << layer;
  }
}

// A NaN in one channel of the pictures reaches the kernels of that channel, and no others.
TEST(CpuConvolution, keeps_a_nan_to_the_kernels_of_its_channel) {
  for (const Layer& layer : layers()) {
    Tensors t(layer, false);
    const int64_t plane = layer.size * layer.size, channel = layer.from / 2;
    t.input.at<float>(channel * plane + plane / 2) = NAN;
    Data made(BP_F32, layer.weight());
    run_weight_gradient(layer, t, made);
    int64_t wrong = 0, reached = 0;
    const int64_t taps = layer.kernel * layer.kernel;
    for (int64_t i = 0; i < made.numel(); ++i) {
      const bool is_here = i / taps % layer.from == channel, is_nan = std::isnan(made.at<float>(i));
      wrong += is_nan && !is_here;
      reached += is_nan;
    }
    EXPECT_EQ(wrong, 0) << layer;
    EXPECT_GE(reached, layer.stride == 1 ? layer.to : 0) << layer;
  }
}

TEST(CpuConvolution, sees_nothing_of_points_that_a_stride_leaves_out) {
  const Layer layer{3, 256, 384, 9, 1, 2};
  for (const bool channels_last : {false, true}) {
    Tensors t(layer, channels_last);
    Data wanted(BP_F32, layer.weight()), made(BP_F32, layer.weight());
    run_weight_gradient(layer, t, wanted);
    for (int64_t i = 0; i < t.input.numel(); ++i)
      if (i / layer.size % layer.size % 2 != 0 || i % layer.size % 2 != 0)
        t.input.at<float>(i) = NAN;
    run_weight_gradient(layer, t, made);
    EXPECT_EQ(made.values<float>(), wanted.values<float>());
  }
}

// Zeros beside a picture are not multiplied: an infinite number reaches the sums that see it, and no others.
TEST(CpuConvolution, keeps_what_is_infinite_from_the_edge) {
  for_each_target([](const std::string& target) {
    const Layer layer{2, 1, 6, 9, 3, 1};
    Tensors t(layer, false);
    t.result.at<float>(0) =
        INFINITY;  // the first corner: the kernel's first line and column see zeros
    t.weight.at<float>(0) = INFINITY;  // as the results of the first line and column do here
    Data gradient(BP_F32, layer.weight()), result(BP_F32, layer.result());
    run_weight_gradient(layer, t, gradient);
    run_convolution(layer, t.input, t.weight, false, result);
    for (int64_t i = 0; i < gradient.numel(); ++i)
      EXPECT_EQ(std::isfinite(gradient.at<float>(i)), i >= 9 || i / 3 == 0 || i % 3 == 0)
          << target << ", tap " << i;
    for (int64_t i = 0; i < result.numel(); ++i)
      EXPECT_EQ(std::isfinite(result.at<float>(i)), i / 81 % 6 != 0 || i % 81 < 9 || i % 9 == 0)
          << target << ", point " << i;
  });
}

TEST(CpuConvolution, is_the_same_for_few_channels_with_every_instruction_set) {
  for (const Layer& layer : {Layer{3, 3, 6, 13, 5, 1}, Layer{2, 1, 16, 8, 3, 1}}) {
    Tensors t(layer, false);
    Sums wanted(layer.weight());
    each_product(layer, [&](int64_t in, int64_t w, int64_t out) {
      wanted.add(w, static_cast<double>(t.result.at<float>(out)) *
                        static_cast<double>(t.input.at<float>(in)));
    });
    for_each_target([&](const std::string& target) {
      Data made(BP_F32, layer.weight());
      run_weight_gradient(layer, t, made);
      expect_near(made, wanted, "the gradient to the weight by " + target, layer, false);
    });
  }
}

TEST(CpuConvolution, is_right_from_several_threads_at_once) {
  const Layer& layer = layers()[6];
  Tensors t(layer, false);
  Data wanted(BP_F32, layer.weight());
  run_weight_gradient(layer, t, wanted);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        Tensors own(layer, turn % 2 != 0);
        Data made(BP_F32, layer.weight());
        run_weight_gradient(layer, own, made);
        if (turn % 2 == 0) wrong += made.values<float>() != wanted.values<float>();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
