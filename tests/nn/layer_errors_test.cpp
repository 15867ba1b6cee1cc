// needs: cpu
// Wrong arguments of layers, and how layers say what they were made with.
#include "nn/networks.hpp"

namespace bp::test {
namespace {

using namespace nn;

struct Wrong {
  std::function<void()> make;
  const char* sentence;
};

TEST(Layers, refuse_wrong_arguments_when_they_are_made) {
  const Wrong all[] = {
      {[] { Linear(-1, 2); }, "Linear: -1 to 2 features; pass numbers of 0 or more"},
      {[] { Bilinear(0, 2, 3); }, "Bilinear: in1_features is 0; pass 1 or more"},
      {[] { Conv2d(4, 6, 3, {.groups = 0}); }, "Conv2d: 0 groups; pass 1 or more"},
      {[] { Conv2d(4, 5, 3, {.groups = 2}); },
       "Conv2d: 5 output channels are not divisible into 2 groups"},
      {[] {
         Conv2d(4, 6, {3, 3, 3});
       },
       "Conv2d: kernel_size is (3, 3, 3); pass one number, or 2"},
      {[] { Conv1d(4, 6, 0); }, "Conv1d: kernel_size is 0; pass numbers of 1 or more"},
      {[] { Conv1d(4, 6, 3, {.padding = -1}); }, "padding is -1; pass numbers of 0 or more"},
      {[] { Conv3d(4, 6, 3, {.padding = "full"}); }, "padding is 'full'; pass numbers, 'same'"},
      {[] { Conv2d(4, 6, 3, {.stride = 2, .padding = "same"}); },
       "padding 'same' with stride 2; use stride 1"},
      {[] { Conv2d(4, 6, 3, {.padding_mode = "edge"}); }, "padding_mode is 'edge'; pass 'zeros'"},
      {[] { ConvTranspose2d(4, 6, 3, {.padding_mode = "reflect"}); },
       "transposed convolutions take only 'zeros'"},
      {[] { MaxPool2d(2, {.padding = 2}); }, "padding 2 is beyond half of kernel_size 2"},
      {[] { AvgPool2d(2, {.divisor_override = 0}); }, "divisor_override is 0"},
      {[] { AvgPool1d(2, {.divisor_override = 3}); }, "it has no divisor_override"},
      {[] {
         AdaptiveAvgPool2d({1, 2, 3});
       },
       "output_size is (1, 2, 3); pass one number, or 2"},
      {[] { FractionalMaxPool2d(2); }, "pass one of the two"},
      {[] { FractionalMaxPool2d(2, {.output_ratio = {1.5}}); }, "pass numbers between 0 and 1"},
      {[] { LPPool1d(0, 2); }, "norm_type is 0"},
      {[] {
         ReflectionPad2d({1, 2});
       },
       "padding is (1, 2); pass one number, or 4"},
      {[] { BatchNorm2d(-1); }, "BatchNorm2d: num_features is -1"},
      {[] { GroupNorm(4, 6); }, "GroupNorm: 6 channels are not divisible into 4 groups"},
      {[] { LayerNorm(Sizes{}); }, "LayerNorm: normalized_shape is empty"},
      {[] { LocalResponseNorm(0); }, "LocalResponseNorm: size is 0"},
      {[] { Embedding(3, 2, {.padding_idx = 3}); }, "padding_idx 3 is not among 3 rows"},
      {[] { EmbeddingBag(3, 2, {.mode = "min"}); }, "mode is 'min'; pass 'mean', 'sum' or 'max'"},
      {[] { EmbeddingBag(3, 2, {.scale_grad_by_freq = true, .mode = "max"}); },
       "scale_grad_by_freq with mode 'max'"},
      {[] { Embedding::from_pretrained(ones({3})); }, "the table is [3]; pass [rows, columns]"},
      {[] { Dropout({.p = 1.5}); }, "dropout: p is 1.5; pass a probability from 0 to 1"},
      {[] { Hardtanh({.min_val = 2, .max_val = 1}); }, "max_val 1 is not above min_val 2"},
      {[] { GELU({.approximate = "erf"}); }, "approximate is 'erf'; pass 'none' or 'tanh'"},
      {[] { Softshrink({.lambd = -1}); }, "lambd is -1"},
      {[] { RReLU({.lower = 0.5, .upper = 0.1}); }, "lower 0.5 is above upper 0.1"},
      {[] { CELU({.alpha = 0}); }, "alpha is 0"},
      {[] { Upsample(UpsampleOptions{}); }, "Upsample: size is None and scale_factor has 0"},
      {[] { Upsample({.size = 4, .mode = "cubic"}); }, "mode is 'cubic'; pass 'nearest'"},
      {[] { Upsample({.size = 4, .align_corners = true}); },
       "mode 'nearest' takes no align_corners"},
      {[] { Upsample({.scale_factor = {-2}}); }, "scale_factor is -2; pass factors above 0"},
      {[] { PixelShuffle(0); }, "upscale_factor is 0"},
      {[] { ChannelShuffle(0); }, "ChannelShuffle: 0 groups"},
      {[] {
         Unfold({1, 2, 3});
       },
       "Unfold: kernel_size is (1, 2, 3); pass one number, or 2"},
      {[] { MSELoss({.reduction = "average"}); }, "MSELoss: reduction is 'average'; pass 'none'"},
      {[] { CrossEntropyLoss({.label_smoothing = 2}); }, "label_smoothing is 2"},
      {[] { HuberLoss({.delta = 0}); }, "HuberLoss: delta is 0"},
      {[] { MultiMarginLoss({.p = 3}); }, "p is 3; pass 1 or 2"},
      {[] { TripletMarginLoss({.margin = 0}); }, "TripletMarginLoss: margin is 0"},
      {[] {
         AdaptiveLogSoftmaxWithLoss(4, 10, {5, 5});
       },
       "pass numbers that rise from 1 to 9"},
      {[] { LinearCrossEntropyLoss(4, 3, {.weight = ones({2})}); }, "weight is [2] for 3 classes"},
  };
  for (const Wrong& wrong : all) EXPECT_THAT(sentence_of(wrong.make), HasSubstr(wrong.sentence));
}

TEST(Layers, refuse_inputs_of_another_rank_by_their_name) {
  const Tensor vector = ones({6}), image = ones({1, 4, 5, 5});
  const Wrong all[] = {
      {[&] { BatchNorm1d(4)(image); }, "BatchNorm1d: the input is [1, 4, 5, 5]; pass 3 dimensions"},
      {[&] { BatchNorm2d(3)(image); }, "has 4 channels, and the layer 3; make both the same"},
      {[&] { InstanceNorm2d(3, {.affine = true})(image); }, "has 4 channels, and the layer 3"},
      {[&] { AdaptiveAvgPool2d(1)(vector); }, "AdaptiveAvgPool2d: the input is [6]; pass 4"},
      {[&] { ReflectionPad1d(1)(image); }, "ReflectionPad1d: the input is [1, 4, 5, 5]; pass 3"},
      {[&] { Upsample({.size = 2})(vector); }, "Upsample: the input is [6]"},
      {[&] { Softmax2d()(vector); }, "Softmax2d: the input is [6]"},
      {[&] { Dropout2d()(vector); }, "Dropout2d: the input is [6]; pass 4 dimensions, or 3"},
      {[&] { Unfold(2)(vector); }, "Unfold: the input is [6]"},
      {[&] { ChannelShuffle(3)(image); }, "channels that are divisible into 3 groups"},
      {[&] { FractionalMaxPool2d(3, {.output_size = 4})(image); },
       "4 windows of 3 do not fit into 5 (dimension 0)"},
      {[&] {
         ConvTranspose2d(4, 2, 3, {.stride = 2}).forward(image, {14, 11});
       },
       "output_size is [14, 11] for an input of [1, 4, 5, 5]; dimension 0 can have 11 to 12"},
      {[&] {
         GaussianNLLLoss()(ones({2, 3}), ones({2, 3}), ones({3, 2}));
       },
       "var is [3, 2] for an input of [2, 3]"},
      {[&] { GaussianNLLLoss()(ones({2}), ones({2}), ones({2}) * -1); },
       "var has a number below 0"},
      {[&] {
         AdaptiveLogSoftmaxWithLoss(4, 10, {5}).forward(ones({2, 4}), tensor({3, 10}));
       },
       "1 of 2 targets are not classes; pass numbers from 0 to 9"},
      {[&] {
         MultiLabelMarginLoss()(ones({2, 3}), zeros({2, 2}, i64));
       },
       "the input is [2, 3] and the target [2, 2]"},
      {[&] { Bilinear(2, 3, 4)(ones({2})); }, "forward: Bilinear has none for one tensor"},
  };
  for (const Wrong& wrong : all) EXPECT_THAT(sentence_of(wrong.make), HasSubstr(wrong.sentence));
}

TEST(Layers, say_what_they_were_made_with) {
  EXPECT_EQ(Conv2d(3, 4, 3, {.stride = 2, .padding = {1, 0}, .bias = false}).extra_repr(),
            "3, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 0), bias=False");
  EXPECT_EQ(MaxPool2d({3, 2}).extra_repr(),
            "kernel_size=(3, 2), stride=(3, 2), padding=0, dilation=1, ceil_mode=False");
  EXPECT_EQ(BatchNorm1d(3, {.momentum = std::nullopt}).extra_repr(),
            "3, eps=1e-05, momentum=None, affine=True, bias=True, track_running_stats=True");
  EXPECT_EQ(ReLU({.inplace = true}).extra_repr(), "inplace=True");
  EXPECT_EQ(ReLU().type_name(), "ReLU");
  EXPECT_EQ(AdaptiveAvgPool2d({std::nullopt, 7}).extra_repr(), "output_size=(None, 7)");
}

TEST(Repr, writes_numbers_as_python_does) {
  EXPECT_EQ(repr(1.0), "1.0");
  EXPECT_EQ(repr(0.1), "0.1");
  EXPECT_EQ(repr(1e-5), "1e-05");
  EXPECT_EQ(repr(1e16), "1e+16");
  EXPECT_EQ(repr(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(repr(std::int64_t{-3}), "-3");
  EXPECT_EQ(repr(std::optional<double>()), "None");
  EXPECT_EQ(Sizes({3}).text(), "(3,)");
  EXPECT_EQ(Sizes(3).text(), "3");
  EXPECT_EQ(Sizes().text(), "None");
}

}  // namespace
}  // namespace bp::test
