#include "runner/families.hpp"

#include <string_view>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>

#include "cases/classify.hpp"

namespace bp::conform {
namespace {

struct Meaning {
  std::string_view word;
  const char* family;
};

// Of values (inputs/values.hpp).
constexpr Meaning meanings_of_values[] = {{"specials", "special"},   {"zeros", "special"},
                                          {"wide", "values"},        {"wide", "overflow"},
                                          {"near", "values"},        {"every16", "values"},
                                          {"cancel", "values"},      {"cancel", "cancellation"},
                                          {"exact", "exact"},        {"big", "2^53"},
                                          {"big", "overflow"},       {"ties", "values"},
                                          {"ties", "exact"},         {"duplicates", "duplicates"},
                                          {"too_high", "negative"},  {"too_low", "negative"},
                                          {"minus_one", "negative"}, {"minus_end", "negative"},
                                          {"minus_any", "negative"}, {"wide", "ulp"},
                                          {"near", "ulp"},           {"every16", "ulp"},
                                          {"fading", "values"},      {"midpoints", "values"},
                                          {"powers", "values"},      {"in_turn", "special"}};

constexpr Meaning meanings_of_forms[] = {
    {"error", "negative"},     {"grad", "gradient"},  {"repeat", "stress"},
    {"repeat", "determinism"}, {"threads", "stress"}, {"in_place", "alias"},
    {"aliased", "alias"},      {"stream", "async"},   {"recycled", "poison"}};

// Of sentences that the instruments make (trials/answers.cpp).
constexpr Meaning meanings_of_sentences[] = {{"wrote outside of its memory", "red zone"},
                                             {"wrote between the elements", "red zone"},
                                             {"changed an input", "checksum"},
                                             {"keeps more than it had", "counters"},
                                             {"leak", "counters"},
                                             {"two runs give different", "poison"},
                                             {"gives other bits each time", "determinism"},
                                             {"and then says that it cannot", "honesty"},
                                             {"gave no message", "honesty"},
                                             {"are on the whole", "bias"},
                                             {"failed, and changed memory", "negative"},
                                             {"no longer answers", "isolation"}};

}  // namespace

// What a row's case asks by its shape and by how its tensors lie.
void add_families_of_axes(const Case& one, std::set<std::string>& families) {
  const std::string sizes = one.shape.substr(0, one.shape.find(':'));
  families.insert("shape");
  if (sizes.find(',') != std::string::npos) families.insert("broadcast");
  for (const char* empty : {"s0", "x0", ",0"})
    if (sizes.find(empty) != std::string::npos) families.insert("special");
  if (is_large(one)) families.insert("large");
  if (one.layouts != "plain" && one.layouts != "own") families.insert("layout");
}

// Is such a call made of other rows, whatever kernels there are?
bool is_composite(const Case& one) {
  ensure_operators();
  const Operator* const row = find_operator(one.op);
  if (row == nullptr) return false;
  return row->kind == BP_KIND_COMPOSITE || (row->decompose_complex && is_complex(one.dtype));
}

std::set<std::string> families_of_case(const Case& one) {
  std::set<std::string> families = {one.family};
  if (one.lane != Lane::probe) {
    add_families_of_axes(one, families);
    if (is_composite(one)) families.insert("composite");
  }
  for (const Meaning& meaning : meanings_of_values)
    if (one.values == meaning.word) families.insert(meaning.family);
  for (const Meaning& meaning : meanings_of_forms)
    if (one.form == meaning.word) families.insert(meaning.family);
  if (one.lane == Lane::probe) {
    families.insert(one.op.substr(0, one.op.find('.')));
    families.insert(one.op.substr(one.op.find('.') + 1));
  }
  return families;
}

std::set<std::string> families_of_kill(const Record& record) {
  std::set<std::string> families = families_of_case(record.one);
  const Verdict& verdict = record.verdict;
  for (const Meaning& meaning : meanings_of_sentences)
    if (verdict.why.find(meaning.word) != std::string::npos) families.insert(meaning.family);
  if (verdict.outcome == Outcome::crash || verdict.outcome == Outcome::timeout)
    families.insert("isolation");
  if (verdict.outcome == Outcome::flaky) families.insert({"flaky", "stress"});
  if (verdict.rule.find("gamma") != std::string::npos) families.insert("accumulation");
  return families;
}

}  // namespace bp::conform
