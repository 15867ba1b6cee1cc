// The bare lane: nothing is open; steps open the plugin themselves, as often and as oddly as probes want.
//
//   {"do":"lint"} -> "refused": [SENTENCE...], "warnings": {RULE: SENTENCE}
//   {"do":"cycle", "times":T, "milliseconds":M, "at_least":A} -> "times", "growth" as of repeat: opened, used, closed
//   {"do":"abi", "what":"usual"|"newer"|"only_future", "level":L?} -> "abi", "devices", "kernels", "calls"
//   {"do":"extensions"} -> "unknown": [NAME...] that were answered though nobody knows them, "future": known ones in a
//      version that does not exist, "known": [NAME...]
//   {"do":"devices"} -> "same": both answers agree, "count", "infos": what is wrong with one, as sentences
//   {"do":"probe"} -> "codes" of two calls before init
//   {"do":"core_cycle", "times":T} -> loaded and unloaded through the core, with a sum in between
//   {"do":"together", "plugins":[{"path", "device"}...]} -> "outputs": {DEVICE: BINARY} of a small computation in the core
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/loader.hpp>
#include <backplane/dispatcher/loading/elf_lint.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tensor/error.hpp>

#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A host that is newer than this one: its structs are longer, and what is behind the known part is noise.
struct FutureHost {
  bp_host known{};
  std::uint8_t more[64];
};

// Values that all devices compute alike, however they round: small integers in f32.
std::vector<std::uint8_t> compute_on(Device device) {
  float values[35], more[35];
  for (int i = 0; i < 35; ++i) {
    values[i] = static_cast<float>(i % 7 - 3);
    more[i] = static_cast<float>(i % 5 - 2);
  }
  const Tensor a = empty_tensor({5, 7}, f32, device), b = empty_tensor({7, 5}, f32, device);
  copy_from_host_memory(a, values);
  copy_from_host_memory(b, more);
  const Tensor product = matmul(a, b);                               // [5, 5]
  const Tensor mixed = add(mul(product, product), sum(a, 1, true));  // [5, 5]
  std::vector<std::uint8_t> bytes(mixed.nbytes());
  copy_to_host_memory(mixed, bytes.data());
  return bytes;
}

class BareScope : public Scope {
 public:
  BareScope(std::string device, std::string plugin)
      : device_(std::move(device)), given_(std::move(plugin)) {}

  Json step(const Json& step) override {
    const std::string& what = step.at("do").get_ref<const std::string&>();
    if (what == "lint") return lint();
    if (what == "cycle") return cycle(step, false);
    if (what == "core_cycle") return cycle(step, true);
    if (what == "abi") return abi(step);
    if (what == "extensions") return extensions();
    if (what == "devices") return devices();
    if (what == "probe") return probe();
    if (what == "together") return together(step);
    throw_error(ErrorClass::bad_argument,
                fmt::format("script: the bare lane has no step '{}'", what));
  }
  std::uint64_t hash(int) override { return 0; }
  void settle() override {}
  void finish() override {}

 private:
  const std::string& file() {
    if (file_.empty()) file_ = find_plugin_file(device_, given_);
    return file_;
  }

  Json lint() {
    Json refused = Json::array(), warnings = Json::object();
    for (const loading::Finding& finding : loading::lint(file()).findings) {
      if (finding.severity == loading::Severity::refuse)
        refused.push_back(finding.sentence);
      else
        warnings[finding.rule] = finding.sentence;
    }
    return {{"code", BP_OK}, {"refused", refused}, {"warnings", warnings}};
  }

  void use_once(bool by_core) {
    if (by_core) {
      Backend& backend = load_plugin(file());
      const std::size_t colon = device_.rfind(':');
      const std::size_t index =
          colon == std::string::npos
              ? 0
              : static_cast<std::size_t>(std::stoul(device_.substr(colon + 1)));
      compute_on(backend.devices.at(index)->device);
      unload_plugin(backend);
      return;
    }
    DirectPlugin plugin(device_, file());
    DirectScope scope(plugin, 0x33);
    if (!scope.step({{"do", "alive"}}).value("same", false))
      throw_error(ErrorClass::internal,
                  "after loading again, a copy there and back gave other bytes");
    scope.finish();
    watch.merge(scope.watch);
  }

