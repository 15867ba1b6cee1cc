#include "report/models.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <backplane/tensor/error.hpp>

namespace bp::conform {
namespace {

struct ModelText {
  const char *name, *inference, *training;
};

// Rows as the public layers reach them. Views are everywhere and cost a backend nothing, so that they are left out.
constexpr ModelText model_texts[] = {
    {"mlp", "addmm linear matmul relu add cast copy full",
     "cross_entropy log_softmax softmax sum mean mul neg gather scatter_add where sub div sqrt"},
    {"resnet50",
     "conv2d convolution batch_norm native_batch_norm relu max_pool2d max_pool_with_indices add "
     "adaptive_avg_pool2d avg_pool "
     "avg_pool_backward linear matmul mean sub mul rsqrt cast copy full",
     "convolution_backward_weight batch_norm_backward norm_weight_backward cross_entropy "
     "log_softmax sum gather scatter_add where var"},
    {"mobilenet_v3",
     "conv2d convolution batch_norm native_batch_norm hardswish hardsigmoid relu mul add "
     "adaptive_avg_pool2d avg_pool linear "
     "matmul mean clamp cast copy full",
     "convolution_backward_weight batch_norm_backward cross_entropy log_softmax sum where dropout "
     "rand"},
    {"unet",
     "conv2d convolution conv_transpose2d group_norm silu add cat max_pool2d max_pool_with_indices "
     "mul mean var rsqrt sub cast copy "
     "full repeat",
     "convolution_backward_weight norm_backward norm_weight_backward mse_loss sum where "
     "scatter_add"},
    {"vit",
     "conv2d convolution layer_norm native_layer_norm scaled_dot_product_attention "
     "native_attention softmax gelu linear matmul add cat "
     "mul mean cast copy full",
     "attention_backward norm_backward norm_weight_backward cross_entropy log_softmax sum where "
     "dropout rand"},
    {"bert",
     "embedding index_select layer_norm native_layer_norm linear matmul bmm softmax gelu tanh add "
     "mul where cast copy full gather erf",
     "norm_backward norm_weight_backward cross_entropy log_softmax sum scatter_add dropout rand "
     "index_put"},
    {"gpt2",
     "embedding index_select layer_norm native_layer_norm linear matmul "
     "scaled_dot_product_attention native_attention gelu_tanh softmax "
     "add mul tril where cat topk multinomial argmax arange cast copy full",
     "attention_backward norm_backward norm_weight_backward cross_entropy log_softmax sum "
     "scatter_add dropout rand"},
    {"llama",
     "embedding index_select rms_norm native_rms_norm linear matmul scaled_dot_product_attention "
     "native_attention silu mul add sin cos "
     "neg cat softmax topk argmax multinomial cumsum sort arange cast copy full where",
     "attention_backward norm_backward norm_weight_backward cross_entropy log_softmax sum "
     "scatter_add"},
    {"whisper",
     "conv1d convolution gelu layer_norm native_layer_norm linear matmul "
     "scaled_dot_product_attention native_attention softmax embedding "
     "index_select add mul where argmax cat cast copy full log exp",
     "convolution_backward_weight attention_backward norm_backward cross_entropy log_softmax sum "
     "scatter_add"},
    {"dlrm", "embedding index_select linear matmul bmm relu sigmoid cat sum add mul cast copy full",
     "binary_cross_entropy_with_logits scatter_add index_put mean log1p exp"},
    {"diffusion",
     "conv2d convolution group_norm silu scaled_dot_product_attention native_attention linear "
     "matmul add mul cat exp sin cos randn "
     "philox randn_philox softmax sqrt div cast copy full",
     "convolution_backward_weight attention_backward norm_backward mse_loss sum randint"},
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<Model> make_models() {
  std::vector<Model> all;
  for (const ModelText& text : model_texts)
    all.push_back({text.name, words_of(text.inference), words_of(text.training)});
  return all;
}

}  // namespace

const std::vector<Model>& models() {
  static const std::vector<Model> all = make_models();
  return all;
}

const Model& model_of(std::string_view name) {
  std::string known;
  for (const Model& model : models()) {
    if (model.name == name) return model;
    known += (known.empty() ? "" : ", ") + model.name;
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("gaps: no model {} is known; there are {}", name, known));
}

}  // namespace bp::conform
