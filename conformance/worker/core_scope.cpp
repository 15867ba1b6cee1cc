#include "worker/core_scope.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include <backplane/autograd/autograd.hpp>
#include <backplane/capture/capture.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/counters.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_facts.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/error.hpp>

#include "inputs/values.hpp"
#include "refuse.hpp"

namespace bp::conform {
namespace {

// A tensor of any dtype and strides over the bytes of another one's storage.
Tensor tensor_within(const Tensor& bytes, Dtype dtype, const Json& shape, const Json& strides,
                     std::int64_t offset) {
  const TensorImpl& from = *bytes.impl();
  TensorImpl* impl = take_impl();
  impl->abi.dl.data = from.abi.dl.data;
  impl->abi.dl.device = from.abi.dl.device;
  impl->abi.dl.ndim = static_cast<std::int32_t>(shape.size());
  impl->abi.dl.dtype = dl_dtype(dtype);
  impl->abi.dl.byte_offset =
      from.storage->offset + static_cast<std::uint64_t>(offset) * itemsize(dtype);
  impl->abi.device = from.abi.device;
  impl->abi.space = from.abi.space;
  impl->abi.dtype = index(dtype);
  impl->abi.itemsize = itemsize(dtype);
  impl->backend = from.backend;
  impl->keys = thread_state().new_tensor_keys;
  impl->storage = from.storage;
  impl->storage->retain();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    impl->shape[i] = shape[i].get<std::int64_t>();
    impl->strides[i] = strides[i].get<std::int64_t>();
  }
  update_layout(*impl);
  return Tensor::adopt(impl);
}

Json dims_json(IntList list) {
  return Sizes(list.begin(), list.end());
}

}  // namespace

CoreScope::CoreScope(DeviceRecord& record, CoreMemory& memory, std::uint8_t poison,
                     CoreScope* within)
    : record_(record), memory_(memory), poison_(poison), within_(within) {
  memory_.set_poison(poison);
}

CoreScope::~CoreScope() {
  if (finished_) return;
  try {
    finish();
  } catch (const Error&) {
    // The device is lost; the process goes soon.
  }
}

Json CoreScope::step(const Json& step) {
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
  if (what == "stream") {
    streams_[step.at("object").get<int>()] =
        std::make_unique<Stream>(record_.device, step.value("priority", 0));
    return {{"code", BP_OK}};
  }
  if (what == "event") {
    events_[step.at("object").get<int>()] = std::make_unique<Event>(record_.device);
    return {{"code", BP_OK}};
  }
  if (what == "release") {
    settle();
    objects_.erase(step.at("object").get<int>());
    return {{"code", BP_OK}};
  }
  return queue_step(what, step);
}

CoreScope::Object& CoreScope::object(const Json& number) {
  const auto found = objects_.find(number.get<int>());
  if (found != objects_.end()) return found->second;
  if (within_) return within_->object(number);
  refuse("script: no object {}", number.get<int>());
}

// {"do":"tensor"}. "sparse": so many bytes of memory, of which only "pieces", [OFFSET, BINARY] each, are written.
Json CoreScope::make_tensor(const Json& step) {
  const Dtype dtype = dtype_from_name(step.at("dtype").get_ref<const std::string&>());
  const std::int64_t sparse = step.value("sparse", std::int64_t{0});
  static const Bytes nothing;
  const Bytes& data = sparse ? nothing : binary_of(step.at("storage"));
  const std::int64_t bytes = sparse ? sparse : static_cast<std::int64_t>(data.size());
  Object made;
  if (const auto on = step.find("on"); on != step.end()) {  // a probe's: of another device
    const Sizes shape = step.at("shape").get<Sizes>();
    objects_[step.at("object").get<int>()].tensor =
        empty_tensor(shape, dtype, bp::device(on->get<std::string>()));
    return {{"code", BP_OK}};
  }
  const Tensor memory = empty_tensor({bytes}, Dtype::u8, record_.device);
  made.is_given = true;
  made.tensor = tensor_within(memory, dtype, step.at("shape"), step.at("strides"),
                              step.value("offset", std::int64_t{0}));
  const Storage& behind = *memory.impl()->storage;
  if (sparse) {
    for (const Json& each : step.at("pieces")) {
      const auto& piece = binary_of(each.at(1));
      memory_.write(behind, each.at(0).get<std::uint64_t>(), piece.data(), piece.size());
    }
  } else {
    // Scribbled over as soon as the copy is done, as any application may.
    Bytes& sent = host_buffers_.emplace_back(data);
    memory_.write(behind, 0, sent.data(), sent.size());
    std::ranges::fill(sent, std::uint8_t{0x6d});
    made.picture = memory_.bytes_of(behind);
    if (!made.picture.empty() && std::memcmp(made.picture.data(), data.data(), data.size()) != 0)
      watch.add("copies", {{"object", step.at("object")},
                           {"what", "memory does not hold what was copied to it"}});
  }
  if (step.value("grad", false)) set_requires_grad(made.tensor);
  objects_[step.at("object").get<int>()] = std::move(made);
  return {{"code", BP_OK}};
}

