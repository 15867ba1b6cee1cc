// Weights in a file that other programs read, and back into a network of another device.
#include <filesystem>
#include <iostream>

#include <backplane/backplane.hpp>

namespace nn = bp::nn;

int main() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "backplane_tour.safetensors";
  const nn::Linear trained(3, 2);
  bp::serialize::save_file(trained.state_dict(), file);

  nn::Linear loaded(3, 2);
  loaded.load_state_dict(bp::serialize::load_file(file));
  loaded.to(bp::device("reference"));
  const bp::Tensor x = bp::ones({1, 3});
  const bp::Tensor there = loaded(bp::to(x, bp::device("reference")));
  std::cout << there.device() << ' ' << std::boolalpha << bp::allclose(bp::cpu(there), trained(x))
            << '\n';
  std::filesystem::remove(file);
}
