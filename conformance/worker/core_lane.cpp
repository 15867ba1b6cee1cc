// The core lane: what an application calls.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include <backplane/autograd/autograd.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/runtime/storage_tensor.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/error.hpp>

#include "inputs/values.hpp"
#include "refuse.hpp"
#include "worker/scope.hpp"
#include "worker/watched_memory.hpp"

namespace bp::conform {
namespace {

// Calls `f` with the offset of each element from the start of the storage's allocation, in row-major order.
template <class F> void for_each_element(const Tensor& tensor, F&& f) {
  const bp_tensor& abi = tensor.impl()->abi;
  for_each_place(tensor.shape(), tensor.strides(), [&](std::int64_t place) {
    f(abi.dl.byte_offset + static_cast<std::uint64_t>(place) * abi.itemsize);
  });
}

// Did everything between the two get memory of its own? A result may get a piece that a conversion's kernel had as its
// workspace, and what lies behind its end is that kernel's then.
bool all_was_fresh(const MemoryStatistics& before, const MemoryStatistics& after) {
  return after.num_allocations - before.num_allocations <=
         after.num_backend_allocations - before.num_backend_allocations;
}

// By the path that the row's public functions take.
std::vector<Tensor> call_row(Operator& op, const Json& step, std::vector<bp_value>& values,
                             std::vector<Tensor> targets) {
  const auto count = static_cast<std::uint32_t>(values.size());
  const bool gives_one = op.schema->returns.size() == 1 && !op.schema->returns_list();
  const bool is_pointwise = op.kind == BP_KIND_POINTWISE && gives_one;
  if (!targets.empty()) {
    if (is_pointwise)
      call_pointwise_into(op, values.data(), count, targets.at(0));
    else if (gives_one)
      call_one_into(op, values.data(), count, targets.at(0));
    else
      call_many_into(op, values.data(), count, targets.data(),
                     static_cast<std::uint32_t>(targets.size()));
    return targets;
  }
  if (step.value("boxed", false)) return call_boxed(op, values);
  if (is_pointwise) return {call_pointwise(op, values.data(), count)};
  if (op.kind == BP_KIND_VIEW && op.view) return {call_view(op, values.data(), count)};
  return call_all(op, values.data(), count);
}

Json shape_json(const Tensor& tensor) {
  return Sizes(tensor.shape().begin(), tensor.shape().end());
}

// The shapes and dtypes of results, among the rest of an answer.
void describe(const std::vector<Tensor>& results, Json& answer) {
  Json &shapes = answer["shapes"] = Json::array(), &dtypes = answer["dtypes"] = Json::array();
  for (const Tensor& each : results) {
    shapes.push_back(shape_json(each));
    dtypes.push_back(short_name(each.dtype()));
  }
}

class CoreScope : public Scope {
 public:
  CoreScope(DeviceRecord& record, CoreMemory& memory, std::uint8_t poison, CoreScope* within)
      : record_(record), memory_(memory), within_(within) {
    memory_.set_poison(poison);
  }
  ~CoreScope() override {
    if (finished_) return;
    try {
      finish();
    } catch (const Error&) {
      // The device is lost; the process goes soon.
    }
  }

  Json step(const Json& step) override {
    const std::string& what = step.at("do").get_ref<const std::string&>();
    if (what == "row") return row(step);
    if (what == "tensor") return make_tensor(step);
    if (what == "values") return values(step);
    if (what == "storage") return storage(step);
    if (what == "backward") return backward(step);
    if (what == "replays") return replays(step);
    if (what == "host") return set_host(step);
    if (what == "alive") return alive();
    if (what == "side_streams") return run_side_streams(record_, step);
    return queue_step(what, step);
  }

  std::uint64_t hash(int number) override {
    const Bytes bytes = elements(object(number).tensor);
    return hash_bytes(bytes.data(), bytes.size());
  }

  void finish() override {
    if (std::exchange(finished_, true)) return;
    settle();
    if (!watch.lost()) {
      look({}, nullptr);
      if (!within_) memory_.look(watch);
    }
    objects_.clear();
    events_.clear();
    streams_.clear();
    if (within_) return;
    settle();
    // So that the next script's memory is fresh, and zones of what is gone were looked at.
    empty_cache(record_.device);
    memory_.take_findings(watch);
  }