void CoreScope::read_arguments(const Operator& op, const Json& list, Arguments& out) {
  const auto& arguments = op.schema->arguments;
  const auto tensor_of = [&](const Json& json) { return &object(json).tensor.impl()->abi; };
  if (list.size() > arguments.size())
    refuse("script: {} takes {} arguments", op.name(), arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    out.values.push_back(i < list.size()
                             ? read_value(list[i], out.lists, value_of(record_.device), tensor_of)
                             : arguments[i].default_value);
    if (arguments[i].type == ArgumentType::real && out.values[i].tag == BP_INT)
      out.values[i] = value_of(static_cast<double>(out.values[i].u.i));
  }
}

std::vector<Tensor> CoreScope::targets_of(const Json& step) {
  std::vector<Tensor> targets;
  if (step.value("in_place", false)) {
    targets.push_back(object(step.at("args").at(0).at("tensor")).tensor);
  } else if (const auto into = step.find("into"); into != step.end()) {
    for (const Json& each : *into) targets.push_back(object(each).tensor);
  }
  return targets;
}

Json CoreScope::late_error() {
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

Bytes CoreScope::elements(const Tensor& tensor) {
  const std::uint64_t width = tensor.itemsize();
  Bytes bytes(static_cast<std::size_t>(tensor.numel()) * width);
  if (bytes.empty()) return bytes;
  const Storage& behind = *tensor.impl()->storage;
  const ByteSpan span = touched_bytes(*tensor.impl());
  std::uint8_t* to = bytes.data();
  if (span.end - span.begin <= largest_watched) {
    Bytes all(span.end - span.begin);
    memory_.read(behind, span.begin - behind.offset, all.data(), all.size());
    if (tensor.is_contiguous()) return all;
    for_each_element(tensor, [&](std::uint64_t at) {
      std::memcpy(to, all.data() + (at - span.begin), width);
      to += width;
    });
  } else if (tensor.is_contiguous()) {
    memory_.read(behind, span.begin - behind.offset, bytes.data(), bytes.size());
  } else {
    for_each_element(tensor, [&](std::uint64_t at) {
      memory_.read(behind, at - behind.offset, to, width);
      to += width;
    });
  }
  return bytes;
}

Json CoreScope::values(const Json& step) {
  const Tensor& tensor = object(step.at("object")).tensor;
  if (Json late = late_error(); !late.is_null()) return late;
  const Bytes bytes = elements(tensor);
  // The way of an application gives the same.
  if (step.value("both_ways", false)) {
    Bytes other(bytes.size());
    copy_to_host_memory(tensor, other.data());
    if (other != bytes)
      watch.add("paths",
                {{"object", step.at("object")}, {"what", "copied to the host it reads otherwise"}});
  }
  return {{"code", BP_OK},
          {"bytes", Json::binary(bytes)},
          {"shape", dims_json(tensor.shape())},
          {"dtype", short_name(tensor.dtype())}};
}

Json CoreScope::storage(const Json& step) {
  const Tensor& tensor = object(step.at("object")).tensor;
  if (Json late = late_error(); !late.is_null()) return late;
  return {{"code", BP_OK}, {"bytes", Json::binary(memory_.bytes_of(*tensor.impl()->storage))}};
}

Json CoreScope::backward(const Json& step) {
  const auto tensors = [&](const char* key) {
    std::vector<Tensor> list;
    for (const Json& each : step.at(key)) list.push_back(object(each).tensor);
    return list;
  };
  std::vector<Tensor> results = tensors("results"), cotangents = tensors("cotangents");
  const std::vector<Tensor> inputs = tensors("inputs");
  for (std::size_t i = results.size(); i-- > 0;)
    if (!requires_grad(results[i])) {  // one that this form of the call does not have
      results.erase(results.begin() + static_cast<std::ptrdiff_t>(i));
      cotangents.erase(cotangents.begin() + static_cast<std::ptrdiff_t>(i));
    }
  if (!recycles_) empty_cache(record_.device);
  std::vector<Tensor> found(inputs.size());
  if (!results.empty()) found = autograd::grad(results, inputs, cotangents, {}, true);
  for (std::size_t i = 0; i < found.size(); ++i)  // none means zero
    if (!found[i].defined()) found[i] = zeros_like(inputs[i]);
  if (Json late = late_error(); !late.is_null()) return late;
  Json result = {{"code", BP_OK}, {"shapes", Json::array()}, {"dtypes", Json::array()}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    result["shapes"].push_back(dims_json(found[i].shape()));
    result["dtypes"].push_back(short_name(found[i].dtype()));
    objects_[step.at("gradients").at(i).get<int>()].tensor = found[i];
  }
  look({}, nullptr);
  memory_.look(watch);
  return result;
}

// {"do":"replays", "steps":[STEP...], "times":T} -> "by_device": what writes into given tensors, captured and replayed.
// STEP: a row; {"do":"copy", "into", "from"}, the object; {"do":"number", "into", "value"}, the object of no dimensions.
Json CoreScope::replays(const Json& step) {
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
      else if (const Json result = row(each); result["code"] != BP_OK)
        throw_error(static_cast<ErrorClass>(result["code"].get<bp_code>()),
                    result["message"].get<std::string>());
    }
  });
  for (int i = 0; i < step.at("times").get<int>(); ++i) recording.replay();
  if (Json late = late_error(); !late.is_null()) return late;
  look(written, nullptr);
  return {{"code", BP_OK}, {"by_device", recording.is_of_device()}};
}

