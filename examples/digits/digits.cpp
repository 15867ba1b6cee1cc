// Learns to read handwritten digits on any device, with the tensor work done by Backplane's operators
// on that device, and says how well, how fast, and where the calls ran.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include <backplane/backplane.hpp>

#include "data_set.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "training.hpp"

namespace {

constexpr std::size_t num_first_losses = 20;  // of the report, for comparing devices

struct Options {
  std::string device = "cpu";
  std::uint64_t seed = 1;
  int epochs = digits::Settings().epochs;
  std::string data = BP_EXAMPLE_DIR "/digits.csv";
  int workers = 0;
  std::string amp;
  std::string resume;
  std::string picture;
  std::string json;
};

// How many calls of the device's backend each rung of the ladder served.
nlohmann::ordered_json served_on(const bp::Backend& backend) {
  using bp::Rung;
  nlohmann::ordered_json served;
  for (Rung rung :
       {Rung::native, Rung::generated, Rung::legalized, Rung::decomposed, Rung::host, Rung::view}) {
    std::uint64_t calls = 0;
    for (const bp::CallCount& count : bp::call_counts())
      if (count.backend == backend.name) calls += count.calls[static_cast<unsigned>(rung)];
    served[bp::name(rung)] = calls;
  }
  return served;
}

// The images that were misread: their pixels from 0 to 1, what they show, and what they were read as.
nlohmann::ordered_json misread_of(const digits::Images& images,
                                  const std::vector<std::int64_t>& predictions) {
  auto misread = nlohmann::ordered_json::array();
  const std::vector<std::int64_t> labels = bp::to_vector<std::int64_t>(images.labels);
  for (std::size_t i = 0; i < predictions.size(); ++i)
    if (predictions[i] != labels[i])
      misread.push_back(
          {{"pixels", bp::to_vector<float>(images.pixels[static_cast<std::int64_t>(i)])},
           {"shows", labels[i]},
           {"read_as", predictions[i]}});
  return misread;
}

// Opened before the work, so that nobody trains for a report that cannot be written.
std::ofstream open_report(const std::string& file) {
  std::ofstream stream;
  if (file.empty()) return stream;
  stream.open(file);
  if (!stream) throw std::runtime_error(file + ": cannot be written");
  return stream;
}

void run(const Options& options) {
  const digits::DataSet data = digits::read_data_set(options.data);
  const bp::DeviceRecord& record = bp::device_record(bp::device(options.device));
  std::ofstream report = open_report(options.json);
  bp::reset_call_counts();

  digits::Settings settings;
  settings.device = record.device;
  settings.seed = options.seed;
  settings.epochs = options.epochs;
  settings.num_workers = options.workers;
  if (!options.amp.empty()) settings.autocast = options.amp == "bf16" ? bp::bf16 : bp::f16;
  settings.checkpoints = options.resume;
  digits::Progress progress(record.name, options.epochs);
  const digits::Outcome outcome =
      digits::train(data, settings, [&](int epoch, double loss) { progress.show(epoch, loss); });

  std::printf("%-12s %.1f %% of %lld held-out digits right, loss %.5f, %.3f ms per step\n",
              record.name.c_str(), 100 * outcome.test_accuracy,
              static_cast<long long>(data.held_out.size()), outcome.final_loss,
              outcome.ms_per_step);
  if (!options.picture.empty())
    digits::write_picture(options.picture, outcome.losses, data.held_out, outcome.predictions);
  if (!report.is_open()) return;
  const auto num_first = std::min(outcome.losses.size(), num_first_losses);
  const std::vector<double> first_losses(
      outcome.losses.begin(), outcome.losses.begin() + static_cast<std::ptrdiff_t>(num_first));
  const nlohmann::ordered_json values{{"device", record.name},
                                      {"maker", record.backend->vendor},
                                      {"test_accuracy", outcome.test_accuracy},
                                      {"final_loss", outcome.final_loss},
                                      {"ms_per_step", outcome.ms_per_step},
                                      {"first_losses", first_losses},
                                      {"losses", outcome.losses},
                                      {"misread", misread_of(data.held_out, outcome.predictions)},
                                      {"served", served_on(*record.backend)}};
  if (!(report << values.dump(2) << std::endl))
    throw std::runtime_error(options.json + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Learns to read handwritten digits on any device", "digits"};
  app.add_option("--device", options.device, "Where to compute")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Same seed, same weights and batches, on every device")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "Passes over the training images")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--data", options.data, "The images")->type_name("FILE")->capture_default_str();
  app.add_option("--workers", options.workers, "Threads that make batches ahead")
      ->type_name("N")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--amp", options.amp, "Compute in bf16 or f16 where that is safe")
      ->type_name("DTYPE")
      ->check(CLI::IsMember({"bf16", "f16"}));
  app.add_option("--resume", options.resume,
                 "Keep each epoch in this folder, and go on from the last that is there")
      ->type_name("FOLDER");
  app.add_option("--picture", options.picture,
                 "Draw the losses, what was taken for what, and the misread images, as PNG")
      ->type_name("FILE");
  app.add_option("--json", options.json, "Write the result there")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "digits: " << error.what() << '\n';
    return 1;
  }
}
