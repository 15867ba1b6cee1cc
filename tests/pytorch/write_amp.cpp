// Networks under Autocast and runs of GradScaler, for compare_amp.py: `write_amp FILE` writes FILE.json, a line for each, and
// FILE.bin, the tensors' elements.
#include <iostream>
#include <limits>

#include <backplane/amp/autocast.hpp>
#include <backplane/amp/grad_scaler.hpp>
#include <backplane/optim/sgd.hpp>

#include "pytorch/call_writer.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;
using Tensors = std::map<std::string, Tensor>;

Tensor normal_numbers(IntList shape, double scale = 1) {
  return mul(randn(shape, f32), scale);
}

struct Network {
  const char* name;
  Tensors constants, weights;
  // The results and, as "loss", what is gone back from.
  std::function<Tensors(const Tensors&)> run;
};

Network mlp() {
  return {"mlp",
          {{"x", normal_numbers({12, 8})}, {"target", randint(0, 4, {12})}},
          {{"w1", normal_numbers({16, 8}, 0.4)},
           {"b1", normal_numbers({16}, 0.1)},
           {"w2", normal_numbers({4, 16}, 0.3)},
           {"b2", normal_numbers({4}, 0.1)}},
          [](const Tensors& t) {
            const Tensor hidden = relu(linear(t.at("x"), t.at("w1"), t.at("b1")));
            const Tensor out = linear(hidden, t.at("w2"), t.at("b2"));
            return Tensors{{"out", out}, {"loss", cross_entropy(out, t.at("target"))}};
          }};
}

Network convolutions() {
  return {"convolutions",
          {{"x", normal_numbers({4, 3, 8, 8})}, {"target", normal_numbers({4, 5})}},
          {{"w1", normal_numbers({6, 3, 3, 3}, 0.2)},
           {"b1", normal_numbers({6}, 0.1)},
           {"scale", normal_numbers({6}, 0.3)},
           {"shift", normal_numbers({6}, 0.1)},
           {"w2", normal_numbers({5, 54}, 0.15)}},
          [](const Tensors& t) {
            const Tensor maps = conv2d(t.at("x"), t.at("w1"), t.at("b1"));
            const Tensor normed = batch_norm(maps, t.at("scale"), t.at("shift"), zeros({6}),
                                             ones({6}), true, 0.1, 1e-5);
            const Tensor flat = flatten(max_pool2d(relu(normed), {2}), 1);
            const Tensor out = linear(flat, t.at("w2"));
            return Tensors{{"maps", maps}, {"out", out}, {"loss", mse_loss(out, t.at("target"))}};
          }};
}

Network attention() {
  return {"attention",
          {{"x", normal_numbers({2, 6, 16})}},
          {{"scale", normal_numbers({16}, 0.5)},
           {"shift", normal_numbers({16}, 0.1)},
           {"qkv", normal_numbers({48, 16}, 0.25)},
           {"w_out", normal_numbers({16, 16}, 0.25)},
           {"w1", normal_numbers({32, 16}, 0.25)},
           {"w2", normal_numbers({16, 32}, 0.2)}},
          [](const Tensors& t) {
            const Tensor x = t.at("x");
            const Tensor normed = layer_norm(x, {16}, t.at("scale"), t.at("shift"));
            const Tensor heads =
                permute(reshape(linear(normed, t.at("qkv")), {2, 6, 3, 2, 8}), {2, 0, 3, 1, 4});
            const Tensor attended = scaled_dot_product_attention(
                select(heads, 0, 0), select(heads, 0, 1), select(heads, 0, 2));
            const Tensor joined = reshape(permute(attended, {0, 2, 1, 3}), {2, 6, 16});
            const Tensor y = x + linear(joined, t.at("w_out"));
            const Tensor out = y + linear(gelu(linear(y, t.at("w1"))), t.at("w2"));
            return Tensors{
                {"attended", attended}, {"out", out}, {"loss", mean(softmax(out, -1) * out)}};
          }};
}

ordered_json entries(CallWriter& writer, const Tensors& tensors) {
  ordered_json all = ordered_json::object();
  for (const auto& [name, tensor] : tensors) all[name] = writer.tensor(tensor);
  return all;
}

