#include "served.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensor/check.hpp>

#include "load.hpp"
#include "workers.hpp"

namespace bp::tools {
namespace {

struct SamplesOfDtype {
  Dtype dtype;
  std::vector<Sample> samples;
};

// float32 first, which devices are made for. Made before counting begins, since making them calls operators as well.
std::vector<SamplesOfDtype> make_samples(const Operator& op, Device device) {
  std::vector<SamplesOfDtype> all;
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    if (contains(op.dtypes, dtype)) all.push_back({dtype, samples_of(op, dtype, device)});
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const SamplesOfDtype& each) { return each.dtype == Dtype::f32; });
  return all;
}

constexpr std::array best_first{Rung::view,       Rung::native, Rung::legalized, Rung::generated,
                                Rung::decomposed, Rung::host,   Rung::none};

bool is_better(Rung a, Rung b) {
  return std::find(best_first.begin(), best_first.end(), a) <
         std::find(best_first.begin(), best_first.end(), b);
}

// Of all calls of the device's backend: of the operator itself, or of those that a composite one is made of. Without any
// call, nothing left the device, as for empty().
std::optional<Rung> worst_counted(const Backend& backend) {
  std::array<std::uint64_t, num_rungs> calls{};
  for (const CallCount& count : call_counts())
    if (count.backend == backend.name)
      for (std::size_t i = 0; i < num_rungs; ++i) calls[i] += count.calls[i];
  for (auto rung = best_first.rbegin(); rung != best_first.rend(); ++rung)
    if (calls[static_cast<std::size_t>(*rung)] != 0) return *rung;
  return std::nullopt;
}

// The rungs that served the first sample, whose tensors lie plainly, and at worst the others.
std::vector<Rung> run_samples(Operator& op, const SamplesOfDtype& group, Device device,
                              bool every_sample) {
  const Backend& backend = *device_record(device).backend;
  std::vector<Rung> rungs;
  const auto note = [&] {
    const std::optional<Rung> rung = worst_counted(backend);
    if (rung && std::find(rungs.begin(), rungs.end(), *rung) == rungs.end()) rungs.push_back(*rung);
    reset_call_counts();
  };
  reset_call_counts();
  for (const Sample& sample : group.samples) {
    call_boxed(op, sample.args);
    if (&sample != &group.samples.front()) continue;
    note();
    if (!every_sample && !rungs.empty() && rungs.front() == Rung::generated) break;
  }
  note();
  Stream::current(device).synchronize();
  std::sort(rungs.begin(), rungs.end(), is_better);
  return rungs;
}

