#include "autograd/programs/kept.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

namespace bp::test::programs {
namespace {

namespace fs = std::filesystem;

void read_file(const fs::path& path, std::vector<KeptProgram>& all) {
  std::ifstream file(path);
  std::string text, line;
  int number = 0, first = 1;
  const auto finish = [&] {
    const std::string where = fmt::format("{}:{}", path.filename().string(), first);
    try {
      Program program = parse_program(text);
      if (!program.steps.empty()) all.push_back({where, std::move(program)});
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(where + ": " + error.what());
    }
    text.clear();
    first = number + 1;
  };
  while (std::getline(file, line)) {
    ++number;
    if (line.empty()) finish();
    text += line + "\n";
  }
  finish();
}

}  // namespace

std::vector<KeptProgram> kept_programs() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(BP_SOURCE_DIR "/tests/autograd/programs/kept"))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<KeptProgram> all;
  for (const fs::path& path : paths) read_file(path, all);
  return all;
}

}  // namespace bp::test::programs
