// An application that links backplane_serialize alone: what it saves, it loads, and errors arrive as exceptions.
#include <filesystem>
#include <iostream>

#include <backplane/backplane.hpp>
#include <backplane/serialize/checkpoint.hpp>
#include <backplane/serialize/pytorch.hpp>
#include <backplane/serialize/safetensors.hpp>

int main() {
  const std::filesystem::path folder = "kept";
  bp::serialize::CheckpointFolder runs(folder / "run", {.keep = 1});
  runs.save({.step = 7, .model = {{"w", bp::tensor({1.0, 2.0})}}, .extra = bp::State("more")});
  const auto last = runs.load_newest();
  bp::serialize::save_file(last->model, folder / "w.safetensors", {{"format", "pt"}});
  const bp::nn::StateDict weights = bp::serialize::load_file(folder / "w.safetensors");
  const double sum = bp::item<double>(bp::sum(weights.at("w")));
  try {
    bp::serialize::load_pytorch(folder / "w.safetensors");
    return 1;
  } catch (const bp::Error& error) {
    std::cout << error.what() << '\n';
  }
  return last->step == 7 && last->extra.as_text() == "more" && sum == 3 ? 0 : 1;
}
