// needs: cpu
// Every layer, called with what it is not made for: each input in turn absent, of another rank, dtype or size. It answers, or says
// in a sentence that begins with a name why not; nothing ends the process.
#include <backplane/nn/attention.hpp>
#include <backplane/nn/packed_sequence.hpp>
#include <backplane/nn/recurrent.hpp>
#include <backplane/nn/transformer.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

using namespace nn;

struct Layer {
  const char* name;
  std::shared_ptr<Module> module;
  std::vector<Tensor> inputs;  // that it takes
};

template <class M> Layer layer(const char* name, M module, std::vector<Tensor> inputs) {
  return {name, std::make_shared<M>(std::move(module)), std::move(inputs)};
}

Tensor numbers(IntList shape) {
  return rand(shape) * 0.5 + 0.25;
}
Tensor places(IntList shape, std::int64_t until) {
  return randint(0, until, shape);
}

#define LAYER(Name, arguments, ...) layer(#Name, Name arguments, {__VA_ARGS__})

std::vector<Layer> functions() {
  const Tensor x = numbers({2, 4});
  return {
      LAYER(Identity, (), x),
      LAYER(Sigmoid, (), x),
      LAYER(Tanh, (), x),
      LAYER(LogSigmoid, (), x),
      LAYER(Softsign, (), x),
      LAYER(Tanhshrink, (), x),
      LAYER(ReLU, (), x),
      LAYER(ReLU6, (), x),
      LAYER(SELU, (), x),
      LAYER(SiLU, (), x),
      LAYER(Mish, (), x),
      LAYER(Hardswish, (), x),
      LAYER(Hardsigmoid, (), x),
      LAYER(ELU, (), x),
      LAYER(CELU, (), x),
      LAYER(LeakyReLU, (), x),
      LAYER(Hardtanh, (), x),
      LAYER(Threshold, ({0.1, 20}), x),
      LAYER(RReLU, (), x),
      LAYER(GELU, (), x),
      LAYER(Softplus, (), x),
      LAYER(Hardshrink, (), x),
      LAYER(Softshrink, (), x),
      LAYER(GLU, (), x),
      LAYER(Softmax, (1), x),
      LAYER(LogSoftmax, (1), x),
      LAYER(Softmin, (1), x),
      LAYER(Softmax2d, (), numbers({2, 3, 4, 4})),
      LAYER(PReLU, (), x),
      LAYER(Dropout, (), x),
      LAYER(Dropout1d, (), numbers({2, 3, 4})),
      LAYER(Dropout2d, (), numbers({2, 3, 4, 4})),
      LAYER(Dropout3d, (), numbers({2, 3, 4, 4, 4})),
      LAYER(AlphaDropout, (), x),
      LAYER(FeatureAlphaDropout, (), x),
  };
}

std::vector<Layer> of_pictures() {
  const Tensor line = numbers({2, 4, 6}), picture = numbers({2, 4, 6, 6}),
               room = numbers({2, 4, 6, 6, 6});
  return {
      LAYER(Conv1d, (4, 2, 3), line),
      LAYER(Conv2d, (4, 2, 3, {.padding = "same", .padding_mode = "circular"}), picture),
      LAYER(Conv3d, (4, 2, 3), room),
      LAYER(ConvTranspose1d, (4, 2, 3), line),
      LAYER(ConvTranspose2d, (4, 2, 3), picture),
      LAYER(ConvTranspose3d, (4, 2, 3), room),
      LAYER(BatchNorm1d, (4), line),
      LAYER(BatchNorm2d, (4), picture),
      LAYER(BatchNorm3d, (4), room),
      LAYER(InstanceNorm1d, (4), line),
      LAYER(InstanceNorm2d, (4), picture),
      LAYER(InstanceNorm3d, (4), room),
      LAYER(GroupNorm, (2, 4), picture),
      LAYER(LocalResponseNorm, (2), picture),
      LAYER(MaxPool1d, (2), line),
      LAYER(MaxPool2d, (2), picture),
      LAYER(MaxPool3d, (2), room),
      LAYER(AvgPool1d, (2), line),
      LAYER(AvgPool2d, (2), picture),
      LAYER(AvgPool3d, (2), room),
      LAYER(LPPool1d, (2, 2), line),
      LAYER(LPPool2d, (2, 2), picture),
      LAYER(LPPool3d, (2, 2), room),
      LAYER(MaxUnpool1d, (2), line, places({2, 4, 6}, 12)),
      LAYER(MaxUnpool2d, (2), picture, places({2, 4, 6, 6}, 144)),
      LAYER(MaxUnpool3d, (2), room, places({2, 4, 6, 6, 6}, 1728)),
      LAYER(AdaptiveAvgPool1d, (2), line),
      LAYER(AdaptiveAvgPool2d, (2), picture),
      LAYER(AdaptiveAvgPool3d, (2), room),
      LAYER(AdaptiveMaxPool1d, (2), line),
      LAYER(AdaptiveMaxPool2d, (2), picture),
      LAYER(AdaptiveMaxPool3d, (2), room),
      LAYER(FractionalMaxPool2d, (2, {.output_size = 3}), picture),
      LAYER(FractionalMaxPool3d, (2, {.output_size = 3}), room),
      LAYER(ZeroPad1d, (1), line),
      LAYER(ReflectionPad2d, (1), picture),
      LAYER(ReplicationPad3d, (1), room),
      LAYER(CircularPad2d, (1), picture),
      LAYER(ConstantPad1d, (1, 2), line),
      LAYER(Unfold, (2), picture),
      LAYER(Fold, (6, 2), numbers({2, 8, 25})),
      LAYER(PixelShuffle, (2), picture),
      LAYER(PixelUnshuffle, (2), picture),
      LAYER(ChannelShuffle, (2), picture),
      LAYER(Upsample, ({.size = 4}), picture),
      LAYER(UpsamplingNearest2d, ({.size = 4}), picture),
      LAYER(UpsamplingBilinear2d, ({.size = 4}), picture),
      LAYER(Flatten, (), picture),
      LAYER(Unflatten, (1, {2, 2}), picture),
  };
}

