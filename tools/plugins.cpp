#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <backplane/loading/discovery.hpp>

#include "commands.hpp"
#include "output.hpp"

namespace bp::tools {
namespace {

using loading::Candidate;
using loading::Environment;
using loading::Origin;
using loading::Place;
namespace fs = std::filesystem;

const char* note_on(const Place& place) {
  std::error_code ignored;
  if (place.origin == Origin::explicit_path || place.origin == Origin::plugin_path) return "";
  return fs::is_directory(place.path, ignored) ? "" : "not there";
}

void print_for_program(const std::vector<Place>& searched, const std::vector<Candidate>& found) {
  nlohmann::ordered_json report;
  report["searched"] = nlohmann::ordered_json::array();
  for (const Place& place : searched)
    report["searched"].push_back(
        {{"origin", describe(place.origin)}, {"path", place.path.string()}});
  report["plugins"] = nlohmann::ordered_json::array();
  for (const Candidate& candidate : found) {
    nlohmann::ordered_json row{{"name", candidate.name()},
                               {"origin", describe(candidate.origin)},
                               {"found_in", candidate.found_in},
                               {"manifest", candidate.manifest_file.string()},
                               {"library", candidate.library.string()}};
    if (candidate.manifest) {
      row["maker"] = candidate.manifest->vendor;
      row["description"] = candidate.manifest->description;
      row["abi"] = {candidate.manifest->abi_min, candidate.manifest->abi_max};
      row["offers"] = candidate.manifest->offers;
      row["architecture"] = candidate.manifest->architecture;
    }
    row["problem"] = candidate.problem;
    report["plugins"].push_back(std::move(row));
  }
  print_json(report);
}

void print_for_person(const std::vector<Place>& searched, const std::vector<Candidate>& found) {
  Table looked({"SEARCHED, IN THIS ORDER", "", ""});
  for (const Place& place : searched)
    looked.add({{std::string(describe(place.origin))},
                {place.path.string()},
                {note_on(place), Color::faint}});
  looked.print();
  fmt::print("\n");
  if (found.empty()) {
    fmt::print("There is no plugin in any of them.\n");
    return;
  }
  Table table({"PLUGIN", "MAKER", "FOUND", "LIBRARY", ""});
  for (const Candidate& candidate : found)
    table.add({{candidate.name(), candidate.usable() ? Color::strong : Color::faint},
               {candidate.manifest ? candidate.manifest->vendor : ""},
               {std::string(describe(candidate.origin))},
               {candidate.library.string()},
               {candidate.usable() ? "" : "not used", Color::bad}});
  table.print();
  for (const Candidate& candidate : found)
    if (!candidate.usable())
      fmt::print("\n{} {}\n", paint(candidate.name() + ":", Color::bad), candidate.problem);
}

}  // namespace

int plugins(const Options& options) {
  const Environment environment = Environment::current();
  const std::vector<Place> searched = search_places(environment, options.plugins);
  const std::vector<Candidate> found = discover(environment, options.plugins);
  options.json ? print_for_program(searched, found) : print_for_person(searched, found);
  return 0;
}

}  // namespace bp::tools
