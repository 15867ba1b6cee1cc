#include "files.hpp"

#include <filesystem>
#include <string>
#include <unistd.h>

#include <backplane/serialize/safetensors.hpp>
#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"

namespace {

namespace fs = std::filesystem;

// The tensors of bench/peers/pytorch_files.py.
bp::nn::StateDict tensors_of_90_mb() {
  bp::nn::StateDict tensors;
  for (int i = 0; i < 100; ++i) {
    tensors.set("layer." + std::to_string(i) + ".weight", bp::randn({474, 474}));
    tensors.set("layer." + std::to_string(i) + ".bias", bp::randn({474}));
  }
  return tensors;
}

// One tensor's last element is read, so that the file is known to be there. Memory goes back to the system, as PyTorch's
// does: a program loads once, into pages that it has not touched before.
void load(const fs::path& path, bool is_mapped) {
  {
    const bp::nn::StateDict loaded = bp::serialize::load_file(path, {.mapped = is_mapped});
    volatile float last = loaded.at("layer.99.weight").data<float>()[474 * 474 - 1];
    static_cast<void>(last);
  }
  bp::empty_cache(bp::device("cpu"));
}

}  // namespace

void measure_files() {
  const fs::path path =
      fs::temp_directory_path() / ("backplane_bench_" + std::to_string(getpid()) + ".safetensors");
  bp::serialize::save_file(tensors_of_90_mb(), path);
  bench::report("load_90mb_mapped", bench::samples_ns([&] { load(path, true); })[4] / 1e6, "ms");
  bench::report("load_90mb", bench::samples_ns([&] { load(path, false); })[4] / 1e6, "ms");
  fs::remove(path);
}
