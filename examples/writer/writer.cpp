// Learns a text character by character, then writes on in its manner.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include <backplane/backplane.hpp>
#include <backplane/optim/adam.hpp>

#include "model.hpp"
#include "text.hpp"

namespace {

using bp::Tensor;

struct Options {
  std::string text = "/usr/share/common-licenses/GPL-3";  // of Debian's base-files
  std::string device = "cpu";
  std::uint64_t seed = 1;
  std::int64_t steps = 400;
  std::int64_t batch_size = 16;
  double learning_rate = 2e-3;
  std::string begin = "This License ";
  std::int64_t length = 400;
  double temperature = 0.7;
};

struct Batch {
  Tensor seen, next;  // [batch_size, context]
};

Tensor take(const Tensor& text, const Tensor& places) {
  return bp::reshape(bp::index_select(text, 0, bp::flatten(places)), places.shape());
}

// Pieces of the text from random places.
Batch draw(const Tensor& text, std::int64_t size, std::int64_t context) {
  const Tensor first = bp::randint(0, text.size(0) - context, {size, 1}, bp::i64, text.device());
  const Tensor places = first + bp::arange(0, context, 1, bp::i64, text.device());
  return {take(text, places), take(text, places + 1)};
}

double train(writer::Model& model, const Tensor& text, std::int64_t context,
             const Options& options) {
  bp::optim::AdamW optimizer(model.parameters(), {.lr = options.learning_rate});
  constexpr std::int64_t pause = 100;
  double mean = 0;
  Tensor total = bp::zeros({}, bp::f32, text.device());
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Batch batch = draw(text, options.batch_size, context);
    optimizer.zero_grad();
    const Tensor scores = bp::flatten(model(batch.seen), 0, 1);
    const Tensor loss = bp::cross_entropy(scores, bp::flatten(batch.next));
    bp::backward(loss);
    optimizer.step();
    total = total + bp::detach(loss);
    if (step % pause != 0 && step != options.steps) continue;
    const std::int64_t since = (step - 1) % pause + 1;
    mean = bp::item<double>(total) / static_cast<double>(since);
    total = bp::zeros({}, bp::f32, text.device());
    std::printf("step %4lld  loss %.3f nats a character\n", static_cast<long long>(step), mean);
    std::fflush(stdout);
  }
  return mean;
}

std::string write_on(const writer::Model& model, const writer::Text& text, std::int64_t context,
                     const Options& options, bp::Device device) {
  const bp::InferenceMode inference;
  std::vector<std::int64_t> numbers = text.numbers_of(options.begin);
  std::string written = options.begin;
  for (std::int64_t i = 0; i < options.length; ++i) {
    const auto seen = std::min<std::size_t>(numbers.size(), static_cast<std::size_t>(context));
    const std::vector<std::int64_t> last(numbers.end() - static_cast<std::ptrdiff_t>(seen),
                                         numbers.end());
    const Tensor scores = bp::select(
        model(bp::unsqueeze(bp::tensor(last, {.dtype = bp::i64, .device = device}), 0)), 1, -1);
    const Tensor chances = bp::softmax(scores / options.temperature, 1);
    numbers.push_back(bp::item<std::int64_t>(bp::multinomial(chances, 1)));
    written += text.character(numbers.back());
  }
  return written;
}

void run(const Options& options) {
  const writer::Text text(options.text);
  const bp::Device device = bp::device(options.device);
  bp::manual_seed(options.seed);
  const writer::Sizes sizes{.characters = text.num_characters()};
  writer::Model model(sizes, device);
  std::printf(
      "%s: %zu characters, %lld of them different; a table of pairs costs %.3f nats a character\n"
      "%lld parameters on %s\n",
      options.text.c_str(), text.numbers().size(), static_cast<long long>(text.num_characters()),
      text.entropy_of_pairs(), static_cast<long long>(model.num_parameters()),
      options.device.c_str());
  const double loss = train(model, bp::tensor(text.numbers(), {.dtype = bp::i64, .device = device}),
                            sizes.context, options);
  std::printf("\n%s\n\n%s\n", write_on(model, text, sizes.context, options, device).c_str(),
              loss < text.entropy_of_pairs()
                  ? "It knows more than pairs of characters."
                  : "It knows no more than pairs of characters; take more steps.");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Learns a text character by character, then writes on in its manner", "writer"};
  app.add_option("--text", options.text, "What to learn")->type_name("FILE")->capture_default_str();
  app.add_option("--device", options.device, "Where to compute")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Same seed, same text")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Steps of training")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--begin", options.begin, "How the written text begins")
      ->type_name("TEXT")
      ->capture_default_str();
  app.add_option("--length", options.length, "How many characters to write")
      ->type_name("N")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option("--temperature", options.temperature, "Below 1: what is likely becomes likelier")
      ->type_name("T")
      ->check(CLI::Range(0.01, 10.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "writer: " << error.what() << '\n';
    return 1;
  }
}