std::vector<Layer> with_weights() {
  const Tensor x = numbers({2, 3, 4}), words = places({2, 3}, 5);
  return {
      LAYER(Linear, (4, 2), x),
      LAYER(Bilinear, (4, 4, 2), x, x),
      LAYER(LayerNorm, (4), x),
      LAYER(RMSNorm, (4), x),
      LAYER(Embedding, (5, 2), words),
      LAYER(Embedding, (5, 2, {.max_norm = 1}), words),
      LAYER(EmbeddingBag, (5, 2), words),
      LAYER(EmbeddingBag, (5, 2, {.mode = "sum"}), places({6}, 5), tensor({0, 2}), numbers({6})),
      LAYER(EmbeddingBag, (5, 2, {.mode = "max", .include_last_offset = true}), places({6}, 5),
            tensor({0, 2, 6})),
      LAYER(MultiheadAttention, (4, 2), x, x, x),
      LAYER(TransformerEncoderLayer, (4, 2, {.dim_feedforward = 4}), x),
      LAYER(TransformerDecoderLayer, (4, 2, {.dim_feedforward = 4}), x, x),
      LAYER(Transformer,
            ({.d_model = 4,
              .nhead = 2,
              .num_encoder_layers = 1,
              .num_decoder_layers = 1,
              .layer = {.dim_feedforward = 4}}),
            x, x),
      LAYER(RNN, (4, 2), x, numbers({1, 3, 2})),
      LAYER(LSTM, (4, 2), x, numbers({1, 3, 2}), numbers({1, 3, 2})),
      LAYER(GRU, (4, 2, {.num_layers = 2, .batch_first = true, .bidirectional = true}), x,
            numbers({4, 2, 2})),
      LAYER(RNNCell, (4, 2), numbers({3, 4}), numbers({3, 2})),
      LAYER(LSTMCell, (4, 2), numbers({3, 4}), numbers({3, 2}), numbers({3, 2})),
      LAYER(GRUCell, (4, 2), numbers({3, 4}), numbers({3, 2})),
      LAYER(CosineSimilarity, (), numbers({2, 4}), numbers({2, 4})),
      LAYER(PairwiseDistance, (), numbers({2, 4}), numbers({2, 4})),
  };
}

