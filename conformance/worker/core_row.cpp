// Rows of the core lane: one call as an application makes it, and what is watched around it.
#include <algorithm>
#include <optional>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/error.hpp>

#include "worker/core_scope.hpp"
#include "worker/guarded_block.hpp"

namespace bp::conform {
namespace {

std::uint32_t count_of(const std::vector<bp_value>& values) {
  return static_cast<std::uint32_t>(values.size());
}

// Did everything between the two get memory of its own? A result may get a piece that a conversion's kernel had as its
// workspace, and what lies behind its end is that kernel's then.
bool all_was_fresh(const MemoryStatistics& before, const MemoryStatistics& after) {
  return after.num_allocations - before.num_allocations <=
         after.num_backend_allocations - before.num_backend_allocations;
}

}  // namespace

// By the path that the row's public functions take.
std::vector<Tensor> CoreScope::run(Operator& op, const Json& step, Arguments& arguments) {
  std::vector<bp_value>& values = arguments.values;
  std::vector<Tensor> results = targets_of(step);
  const bool gives_one = op.schema->returns.size() == 1 && !op.schema->returns_list();
  if (!results.empty()) {
    if (op.kind == BP_KIND_POINTWISE && gives_one)
      call_pointwise_into(op, values.data(), count_of(values), results.at(0));
    else if (gives_one)
      call_one_into(op, values.data(), count_of(values), results.at(0));
    else
      call_many_into(op, values.data(), count_of(values), results.data(),
                     static_cast<std::uint32_t>(results.size()));
    return results;
  }
  if (step.value("boxed", false)) return call_boxed(op, values);
  if (op.kind == BP_KIND_POINTWISE && gives_one)
    return {call_pointwise(op, values.data(), count_of(values))};
  if (op.kind == BP_KIND_VIEW && op.view) return {call_view(op, values.data(), count_of(values))};
  return call_all(op, values.data(), count_of(values));
}

void CoreScope::note_served(Json& result) {
  Json& served = result["served"] = Json::object();
  for (const CallCount& count : call_counts()) {
    if (count.backend != record_.backend->name) continue;
    for (std::uint32_t rung = 0; rung < num_rungs; ++rung)
      if (count.calls[rung] != 0)
        served[count.op] = bp::name(static_cast<Rung>(rung));  // the worst one stays
  }
}

// {"do":"row", "op", "args", "results", "into"?, "in_place"?, "stream"?, "boxed"?, "quiet"?}
Json CoreScope::row(const Json& step) {
  Operator* op = find_operator(step.at("op").get_ref<const std::string&>());
  if (!op) {
    call_boxed(step.at("op").get_ref<const std::string&>(), {});  // says so in the core's own words
    throw_error(ErrorClass::internal, "an operator that nobody can find was called");
  }
  const bool quiet = step.value("quiet", false);
  Arguments arguments;
  read_arguments(*op, step.at("args"), arguments);
  const std::vector<Tensor> targets = targets_of(step);
  if (!quiet && !recycles_) empty_cache(record_.device);
  std::optional<StreamGuard> guard;
  if (const int stream = step.value("stream", 0)) guard.emplace(*streams_.at(stream));
  if (!quiet) reset_call_counts();
  Json result = {{"code", BP_OK}};
  std::vector<Tensor> results;
  const MemoryStatistics before = memory_statistics(record_.device);
  try {
    results = run(*op, step, arguments);
  } catch (const Error& error) {
    result = failure_json(error);
  }
  const bool failed = result["code"] != BP_OK;
  const bool is_fresh = all_was_fresh(before, memory_statistics(record_.device));
  if (!quiet) note_served(result);
  if (step.value("synchronize", true))
    if (Json late = late_error(); !late.is_null() && !failed) result.update(late);
  if (!failed) {
    const Json& names = step.at("results");
    Json &shapes = result["shapes"] = Json::array(), &dtypes = result["dtypes"] = Json::array();
    for (std::size_t i = 0; i < results.size(); ++i) {
      shapes.push_back(
          std::vector<std::int64_t>(results[i].shape().begin(), results[i].shape().end()));
      dtypes.push_back(dtype_word(results[i].dtype()));
      if (!targets.empty() || i >= names.size()) continue;
      objects_[names[i].get<int>()] = Object{results[i], false, {}};
    }
  }
  if (quiet || !step.value("synchronize", true)) return result;
  // A bad index that a kernel met leaves its outputs undefined; any other refusal leaves all as it was.
  const bool untouched = failed && !step.value("undefined", false);
  look(untouched ? std::vector<Tensor>() : targets, untouched ? "failed" : nullptr);
  const Json& served = result["served"];
  const bool by_one_kernel =
      served.size() == 1 && served.contains(op->name()) && served[op->name()] == "native";
  if (!failed && targets.empty() && by_one_kernel && !recycles_ && is_fresh)
    for (const Tensor& each : results) look_at_slack(each);
  memory_.look(watch);
  return result;
}

// Between a result's last byte and the end of what the allocator rounded it up to.
void CoreScope::look_at_slack(const Tensor& result) {
  const Storage* behind = result.impl()->storage;
  if (!behind || behind->bytes == 0 || behind->bytes > largest_watched) return;
  for (const auto& [number, each] : objects_)
    if (each.is_given && each.tensor.impl()->storage == behind) return;
  const ByteSpan span = touched_bytes(*result.impl());
  const std::uint64_t end = std::max(span.end, behind->offset) - behind->offset;
  if (end >= behind->bytes) return;
  std::vector<std::uint8_t> slack(behind->bytes - end);
  memory_.read(*behind, end, slack.data(), slack.size());
  const auto bad = std::find_if(slack.begin(), slack.end(),
                                [&](std::uint8_t byte) { return byte != memory_.poison(); });
  if (bad == slack.end()) return;
  watch.add("zones", {{"at", end + static_cast<std::uint64_t>(bad - slack.begin())},
                      {"size", end},
                      {"found", *bad},
                      {"expected", memory_.poison()},
                      {"what", "behind the end of a result"}});
}

void CoreScope::look(const std::vector<Tensor>& written, const char* kind) {
  for (auto& object : objects_) {
    Object& each = object.second;
    if (!each.is_given || each.picture.empty()) continue;
    const Storage& behind = *each.tensor.impl()->storage;
    bool is_output = false;
    std::vector<std::uint8_t> found = memory_.bytes_of(behind);
    for (const Tensor& target : written) {
      if (target.impl()->storage != &behind) continue;
      is_output = true;
      for_each_element(target, [&](std::uint64_t at) {
        std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(at - behind.offset),
                    target.itemsize(),
                    each.picture.begin() + static_cast<std::ptrdiff_t>(at - behind.offset));
      });
    }
    if (found == each.picture) continue;
    const auto place =
        std::mismatch(found.begin(), found.end(), each.picture.begin()).first - found.begin();
    watch.add(kind        ? kind
              : is_output ? "gaps"
                          : "inputs",
              {{"object", object.first},
               {"at", place},
               {"size", found.size()},
               {"found", found[static_cast<std::size_t>(place)]},
               {"expected", each.picture[static_cast<std::size_t>(place)]}});
    each.picture = std::move(found);
  }
}

}  // namespace bp::conform