void write_network(CallWriter& writer, const Network& network) {
  Tensors all = network.constants, gradients;
  for (const auto& [name, value] : network.weights) all[name] = set_requires_grad(copy(value));
  Tensors results;
  {
    const amp::Autocast scope("cpu");
    results = network.run(all);
  }
  backward(results.at("loss"));
  for (const auto& [name, value] : network.weights) gradients[name] = grad(all.at(name));
  writer.line({{"network", network.name},
               {"constants", entries(writer, network.constants)},
               {"weights", entries(writer, network.weights)},
               {"results", entries(writer, results)},
               {"gradients", entries(writer, gradients)}});
}

ordered_json described(const amp::GradScalerOptions& options) {
  return {{"init_scale", options.init_scale},
          {"growth_factor", options.growth_factor},
          {"backoff_factor", options.backoff_factor},
          {"growth_interval", options.growth_interval}};
}

// One weight, whose gradient overflows where the pattern has a 1.
void write_scaler(CallWriter& writer, const amp::GradScalerOptions& options, unsigned one_in) {
  const Tensor w = set_requires_grad(full({3}, 1.0, f32));
  optim::SGD optimizer({w}, {.lr = 0.01, .momentum = 0.9});
  amp::GradScaler scaler(options);
  ordered_json run{{"scaler", described(options)}};
  unsigned state = 12345;
  for (int step = 0; step < 300; ++step) {
    state = state * 1664525u + 1013904223u;
    const bool overflows = (state >> 16) % one_in == 0, unscales = (state >> 24) % 2 == 0;
    optimizer.zero_grad();
    backward(scaler.scale(sum(w * (overflows ? std::numeric_limits<double>::infinity() : 0.5))));
    if (unscales) scaler.unscale_(optimizer);
    scaler.step(optimizer);
    scaler.update();
    run["overflows"].push_back(overflows);
    run["unscales"].push_back(unscales);
    run["scales"].push_back(scaler.get_scale());
    run["trackers"].push_back(scaler.state_dict().at("_growth_tracker").as_int());
    run["weights"].push_back(item<bp::Scalar>(select(detach(w), 0, 0)).to_double());
  }
  writer.line(run);
}

// An MLP in float16 whose first scale is far too large.
void write_training(CallWriter& writer) {
  const Network network = mlp();
  Tensors all = network.constants;
  std::vector<Tensor> weights;
  for (const auto& [name, value] : network.weights)
    weights.push_back(all[name] = set_requires_grad(copy(value)));
  const amp::GradScalerOptions options{.init_scale = 0x1p36, .growth_interval = 8};
  optim::SGD optimizer(weights, {.lr = 0.1, .momentum = 0.9});
  amp::GradScaler scaler(options);
  ordered_json run{{"training", described(options)},
                   {"constants", entries(writer, network.constants)},
                   {"weights", entries(writer, network.weights)}};
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::Autocast scope("cpu", {.dtype = f16});
      loss = network.run(all).at("loss");
    }
    backward(scaler.scale(loss));
    scaler.step(optimizer);
    scaler.update();
    run["losses"].push_back(item<bp::Scalar>(detach(loss)).to_double());
    run["scales"].push_back(scaler.get_scale());
  }
  writer.line(run);
}

int write_all(const std::string& file) {
  CallWriter writer(file);
  default_generator(device("cpu")).manual_seed(7);
  for (const Network& network : {mlp(), convolutions(), attention()})
    write_network(writer, network);
  write_scaler(writer, {}, 5);
  write_scaler(writer,
               {.init_scale = 3, .growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 1},
               3);
  write_scaler(writer, {.init_scale = 1e30, .growth_factor = 1e4, .growth_interval = 2}, 20);
  write_training(writer);
  if (writer.flush()) return 0;
  std::cerr << "write_amp: " << file << ".json and .bin cannot be written\n";
  return 1;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_amp FILE\n";
    return 1;
  }
  try {
    return bp::test::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "write_amp: " << error.what() << '\n';
    return 1;
  }
}
