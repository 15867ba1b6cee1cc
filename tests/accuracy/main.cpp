// Prints, as JSON lines, how far pointwise rows and long sums are from the truth: run_accuracy small|middle|full DEVICE
// [ROW or DTYPE...]; `sums` stands for the sums.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <backplane/loading/loader.hpp>
#include <backplane/runtime/settings.hpp>

#include "functions.hpp"
#include "sums.hpp"

namespace {

using namespace bp::accuracy;

void print(const nlohmann::ordered_json& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void print_row(bp::Operator& op, bp::Dtype dtype, const Worst& worst) {
  nlohmann::ordered_json line = {{"row", op.name()},          {"dtype", bp::name(dtype)},
                                 {"tolerance", op.tolerance}, {"inputs", worst.num_inputs},
                                 {"ulp", worst.ulp},          {"share", worst.share}};
  std::string at;
  for (const double value : worst.inputs)
    at += fmt::format("{}{:.9g}", at.empty() ? "" : ", ", value);
  line["at"] = at;
  line["wrong"] = worst.wrong;
  print(line);
}

bool is_asked(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

void measure_rows(bp::Device device, const Extent& extent, const std::vector<std::string>& names) {
  std::vector<std::pair<bp::Operator*, bp::Dtype>> tasks;
  for (bp::Operator* op : rounding_rows())
    for (const bp::Dtype dtype : {bp::f16, bp::bf16, bp::f32, bp::f64})
      if (bp::contains(op->dtypes, dtype) &&
          (is_asked(names, op->name()) || is_asked(names, std::string(bp::name(dtype)))))
        tasks.emplace_back(op, dtype);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++)
      print_row(*tasks[i].first, tasks[i].second,
                measure(*tasks[i].first, tasks[i].second, device, extent));
  };
  std::thread second(work);
  work();
  second.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2 || (words[0] != "small" && words[0] != "middle" && words[0] != "full")) {
    std::fprintf(stderr, "usage: run_accuracy small|middle|full DEVICE [ROW or DTYPE...]\n");
    return 2;
  }
  try {
    const bp::Device device = bp::device(words[1]);
    const std::map<std::string, Extent> extents = {{"small", {1 << 14, 1 << 11, 1 << 13}},
                                                   {"middle", {1 << 24, 1 << 16, 1 << 20}},
                                                   {"full", {1 << 28, 1 << 18, 1 << 22}}};
    const std::vector<std::string> names(words.begin() + 2, words.end());
    measure_rows(device, extents.at(words[0]), names);
    if (is_asked(names, "sums"))
      for (const SumError& each :
           sum_errors(device, std::int64_t{1} << (words[0] == "small" ? 14 : 24)))
        print({{"sum", each.what},
               {"values", each.values},
               {"size", each.size},
               {"units", each.units}});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_accuracy: %s\n", error.what());
    return 1;
  }
}
