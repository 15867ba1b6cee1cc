// Backplane on "level_zero:0" against itself on "opencl:0", where both have one OpenCL driver below them, and the plugin's
// launch against Level Zero's bare call.
// Usage: backplane_bench_level_zero memory|matmul|launch ROUNDS
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <backplane/codegen/codegen.hpp>
#include <backplane/extensions/compiler.h>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensors.hpp>

#include "../opencl/take_turns.hpp"
#include "bare_launch.hpp"

namespace {

using bench::Side;

Side side_of(bp::Device device, std::function<void()> call) {
  return {std::move(call), [device] { bp::synchronize(device); }};
}

// The same call on both devices; `scale` makes a figure of nanoseconds. Whose tensors are made first was up to a tenth slower,
// whichever it was: so each side has some from before the other's, and some from after them.
void compare(const std::string& name, const char* unit, double scale, int rounds,
             const std::function<std::function<void()>(bp::Device)>& make_call) {
  std::vector<Side> sides;
  for (const char* each : {"level_zero:0", "opencl:0", "opencl:0", "level_zero:0"}) {
    const bp::Device device = bp::device(each);
    sides.push_back(side_of(device, make_call(device)));
  }
  const std::vector<double> ns = bench::take_turns(sides, rounds);
  bench::report("ours", name, scale / ((ns[0] + ns[3]) / 2), unit);
  bench::report("peer", name, scale / ((ns[1] + ns[2]) / 2), unit);
}

// 64 MiB of f32 with a fresh result, bytes read plus written.
void measure_memory(int rounds) {
  constexpr std::int64_t side = 4096;
  constexpr double bytes = 4.0 * side * side;
  const bp::Tensor a = bp::rand({side, side}), b = bp::rand({side, side});
  const auto measure = [&](const char* name, double passes, auto call) {
    compare(name, "GB/s", passes * bytes, rounds, [&](bp::Device device) {
      const bp::Tensor x = bp::to(a, device), y = bp::to(b, device);
      return [=] { bp::Tensor z = call(x, y); };
    });
  };
  using bp::Tensor;
  measure("add_64mib", 3, [](const Tensor& x, const Tensor& y) { return bp::add(x, y); });
  measure("exp_64mib", 2, [](const Tensor& x, const Tensor&) { return bp::exp(x); });
  measure("tanh_64mib", 2, [](const Tensor& x, const Tensor&) { return bp::tanh(x); });
  measure("sum_64mib", 1, [](const Tensor& x, const Tensor&) { return bp::sum(x); });
  measure("softmax_64mib", 2, [](const Tensor& x, const Tensor&) { return bp::softmax(x, -1); });
  measure("transpose_copy_64mib", 2,
          [](const Tensor& x, const Tensor&) { return bp::contiguous(bp::transpose(x, 0, 1)); });
}

void measure_matmul(int rounds) {
  for (const int size : {512, 1024}) {
    const bp::Tensor a = bp::rand({size, size}), b = bp::rand({size, size});
    compare("matmul_" + std::to_string(size), "GFLOP/s", 2.0 * size * size * size, rounds,
            [&](bp::Device device) {
              const bp::Tensor x = bp::to(a, device), y = bp::to(b, device);
              return [=] { bp::Tensor z = bp::matmul(x, y); };
            });
  }
}

void require(bp_code code, const char* what) {
  if (code != BP_OK) throw std::runtime_error(std::string(what) + " failed");
}

// A kernel through bp.compiler: what the plugin adds to the driver's call.
class PluginLaunch {
 public:
  PluginLaunch(const std::string& spirv, const char* name)
      : record_(bp::device_record(bp::device("level_zero:0"))) {
    const bp_plugin& plugin = *record_.backend->plugin;
    const bp_header* found = plugin.extension(plugin.self, BP_COMPILER, BP_COMPILER_VERSION);
    compiler_ = reinterpret_cast<const bp_compiler*>(found);
    bp_source source{};
    source.h = {sizeof source, BP_SOURCE_TYPE, nullptr};
    source.language = BP_LANGUAGE_SPIRV;
    source.name = name;
    source.code = spirv.data();
    source.bytes = spirv.size();
    source.options = "";
    require(compiler_->compile(record_.handle, &source, &module_), "compile");
    require(compiler_->find(record_.handle, module_, name, &launch_.function), "find");
    require(plugin.memory->allocate(record_.handle, 64, 64, &memory_), "allocate");
    arguments_[0].kind = BP_LAUNCH_MEMORY;
    arguments_[0].u.handle = memory_;
    arguments_[1].kind = BP_LAUNCH_BYTES;
    arguments_[1].bytes = sizeof value_;
    arguments_[1].u.bytes = &value_;
    launch_.h = {sizeof launch_, BP_LAUNCH_TYPE, nullptr};
    std::fill_n(launch_.groups, 3, 1);
    std::fill_n(launch_.items, 3, 1);
    launch_.arguments = arguments_;
    launch_.num_arguments = 2;
  }
  PluginLaunch(const PluginLaunch&) = delete;
  ~PluginLaunch() {
    finish();
    record_.backend->plugin->memory->release(record_.handle, memory_);
    compiler_->release(record_.handle, module_);
  }

  void launch() { require(compiler_->launch(record_.handle, &launch_, nullptr), "launch"); }
  void finish() { bp::synchronize(record_.device); }

 private:
  const bp::DeviceRecord& record_;
  const bp_compiler* compiler_ = nullptr;
  bp_module* module_ = nullptr;
  bp_handle memory_ = 0;
  uint64_t value_ = 0;
  bp_launch_argument arguments_[2] = {};
  bp_launch launch_{};
};

double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// What a launch takes of the calling thread's time; the device works on others.
template <class Launcher> double launch_ns(Launcher& launcher) {
  constexpr int launches = 2000;
  const double begin = thread_ns();
  for (int i = 0; i < launches; ++i) launcher.launch();
  const double ns = (thread_ns() - begin) / launches;
  launcher.finish();
  return ns;
}

// The least of many samples in turns: whatever else the machine does only adds to it.
void measure_launch(int rounds) {
  const std::string spirv = bp::codegen::spirv_of(
      {"nothing", BP_LANGUAGE_OPENCL_C, "__kernel void nothing(__global uint* x, ulong y) {}"});
  PluginLaunch ours(spirv, "nothing");
  bench::BareLaunch bare(spirv, "nothing");
  double least_ours = 1e12, least_bare = 1e12;
  for (int round = 0; round < 3 * rounds; ++round) {
    least_ours = std::min(least_ours, launch_ns(ours));
    least_bare = std::min(least_bare, launch_ns(bare));
  }
  bench::report("ours", "launch", least_ours, "ns");
  bench::report("peer", "launch", least_bare, "ns");
  bench::report("ours", "launch_beyond_bare", std::max(0.0, least_ours - least_bare), "ns");
}

}  // namespace

int main(int argc, char** argv) {
  setenv("ZE_ENABLE_ALT_DRIVERS", BP_LEVEL_ZERO_DRIVER, 0);
  const std::string group = argc == 3 ? argv[1] : "";
  const std::map<std::string, void (*)(int)> groups = {
      {"memory", measure_memory}, {"matmul", measure_matmul}, {"launch", measure_launch}};
  if (!groups.count(group)) {
    std::fprintf(stderr, "usage: backplane_bench_level_zero memory|matmul|launch ROUNDS\n");
    return 2;
  }
  try {
    groups.at(group)(std::max(1, std::atoi(argv[2])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane_bench_level_zero: %s\n", error.what());
    return 1;
  }
}
