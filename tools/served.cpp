#include "served.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

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

// Of all calls of the device's backend: of the operator itself, or of those that a composite one is made of.
std::uint64_t num_calls(const Backend& backend, Rung rung) {
  std::uint64_t calls = 0;
  for (const CallCount& count : call_counts())
    if (count.backend == backend.name) calls += count.calls[static_cast<unsigned>(rung)];
  return calls;
}

// Without any call, nothing left the device, as for empty().
Rung worst_counted(const Backend& backend) {
  for (Rung rung : {Rung::none, Rung::host, Rung::decomposed, Rung::generated, Rung::legalized,
                    Rung::native, Rung::view})
    if (num_calls(backend, rung) != 0) return rung;
  return Rung::native;
}

void run_samples(Operator& op, const SamplesOfDtype& group, Device device, bool every_sample) {
  const Backend& backend = *device_record(device).backend;
  const std::uint64_t generated_before = num_calls(backend, Rung::generated);
  for (const Sample& sample : group.samples) {
    call_boxed(op, sample.args);
    if (!every_sample && num_calls(backend, Rung::generated) > generated_before) break;
  }
  Stream::current(device).synchronize();
}

Served run_operator(Operator& op, Device device, bool every_sample) {
  Served result;
  try {
    const std::vector<SamplesOfDtype> groups = make_samples(op, device);
    reset_call_counts();
    for (const SamplesOfDtype& group : groups) {
      try {
        run_samples(op, group, device, every_sample || &group == &groups.front());
        result.dtypes |= set_of(group.dtype);
      } catch (const Error& error) {
        if (result.error.empty()) result.error = error.what();
      }
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  if (result.error.empty()) result.rung = worst_counted(*device_record(device).backend);
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
    worker.answer({{"row", row},
                   {"rung", static_cast<int>(served.rung)},
                   {"dtypes", served.dtypes},
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
