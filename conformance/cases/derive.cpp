#include "cases/derive.hpp"

#include <algorithm>
#include <set>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/sha256.hpp>
#include <backplane/samples/row_facts.hpp>

#include "cases/axes.hpp"
#include "cases/special_cases.hpp"
#include "inputs/values.hpp"
#include "refuse.hpp"
#include "report/files.hpp"
#include "trials/probes.hpp"

namespace bp::conform {
namespace {

bool is_selected(const Selection& selection, const Case& one) {
  if (one.level > selection.level) return false;
  if (selection.filters.empty()) return true;
  const std::string name = name_of(one);
  return std::ranges::any_of(selection.filters, [&](const std::string& filter) {
    return matches_glob(filter, one.op) || matches_glob(filter, name);
  });
}

// Axes of the core lane in this order: dtype, shape, layouts, values, form. Of a composite row that is nobody's kernel
// each part is asked in all layouts by its own row.
std::vector<std::vector<int>> groups_for(Profile profile, const Operator& op,
                                         const Subject& subject) {
  if (profile == Profile::quick) return groups_of(5, 1);
  if (profile == Profile::full) return groups_of(5, 3);
  if (op.kind == BP_KIND_COMPOSITE && subject.kernels_of(op.name()).empty())
    return {{1}, {4}, {0, 2}, {0, 3}};
  if (op.kind == BP_KIND_COMPOSITE) return {{1, 3}, {1, 4}, {0, 2}, {0, 3}, {2, 4}};
  return {{1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}, {0, 2}, {0, 3}};
}

Case crossed(const Operator& op, const Axes& axes, const std::vector<int>& at) {
  Case one = case_at(op, axes, at);
  make_sensible(op, one);
  return one;
}

// The first ones of the layouts are of different classes: row-major, dense, strided, repeated, channels-last.
void add_minor_dtypes(const RowCases& row) {
  const Axes& axes = row.axes;
  const std::size_t in_normal = row.op.kind == BP_KIND_COMPOSITE ? 2 : 4;
  const std::size_t classes =
      row.profile == Profile::quick
          ? (row.op.flags & BP_OP_PRIMITIVE ? 1 : 0)
          : std::min<std::size_t>(axes.layouts.size(),
                                  row.profile == Profile::normal ? in_normal : 5);
  std::size_t turn = 0;
  for (const Dtype dtype : axes.minor_dtypes)
    for (std::size_t layout = 0; layout < classes; ++layout, ++turn) {
      row.add(dtype, axes.shapes[turn % axes.shapes.size()], axes.layouts[layout],
              axes.values[turn % axes.values.size()], axes.forms[turn % axes.forms.size()]);
      make_sensible(row.op, row.all.back());
    }
}

// Chooses by the order of numbers, so that the expression says nothing of complex ones: another row does.
bool chooses(const Operator& op) {
  return std::any_of(op.nodes, op.nodes + op.num_nodes,
                     [](const bp_expr_node& node) { return node.code == BP_X_SELECT; });
}

// A row of real numbers that takes complex ones apart: each of them in each kind of values, the other axes once.
void add_complex_calls(const RowCases& row) {
  const Operator& op = row.op;
  if (!op.decompose_complex || row.profile == Profile::quick || chooses(op)) return;
  Axes axes = row.axes;
  axes.dtypes = {complex64, complex128};
  if (op.num_nodes != 0) axes.values = {"normal", "wide", "near", "ties", "corners"};
  if (op.promoted & 2u) std::erase(axes.values, "wide");  // which powers leave the range of
  if (op.complex_gives_real) std::erase(axes.forms, "in_place");
  std::vector<std::vector<int>> groups = {{0, 3}, {1}, {2}, {4}};
  if (row.profile == Profile::full) groups = groups_of(5, 2);
  for (const std::vector<int>& at : cover(sizes_of(axes), groups, hash_text(op.name()))) {
    Case& one = row.all.emplace_back(crossed(op, axes, at));
    if (one.values != "corners") continue;
    one.shape = "s16x16";
    if (one.layouts.find("expand") != std::string::npos) one.layouts = "plain";
  }
}

void add_random_cases(const std::vector<Operator*>& rows, int count, std::uint64_t seed,
                      std::vector<Case>& out) {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t word = mix(seed, static_cast<std::uint64_t>(i));
    const Operator& op = *rows[word % rows.size()];
    const Axes axes = axes_of(op, Profile::full);
    if (axes.shapes.empty()) continue;
    std::vector<int> at;
    for (const int size : sizes_of(axes))
      at.push_back(static_cast<int>(mix(word, at.size()) % static_cast<std::uint64_t>(size)));
    Case one = crossed(op, axes, at);
    one.seed = 1 + word % 1000000;
    out.push_back(one);
  }
}

// The rows of the table, in its order.
std::vector<Operator*> rows_of_table() {
  ensure_operators();
  std::vector<Operator*> rows;
  for (const RowFacts& facts : row_facts())
    if (Operator* op = find_operator(facts.name)) rows.push_back(op);
  return rows;
}

bool may_be_selected(const Selection& selection, const Operator& op) {
  // Only patterns of whole names, which have a lane, need all rows.
  return selection.filters.empty() ||
         std::ranges::any_of(selection.filters, [&](const std::string& filter) {
           return matches_glob(filter, op.name()) || filter.find(':') != std::string::npos ||
                  filter.find('/') != std::string::npos || filter.find('[') != std::string::npos;
         });
}

// What is compiled, is compiled for each dtype: a quick run asks each row for the first one and a few others, in turn,
// so that it does not spend minutes in the device's compiler.
Axes spare_compiler(const Operator& op, Axes axes) {
  const auto turn = static_cast<std::size_t>(hash_text(op.name()) % 1024);
  if (axes.dtypes.size() > 2)
    axes.dtypes = {axes.dtypes[0], axes.dtypes[1 + turn % (axes.dtypes.size() - 1)]};
  std::size_t place = turn;
  std::erase_if(axes.minor_dtypes, [&](Dtype) { return ++place % 4 != 0; });
  return axes;
}

Thoroughness thoroughness_for(const Operator& op, const Subject& subject) {
  if (subject.kernels_of(op.name()).empty() && !subject.compiles) return Thoroughness::little;
  return is_inference_row(op.name()) ? Thoroughness::most : Thoroughness::some;
}

void add_row(const Operator& op, const Subject& subject, const Selection& selection,
             std::vector<Case>& out) {
  const Axes axes = axes_of(op, selection.profile);
  if (axes.shapes.empty() || axes.dtypes.empty()) return;
  const bool spares = subject.compiles && selection.profile == Profile::quick;
  const Axes of_core = spares ? spare_compiler(op, axes) : axes;
  const RowCases all{op, axes, selection.profile, out}, spared{op, of_core, selection.profile, out};
  for (const std::vector<int>& at :
       cover(sizes_of(of_core), groups_for(selection.profile, op, subject), hash_text(op.name())))
    out.push_back(crossed(op, of_core, at));
  add_minor_dtypes(spared);
  add_complex_calls(all);
  add_large_cases(all, thoroughness_for(op, subject));
  add_deciding_cases(all);
  add_special_cases(all);
  add_relations(spared, selection.seed);
  add_direct_cases(all, subject);
}

void add_probes(const Subject& subject, const Selection& selection, std::vector<Case>& out) {
  for (const ProbeFamily& family : probe_families())
    std::ranges::move(family.cases(subject, static_cast<int>(selection.profile)),
                      std::back_inserter(out));
}

bool has_kernel(const Subject& subject, const Case& one) {
  for (const DeclaredKernel* kernel : subject.kernels_of(one.op))
    if (kernel->args.empty() || kernel->args[0].dtypes == 0 ||
        contains(kernel->args[0].dtypes, one.dtype))
      return true;
  return subject.compiles;
}

// Elements that lie 2 GiB apart, of every argument at once, need a device of that size; and where the host computes, it
// copies all of it.
bool fits(const Subject& subject, const Case& one) {
  if (one.layouts != "far") return true;
  constexpr std::uint64_t span = std::uint64_t{9} << 28;  // bytes of one, and room to spare
  std::uint64_t count = 0;
  for (const SchemaArgument& argument : find_operator(one.op)->schema->arguments)
    if (argument.type == ArgumentType::tensor) ++count;
  // A kernel's output lies as its argument does; the core puts its elements together.
  if (one.lane == Lane::direct) count += find_operator(one.op)->schema->returns.size();
  const bool has_room = subject.total_memory == 0 || count * span <= subject.total_memory;
  return has_room && has_kernel(subject, one);
}

}  // namespace

