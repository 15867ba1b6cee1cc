#include "runner/exam_results.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <sstream>

#include <backplane/loading/sha256.hpp>
#include <backplane/tensor/error.hpp>

#include "report/files.hpp"

namespace bp::conform {
namespace {

using Json = nlohmann::json;

Json to_json(const ExamResult& result, const std::string& library) {
  return {{"library", library},  {"name", result.entry.name}, {"family", result.entry.family},
          {"seed", result.seed}, {"good", result.good},       {"first", result.first},
          {"why", result.why},   {"kills", result.kills},     {"cases", result.cases},
          {"run", result.run},   {"seconds", result.seconds}};
}

ExamResult read_result(const Json& line, const std::string& library, bool older) {
  ExamResult result;
  const auto of = line.at("library").get<std::string>();
  result.is_older = of != library;
  if (result.is_older && !older)
    throw_error(ErrorClass::bad_argument,
                fmt::format("found with the library of digest {}, and this one's is {}; --older "
                            "takes it",
                            of, library));
  line.at("name").get_to(result.entry.name);
  line.at("family").get_to(result.entry.family);
  line.at("seed").get_to(result.seed);
  line.at("good").get_to(result.good);
  line.at("first").get_to(result.first);
  line.at("why").get_to(result.why);
  line.at("kills").get_to(result.kills);
  line.at("cases").get_to(result.cases);
  line.at("run").get_to(result.run);
  line.at("seconds").get_to(result.seconds);
  return result;
}

}  // namespace

ExamResults::ExamResults(const std::string& folder, const std::string& library, bool resume,
                         bool older)
    : library_(loading::sha256_of_file(library).value_or("")) {
  if (folder.empty()) return;
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/results.jsonl";
  if (resume && std::filesystem::exists(path)) {
    std::istringstream lines(read_whole_file(path));
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) try {
        known_.push_back(read_result(Json::parse(line), library_, older));
      } catch (const std::exception& problem) {
        throw_error(ErrorClass::bad_argument,
                    fmt::format("selftest: {}:{}: {}", path, number, problem.what()));
      }
  }
  file_ = std::make_unique<Journal>(path, resume && std::filesystem::exists(path));
}

std::optional<ExamResult> ExamResults::find(const ExamEntry& entry, std::uint64_t seed) const {
  for (const ExamResult& each : known_)
    if (each.entry.name == entry.name && each.entry.family == entry.family && each.seed == seed) {
      ExamResult found = each;
      found.entry = entry;
      return found;
    }
  return std::nullopt;
}

void ExamResults::keep(const ExamResult& result) {
  if (file_ != nullptr) file_->write(to_json(result, library_));
}

}  // namespace bp::conform