 private:
  struct Object {
    Tensor tensor;
    bool is_given = false;  // made by the script, not by a row
    Bytes picture;          // of its storage, as last seen
  };

  // Waits for all work of this scope.
  void settle() {
    try {
      bp::synchronize(record_.device);
    } catch (const Error& error) {
      if (error.error_class() == ErrorClass::device_lost) watch.set_lost(error.what());
    }
  }

  Object& object(const Json& number) {
    const auto found = objects_.find(number.get<int>());
    if (found != objects_.end()) return found->second;
    if (within_) return within_->object(number);
    refuse("script: no object {}", number.get<int>());
  }
  std::vector<Tensor> tensors(const Json& numbers) {
    std::vector<Tensor> list;
    for (const Json& each : numbers) list.push_back(object(each).tensor);
    return list;
  }
  std::vector<Tensor> targets_of(const Json& step) {
    if (step.value("in_place", false)) return tensors({step.at("args").at(0).at("tensor")});
    return tensors(step.value("into", Json::array()));
  }

  // {"do":"tensor"}. "sparse": so many bytes of memory, of which only "pieces", [OFFSET, BINARY] each, are written.
  Json make_tensor(const Json& step) {
    const Dtype dtype = dtype_from_name(step.at("dtype").get_ref<const std::string&>());
    const auto shape = step.at("shape").get<Sizes>();
    Object made;
    if (const auto on = step.find("on"); on != step.end())  // a probe's: of another device
      made.tensor = empty_tensor(shape, dtype, bp::device(on->get<std::string>()));
    else
      fill(step, shape, dtype, made);
    if (step.value("grad", false)) set_requires_grad(made.tensor);
    objects_[step.at("object").get<int>()] = std::move(made);
    return {};
  }

  void fill(const Json& step, const Sizes& shape, Dtype dtype, Object& made) {
    const auto sparse = step.value<std::int64_t>("sparse", 0);
    static const Bytes nothing;
    const Bytes& data = sparse ? nothing : step.at("storage").get_binary();
    const std::int64_t bytes = sparse ? sparse : static_cast<std::int64_t>(data.size());
    const Tensor memory = empty_tensor({bytes}, Dtype::u8, record_.device);
    Storage& behind = *memory.impl()->storage;
    made.is_given = true;
    made.tensor = tensor_over_storage(&behind, shape, step.at("strides").get<Sizes>(), dtype,
                                      step.value<std::int64_t>("offset", 0));
    made.tensor.impl()->keys = thread_state().new_tensor_keys;
    for (const Json& each : step.value("pieces", Json::array()))
      memory_.write(behind, each.at(0).get<std::uint64_t>(), each.at(1).get_binary());
    if (sparse) return;
    memory_.write(behind, 0, data);
    made.picture = memory_.bytes_of(behind);
    if (!made.picture.empty() && !std::equal(data.begin(), data.end(), made.picture.begin()))
      watch.add("copies", {{"object", step.at("object")},
                           {"what", "memory does not hold what was copied to it"}});
  }

  // The error of work that was given before, or null.
  Json late_error() {
    if (record_.synchronous) return {};
    try {
      bp::synchronize(record_.device);
    } catch (const Error& error) {
      Json result = failure_json(error);
      result["late"] = true;
      return result;
    }
    return {};
  }

  Bytes elements(const Tensor& tensor) {
    Bytes bytes(static_cast<std::size_t>(tensor.numel()) * tensor.itemsize());
    if (bytes.empty()) return bytes;
    const Storage& behind = *tensor.impl()->storage;
    const ByteSpan span = touched_bytes(*tensor.impl());
    const std::uint64_t begin = span.begin - behind.offset, width = tensor.itemsize();
    if (tensor.is_contiguous()) {
      memory_.read(behind, begin, bytes);
      return bytes;
    }
    const bool at_once = span.end - span.begin <= largest_watched;
    Bytes all(at_once ? span.end - span.begin : width);
    if (at_once) memory_.read(behind, begin, all);
    for_each_element(tensor, [&, to = bytes.begin()](std::uint64_t at) mutable {
      if (!at_once) memory_.read(behind, at - behind.offset, all);
      const std::uint64_t place = at_once ? at - span.begin : 0;
      to = std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(place), width, to);
    });
    return bytes;
  }

