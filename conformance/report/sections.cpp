// What a certificate says of other projects' tests: a section for each journal of theirs below the report's folder.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/sha256.hpp>

#include "report/report.hpp"

namespace bp::conform {

nlohmann::json sections_of(const std::string& folder, const std::string& library_sha256) {
  nlohmann::json sections = nlohmann::json::object();
  for (const char* suite : {"pytorch", "onnx"}) {
    const std::string file = fmt::format("{}/journal.jsonl", suite), path = folder + "/" + file;
    if (!std::filesystem::exists(path)) continue;
    const Run run = read_journal(path);
    if (suite_of(run) != suite || run.subject.library_sha256 != library_sha256) continue;
    std::vector<Waiver> none;
    const Summary summary = summarize(run, none);
    sections[suite] = {
        {"profile", summary.profile},
        {"versions", run.header["through"].at("versions")},
        {"selection", run.header.at("selection")},
        {"must_run", {{"digest", run.header.at("digest")}, {"cases", run.header.at("cases")}}},
        {"figures", to_json(summary.total)},
        {"journal", {{"file", file}, {"sha256", loading::sha256_of_file(path).value_or("")}}}};
  }
  return sections;
}

std::string text_of_sections(const nlohmann::json& sections) {
  std::string text;
  for (const auto& [suite, section] : sections.items()) {
    const nlohmann::json& figures = section.at("figures");
    const auto of = [&](const char* figure) { return figures.at(figure).get<int>(); };
    text +=
        fmt::format("through {}: {} cases, {} correct, {} native, {} failed, {} unsupported\n",
                    suite, of("run"), of("correct"), of("native"), of("failed"), of("unsupported"));
  }
  return text;
}

}  // namespace bp::conform
