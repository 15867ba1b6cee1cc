// Steps of training of whole networks in PyTorch. Usage: pytorch_training digits|resnet18|transformer
#include <string>
#include <torch/torch.h>

#include "measure.hpp"
#include "pytorch_resnet.hpp"
#include "resident.hpp"

namespace {

using torch::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

// Two rows: the time of a step, and how much memory the steps took beyond what the network itself has.
template <class Step> void report_step(const char* time_name, const char* memory_name, Step step) {
  const double before = bench::resident_mb();
  const double ns = bench::median_ns(step);
  bench::report(time_name, ns / 1e3, "us");
  bench::report(memory_name, bench::largest_resident_mb() - before, "MB");
}

// Two convolutions, a pooling, and a score for each digit.
void digits() {
  nn::Conv2d edges(nn::Conv2dOptions(1, 16, 3).padding(1)),
      shapes(nn::Conv2dOptions(16, 32, 3).padding(1));
  nn::Linear scores(32 * 4 * 4, 10);
  std::vector<Tensor> parameters;
  for (const std::vector<Tensor>& each :
       {edges->parameters(), shapes->parameters(), scores->parameters()})
    parameters.insert(parameters.end(), each.begin(), each.end());
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.05).momentum(0.9));
  const Tensor x = torch::rand({32, 1, 8, 8}), y = torch::randint(0, 10, {32}, torch::kLong);
  report_step("digits_step", "digits_peak_memory", [&] {
    optimizer.zero_grad();
    const Tensor seen = torch::max_pool2d(torch::relu(shapes(torch::relu(edges(x)))), 2);
    const Tensor loss = F::cross_entropy(scores(seen.flatten(1)), y);
    loss.backward();
    optimizer.step();
  });
}

void resnet18() {
  resnet::ResNet<resnet::Block> net({2, 2, 2, 2});
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  const Tensor x = torch::randn({16, 3, 64, 64}), y = torch::randint(0, 1000, {16}, torch::kLong);
  report_step("resnet18_step", "resnet18_peak_memory", [&] {
    optimizer.zero_grad();
    const Tensor loss = F::cross_entropy(net.forward(x), y);
    loss.backward();
    optimizer.step();
  });
}

void mlp() {
  nn::Sequential net(nn::Linear(256, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(),
                     nn::Linear(512, 10));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const Tensor x = torch::rand({64, 256}), y = torch::randint(0, 10, {64}, torch::kLong);
  report_step("mlp_step", "mlp_peak_memory", [&] {
    optimizer.zero_grad();
    const Tensor loss = F::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
  });
}

struct TransformerSizes {
  int64_t layers, width, heads, vocabulary, words;
};

struct TransformerBlockImpl : nn::Module {
  TransformerSizes of;
  nn::LayerNorm norm1{nn::LayerNormOptions({of.width})}, norm2{nn::LayerNormOptions({of.width})};
  nn::Linear mix{of.width, 3 * of.width}, out{of.width, of.width};
  nn::Linear up{of.width, 4 * of.width}, down{4 * of.width, of.width};

  explicit TransformerBlockImpl(const TransformerSizes& sizes) : of(sizes) {
    register_module("norm1", norm1);
    register_module("mix", mix);
    register_module("out", out);
    register_module("norm2", norm2);
    register_module("up", up);
    register_module("down", down);
  }

  Tensor forward(const Tensor& x) {
    std::vector<Tensor> parts = mix(norm1(x)).chunk(3, -1);
    for (Tensor& part : parts)
      part = part.unflatten(-1, {of.heads, of.width / of.heads}).transpose(1, 2);
    const Tensor seen =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    const Tensor attended = x + out(seen.transpose(1, 2).flatten(-2));
    return attended + down(torch::gelu(up(norm2(attended))));
  }
};
TORCH_MODULE(TransformerBlock);

// AdamW's fused row, which PyTorch's Python has as fused=True and its C++ class does not use. As
// there, and as with ours, the first step makes the moments, which so count as memory of the steps.
struct FusedAdamW {
  std::vector<Tensor> parameters, first, second, steps;

  explicit FusedAdamW(std::vector<Tensor> all) : parameters(std::move(all)) {}

  void make_moments() {
    for (const Tensor& each : parameters) {
      first.push_back(torch::zeros_like(each));
      second.push_back(torch::zeros_like(each));
      steps.push_back(torch::zeros({}));
    }
  }

  void step() {
    const torch::NoGradGuard no_grad;
    if (first.empty()) make_moments();
    std::vector<Tensor> gradients;
    for (const Tensor& each : parameters) gradients.push_back(each.grad());
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(parameters, gradients, first, second, {}, steps, 1e-3, 0.9, 0.999, 0.01, 1e-8,
                      false, false);
  }
};

void transformer(const std::string& name, const TransformerSizes& sizes) {
  nn::Embedding words(sizes.vocabulary, sizes.width), places(sizes.words, sizes.width);
  nn::Sequential blocks;
  for (int i = 0; i < sizes.layers; ++i) blocks->push_back(TransformerBlock(sizes));
  nn::LayerNorm norm(nn::LayerNormOptions({sizes.width}));
  nn::Linear scores(sizes.width, sizes.vocabulary);
  std::vector<Tensor> parameters;
  for (const std::vector<Tensor>& each :
       {words->parameters(), places->parameters(), blocks->parameters(), norm->parameters(),
        scores->parameters()})
    parameters.insert(parameters.end(), each.begin(), each.end());
  FusedAdamW optimizer(parameters);
  const Tensor x = torch::randint(0, sizes.vocabulary, {8, sizes.words}, torch::kLong),
               y = x.roll(1, 1).flatten();
  report_step((name + "_step").c_str(), (name + "_peak_memory").c_str(), [&] {
    for (Tensor& each : parameters) each.mutable_grad().reset();
    const Tensor seen = norm(blocks->forward(words(x) + places->weight));
    const Tensor loss = F::cross_entropy(scores(seen).flatten(0, 1), y);
    loss.backward();
    optimizer.step();
  });
}

}  // namespace

int main(int argc, char** argv) {
  torch::manual_seed(1);
  const std::string name = argc == 2 ? argv[1] : "";
  if (name == "digits") digits();
  if (name == "mlp") mlp();
  if (name == "resnet18") resnet18();
  if (name == "transformer") transformer(name, {6, 384, 6, 1000, 128});
  if (name == "small_transformer") transformer(name, {2, 64, 4, 100, 64});
}
