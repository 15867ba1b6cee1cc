// The bare lane: nothing is open; steps open the plugin themselves, as often and as oddly as probes want.
//
//   {"do":"lint"} -> "refused": [SENTENCE...], "warnings": {RULE: SENTENCE}
//   {"do":"cycle", "times":T, "milliseconds":M, "at_least":A} -> "times", "growth" as of repeat: opened, used, closed
//   {"do":"abi", "what":"older"|"newer"|"only_future", "skew":WORD} -> "abi", "kernels", "init", "devices_code", "infos", "fault"
//   {"do":"compile", "skew":WORD} -> "offered", "fault": an empty kernel through bp.compiler
//   {"do":"extensions"} -> "unknown": [NAME...] that were answered though nobody knows them, "future": known ones in a
//      version that does not exist, "known": [NAME...]
//   {"do":"facts"} -> "counts": how many devices there were when they were opened, and each time that they were asked;
//      "first", "second": what each device says of itself, asked twice; texts with all their bytes
//   {"do":"links"} -> "links": [{"to", "from", "code", "kind"}...] between all devices that open
//   {"do":"probe"} -> "codes" of two calls before init
//   {"do":"two_hosts"} -> "second", "message": what a second host of the process is answered; "works", "told": of the first
//      afterwards, was it told its own error? "strayed": errors that the second was told
//   {"do":"core_cycle", "times":T} -> loaded and unloaded through the core, with a sum in between
//   {"do":"together", "plugins":[{"path", "device"}...]} -> "outputs": {DEVICE: BINARY} of a small computation in the core
#include <algorithm>
#include <chrono>
#include <cstring>
#include <sstream>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/extensions/compiler.h>
#include <backplane/extensions/peer.h>
#include <backplane/loading/elf_lint.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/generated/abi_sizes.hpp>
#include <backplane/tensor/error.hpp>

#include "refuse.hpp"
#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

// Null for a language that has no words.
const char* empty_kernel(const std::string& language) {
  if (language == BP_LANGUAGE_OPENCL_C) return "__kernel void nothing(void) {}";
  if (language == BP_LANGUAGE_CUDA_CXX) return "extern \"C\" __global__ void nothing() {}";
  if (language == BP_LANGUAGE_C11)
    return "#include <stdint.h>\n"
           "void nothing(void* const* memory, const void* values, const uint64_t* item) {\n"
           "  (void)memory, (void)values, (void)item;\n}\n";
  return nullptr;
}

// A kernel that does nothing, through bp.compiler, whose structs may be those of another level. "fault": what was written
// where nothing is to be written.
class Nothing {
 public:
  Nothing(const DirectPlugin& plugin, const bp_compiler& api, Skew skew)
      : plugin_(plugin), api_(api), skew_(skew) {}

  Json run() {
    bp_compiler_info none{};
    none.h = {sizeof none, BP_COMPILER_INFO_TYPE, nullptr};
    const SkewedStruct info("bp_compiler_info", &none, sizeof none, skew_);
    told_error() = {};
    bp_code code = api_.describe(plugin_.device, info.as<bp_compiler_info>());
    fault_ = info.fault();
    if (code == BP_OK) code = compile(*info.as<bp_compiler_info>());
    return answer(code, {{"offered", true}, {"fault", fault_}});
  }

 private:
  // The fields that it reads are of level 1.
  bp_code compile(const bp_compiler_info& info) {
    std::istringstream languages(info.languages ? info.languages : "");
    std::string language;
    const char* code = nullptr;
    while (!code && languages >> language) code = empty_kernel(language);
    if (!code) return BP_OK;
    const bp_source plain = {{sizeof plain, BP_SOURCE_TYPE, nullptr},
                             language.c_str(),
                             "nothing",
                             code,
                             std::strlen(code),
                             ""};
    const SkewedStruct source("bp_source", &plain, sizeof plain, skew_);
    bp_module* module = nullptr;
    bp_code result = api_.compile(plugin_.device, source.as<const bp_source>(), &module);
    if (fault_.empty()) fault_ = source.fault();
    if (result != BP_OK) return result;
    result = launch(*module);
    api_.release(plugin_.device, module);
    return result;
  }

