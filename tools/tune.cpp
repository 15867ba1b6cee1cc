// backplane tune: what the tuner has decided on this machine, and deciding it before a program needs it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include <backplane/tensors.hpp>
#include <backplane/tuning/tuner.hpp>

#include "child_program.hpp"
#include "commands.hpp"
#include "load.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

std::string milliseconds(double seconds) {
  return seconds > 0 ? fmt::format("{:.3f}", seconds * 1e3) : "-";
}

std::string speedup_of(const tuner::Decision& decision) {
  if (decision.seconds.size() <= decision.way || decision.seconds[decision.way] <= 0) return "-";
  return fmt::format("{:.2f}", decision.seconds[0] / decision.seconds[decision.way]);
}

void print_for_program(const std::vector<tuner::Decision>& decisions) {
  auto list = nlohmann::ordered_json::array();
  for (const tuner::Decision& each : decisions)
    list.push_back({{"what", each.what},
                    {"identity", each.identity},
                    {"way", each.way},
                    {"ways", each.num_ways},
                    {"seconds", each.seconds}});
  print_json({{"decisions", list}});
}

void print_for_person(const std::vector<tuner::Decision>& decisions) {
  if (decisions.empty()) {
    fmt::print(
        "Nothing has been decided here yet. 'backplane tune --device NAME' decides for usual "
        "shapes,\n"
        "'backplane tune PROGRAM' for those of a program.\n");
    return;
  }
  std::string identity;
  std::optional<Table> table;
  const auto print = [&] {
    if (table) table->print();
  };
  for (const tuner::Decision& each : decisions) {
    if (!table || each.identity != identity) {
      print();
      identity = each.identity;
      fmt::print("\n{}\n", paint(identity, Color::strong));
      table.emplace(
          std::vector<std::string>{"WAY", "OF", "TIMES AS FAST AS 0", "MS OF EACH", "WHAT"});
    }
    std::string times;
    for (const double seconds : each.seconds)
      times += (times.empty() ? "" : " ") + milliseconds(seconds);
    table->add({{fmt::format("{}", each.way), each.way == 0 ? Color::none : Color::good},
                {fmt::format("{}", each.num_ways)},
                {speedup_of(each)},
                {times.empty() ? "-" : times},
                {each.what}});
  }
  print();
}

// ---- Usual shapes

void multiply(Device device, Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Tensor a = randn({m, k}, {.dtype = dtype, .device = device});
  const Tensor b = randn({k, n}, {.dtype = dtype, .device = device});
  matmul(a, b);
  matmul(a, transpose(contiguous(transpose(b, 0, 1)), 0, 1));
}

struct Layer {
  std::int64_t from, to, size, kernel, stride;
};
// Of networks for pictures.
constexpr Layer layers[] = {
    {3, 64, 224, 7, 2},   {64, 64, 56, 1, 1},   {64, 64, 56, 3, 1},   {64, 256, 56, 1, 1},
    {128, 128, 28, 3, 1}, {128, 512, 28, 1, 1}, {256, 256, 14, 3, 1}, {256, 1024, 14, 1, 1},
    {512, 512, 7, 3, 1},  {512, 2048, 7, 1, 1}, {256, 512, 56, 1, 2}, {32, 32, 64, 3, 1},
};

void convolve(Device device, const Layer& layer, std::int64_t pictures) {
  const Tensor x = randn({pictures, layer.from, layer.size, layer.size}, {.device = device});
  const Tensor weight =
      randn({layer.to, layer.from, layer.kernel, layer.kernel}, {.device = device});
  set_requires_grad(x);
  set_requires_grad(weight);
  const Tensor y = conv2d(x, weight, {}, {layer.stride}, {layer.kernel / 2});
  backward(sum(y));
}

void decide_usual(Device device) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const std::int64_t size : {64, 128, 256, 384, 512, 768, 1024, 2048}) {
      multiply(device, dtype, size, size, size);
      if (size >= 256) multiply(device, dtype, 64, size, size);
    }
  for (const Layer& layer : layers)
    for (const std::int64_t pictures : {1, 4, 16}) convolve(device, layer, pictures);
}

}  // namespace

int tune(const Options& options) {
  if (options.clear) {
    fmt::print("{} forgotten.\n", count_of(tuner::forget_kept(), "decision"));
    if (options.devices.empty() && options.arguments.empty()) return 0;
  }
  if (!options.arguments.empty()) {
    const int status = run_program("tune", options.arguments, "BACKPLANE_TUNE", "all");
    if (const int code = exit_code_of(status); code != 0) return code;
  }
  if (!options.devices.empty()) {
    try_named_plugins(options);
    load_plugins(options);
    tuner::set_mode(tuner::Mode::patient);
    for (const std::string& name : options.devices) decide_usual(device(name));
    if (const std::uint64_t open = tuner::num_left_open())
      fmt::print(stderr,
                 "{} left open: the same work took now one time and now another. Is the machine "
                 "busy with something else? "
                 "Try again when it is not.\n",
                 count_of(open, "question"));
  }
  const std::vector<tuner::Decision> decisions = tuner::kept_decisions();
  options.json ? print_for_program(decisions) : print_for_person(decisions);
  return 0;
}

}  // namespace bp::tools