std::vector<Layer> losses() {
  const Tensor x = numbers({3, 4}), y = numbers({3, 4}), signs = sign(numbers({3, 4}) - 0.5);
  const Tensor classes = places({3}, 4), labels = places({3, 4}, 2);
  return {
      LAYER(CrossEntropyLoss, (), x, classes),
      LAYER(CrossEntropyLoss, ({.label_smoothing = 0.1}), x, y),
      LAYER(NLLLoss, (), x, classes),
      LAYER(MSELoss, (), x, y),
      LAYER(L1Loss, (), x, y),
      LAYER(SmoothL1Loss, (), x, y),
      LAYER(HuberLoss, (), x, y),
      LAYER(BCELoss, (), x, y),
      LAYER(BCEWithLogitsLoss, (), x, y),
      LAYER(KLDivLoss, (), x, y),
      LAYER(PoissonNLLLoss, (), x, y),
      LAYER(GaussianNLLLoss, (), x, y, numbers({3, 4})),
      LAYER(CTCLoss, (), numbers({5, 2, 4}), places({2, 2}, 3) + 1, tensor({5, 5}), tensor({2, 2})),
      LAYER(HingeEmbeddingLoss, (), x, signs),
      LAYER(MarginRankingLoss, (), x, y, signs),
      LAYER(SoftMarginLoss, (), x, signs),
      LAYER(MultiMarginLoss, (), x, classes),
      LAYER(MultiLabelMarginLoss, (), x, labels),
      LAYER(MultiLabelSoftMarginLoss, (), x, y),
      LAYER(CosineEmbeddingLoss, (), x, y, tensor({1, -1, 1})),
      LAYER(TripletMarginLoss, (), x, y, x),
      LAYER(TripletMarginWithDistanceLoss, (), x, y, x),
      LAYER(AdaptiveLogSoftmaxWithLoss, (4, 10, {2, 5}), x, places({3}, 10)),
      LAYER(LinearCrossEntropyLoss, (4, 5), x, classes),
  };
}

std::vector<Layer> all_layers() {
  std::vector<Layer> all;
  for (const auto& family : {functions, of_pictures, with_weights, losses})
    for (Layer& each : family()) all.push_back(std::move(each));
  return all;
}

// What stands for an input that is as the layer takes it.
std::vector<std::pair<std::string, Tensor>> misfits(const Tensor& right) {
  std::vector<std::pair<std::string, Tensor>> all = {{"undefined", Tensor()}};
  for (std::size_t rank = 0; rank <= 6; ++rank) {
    const std::vector<std::int64_t> twos(rank, 2), nothing(rank, 0);
    all.emplace_back(std::to_string(rank) + " dimensions of 2", to(ones(twos), right.dtype()));
    if (rank > 0)
      all.emplace_back(std::to_string(rank) + " dimensions of 0", to(ones(nothing), right.dtype()));
  }
  for (const Dtype dtype : {i64, u8, boolean, f16, f64, Dtype::complex64})
    all.emplace_back(std::string(name(dtype)), to(right, dtype));
  Dims empty(right.shape());
  for (std::size_t i = 0; i < empty.size(); ++i) {
    Dims shape = empty;
    shape[i] = 0;
    all.emplace_back("dimension " + std::to_string(i) + " of 0", zeros(shape, right.dtype()));
  }
  if (is_integral(right.dtype())) {
    all.emplace_back("negative", right - 1000);
    all.emplace_back("far beyond", right + (std::int64_t{1} << 40));
  }
  return all;
}

TEST(Layers, answer_or_refuse_whatever_they_are_called_with) {
  for (const Layer& layer : all_layers()) {
    EXPECT_NO_THROW((void)layer.module->call_all(layer.inputs)) << layer.name;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      for (const auto& [what, misfit] : misfits(layer.inputs[i])) {
        std::vector<Tensor> inputs = layer.inputs;
        inputs[i] = misfit;
        SCOPED_TRACE(std::string(layer.name) + ", input " + std::to_string(i) + ": " + what);
        try {
          for (const Tensor& result : layer.module->call_all(inputs))
            if (result.defined()) (void)to_string(result);
        } catch (const Error& error) {
          EXPECT_NE(std::string_view(error.what()), "");
        }
      }
  }
}

