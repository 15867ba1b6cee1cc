#include <array>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include <backplane/core_ops/batch.hpp>
#include <backplane/core_ops/cast_rules.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/loader.hpp>

#include "commands.hpp"
#include "load.hpp"
#include "output.hpp"
#include "served.hpp"

namespace bp::tools {
namespace {

using Rows = std::vector<Operator*>;

// By BP_KIND_*; 0 is none.
constexpr std::array kind_names{
    "",        "pointwise", "reduction", "view",   "matmul",  "convolution", "gather",
    "scatter", "scan",      "sort",      "random", "factory", "composite",   "copy"};

std::string kind_of(const Operator& op) {
  return op.kind < kind_names.size() ? kind_names[op.kind] : "unknown";
}

bool is_primitive(const Operator& op) {
  return (op.flags & BP_OP_PRIMITIVE) != 0;
}

// In words of the table; null for operators that are not of it.
nlohmann::ordered_json batch_rule_of(const Operator& op) {
  const BatchRule* rule = find_batch_rule(op);
  if (!rule) return nullptr;
  return rule->text;
}

nlohmann::ordered_json names_of(DtypeSet dtypes) {
  auto names = nlohmann::ordered_json::array();
  for (unsigned i = 0; i < num_dtypes; ++i)
    if (contains(dtypes, static_cast<Dtype>(i))) names.push_back(name(static_cast<Dtype>(i)));
  return names;
}

Color color_of(Rung rung) {
  switch (rung) {
    case Rung::native:
    case Rung::generated:
    case Rung::view: return Color::good;
    case Rung::legalized:
    case Rung::decomposed: return Color::none;
    case Rung::host: return Color::warning;
    case Rung::none: return Color::bad;
  }
  return Color::none;
}

// ---- The operators alone ----------------------------------------------------------------------

int list_operators(const Rows& rows, bool json) {
  auto list = nlohmann::ordered_json::array();
  Table table({"KIND", "", "SCHEMA"});
  for (const Operator* op : rows) {
    if (json)
      list.push_back({{"op", op->name()},
                      {"kind", kind_of(*op)},
                      {"primitive", is_primitive(*op)},
                      {"dtypes", names_of(op->all_dtypes())},
                      {"batch", batch_rule_of(*op)},
                      {"cast", name(cast_rule_of(*op))},
                      {"schema", op->schema->text},
                      {"doc", op->doc}});
    else
      table.add({{kind_of(*op)}, {is_primitive(*op) ? "primitive" : ""}, {op->schema->text}});
  }
  json ? print_json(list) : table.print();
  return 0;
}

// ---- On devices ---------------------------------------------------------------------------------

int print_for_program(const Rows& rows, const Column& column) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Served& served = column.served[i];
    list.push_back({{"op", rows[i]->name()},
                    {"primitive", is_primitive(*rows[i])},
                    {"dtypes", names_of(served.dtypes)},
                    {"served", describe(served)},
                    {"slowest", name(served.rung)},
                    {"by_dtype", nlohmann::ordered_json::object()}});
    for (const auto& [dtype, rungs] : served.by_dtype)
      for (const Rung rung : rungs)
        list.back()["by_dtype"][std::string(name(dtype))].push_back(name(rung));
    if (!served.error.empty()) list.back()["error"] = served.error;
  }
  print_json(list);
  return 0;
}

int print_for_person(const Rows& rows, const std::vector<Column>& columns) {
  std::vector<std::string> header{"OPERATOR", ""};
  for (const Column& column : columns) header.push_back(column.device);
  Table table(std::move(header));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Cell> cells{{rows[i]->name()}, {is_primitive(*rows[i]) ? "primitive" : ""}};
    for (const Column& column : columns) {
      cells.push_back({describe(column.served[i]), color_of(column.served[i].rung)});
    }
    table.add(std::move(cells));
  }
  table.print();
  for (const Column& column : columns)
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!column.served[i].error.empty())
        fmt::print("\n{} {}\n", paint(column.device + ":", Color::bad), column.served[i].error);
  return 0;
}

// "12 native, 3 host", best rung first.
std::string summarize(const Rows& rows, const Column& column, const std::string& kind) {
  std::map<Rung, int> counts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (kind_of(*rows[i]) == kind) ++counts[column.served[i].rung];
  std::string text;
  for (const auto& [rung, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(rung));
  return text;
}

int print_markdown(const Rows& rows, const std::vector<Column>& columns) {
  std::string header = "| kind | operators |", rule = "|---|---|";
  for (const Column& column : columns) {
    header += fmt::format(" {} |", column.device);
    rule += "---|";
  }
  fmt::print("{}\n{}\n", header, rule);
  for (const char* kind : kind_names) {
    std::string names;
    for (const Operator* op : rows)
      if (kind_of(*op) == kind)
        names += fmt::format("{}`{}`", names.empty() ? "" : " ", op->name());
    if (names.empty()) continue;
    std::string line = fmt::format("| {} | {} |", kind, names);
    for (const Column& column : columns)
      line += fmt::format(" {} |", summarize(rows, column, kind));
    fmt::print("{}\n", line);
  }
  return 0;
}

}  // namespace

int ops(const Options& options) {
  if (options.json && options.devices.size() > 1)
    throw_error(ErrorClass::bad_argument, "ops: --json is of one device; call it once for each");
  try_named_plugins(options);
  std::vector<Column> columns;
  for (const std::string& name : options.devices) columns.push_back(run_on(name, options));
  ensure_operators();
  load_named_plugins(options);
  const Rows rows = registered_operators();
  if (columns.empty()) return list_operators(rows, options.json);
  if (options.json) return print_for_program(rows, columns[0]);
  return options.markdown ? print_markdown(rows, columns) : print_for_person(rows, columns);
}

}  // namespace bp::tools