  Json values(const Json& step) {
    const Tensor& tensor = object(step.at("object")).tensor;
    if (Json late = late_error(); !late.is_null()) return late;
    const Bytes bytes = elements(tensor);
    // The way of an application gives the same.
    if (step.value("both_ways", false)) {
      Bytes other(bytes.size());
      copy_to_host_memory(tensor, other.data());
      if (other != bytes)
        watch.add("paths", {{"object", step.at("object")},
                            {"what", "copied to the host it reads otherwise"}});
    }
    return {{"bytes", Json::binary(bytes)},
            {"shape", shape_json(tensor)},
            {"dtype", short_name(tensor.dtype())}};
  }

  Json storage(const Json& step) {
    const Tensor& tensor = object(step.at("object")).tensor;
    if (Json late = late_error(); !late.is_null()) return late;
    return {{"bytes", Json::binary(memory_.bytes_of(*tensor.impl()->storage))}};
  }

  Json backward(const Json& step) {
    std::vector<Tensor> results, cotangents;
    for (std::size_t i = 0; i < step.at("results").size(); ++i) {
      const Tensor& result = object(step["results"][i]).tensor;
      if (!requires_grad(result)) continue;  // one that this form of the call does not have
      results.push_back(result);
      cotangents.push_back(object(step.at("cotangents").at(i)).tensor);
    }
    const std::vector<Tensor> inputs = tensors(step.at("inputs"));
    if (!recycles_) empty_cache(record_.device);
    std::vector<Tensor> found(inputs.size());
    if (!results.empty()) found = autograd::grad(results, inputs, cotangents, {}, true);
    for (std::size_t i = 0; i < found.size(); ++i)  // none means zero
      if (!found[i].defined()) found[i] = zeros_like(inputs[i]);
    if (Json late = late_error(); !late.is_null()) return late;
    Json result;
    describe(found, result);
    for (std::size_t i = 0; i < found.size(); ++i)
      objects_[step.at("gradients").at(i).get<int>()].tensor = found[i];
    look({}, nullptr);
    memory_.look(watch);
    return result;
  }

  // {"do":"replays", "steps":[STEP...], "times":T} -> "by_device": what writes into given tensors, captured and replayed.
  // STEP: a row; {"do":"copy", "into", "from"}, the object; {"do":"number", "into", "value"}, the object of no dimensions.
  Json replays(const Json& step) {
    std::vector<Tensor> written;
    Recording recording = capture(record_.device, [&] {
      const CoreMemory::Pause pause(memory_);
      for (Json each : step.at("steps")) {
        each.update({{"quiet", true}, {"synchronize", false}});
        const std::vector<Tensor> targets = targets_of(each);
        written.insert(written.end(), targets.begin(), targets.end());
        if (each.at("do") == "copy")
          copy_into(targets.at(0), object(each.at("from")).tensor);
        else if (each.at("do") == "number")
          copy_into(targets.at(0), scalar_tensor(each.at("value").get<double>(),
                                                 targets.at(0).dtype(), record_.device));
        else if (const Json result = row(each); result.contains("code"))
          throw_error(static_cast<ErrorClass>(result["code"].get<bp_code>()),
                      result["message"].get<std::string>());
      }
    });
    for (int i = 0; i < step.at("times").get<int>(); ++i) recording.replay();
    if (Json late = late_error(); !late.is_null()) return late;
    look(written, nullptr);
    return {{"by_device", recording.is_of_device()}};
  }

  Json queue_step(const std::string& what, const Json& step) {
    const int object = step.value("object", 0), number = step.value("stream", 0);
    const auto event = [&](const char* key) -> Event& { return events_.at(step.at(key)); };
    if (what == "stream") {
      streams_.insert_or_assign(object, Stream(record_.device, step.value("priority", 0)));
    } else if (what == "event") {
      events_.erase(object);
      events_.emplace(object, record_.device);
    } else if (what == "release") {
      settle();
      objects_.erase(object);
    } else if (what == "synchronize") {
      number ? stream(number).synchronize() : bp::synchronize(record_.device);
    } else if (what == "query_stream") {
      return {{"done", stream(number).query()}};
    } else if (what == "record") {
      event("event").record(stream(number));
    } else if (what == "wait") {
      event("event").wait(stream(number));
    } else if (what == "query_event") {
      return {{"done", event("event").query()}};
    } else if (what == "synchronize_event") {
      event("event").synchronize();
    } else if (what == "elapsed") {
      return {{"ms", event("event").elapsed_ms(event("until"))}};
    } else {
      refuse("script: the core lane has no step '{}'", what);
    }
    return {};
  }