TEST(Layers, refuse_sizes_that_no_memory_holds) {
  for (const std::int64_t size :
       {INT64_MIN, std::int64_t{-1}, std::int64_t{1} << 41, std::int64_t{1} << 62, INT64_MAX}) {
    const std::function<void()> makers[] = {
        [=] { Linear(size, 2); },
        [=] { Linear(2, size); },
        [=] { Linear(size, size); },
        [=] { Bilinear(2, size, size); },
        [=] { Conv1d(size, 2, 3); },
        [=] { Conv2d(2, size, 3); },
        [=] { Conv3d(2, 2, size); },
        [=] { ConvTranspose2d(size, size, 3); },
        [=] { BatchNorm2d{size}; },
        [=] { GroupNorm(1, size); },
        [=] {
          LayerNorm({size, size});
        },
        [=] { Embedding(size, size); },
        [=] { EmbeddingBag(size, 2); },
        [=] { MultiheadAttention(size, 1); },
        [=] { RNN(size, 2); },
        [=] { LSTM(2, size); },
        [=] { GRU(2, 2, {.num_layers = size}); },
        [=] { LSTMCell(2, size); },
        [=] { PReLU({.num_parameters = size}); },
        [=] { LinearCrossEntropyLoss(2, size); },
        [=] {
          LinearCrossEntropyLoss(2, 3, {.out_features = {size, size}});
        },
        [=] {
          ReplicationPad1d(size == -1 ? INT64_MAX : size)(ones({1, 2, 4}));
        },
        [=] {
          CircularPad2d(size == -1 ? INT64_MAX : size)(ones({1, 2, 4, 4}));
        },
        [=] {
          ConstantPad1d(size == -1 ? INT64_MAX : size, 1)(ones({1, 2, 4}));
        },
        [=] {
          MaxPool2d{size}(ones({1, 2, 4, 4}));
        },
        [=] {
          AvgPool1d(2, {.stride = size, .padding = size})(ones({1, 2, 4}));
        },
        [=] {
          Unfold(2, {.dilation = size})(ones({1, 2, 4, 4}));
        },
        [=] {
          PixelShuffle{size}(ones({1, 4, 4, 4}));
        },
        [=] {
          ChannelShuffle{size}(ones({1, 4, 4, 4}));
        },
        [=] {
          Upsample({.size = size})(ones({1, 2, 4, 4}));
        },
        [=] {
          AdaptiveAvgPool1d{size}(ones({1, 2, 4}));
        },
        [=] {
          LocalResponseNorm{size}(ones({1, 2, 4}));
        },
        [=] {
          Unflatten(1, {size == -1 ? -2 : size, 2})(ones({1, 4}));
        },
    };
    for (std::size_t i = 0; i < std::size(makers); ++i)
      EXPECT_THROW(makers[i](), Error) << "maker " << i << " of " << size;
  }
}

// Each layer says itself why not: an operator would speak of other numbers than the user wrote.
TEST(Layers, refuse_windows_that_no_operator_takes) {
  const Tensor line = ones({1, 4, 6}), picture = ones({1, 4, 6, 6});
  for (const std::int64_t size : {(std::int64_t{1} << 31) + 1, std::int64_t{1} << 33,
                                  std::int64_t{1} << 62, INT64_MAX - 1, INT64_MAX}) {
    const auto real = static_cast<double>(size);
    const std::function<void()> makers[] = {
        [=] { Conv1d(4, 2, 3, {.stride = size}); },
        [=] { Conv1d(4, 2, 3, {.padding = size}); },
        [=] { Conv1d(4, 2, size, {.dilation = 2}); },
        [=] { Conv2d(4, 2, 3, {.padding = size, .padding_mode = "circular"})(picture); },
        [=] { Conv2d(4, 2, 3, {.padding = "same", .dilation = size})(picture); },
        [=] { ConvTranspose1d(4, 2, 3, {.stride = size})(line, {12}); },
        [=] { ConvTranspose1d(4, 2, 3, {.padding = size})(line, {12}); },
        [=] { ConvTranspose1d(4, 2, 3, {.dilation = size})(line, {12}); },
        [=] { ConvTranspose1d(4, 2, 3, {.output_padding = size}); },
        [=] { ConvTranspose1d(4, 2, 3)(line, {size}); },
        [=] { ConvTranspose1d(4, 2, 3)(line, {-size - 1}); },
        [=] {
          Fold({size, size}, {size, size}, {.stride = size})(ones({1, 8, 25}));
        },
        [=] { Unfold(2, {.stride = size}); },
        [=] { MaxPool2d(2, {.stride = size}); },
        [=] { AvgPool2d(2, {.stride = size}); },
        [=] { LPPool2d(2, size); },
        [=] { MaxUnpool2d{size}; },
        [=] { FractionalMaxPool2d(size, {.output_size = 3}); },
        [=] { FractionalMaxPool2d(2, {.output_size = size}); },
        [=] { FractionalMaxPool3d(size, {.output_ratio = {0.5}}); },
        [=] { Upsample({.scale_factor = {real}})(picture); },
        [=] { Upsample({.scale_factor = {real * 1e200}, .mode = "bicubic"})(picture); },
        [=] {
          AdaptiveLogSoftmaxWithLoss(4, 10, {2, 5}, {.div_value = 1e-6 / real});
        },
        [=] { AdaptiveLogSoftmaxWithLoss(4, -size - 1, {2}); },
        [=] { TransformerEncoder(TransformerEncoderLayer(4, 2), size); },
        [=] { TransformerDecoder(TransformerDecoderLayer(4, 2), size); },
    };
    for (std::size_t i = 0; i < std::size(makers); ++i)
      EXPECT_THAT(makers[i], testing::ThrowsMessage<Error>(testing::MatchesRegex("[A-Z].*")))
          << "maker " << i << " of " << size;
  }
}

