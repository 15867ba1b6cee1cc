// Programs with what came of them, for compare_programs.py: `write_programs FILE COUNT [SEED]` writes a line of JSON
// for each kept program and for COUNT random ones.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/row_facts.hpp>

#include "autograd/programs/generate.hpp"
#include "autograd/programs/judge.hpp"
#include "autograd/programs/kept.hpp"

namespace bp::test::programs {
namespace {

using nlohmann::ordered_json;

// The other side knows our rows' arguments by name.
ordered_json schemas() {
  ensure_operators();
  ordered_json all;
  for (Operator* op : registered_operators())
    if (find_row_facts(op->name())) all[op->name()] = op->schema->text;
  return {{"schemas", all}};
}

// Variables as keys: {"v3": ...}.
template <class Map> ordered_json by_variable(const Map& map) {
  ordered_json made = ordered_json::object();
  for (const auto& [variable, value] : map) made["v" + std::to_string(variable)] = value;
  return made;
}

// Is every derivative by a leaf the same from both sides? Where it is not, each may choose its own.
bool is_smooth(const Expected& expected) {
  for (const auto& leaf : expected.first)
    for (const Expected::Derivative& one : leaf)
      if (!one.is_sure) return false;
  return true;
}

// Where each reshape and flatten is thought to show its argument's memory.
std::map<std::int64_t, bool> reshaped_views(const Program& program, const Expected& expected) {
  std::map<std::int64_t, bool> made;
  for (const Step& step : program.steps)
    if ((step.name == "reshape" || step.name == "flatten") &&
        expected.seen.contains(step.results[0]))
      made[step.results[0]] =
          expected.seen.at(step.results[0]).memory == expected.seen.at(step.args[0].integer).memory;
  return made;
}

ordered_json described(const std::string& where, const Program& program) {
  const Expected expected = expect(program);
  const Outcome outcome = run_program(program, expected.seen, device("cpu"));
  ordered_json line{{"where", where},
                    {"program", text_of(program)},
                    {"throws", program.throws},
                    {"is_narrow", expected.is_narrow},
                    {"is_smooth", is_smooth(expected)},
                    {"lies_otherwise", outcome.lies_otherwise},
                    {"views", by_variable(reshaped_views(program, expected))},
                    {"values", by_variable(outcome.values)},
                    {"first", outcome.first},
                    {"second", outcome.second},
                    {"retained", by_variable(outcome.retained)}};
  if (!outcome.error.empty()) line["error"] = outcome.phase + ": " + outcome.error;
  return line;
}

int write_all(const std::string& file, std::uint64_t count, std::uint64_t first) {
  device("cpu");
  std::ofstream lines(file);
  lines << schemas().dump() << '\n';
  for (const auto& [where, program] : kept_programs())
    lines << described(where, program).dump() << '\n';
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    lines << described("seed " + std::to_string(seed), generate_program(seed)).dump() << '\n';
  if (lines.flush().good()) return 0;
  std::cerr << "write_programs: " << file << " cannot be written\n";
  return 1;
}

}  // namespace
}  // namespace bp::test::programs

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: write_programs FILE COUNT [SEED]\n";
    return 1;
  }
  try {
    return bp::test::programs::write_all(argv[1], std::stoull(argv[2]),
                                         argc > 3 ? std::stoull(argv[3]) : 1);
  } catch (const std::exception& error) {
    std::cerr << "write_programs: " << error.what() << '\n';
    return 1;
  }
}