Served run_operator(Operator& op, Device device, bool every_sample) {
  Served result;
  try {
    const std::vector<SamplesOfDtype> groups = make_samples(op, device);
    for (const SamplesOfDtype& group : groups) {
      try {
        result.by_dtype[group.dtype] =
            run_samples(op, group, device, every_sample || &group == &groups.front());
        result.dtypes |= set_of(group.dtype);
      } catch (const Error& error) {
        if (result.error.empty()) result.error = error.what();
      }
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  if (!result.error.empty()) return result;
  bool any = false;
  for (const auto& [dtype, rungs] : result.by_dtype) {
    if (rungs.empty()) continue;
    if (!any || is_better(result.rung, rungs.back())) result.rung = rungs.back();
    any = true;
  }
  if (!any) result.rung = Rung::native;
  return result;
}

// In a process of its own.
void work(const std::string& name, const Options& options, Worker& worker) {
  load_named_plugins(options);
  const std::vector<Operator*> rows = registered_operators();
  const Device target = device(name);
  auto names = nlohmann::ordered_json::array();
  for (const Operator* op : rows) names.push_back(op->name());
  worker.answer({{"device", device_name(target)}, {"operators", names}});
  for (std::size_t row = worker.take(); row < rows.size(); row = worker.take()) {
    const Served served = run_operator(*rows[row], target, options.every_sample);
    auto by_dtype = nlohmann::ordered_json::array();
    for (const auto& [dtype, rungs] : served.by_dtype) {
      auto numbers = nlohmann::ordered_json::array();
      for (const Rung rung : rungs) numbers.push_back(static_cast<int>(rung));
      by_dtype.push_back({static_cast<int>(dtype), numbers});
    }
    worker.answer({{"row", row},
                   {"rung", static_cast<int>(served.rung)},
                   {"dtypes", served.dtypes},
                   {"by_dtype", by_dtype},
                   {"error", served.error}});
  }
}

void read(const nlohmann::ordered_json& answer, const std::vector<std::string>& names,
          Column& column) {
  Served served;
  std::size_t row = 0;
  if (answer.contains("row")) {
    row = answer["row"];
    served = {static_cast<Rung>(answer["rung"].get<int>()), answer["dtypes"].get<DtypeSet>(),
              answer["error"]};
    for (const auto& each : answer["by_dtype"])
      for (const int rung : each[1].get<std::vector<int>>())
        served.by_dtype[static_cast<Dtype>(each[0].get<int>())].push_back(static_cast<Rung>(rung));
  } else if (answer.contains("crashed") && answer["crashed"].is_number()) {
    row = answer["crashed"];
    served.error = fmt::format("{}: the process that ran its samples ended with {}", names.at(row),
                               answer["end"].get<std::string>());
  } else {
    return;
  }
  if (row < column.served.size()) column.served[row] = std::move(served);
}

[[noreturn]] void throw_unusable(const std::string& name, const nlohmann::ordered_json& answers) {
  for (const nlohmann::ordered_json& answer : answers)
    if (answer.contains("failed"))
      throw_error(ErrorClass::unsupported, answer["failed"].get<std::string>());
  throw_error(ErrorClass::internal, fmt::format("ops: a process that opened {} ended early: {}",
                                                name, nlohmann::ordered_json(answers).dump()));
}

}  // namespace

namespace {

// "f32", "bf16", "i64", as they are written in code, f32 first.
std::vector<std::string> short_names(DtypeSet dtypes) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < num_dtypes; ++i) {
    if (!contains(dtypes, static_cast<Dtype>(i))) continue;
    std::string text(name(static_cast<Dtype>(i)));
    for (const char* word : {"float", "uint", "int"})
      if (const std::size_t at = text.find(word); at != std::string::npos) {
        text.replace(at + 1, std::strlen(word) - 1, "");
        break;
      }
    names.insert(text == "f32" ? names.begin() : names.end(), text);
  }
  return names;
}

}  // namespace

std::string describe(const Served& served) {
  if (!served.error.empty()) return name(served.rung);
  std::map<std::vector<Rung>, DtypeSet> groups;
  for (const auto& [dtype, rungs] : served.by_dtype)
    if (!rungs.empty()) groups[rungs] |= set_of(dtype);
  std::vector<std::vector<Rung>> order;
  for (const auto& [rungs, dtypes] : groups) order.push_back(rungs);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.front() != b.front() ? is_better(a.front(), b.front()) : is_better(a.back(), b.back());
  });
  std::string text;
  for (const std::vector<Rung>& rungs : order) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", name(rungs.front()));
    if (order.size() > 1 && rungs == order.back())
      text += " others";
    else if (order.size() > 1)
      text += fmt::format(" {}", fmt::join(short_names(groups.at(rungs)), ", "));
    if (rungs.size() > 1) text += fmt::format(" (partly {})", name(rungs.back()));
  }
  return text.empty() ? name(served.rung) : text;
}

Column run_on(const std::string& name, const Options& options) {
  ensure_operators();
  const nlohmann::ordered_json answers =
      run_in_workers([&](Worker& worker) { work(name, options, worker); });
  Column column;
  std::vector<std::string> names;
  for (const nlohmann::ordered_json& answer : answers) {
    if (!answer.contains("device")) continue;
    column.device = answer["device"];
    names = answer["operators"].get<std::vector<std::string>>();
  }
  if (column.device.empty()) throw_unusable(name, answers);
  for (const std::string& op : names)
    column.served.push_back({Rung::none, 0, op + ": it was not run"});
  for (const nlohmann::ordered_json& answer : answers) read(answer, names, column);
  return column;
}

}  // namespace bp::tools