std::vector<Case> derive_cases(const Subject& subject, const Selection& selection) {
  std::vector<Case> all;
  add_probes(subject, selection, all);
  std::vector<Operator*> rows;
  for (Operator* op : rows_of_table())
    if (may_be_selected(selection, *op)) rows.push_back(op);
  for (const Operator* op : rows) add_row(*op, subject, selection, all);
  if (!rows.empty()) add_random_cases(rows, selection.random_cases, selection.seed, all);
  std::vector<Case> chosen;
  std::set<std::string> names;
  for (Case& one : all) {
    if (one.seed == 1) one.seed = selection.seed;
    classify(one);
    if (is_selected(selection, one) && fits(subject, one) && names.insert(name_of(one)).second)
      chosen.push_back(std::move(one));
  }
  if (chosen.empty() && selection.filters.empty())
    refuse("no case is of level {} or below; choose a higher one", selection.level);
  if (chosen.empty())
    refuse("no case matches '{}'; 'list' prints the names", fmt::join(selection.filters, "', '"));
  std::ranges::stable_sort(chosen, [](const Case& a, const Case& b) { return a.level < b.level; });
  std::vector<Case> of_shard;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (static_cast<int>(i % static_cast<std::size_t>(std::max(selection.num_shards, 1))) ==
        selection.shard)
      of_shard.push_back(std::move(chosen[i]));
  return of_shard;
}

std::string digest_of(const std::vector<Case>& cases) {
  loading::Sha256 sum;
  for (const Case& one : cases) {
    const std::string line = name_of(one) + "\n";
    sum.add(std::as_bytes(std::span(line)));
  }
  return sum.finish();
}

}  // namespace bp::conform
