// Our side of compare_data.py: reads what NumPy wrote into FOLDER, and leaves there as .npy what samplers, collating and
// transforms make of it. Usage: run_data FOLDER
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <functional>

#include <backplane/data/data.hpp>
#include <backplane/tensors.hpp>

namespace {

using namespace bp;
using namespace bp::data;

std::filesystem::path folder;

Tensor given(const std::string& name) {
  return load_npy(folder / (name + ".npy"));
}
void leave(const std::string& name, const Tensor& tensor) {
  save_npy(folder / ("our_" + name + ".npy"), tensor);
}

void read_files() {
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const std::string stem = each.path().stem(), ending = each.path().extension();
    if (ending == ".npy" && stem.starts_with("dtype_")) leave(stem, load_npy(each.path()));
    if (ending == ".npz")
      for (const auto& [name, array] : load_npz(each.path())) leave(stem + "_" + name, array);
  }
}

void take_samples() {
  for (const std::int64_t size : {0, 1, 7, 16, 33})
    for (const std::int64_t replicas : {1, 2, 5})
      for (const bool drop_last : {false, true})
        for (std::int64_t rank = 0; rank < replicas; ++rank) {
          const DistributedSampler sampler(
              size,
              {.num_replicas = replicas, .rank = rank, .shuffle = false, .drop_last = drop_last});
          leave(fmt::format("distributed_{}_{}_{}_{}", size, replicas, int{drop_last}, rank),
                tensor(sampler.indices()));
        }
}

void collate() {
  const auto sample = [](std::int64_t i) {
    const Tensor x = add(reshape(arange(0, 6, 1, f32), {2, 3}), i);
    return State::dict({{"x", x},
                        {"n", i},
                        {"real", 0.5 * static_cast<double>(i)},
                        {"flag", i % 2 == 1},
                        {"list", State::List{i + 1, to(x, i16)}}});
  };
  const Batch batch = default_collate({sample(0), sample(1), sample(2)});
  for (const char* key : {"x", "n", "real", "flag"})
    leave(std::string("collate_") + key, batch.at(key).as_tensor());
  leave("collate_list0", batch.at("list").as_list()[0].as_tensor());
  leave("collate_list1", batch.at("list").as_list()[1].as_tensor());
}

void transform(const std::string& images) {
  const auto apply = [&](const std::string& name, const Transform& how) {
    leave(name + "_" + images, how(given(images)));
  };
  for (const Interpolation how :
       {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic})
    for (const bool antialias : {false, true})
      for (const std::vector<std::int64_t>& size :
           {std::vector<std::int64_t>{9, 7}, {23, 31}, {5, 40}}) {
        const char* names[] = {"nearest", "bilinear", "bicubic"};
        apply(fmt::format("resize_{}_{}_{}x{}", names[static_cast<int>(how)], int{antialias},
                          size[0], size[1]),
              Resize(size, how, antialias));
      }
  apply("gray", Grayscale(1));
  apply("pad_constant", Pad({1, 2, 3, 4}, 1));
  apply("pad_edge", Pad({1, 2, 3, 4}, 0, PaddingMode::edge));
  apply("pad_reflect", Pad({1, 2, 3, 4}, 0, PaddingMode::reflect));
  apply("center", CenterCrop({11, 8}));
  for (const Interpolation how : {Interpolation::nearest, Interpolation::bilinear}) {
    const char* name = how == Interpolation::nearest ? "nearest" : "bilinear";
    apply(fmt::format("affine_{}", name), RandomAffine({.degrees = {25, 25},
                                                        .scale = {1.2, 1.2},
                                                        .shear = {8, 8, -5, -5},
                                                        .interpolation = how}));
    apply(fmt::format("rotate_{}", name), RandomRotation({40, 40}, how, 1));
  }
}

// Draws that the peer does not know: it finds what was drawn, and judges by that.
void draw() {
  std::vector<Tensor> augmented;
  const RandAugment augment({.num_ops = 1, .magnitude = 20});
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Generator generator(seed);
    augmented.push_back(augment.apply(given("augment"), generator));
  }
  leave("augmented", stack(augmented));
  const std::pair<const char*, ColorJitterOptions> jitters[] = {{"brightness", {.brightness = 0.4}},
                                                                {"contrast", {.contrast = 0.4}},
                                                                {"saturation", {.saturation = 0.4}},
                                                                {"hue", {.hue = 0.4}}};
  for (const auto& [name, options] : jitters) {
    Generator generator(3);
    leave(std::string("jitter_") + name, ColorJitter(options).apply(given("floats"), generator));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  folder = words[1];
  try {
    read_files();
    take_samples();
    collate();
    transform("floats");
    transform("bytes");
    draw();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_data: %s\n", error.what());
    return 1;
  }
  return 0;
}