TEST(Layers, check_what_packs_and_bags_are_made_of) {
  namespace packs = nn::utils::rnn;
  const EmbeddingBag bag(5, 2);
  const Tensor words = places({6}, 5);
  for (const Tensor& offsets : {tensor({1, 3}), tensor({0, 4, 3}), tensor({0, 7}), tensor({0, -1})})
    EXPECT_THROW((void)bag(words, offsets), Error) << to_string(offsets);
  const Tensor padded = numbers({4, 2, 3});
  for (const Tensor& lengths :
       {tensor({4}), tensor({4, 3, 2}), tensor({4, 0}), tensor({4, -1}), tensor({5, 2})})
    for (const bool sorted : {false, true})
      EXPECT_THROW((void)packs::pack_padded_sequence(padded, lengths, false, sorted), Error)
          << to_string(lengths);
  const GRU gru(3, 2);
  PackedSequence packed = packs::pack_padded_sequence(padded, tensor({4, 2}));
  EXPECT_NO_THROW((void)gru(packed));
  for (const Tensor& sizes :
       {tensor({1, 2, 2, 1}), tensor({2, 2, 1}), tensor({2, 2, 2, 1}), tensor({6, 0}),
        tensor({-1, 7}), tensor({INT64_MAX, INT64_MAX, INT64_MAX})}) {
    packed.batch_sizes = sizes;
    EXPECT_THROW((void)gru(packed), Error) << to_string(sizes);
  }
  for (const Dtype dtype : {f32, boolean, u8}) {
    const Tensor lengths = to(tensor({4, 2}), dtype);
    EXPECT_THAT([&] { packs::pack_padded_sequence(padded, lengths); },
                testing::ThrowsMessage<Error>(HasSubstr("pack_padded_sequence: lengths is")));
    EXPECT_THAT([&] { packs::unpad_sequence(padded, lengths); },
                testing::ThrowsMessage<Error>(HasSubstr("unpad_sequence: lengths is")));
    packed.batch_sizes = lengths;
    EXPECT_THAT([&] { (void)gru(packed); },
                testing::ThrowsMessage<Error>(HasSubstr("batch_sizes is")));
  }
}

TEST(Layers, check_in_which_order_packs_are) {
  namespace packs = nn::utils::rnn;
  const GRU gru(3, 2);
  const PackedSequence packed =
      packs::pack_padded_sequence(numbers({4, 2, 3}), tensor({2, 4}), false, false);
  EXPECT_NO_THROW((void)gru(packed));
  EXPECT_NO_THROW(packs::pad_packed_sequence(packed));
  for (const Tensor& order : {tensor({0}), tensor({0, 1, 1}), tensor({0, 5}), ones({2, 1}, i64)})
    for (Tensor PackedSequence::*which :
         {&PackedSequence::sorted_indices, &PackedSequence::unsorted_indices}) {
      PackedSequence other = packed;
      other.*which = order;
      EXPECT_THROW((void)gru(other, numbers({1, 2, 2})), Error) << to_string(order);
      if (which == &PackedSequence::unsorted_indices) {
        EXPECT_THROW(packs::pad_packed_sequence(other), Error) << to_string(order);
      }
    }
}

TEST(Layers, are_made_of_complex_numbers_too) {
  const Linear linear(3, 2, {.dtype = Dtype::complex64});
  const Conv1d convolution(3, 2, 3, {.dtype = Dtype::complex128});
  EXPECT_EQ(linear.weight.dtype(), Dtype::complex64);
  const Tensor parts = detach(view_as_real(detach(convolution.weight)));
  EXPECT_GT(item<double>(max(abs(parts))), 0);
  EXPECT_LE(item<double>(max(abs(parts))), 1.0 / 3);
  EXPECT_EQ(linear(zeros({4, 3}, Dtype::complex64)).shape(), IntList({4, 2}));
}

TEST(Layers, refuse_an_undefined_input_by_name) {
  for (const Layer& layer : all_layers()) {
    std::vector<Tensor> inputs = layer.inputs;
    inputs[0] = Tensor();
    EXPECT_THAT([&] { (void)layer.module->call_all(inputs); },
                testing::ThrowsMessage<Error>(HasSubstr("undefined")))
        << layer.name;
  }
}

}  // namespace
}  // namespace bp::test