  Stream stream(int number) const {
    return number ? streams_.at(number) : Stream::default_of(record_.device);
  }

  Json set_host(const Json& step) {
    if (step.contains("threads")) set_num_threads(step["threads"].get<std::uint32_t>());
    if (step.contains("deterministic")) set_deterministic(step["deterministic"].get<bool>());
    if (step.contains("seed")) manual_seed(step["seed"].get<std::uint64_t>());
    if (step.contains("recycle")) recycles_ = step["recycle"].get<bool>();
    return {};
  }

  Json alive() {
    const Tensor tensor = empty_tensor({num_sent}, Dtype::u8, record_.device);
    return there_and_back([&](const void* sent) { copy_from_host_memory(tensor, sent); },
                          [&](void* came) { copy_to_host_memory(tensor, came); });
  }

  std::vector<bp_value> read_arguments(const Operator& op, const Json& list, ArgumentLists& lists) {
    std::vector<bp_value> values;
    const auto& arguments = op.schema->arguments;
    const auto tensor_of = [&](const Json& json) { return &object(json).tensor.impl()->abi; };
    if (list.size() > arguments.size())
      refuse("script: {} takes {} arguments", op.name(), arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      bp_value& value = values.emplace_back(arguments[i].default_value);
      if (i < list.size()) value = read_value(list[i], lists, value_of(record_.device), tensor_of);
      if (arguments[i].type == ArgumentType::real && value.tag == BP_INT)
        value = value_of(static_cast<double>(value.u.i));
    }
    return values;
  }

  // {"do":"row", "op", "args", "results", "into"?, "in_place"?, "stream"?, "boxed"?, "quiet"?}
  Json row(const Json& step) {
    const std::string& name = step.at("op").get_ref<const std::string&>();
    Operator* op = find_operator(name);
    if (!op) {
      call_boxed(name, {});  // says so in the core's own words
      throw_error(ErrorClass::internal, "an operator that nobody can find was called");
    }
    const bool quiet = step.value("quiet", false), waits = step.value("synchronize", true);
    ArgumentLists lists;
    std::vector<bp_value> arguments = read_arguments(*op, step.at("args"), lists);
    const std::vector<Tensor> targets = targets_of(step);
    if (!quiet && !recycles_) empty_cache(record_.device);
    std::optional<StreamGuard> guard;
    if (const int number = step.value("stream", 0)) guard.emplace(stream(number));
    if (!quiet) reset_call_counts();
    Json result = Json::object();
    std::vector<Tensor> results;
    const MemoryStatistics before = memory_statistics(record_.device);
    try {
      results = call_row(*op, step, arguments, targets);
    } catch (const Error& error) {
      result = failure_json(error);
    }
    const bool failed = result.contains("code");
    const bool is_fresh = all_was_fresh(before, memory_statistics(record_.device));
    if (!quiet) note_served(result);
    if (waits)
      if (const Json late = late_error(); !late.is_null() && !failed) result.update(late);
    if (!failed) {
      const Json& names = step.at("results");
      describe(results, result);
      for (std::size_t i = 0; targets.empty() && i < std::min(results.size(), names.size()); ++i)
        objects_[names[i].get<int>()] = {results[i], false, {}};
    }
    if (quiet || !waits) return result;
    // A bad index that a kernel met leaves its outputs undefined; any other refusal leaves all as it was.
    const bool untouched = failed && !step.value("undefined", false);
    look(untouched ? std::vector<Tensor>() : targets, untouched ? "failed" : nullptr);
    const bool by_one_kernel = result["served"] == Json{{op->name(), "native"}};
    if (!failed && targets.empty() && by_one_kernel && !recycles_ && is_fresh)
      for (const Tensor& each : results) look_at_slack(each);
    memory_.look(watch);
    return result;
  }

