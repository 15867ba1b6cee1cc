// Makes modules that Python describes, and calls them, for compare_modules.py: `run_modules CASES ANSWERS [DEVICE [FIRST]]`.
// CASES.json has a case in each line: {"module", "args", "training", "state": {name: tensor}, "inputs", "weights"}, and
// CASES.bin the elements of the tensors. ANSWERS.json and .bin get a line for each, written before the next case begins,
// so that one that ends the process is the first without a line. FIRST lines are skipped. `run_modules --names` tells
// which modules it can make.
#include <iostream>

#include "pytorch/call_writer.hpp"
#include "pytorch/modules/families.hpp"

namespace bp::test {
namespace {

using nlohmann::ordered_json;

// All by name. A new file adds its table here.
Makers all_makers() {
  Makers all;
  for (const Makers& family :
       {activation_modules(), attention_modules(), convolution_modules(), dropout_modules(),
        embedding_modules(), lazy_modules(), linear_modules(), loss_modules(),
        normalization_modules(), padding_modules(), parametrized_modules(), pooling_modules(),
        recurrent_modules(), regrouping_modules(), transformer_modules()})
    all.insert(family.begin(), family.end());
  return all;
}

nn::StateDict state_of(const ordered_json& entries, TensorReader& tensors) {
  nn::StateDict dict;
  for (const auto& [name, entry] : entries.items()) dict.set(name, tensors.tensor(entry));
  return dict;
}

// [[name, shape, dtype]], in order.
ordered_json described(const nn::StateDict& dict) {
  ordered_json all = ordered_json::array();
  for (const auto& [key, tensor] : dict)
    all.push_back(
        {key, std::vector(tensor.shape().begin(), tensor.shape().end()), name(tensor.dtype())});
  return all;
}

// By the inputs that are leaves, then by the parameters that require grad.
void derive(CallWriter& writer, ordered_json& line, const Tensors& results,
            const ordered_json& weights, const Tensors& leaves, TensorReader& tensors) {
  Tensors outputs, factors;
  for (std::size_t i = 0; i < std::min(results.size(), weights.size()); ++i) {
    if (weights[i].is_null() || !requires_grad(results[i])) continue;
    outputs.push_back(results[i]);
    factors.push_back(tensors.tensor(weights[i]));
  }
  line["gradients"] = ordered_json::array();
  if (outputs.empty()) {
    for (std::size_t i = 0; i < leaves.size(); ++i) line["gradients"].push_back(nullptr);
    return;
  }
  for (const Tensor& gradient : autograd::grad(outputs, leaves, factors, {}, true))
    line["gradients"].push_back(writer.tensor(gradient));
}

void answer(CallWriter& writer, ordered_json& line, const ordered_json& told, TensorReader& tensors,
            const Makers& makers, Device on) {
  const auto maker = makers.find(told["module"].get<std::string>());
  if (maker == makers.end())
    throw std::runtime_error("run_modules: no module of this name in tests/pytorch/modules");
  Args args(told["args"], tensors);
  const Made made = maker->second(args);
  args.check_all_read();
  nn::Module& module = *made.module;
  line["type"] = module.type_name();
  line["text"] = module.extra_repr();
  line["printed"] = nn::to_string(module);
  line["keys"] = described(module.state_dict());
  module.to(on);
  module.load_state_dict(state_of(told["state"], tensors));
  module.train(told["training"].get<bool>());
  Tensors inputs;
  for (const ordered_json& input : told["inputs"]) inputs.push_back(tensors.tensor(input));
  // A leaf would refuse a layer that writes in place.
  for (Tensor& input : inputs)
    if (input.defined() && requires_grad(input)) input = clone(input);
  const Tensors results = made.forward(inputs);
  line["results"] = ordered_json::array();
  for (const Tensor& result : results) line["results"].push_back(writer.tensor(result));
  Tensors leaves = tensors.leaves();
  for (const Tensor& parameter : module.parameters())
    if (requires_grad(parameter)) leaves.push_back(parameter);
  derive(writer, line, results, told["weights"], leaves, tensors);
  line["state"] = ordered_json::array();
  for (const auto& [name, tensor] : module.state_dict())
    line["state"].push_back(writer.tensor(tensor));
}

int run_all(const std::string& cases, const std::string& answers, const std::string& where,
            int first) {
  const Device on = device(where);
  set_default_dtype(f64);
  const std::vector<char> elements = bytes_of(cases + ".bin");
  const Makers makers = all_makers();
  CallWriter writer(answers);
  std::ifstream lines(cases + ".json");
  std::string text;
  for (int number = 0; std::getline(lines, text); ++number) {
    if (number < first) continue;
    TensorReader tensors(elements, on);
    ordered_json line = ordered_json::object();
    try {
      answer(writer, line, ordered_json::parse(text), tensors, makers, on);
    } catch (const std::exception& error) {
      line["error"] = error.what();
    }
    writer.line(line);
    if (!writer.flush()) throw std::runtime_error(answers + ".json and .bin cannot be written");
  }
  return 0;
}

int tell_names() {
  ordered_json names = ordered_json::array();
  for (const auto& [name, maker] : all_makers()) names.push_back(name);
  std::cout << names.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string_view("--names")) return bp::test::tell_names();
  if (argc < 3 || argc > 5) {
    std::cerr << "usage: run_modules CASES ANSWERS [DEVICE [FIRST]] | run_modules --names\n";
    return 1;
  }
  try {
    return bp::test::run_all(argv[1], argv[2], argc > 3 ? argv[3] : "cpu",
                             argc > 4 ? std::stoi(argv[4]) : 0);
  } catch (const std::exception& error) {
    std::cerr << "run_modules: " << error.what() << '\n';
    return 1;
  }
}