  Json cycle(const Json& step, bool by_core) {
    const std::int64_t times = step.at("times").get<std::int64_t>(),
                       least = step.value("at_least", times);
    const double limit = step.value("milliseconds", 0.0);
    const Clock::time_point begin = Clock::now();
    std::vector<Counters> marks;
    std::int64_t done = 0;
    // The first two are not counted: what a library makes once stays.
    for (; done < times && (done < least || limit <= 0 || milliseconds_since(begin) < limit);
         ++done) {
      use_once(by_core);
      if (done >= 1) marks.push_back(process_counters());
    }
    Json growth = Json::object();
    for (int quarter = 1; quarter <= 4 && marks.size() >= 4; ++quarter) {
      const Json base = counters_json(marks[0]);
      const Json now =
          counters_json(marks[marks.size() * static_cast<std::size_t>(quarter) / 4 - 1]);
      for (const auto& [key, value] : now.items())
        growth[key].push_back(value.get<std::int64_t>() - base[key].get<std::int64_t>());
    }
    return {{"code", BP_OK}, {"times", done}, {"growth", growth}};
  }

  // The library with another host than usual, up to its answer.
  Json abi(const Json& step) {
    const std::string what = step.at("what").get<std::string>();
    DirectHost host(file());
    FutureHost future;
    std::memset(future.more, 0xAA, sizeof future.more);
    const std::uint32_t level = step.value("level", BP_ABI_LEVEL);
    if (what == "usual") host.set_levels(1, level);
    if (what == "newer") host.set_levels(1, level + 7);
    if (what == "only_future") host.set_levels(level + 1000, level + 1001);
    future.known = host.table();
    if (what != "usual") future.known.h.size = sizeof future;
    loading::PluginLibrary library;
    const loading::Outcome opened = loading::PluginLibrary::open(
        file(), future.known, [](const bp_host&) { return std::string_view(told_error().message); },
        &library);
    if (!opened.ok()) return {{"code", opened.code}, {"message", opened.message}};
    const bp_plugin& plugin = *library.plugin();
    Json result = {{"code", BP_OK}, {"abi", plugin.abi}, {"kernels", plugin.num_kernels}};
    result["init"] = plugin.init ? plugin.init(plugin.self) : BP_OK;
    if (result["init"] == BP_OK) ask_long_infos(plugin, result);
    if (plugin.shutdown) plugin.shutdown(plugin.self);
    return result;
  }

  // Infos of a newer host lie further apart, and their unknown part stays as it was; infos of this one are short for a
  // plugin that is newer.
  static void ask_long_infos(const bp_plugin& plugin, Json& result) {
    struct LongInfo {
      bp_device_info known{};
      std::uint8_t of_later_levels[448];  // a plugin that is newer than this suite may know it
      std::uint8_t more[64];
    };
    std::uint32_t count = 0;
    result["devices_code"] = plugin.devices(plugin.self, &count, nullptr);
    result["wrote_behind"] = ask_short_infos(plugin, count);
    std::vector<LongInfo> infos(count);
    for (LongInfo& info : infos) {
      info.known.h = {sizeof(LongInfo), BP_TYPE_DEVICE_INFO, nullptr};
      std::memset(info.more, 0xAA, sizeof info.more);
    }
    if (count != 0) result["devices_code"] = plugin.devices(plugin.self, &count, &infos[0].known);
    bool touched = false, named = true;
    for (const LongInfo& info : infos) {
      named = named && info.known.name[0] != 0 && info.known.h.type == BP_TYPE_DEVICE_INFO;
      for (const std::uint8_t byte : info.more) touched = touched || byte != 0xAA;
    }
    result["count"] = count;
    result["unknown_part_touched"] = touched;
    result["all_named"] = named;
  }

  // Does the plugin write more of an info than the host says that there is?
  static bool ask_short_infos(const bp_plugin& plugin, std::uint32_t count) {
    std::vector<bp_device_info> infos(count + 1);
    for (bp_device_info& info : infos)
      info.h = {sizeof(bp_device_info), BP_TYPE_DEVICE_INFO, nullptr};
    std::memset(&infos[count], 0xAA, sizeof infos[count]);
    if (count != 0) plugin.devices(plugin.self, &count, infos.data());
    const auto* behind = reinterpret_cast<const std::uint8_t*>(&infos.back());
    return std::any_of(behind, behind + sizeof infos.back(),
                       [](std::uint8_t byte) { return byte != 0xAA; });
  }