Json CoreScope::queue_step(const std::string& what, const Json& step) {
  const int number = step.value("stream", 0);
  const auto stream = [&] {
    return number ? *streams_.at(number) : Stream::default_of(record_.device);
  };
  const auto event = [&](const char* key) -> Event& {
    return *events_.at(step.at(key).get<int>());
  };
  Json result = {{"code", BP_OK}};
  if (what == "synchronize") {
    if (number)
      stream().synchronize();
    else
      bp::synchronize(record_.device);
  } else if (what == "query_stream") {
    result["done"] = stream().query();
  } else if (what == "record") {
    event("event").record(stream());
  } else if (what == "wait") {
    event("event").wait(stream());
  } else if (what == "query_event") {
    result["done"] = event("event").query();
  } else if (what == "synchronize_event") {
    event("event").synchronize();
  } else if (what == "elapsed") {
    result["ms"] = event("event").elapsed_ms(event("until"));
  } else {
    refuse("script: the core lane has no step '{}'", what);
  }
  return result;
}

// {"do":"host", "threads":N?, "deterministic":B?, "seed":N?, "recycle":B?}: settings, until the script ends.
Json CoreScope::set_host(const Json& step) {
  if (step.contains("threads")) set_num_threads(step["threads"].get<std::uint32_t>());
  if (step.contains("deterministic")) set_deterministic(step["deterministic"].get<bool>());
  if (step.contains("seed")) manual_seed(step["seed"].get<std::uint64_t>());
  if (step.contains("recycle")) recycles_ = step["recycle"].get<bool>();
  return {{"code", BP_OK}};
}

Json CoreScope::alive() {
  std::uint8_t sent[100], came[100] = {};
  for (int i = 0; i < 100; ++i) sent[i] = static_cast<std::uint8_t>(i * 7 + 1);
  const Tensor tensor = empty_tensor({100}, Dtype::u8, record_.device);
  copy_from_host_memory(tensor, sent);
  copy_to_host_memory(tensor, came);
  return {{"code", BP_OK}, {"same", std::memcmp(sent, came, sizeof sent) == 0}};
}

std::uint64_t CoreScope::hash(int number) {
  const Bytes bytes = elements(object(number).tensor);
  return hash_bytes(bytes.data(), bytes.size());
}

void CoreScope::settle() {
  try {
    bp::synchronize(record_.device);
  } catch (const Error& error) {
    if (error.error_class() == ErrorClass::device_lost) watch.set_lost(error.what());
  }
}

void CoreScope::finish() {
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
      shapes.push_back(Sizes(results[i].shape().begin(), results[i].shape().end()));
      dtypes.push_back(short_name(results[i].dtype()));
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
  Bytes slack(behind->bytes - end);
  memory_.read(*behind, end, slack.data(), slack.size());
  const auto bad =
      std::ranges::find_if(slack, [&](std::uint8_t byte) { return byte != memory_.poison(); });
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
    Bytes found = memory_.bytes_of(behind);
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

namespace {

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
  Json describe() override { return {{"device", record_.name}}; }
  Counters counters() override {
    Counters now = process_counters();
    now.host_allocations = static_cast<std::int64_t>(host_memory_statistics().num_allocations -
                                                     host_memory_statistics().num_releases);
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
  ensure_operators();
  // Never destroyed: the core may release memory through it until the process ends.
  return std::make_unique<CoreLane>(device, plugin);
}

}  // namespace bp::conform
