#include "autograd/programs/sweep.hpp"

#include <cstdlib>
#include <fmt/format.h>

#include "autograd/programs/shrink.hpp"

namespace bp::test::programs {
namespace {

constexpr std::size_t most_kinds = 40;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t allocated_bytes(Device on) {
  synchronize(on);
  return memory_statistics(on).allocated_bytes;
}

// What a program leaves behind the second time as well, a record that holds itself has.
bool leaves_memory(const Program& program, const Expected& expected, Device on) {
  const std::uint64_t before = allocated_bytes(on);
  run_program(program, expected.seen, on);
  return allocated_bytes(on) > before;
}

Verdict verdict_on(const Program& program, const Expected& expected, const std::string& name,
                   Outcome& outcome) {
  const Device on = device(name);
  const std::uint64_t before = allocated_bytes(on);
  outcome = run_program(program, expected.seen, on);
  Verdict verdict = judge(program, expected, outcome);
  if (verdict.wrong.empty() && allocated_bytes(on) > before && leaves_memory(program, expected, on))
    verdict.wrong = verdict.kind = "memory is left behind";
  return verdict;
}

Verdict verdict_on(const Program& program, const Expected& expected, const std::string& name) {
  Outcome outcome;
  return verdict_on(program, expected, name, outcome);
}

Program smallest(const Program& program, const Verdict& verdict, const std::string& name) {
  return shrink(program, [&](const Program& candidate) {
    const Expected expected = expect(candidate);
    return expected.invalid.empty() && expected.is_error == expected.is_refused &&
           verdict_on(candidate, expected, name).kind == verdict.kind;
  });
}

void note(Swept& swept, const Program& program, const Verdict& verdict, const std::string& name,
          std::uint64_t seed) {
  if (swept.found.size() >= most_kinds && !swept.found.contains(verdict.kind)) return;
  Found& found = swept.found[verdict.kind];
  if (++found.count > 1) return;
  found.seed = seed;
  found.device = name;
  found.program = smallest(program, verdict, name);
  found.wrong = verdict_on(found.program, expect(found.program), name).wrong;
}

}  // namespace

std::uint64_t wanted_seed() {
  return number_from("BP_SEED", 1);
}

std::size_t wanted_programs(std::size_t otherwise) {
  return number_from("BP_PROGRAMS", otherwise);
}

Swept sweep(std::uint64_t first, std::size_t count, const std::vector<std::string>& devices,
            Pool pool) {
  Swept swept;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = generate_program(seed, pool);
    const Expected expected = expect(program);
    ++swept.num_programs;
    swept.num_errors += expected.is_error;
    swept.num_maybe += expected.may_fail;
    if (!expected.invalid.empty()) {
      note(swept, program, {"no program: " + expected.invalid, "no program", false, false},
           devices[0], seed);
      continue;
    }
    for (const std::string& name : devices) {
      Outcome outcome;
      const Verdict verdict = verdict_on(program, expected, name, outcome);
      swept.num_otherwise += outcome.lies_otherwise;
      swept.num_judged += verdict.was_judged;
      swept.num_second_judged += verdict.was_second_judged;
      if (!verdict.wrong.empty()) note(swept, program, verdict, name, seed);
    }
  }
  return swept;
}

std::string check_program(const Program& program, const std::vector<std::string>& devices) {
  const Expected expected = expect(program);
  if (!expected.invalid.empty()) return "no program: " + expected.invalid;
  for (const std::string& name : devices) {
    const std::string wrong = verdict_on(program, expected, name).wrong;
    if (!wrong.empty()) return name + ": " + wrong;
  }
  return "";
}

std::string text_of(const Swept& swept) {
  std::string text = fmt::format(
      "# {} programs: {} runs judged, {} of them to the second order; {} end in an error, {} may; "
      "{} runs lay otherwise\n",
      swept.num_programs, swept.num_judged, swept.num_second_judged, swept.num_errors,
      swept.num_maybe, swept.num_otherwise);
  for (const auto& [kind, found] : swept.found)
    text += fmt::format("\n# {} times, first with seed {} on {}\n# {}\n{}", found.count, found.seed,
                        found.device, found.wrong, text_of(found.program));
  return text;
}

}  // namespace bp::test::programs