  void note_served(Json& result) {
    Json& served = result["served"] = Json::object();
    for (const CallCount& count : call_counts()) {
      if (count.backend != record_.backend->name) continue;
      for (std::uint32_t rung = 0; rung < num_rungs; ++rung)
        if (count.calls[rung] != 0)
          served[count.op] = bp::name(static_cast<Rung>(rung));  // the worst one stays
    }
  }

  // Between a result's last byte and the end of what the allocator rounded it up to.
  void look_at_slack(const Tensor& result) {
    const Storage* behind = result.impl()->storage;
    if (!behind || behind->bytes == 0 || behind->bytes > largest_watched) return;
    for (const auto& [number, each] : objects_)
      if (each.is_given && each.tensor.impl()->storage == behind) return;
    const ByteSpan span = touched_bytes(*result.impl());
    const std::uint64_t end = std::max(span.end, behind->offset) - behind->offset;
    if (end >= behind->bytes) return;
    Bytes slack(behind->bytes - end);
    memory_.read(*behind, end, slack);
    const auto bad =
        std::ranges::find_if(slack, [&](std::uint8_t byte) { return byte != memory_.poison(); });
    if (bad == slack.end()) return;
    watch.add("zones", {{"at", end + static_cast<std::uint64_t>(bad - slack.begin())},
                        {"size", end},
                        {"found", *bad},
                        {"expected", memory_.poison()},
                        {"what", "behind the end of a result"}});
  }

  // Compares all that the script made with its pictures; elements of `written` may differ.
  void look(const std::vector<Tensor>& written, const char* kind) {
    for (auto& [number, each] : objects_) {
      if (!each.is_given || each.picture.empty()) continue;
      const Storage& behind = *each.tensor.impl()->storage;
      const char* role = "inputs";
      Bytes found = memory_.bytes_of(behind);
      for (const Tensor& target : written) {
        if (target.impl()->storage != &behind) continue;
        role = "gaps";
        for_each_element(target, [&, &picture = each.picture](std::uint64_t at) {
          const auto place = static_cast<std::ptrdiff_t>(at - behind.offset);
          std::copy_n(found.begin() + place, target.itemsize(), picture.begin() + place);
        });
      }
      const auto [seen, expected] = std::ranges::mismatch(found, each.picture);
      if (seen == found.end()) continue;
      watch.add(kind ? kind : role, {{"object", number},
                                     {"at", seen - found.begin()},
                                     {"size", found.size()},
                                     {"found", *seen},
                                     {"expected", *expected}});
      each.picture = std::move(found);
    }
  }

  DeviceRecord& record_;
  CoreMemory& memory_;
  CoreScope* const within_;  // where objects are looked for that are not here
  std::map<int, Object> objects_;
  std::map<int, Stream> streams_;
  std::map<int, Event> events_;
  bool recycles_ = false, finished_ = false;
};

DeviceRecord& record_of(const std::string& device, const std::string& plugin) {
  if (!plugin.empty()) load_plugin(plugin);
  // Found, not opened yet: how it deals with memory is settled when it is.
  const Device found = bp::device(device);
  for (const DeviceRecord* record : registered_devices())
    if (record->device == found) return const_cast<DeviceRecord&>(*record);
  refuse("there is no device '{}'", device);
}

class CoreLane : public LaneDriver {
 public:
  CoreLane(const std::string& device, const std::string& plugin)
      : record_(record_of(device, plugin)), memory_(record_), threads_(bp::num_threads()) {}
  std::unique_ptr<Scope> scope(std::uint8_t poison, Scope* within) override {
    return std::make_unique<CoreScope>(record_, memory_, poison, static_cast<CoreScope*>(within));
  }
  Counters counters() override {
    Counters now = process_counters();
    const auto host = host_memory_statistics();
    now.host_allocations = static_cast<std::int64_t>(host.num_allocations - host.num_releases);
    now.device_allocations = memory_.num_live();
    return now;
  }
  std::uint64_t varying_calls() const override { return bp::varying_calls(); }
  void reset() override {
    set_deterministic(false);
    set_num_threads(threads_);
  }

 private:
  DeviceRecord& record_;
  CoreMemory memory_;
  const std::uint32_t threads_;
};

}  // namespace

std::unique_ptr<LaneDriver> open_core_lane(const std::string& device, const std::string& plugin) {
  // Never destroyed: the core may release memory through it until the process ends.
  return std::make_unique<CoreLane>(device, plugin);
}

}  // namespace bp::conform