  Json extensions() {
    const DirectPlugin plugin(device_, file());
    Json unknown = Json::array(), future = Json::array(), known = Json::array();
    for (const char* name : {"conform.no_such_thing", "bp.", "bp.compilerx", ""})
      if (plugin.extension(name, 1)) unknown.push_back(name);
    for (const char* name :
         {"bp.compiler", "bp.program", "bp.capture", "bp.interop", "bp.peer", "bp.numerics"}) {
      if (plugin.extension(name, 1)) known.push_back(name);
      if (plugin.extension(name, 0x7fffffff)) future.push_back(name);
    }
    return {{"code", BP_OK}, {"unknown", unknown}, {"future", future}, {"known", known}};
  }

  Json devices() {
    const DirectPlugin plugin(device_, file());
    std::vector<bp_device_info> first(plugin.num_devices), second(plugin.num_devices);
    Json wrong = Json::array();
    for (auto* infos : {&first, &second}) {
      for (bp_device_info& each : *infos)
        each.h = {sizeof(bp_device_info), BP_TYPE_DEVICE_INFO, nullptr};
      std::uint32_t count = plugin.num_devices;
      if (const bp_code code = plugin.plugin->devices(plugin.plugin->self, &count, infos->data());
          code != BP_OK)
        return answer(code);
      if (count != plugin.num_devices)
        wrong.push_back(fmt::format("{} devices at first, then {}", plugin.num_devices, count));
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      const bp_device_info &a = first[i], &b = second[i];
      if (std::strncmp(a.name, b.name, sizeof a.name) != 0 || a.flags != b.flags ||
          a.total_memory != b.total_memory || a.offset_alignment != b.offset_alignment ||
          a.max_allocation != b.max_allocation)
        wrong.push_back(fmt::format("device {} describes itself in two ways", i));
      if (strnlen(a.name, sizeof a.name) == sizeof a.name)
        wrong.push_back(fmt::format("the name of device {} has no end", i));
      if (a.name[0] == 0) wrong.push_back(fmt::format("device {} has no name", i));
      const std::uint64_t step = a.offset_alignment;
      if ((step & (step - 1)) != 0)
        wrong.push_back(fmt::format("offset_alignment {} is no power of two", step));
    }
    return {{"code", BP_OK}, {"count", plugin.num_devices}, {"infos", wrong}};
  }

  Json probe() {
    DirectHost host(file());
    loading::PluginLibrary library;
    const loading::Outcome opened = loading::PluginLibrary::open(
        file(), host.table(), [](const bp_host&) { return std::string_view(told_error().message); },
        &library);
    if (!opened.ok()) return {{"code", opened.code}, {"message", opened.message}};
    const bp_plugin& plugin = *library.plugin();
    Json codes = Json::array();
    for (int i = 0; i < 2; ++i) codes.push_back(plugin.probe ? plugin.probe(plugin.self) : BP_OK);
    // The last call, also where init was never called.
    if (plugin.shutdown) plugin.shutdown(plugin.self);
    return {{"code", BP_OK}, {"codes", codes}};
  }

  static Json together(const Json& step) {
    ensure_operators();
    Json outputs = Json::object();
    std::vector<Backend*> loaded;
    std::vector<Device> devices;
    for (const Json& each : step.at("plugins")) {
      const std::string name = each.at("device").get<std::string>();
      loaded.push_back(&load_plugin(find_plugin_file(name, each.value("path", std::string()))));
      devices.push_back(bp::device(name));
    }
    // In turns, so that each works while the others are there.
    for (int round = 0; round < 2; ++round)
      for (std::size_t i = 0; i < devices.size(); ++i)
        outputs[step["plugins"][i]["device"].get<std::string>()] =
            Json::binary(compute_on(devices[i]));
    for (std::size_t i = loaded.size(); i-- > 0;) unload_plugin(*loaded[i]);
    return {{"code", BP_OK}, {"outputs", outputs}};
  }

  const std::string device_, given_;
  std::string file_;
};

class BareLane : public LaneDriver {
 public:
  BareLane(std::string device, std::string plugin)
      : device_(std::move(device)), plugin_(std::move(plugin)) {}
  std::unique_ptr<Scope> scope(std::uint8_t, Scope*) override {
    return std::make_unique<BareScope>(device_, plugin_);
  }
  Json describe() override { return {{"device", device_}}; }
  Counters counters() override { return process_counters(); }
  std::string alive() override { return ""; }

 private:
  const std::string device_, plugin_;
};

}  // namespace

std::unique_ptr<LaneDriver> open_bare_lane(const std::string& device, const std::string& plugin) {
  ensure_operators();
  return std::make_unique<BareLane>(device, plugin);
}

}  // namespace bp::conform