  bp_code launch(bp_module& module) {
    bp_function* function = nullptr;
    bp_code code = api_.find(plugin_.device, &module, "nothing", &function);
    if (code != BP_OK) return code;
    bp_launch plain{};
    plain.h = {sizeof plain, BP_LAUNCH_TYPE, nullptr};
    plain.function = function;
    for (int i = 0; i < 3; ++i) plain.groups[i] = plain.items[i] = 1;
    const SkewedStruct launch("bp_launch", &plain, sizeof plain, skew_);
    code = api_.launch(plugin_.device, launch.as<const bp_launch>(), plugin_.side_stream);
    if (fault_.empty()) fault_ = launch.fault();
    return code == BP_OK ? plugin_.queue.synchronize(plugin_.device, plugin_.side_stream) : code;
  }

  const DirectPlugin& plugin_;
  const bp_compiler& api_;
  const Skew skew_;
  std::string fault_;
};

// ---- What devices say of themselves

constexpr std::uint32_t most_devices = 8;  // whose links are asked for

template <std::size_t size, class Byte> Json all_bytes(const Byte (&text)[size]) {
  return Json::binary(Bytes(text, text + size));
}

Json facts_json(const bp_device_info& info) {
  return {{"name", all_bytes(info.name)},
          {"uuid", all_bytes(info.uuid)},
          {"bus", all_bytes(info.bus)},
          {"driver", all_bytes(info.driver)},
          {"numa_node", info.numa_node},
          {"num_cores", info.num_cores},
          {"clock_mhz", info.clock_mhz},
          {"least_priority", info.least_priority},
          {"greatest_priority", info.greatest_priority},
          {"flags", info.flags},
          {"total_memory", info.total_memory},
          {"offset_alignment", info.offset_alignment},
          {"max_allocation", info.max_allocation}};
}

// Those of all devices that open; closed at the end, but for the plugin's own.
class OpenDevices {
 public:
  explicit OpenDevices(const DirectPlugin& plugin) : plugin_(plugin) {
    for (std::uint32_t i = 0; i < std::min(plugin.num_devices, most_devices); ++i) {
      bp_device* device = i == plugin.index ? plugin.device : nullptr;
      if (!device && plugin.plugin->open(plugin.plugin->self, i, &device) != BP_OK)
        device = nullptr;
      all.push_back(device);
    }
  }
  ~OpenDevices() {
    for (bp_device* device : all)
      if (device && device != plugin_.device) plugin_.plugin->close(device);
  }
  OpenDevices(const OpenDevices&) = delete;
  OpenDevices& operator=(const OpenDevices&) = delete;

  std::vector<bp_device*> all;  // null: does not open

 private:
  const DirectPlugin& plugin_;
};

// {"do":"facts"}
Json ask_facts(const DirectPlugin& plugin) {
  Json result = {{"code", BP_OK}, {"counts", {plugin.num_devices}}};
  for (const char* time : {"first", "second"}) {
    std::vector<bp_device_info> infos(plugin.num_devices);
    for (bp_device_info& each : infos) {
      each.h = {sizeof(bp_device_info), BP_TYPE_DEVICE_INFO, nullptr};
      each.numa_node = -1;
    }
    std::uint32_t count = plugin.num_devices;
    told_error() = {};
    if (const bp_code code = plugin.plugin->devices(plugin.plugin->self, &count, infos.data());
        code != BP_OK)
      return answer(code);
    result["counts"].push_back(count);
    result[time] = Json::array();
    for (const bp_device_info& info : infos) result[time].push_back(facts_json(info));
  }
  return result;
}

// {"do":"links"}
Json ask_links(const DirectPlugin& plugin) {
  const auto* peer = reinterpret_cast<const bp_peer*>(find_links(plugin));
  Json links = Json::array();
  if (!peer) return {{"code", BP_OK}, {"links", links}};
  const OpenDevices devices(plugin);
  for (std::size_t to = 0; to < devices.all.size(); ++to)
    for (std::size_t from = 0; from < devices.all.size(); ++from) {
      if (!devices.all[to] || !devices.all[from]) continue;
      bp_link link{};
      link.h = {sizeof link, 0, nullptr};
      told_error() = {};
      const bp_code code = peer->link(devices.all[to], devices.all[from], &link);
      links.push_back(answer(code, {{"to", to}, {"from", from}, {"kind", link.kind}}));
    }
  return {{"code", BP_OK}, {"links", links}};
}

