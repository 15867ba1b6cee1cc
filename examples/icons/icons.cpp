// Learns to press the icons of a Debian package into a few numbers and to bring them back, and draws how well it does.
#include <CLI/CLI.hpp>
#include <iostream>

#include <backplane/backplane.hpp>
#include <backplane/data/images.hpp>
#include <backplane/data/loader.hpp>
#include <backplane/optim/adam.hpp>

#include "autoencoder.hpp"
#include "icon_files.hpp"

namespace {

using bp::Tensor;

struct Options {
  std::string folder = "/usr/share/icons/Tango/32x32";  // of Debian's tango-icon-theme
  std::string device = "cpu";
  std::uint64_t seed = 1;
  int epochs = 200;
  std::int64_t code_size = 64;
  int workers = 2;
  std::string picture = "icons.png";
};

// The mean square of what is wrong with the pixels.
double error_of(const icons::Autoencoder& net, const Tensor& icons) {
  return bp::item<double>(bp::mse_loss(net(icons), icons));
}

void train(icons::Autoencoder& net, const bp::data::DatasetPtr& icons, const Options& options,
           bp::Device device) {
  bp::optim::AdamW optimizer(net.parameters(), {.lr = 2e-3});
  bp::data::DataLoader loader(icons, {.batch_size = 32,
                                      .shuffle = true,
                                      .num_workers = options.workers,
                                      .drop_last = true,
                                      .seed = options.seed});
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    Tensor total = bp::zeros({}, bp::f32, device);
    for (const bp::data::Batch& batch : loader) {
      const Tensor x = bp::to(batch.as_tensor(), device);
      optimizer.zero_grad();
      const Tensor loss = bp::mse_loss(net(x), x);
      bp::backward(loss);
      optimizer.step();
      total = total + bp::detach(loss);
    }
    std::printf("epoch %2d/%d  mean square error %.5f\n", epoch, options.epochs,
                bp::item<double>(total) / static_cast<double>(loader.size()));
    std::fflush(stdout);
  }
}

// Pairs of rows: icons that were not learnt from, and below them what came back.
void draw(const std::string& file, const icons::Autoencoder& net, const Tensor& icons) {
  constexpr std::int64_t in_row = 16;
  const std::int64_t rows = icons.size(0) / in_row;
  std::vector<Tensor> strips;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Tensor originals = bp::narrow(icons, 0, row * in_row, in_row);
    for (const Tensor& each : {originals, net(originals)}) {
      const Tensor strip = bp::flatten(bp::permute(each, {1, 2, 0, 3}), 2);  // [3, 32, in_row * 32]
      strips.push_back(strip);
    }
  }
  const Tensor bytes = bp::cast(bp::round(bp::clamp(bp::cat(strips, 1), 0, 1) * 255.0), bp::u8);
  bp::data::write_png(file, bytes);
}

Tensor all_of(const bp::data::DatasetPtr& icons, bp::Device device) {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < icons->size(); ++i) all.push_back(icons->get(i).as_tensor());
  return bp::to(bp::stack(all), device);
}

void run(const Options& options) {
  const std::vector<std::string> files = icons::find_icons(options.folder);
  std::vector<std::string> training, held_out;
  for (std::size_t i = 0; i < files.size(); ++i)
    (i % 5 == 4 ? held_out : training).push_back(files[i]);
  const bp::Device device = bp::device(options.device);
  bp::manual_seed(options.seed);
  icons::Autoencoder net(options.code_size, device);
  std::printf("%zu icons of %s, %zu held out; %lld pixels to %lld numbers and back, on %s\n",
              files.size(), options.folder.c_str(), held_out.size(),
              static_cast<long long>(3 * icons::icon_size * icons::icon_size),
              static_cast<long long>(options.code_size), options.device.c_str());
  train(net, icons::icon_dataset(training, true), options, device);

  net.eval();
  const bp::InferenceMode inference;
  const Tensor unseen = all_of(icons::icon_dataset(held_out, false), device);
  const Tensor mean = bp::mean(all_of(icons::icon_dataset(training, false), device), {0}, true);
  const double always_mean =
      bp::item<double>(bp::mse_loss(bp::expand(mean, unseen.shape()), unseen));
  std::printf("held out: mean square error %.5f; %.5f if each icon came back as the mean of all\n",
              error_of(net, unseen), always_mean);
  draw(options.picture, net, unseen);
  std::printf("originals, and below them what came back: %s\n", options.picture.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Presses icons into a few numbers and brings them back", "icons"};
  app.add_option("--icons", options.folder,
                 "Folder with PNG files; Debian: apt-get install tango-icon-theme")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_option("--device", options.device, "Where to compute")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Same seed, same result")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "Passes over the icons")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--code-size", options.code_size, "How many numbers an icon becomes")
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--workers", options.workers, "Threads that read icons ahead")
      ->type_name("N")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--picture", options.picture, "Where to draw")
      ->type_name("FILE")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "icons: " << error.what() << '\n';
    return 1;
  }
}