// ---- The lane

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Values that all devices compute alike, however they round: small integers in f32.
Bytes compute_on(Device device) {
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
  Bytes bytes(mixed.nbytes());
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
    if (what == "compile") return compile(step);
    if (what == "extensions") return extensions();
    if (what == "facts") return ask_facts(DirectPlugin(device_, file()));
    if (what == "links") return ask_links(DirectPlugin(device_, file()));
    if (what == "probe") return probe();
    if (what == "two_hosts") return two_hosts();
    if (what == "together") return together(step);
    refuse("script: the bare lane has no step '{}'", what);
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
      if (done >= 1) marks.push_back(with_address_space(process_counters()));
    }
    Json growth = Json::object();
    for (int quarter = 1; quarter <= 4 && marks.size() >= 4; ++quarter) {
      const std::size_t end = marks.size() * static_cast<std::size_t>(quarter) / 4;
      add_growth(growth, marks[0], marks[end - 1]);
    }
    return {{"code", BP_OK}, {"times", done}, {"growth", growth}};
  }

  // The library with another host than usual: up to its answer, and then a copy there and back.
  Json abi(const Json& step) {
    const std::string what = step.at("what").get<std::string>();
    const Skew skew = read_skew(step);
    DirectHost host(file());
    if (what == "older") host.set_levels(1, skew.level);
    if (what == "newer") host.set_levels(1, BP_ABI_LEVEL + 7);
    if (what == "only_future") host.set_levels(BP_ABI_LEVEL + 1000, BP_ABI_LEVEL + 1001);
    host.set_skew(skew);
    loading::PluginLibrary library;
    const loading::Outcome opened = open_library(file(), host, library);
    if (!opened.ok()) return {{"code", opened.code}, {"message", opened.message}};
    const bp_plugin& plugin = *library.plugin();
    Json result = {{"code", BP_OK}, {"abi", plugin.abi}, {"kernels", plugin.num_kernels}};
    result["init"] = plugin.init ? plugin.init(plugin.self) : BP_OK;
    if (result["init"] == BP_OK) ask_infos(plugin, result);
    if (plugin.shutdown) plugin.shutdown(plugin.self);
    result["fault"] = host.fault_in_structs();
    library.close();
    if (result["init"] == BP_OK) use_with_host(skew, result);
    return result;
  }

  void use_with_host(Skew skew, Json& result) {
    DirectPlugin plugin(device_, file(), skew);
    DirectScope scope(plugin, 0x33);
    result["works"] = scope.step({{"do", "alive"}}).value("same", false);
    scope.finish();
    watch.merge(scope.watch);
    if (result.value("fault", "").empty()) result["fault"] = plugin.host.fault_in_structs();
  }

  // Infos of each level that there was, of this one and of a later one: they lie as far apart as they say that they are
  // long, and what the plugin does not know stays as it was.
  static void ask_infos(const bp_plugin& plugin, Json& result) {
    std::uint32_t count = 0;
    result["devices_code"] = plugin.devices(plugin.self, &count, nullptr);
    result["infos"] = Json::array();
    std::vector<std::size_t> sizes = {sizeof(bp_device_info), sizeof(bp_device_info) + 512};
    for (const AbiSize& each : abi_sizes)
      if (each.name == "bp_device_info") sizes.push_back(each.bytes);
    for (const std::size_t size : sizes) {
      if (count == 0) continue;
      std::vector<std::uint64_t> words((count + 3) * size / 8, 0xAAAAAAAAAAAAAAAA);
      auto* bytes = reinterpret_cast<std::uint8_t*>(words.data());
      const auto info = [&](std::uint32_t i) {
        return reinterpret_cast<bp_device_info*>(bytes + i * size);
      };
      for (std::uint32_t i = 0; i < count; ++i) {
        std::memset(info(i), 0, std::min(size, sizeof(bp_device_info)));
        info(i)->h = {static_cast<std::uint32_t>(size), BP_TYPE_DEVICE_INFO, nullptr};
      }
      std::uint32_t filled = count;
      const bp_code code = plugin.devices(plugin.self, &filled, info(0));
      result["infos"].push_back(
          {{"bytes", size},
           {"code", code},
           {"fault", code == BP_OK ? fault_in_infos(bytes, size, count) : ""}});
    }
  }

  static std::string fault_in_infos(const std::uint8_t* bytes, std::size_t size,
                                    std::uint32_t count) {
    const auto is_noise = [](std::uint8_t byte) { return byte == 0xAA; };
    const std::uint8_t* const behind = bytes + count * size;
    if (!std::all_of(behind, behind + 2 * size, is_noise)) return "writes behind the last one";
    for (std::uint32_t i = 0; i < count; ++i) {
      bp_device_info info{};
      const std::uint8_t* const at = bytes + i * size;
      std::memcpy(&info, at, std::min(size, sizeof info));
      if (info.name[0] == 0 || info.h.type != BP_TYPE_DEVICE_INFO)
        return "leaves one without a name, or where the host does not look: mind infos[0].h.size";
      // A plugin that is newer than this suite may know some of what follows, not its end.
      if (size > sizeof info + 448 && !std::all_of(at + sizeof info + 448, at + size, is_noise))
        return "writes into the part that it cannot know";
    }
    return {};
  }

  // The structs of bp.compiler, as the host of another level gives them.
  Json compile(const Json& step) {
    const DirectPlugin plugin(device_, file());
    const auto* api = reinterpret_cast<const bp_compiler*>(plugin.extension(BP_COMPILER, 1));
    if (!api) return {{"code", BP_OK}, {"offered", false}};
    return Nothing(plugin, *api, read_skew(step)).run();
  }

  Json extensions() {
    const DirectPlugin plugin(device_, file());
    Json unknown = Json::array(), future = Json::array(), known = Json::array();
    for (const char* name : {"conform.no_such_thing", "bp.", "bp.compilerx", ""})
      if (plugin.extension(name, 1)) unknown.push_back(name);
    for (const char* name : {"bp.compiler", "bp.program", "bp.capture", "bp.interop", "bp.peer",
                             "bp.numerics", "bp.host_calls", "bp.semaphores", "bp.inject"}) {
      if (plugin.extension(name, 1)) known.push_back(name);
      if (plugin.extension(name, 0x7fffffff)) future.push_back(name);
    }
    return {{"code", BP_OK}, {"unknown", unknown}, {"future", future}, {"known", known}};
  }

  Json probe() {
    DirectHost host(file());
    loading::PluginLibrary library;
    const loading::Outcome opened = open_library(file(), host, library);
    if (!opened.ok()) return {{"code", opened.code}, {"message", opened.message}};
    const bp_plugin& plugin = *library.plugin();
    Json codes = Json::array();
    for (int i = 0; i < 2; ++i) codes.push_back(plugin.probe ? plugin.probe(plugin.self) : BP_OK);
    // The last call, also where init was never called.
    if (plugin.shutdown) plugin.shutdown(plugin.self);
    return {{"code", BP_OK}, {"codes", codes}};
  }

  Json two_hosts() {
    DirectPlugin plugin(device_, file());
    DirectHost second(file());
    loading::PluginLibrary library;
    const loading::Outcome opened = open_library(file(), second, library);
    Json result = {{"code", BP_OK}, {"second", opened.code}, {"message", opened.message}};
    const std::int64_t before = second.num_errors(), own = plugin.host.num_errors();
    DirectScope scope(plugin, 0x33);
    result["works"] = scope.step({{"do", "alive"}}).value("same", false);
    const Json too_much = scope.step({{"do", "raw"},
                                      {"what", "allocate"},
                                      {"bytes", std::uint64_t{1} << 60},
                                      {"alignment", 64}});
    result["told"] = too_much["code"] == BP_OK || plugin.host.num_errors() > own;
    scope.finish();
    watch.merge(scope.watch);
    result["strayed"] = second.num_errors() - before;
    return result;
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

 private:
  const std::string device_, plugin_;
};

}  // namespace

std::unique_ptr<LaneDriver> open_bare_lane(const std::string& device, const std::string& plugin) {
  ensure_operators();
  return std::make_unique<BareLane>(device, plugin);
}

}  // namespace bp::conform
