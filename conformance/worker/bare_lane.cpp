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
#include <cstring>
#include <functional>
#include <sstream>

#include <backplane/core_ops/generated/all.hpp>
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

// A kernel that does nothing, through bp.compiler, whose structs are those of another level. What was written where nothing is
// to be written goes to `fault`.
bp_code do_nothing(const DirectPlugin& plugin, const bp_compiler& api, Skew skew,
                   std::string& fault) {
  // Calls with the struct as the plugin is to see it.
  const auto with = [&](const char* name, auto plain, std::uint32_t type, const auto& function) {
    plain.h = {sizeof plain, type, nullptr};
    const SkewedStruct given(name, &plain, sizeof plain, skew);
    const bp_code code = function(given.as<decltype(plain)>());
    if (fault.empty()) fault = given.fault();
    return code;
  };
  const auto run = [&](bp_module* module) {
    bp_launch plain{};
    if (const bp_code code = api.find(plugin.device, module, "nothing", &plain.function);
        code != BP_OK)
      return code;
    for (int i = 0; i < 3; ++i) plain.groups[i] = plain.items[i] = 1;
    const bp_code code = with("bp_launch", plain, BP_LAUNCH_TYPE, [&](const bp_launch* launch) {
      return api.launch(plugin.device, launch, plugin.side_stream);
    });
    return code == BP_OK ? plugin.queue.synchronize(plugin.device, plugin.side_stream) : code;
  };
  std::string languages;
  told_error() = {};
  if (const bp_code code = with("bp_compiler_info", bp_compiler_info{}, BP_COMPILER_INFO_TYPE,
                                [&](bp_compiler_info* info) {
                                  const bp_code says = api.describe(plugin.device, info);
                                  if (info->languages) languages = info->languages;
                                  return says;
                                });
      code != BP_OK)
    return code;
  std::istringstream words(languages);
  for (std::string language; words >> language;) {
    const char* const text = empty_kernel(language);
    if (!text) continue;
    bp_module* module = nullptr;
    const bp_source plain = {{}, language.c_str(), "nothing", text, std::strlen(text), ""};
    bp_code code = with("bp_source", plain, BP_SOURCE_TYPE, [&](const bp_source* source) {
      return api.compile(plugin.device, source, &module);
    });
    if (code != BP_OK) return code;
    code = run(module);
    api.release(plugin.device, module);
    return code;
  }
  return BP_OK;
}

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

Json ask_facts(const DirectPlugin& plugin) {
  Json result = {{"counts", {plugin.num_devices}}};
  for (const char* time : {"first", "second"}) {
    std::vector<bp_device_info> infos;
    std::uint32_t count = plugin.num_devices;
    told_error() = {};
    if (const bp_code code = plugin.ask_devices(count, infos); code != BP_OK) return answer(code);
    result["counts"].push_back(count);
    result[time] = Json::array();
    for (const bp_device_info& info : infos) result[time].push_back(facts_json(info));
  }
  return result;
}

// Between all devices that open.
Json ask_links(const DirectPlugin& plugin) {
  const auto peer = plugin.table<bp_peer>(BP_PEER, BP_PEER_VERSION);
  Json links = Json::array();
  if (!peer.link) return {{"links", links}};
  const bp_plugin& api = *plugin.plugin;
  const auto close = [&](bp_device* device) {
    if (device != plugin.device) api.close(device);
  };
  std::vector<std::unique_ptr<bp_device, decltype(close)>> devices;  // null: does not open
  for (std::uint32_t i = 0; i < std::min(plugin.num_devices, most_devices); ++i) {
    bp_device* device = i == plugin.index ? plugin.device : nullptr;
    if (!device && api.open(api.self, i, &device) != BP_OK) device = nullptr;
    devices.emplace_back(device, close);
  }
  for (std::size_t to = 0; to < devices.size(); ++to)
    for (std::size_t from = 0; from < devices.size(); ++from) {
      if (!devices[to] || !devices[from]) continue;
      bp_link link{};
      link.h = {sizeof link, 0, nullptr};
      told_error() = {};
      const bp_code code = peer.link(devices[to].get(), devices[from].get(), &link);
      links.push_back(answer(code, {{"to", to}, {"from", from}, {"kind", link.kind}}));
    }
  return {{"links", links}};
}

// ---- The lane

Json refusal_of(const OpenedFile& file) {
  return {{"code", file.outcome.code}, {"message", file.outcome.message}};
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

 private:
  const std::string& file() {
    if (file_.empty()) file_ = find_plugin_file(device_, given_);
    return file_;
  }

  // Does a copy there and back work? `more` is asked of the scope besides.
  bool works(DirectPlugin& plugin, const std::function<void(Scope&)>& more = {}) {
    DirectScope scope(plugin, 0x33);
    const bool same = scope.step({{"do", "alive"}}).value("same", false);
    if (more) more(scope);
    scope.finish();
    watch.merge(scope.watch);
    return same;
  }

  Json lint() {
    Json refused = Json::array(), warnings = Json::object();
    for (const loading::Finding& finding : loading::lint(file()).findings) {
      if (finding.severity == loading::Severity::refuse)
        refused.push_back(finding.sentence);
      else
        warnings[finding.rule] = finding.sentence;
    }
    return {{"refused", refused}, {"warnings", warnings}};
  }

  void use_once(bool by_core) {
    if (by_core) {
      Backend& backend = load_plugin(file());
      compute_on(bp::device(device_));
      unload_plugin(backend);
      return;
    }
    DirectPlugin plugin(device_, file());
    if (!works(plugin))
      throw_error(ErrorClass::internal,
                  "after loading again, a copy there and back gave other bytes");
  }

  Json cycle(const Json& step, bool by_core) {
    const Repetitions wanted(step);
    std::vector<Counters> marks;
    std::int64_t done = 0;
    // The first two are not counted: what a library makes once stays.
    for (; wanted.go_on(done); ++done) {
      use_once(by_core);
      if (done >= 1) marks.push_back(with_address_space(process_counters()));
    }
    return {{"times", done},
            {"growth", growth_by_quarters(marks.empty() ? Counters{} : marks[0], marks)}};
  }

  // The library with another host than usual: up to its answer, and then a copy there and back.
  Json abi(const Json& step) {
    const std::string what = step.at("what").get<std::string>();
    const Skew skew = read_skew(step);
    const std::uint32_t lowest = what == "only_future" ? BP_ABI_LEVEL + 1000 : 1;
    OpenedFile opened(file(), skew, lowest);
    if (!opened.plugin) return refusal_of(opened);
    const bp_plugin& plugin = *opened.plugin;
    Json result = {{"abi", plugin.abi}, {"kernels", plugin.num_kernels}};
    result["init"] = plugin.init ? plugin.init(plugin.self) : BP_OK;
    const bool starts = result["init"] == BP_OK;
    if (starts) ask_infos(plugin, result);
    if (plugin.shutdown) plugin.shutdown(plugin.self);
    std::string fault = opened.host.fault_in_structs();
    opened.library.close();
    if (starts) {
      DirectPlugin again(device_, file(), skew);
      result["works"] = works(again);
      if (fault.empty()) fault = again.host.fault_in_structs();
    }
    result["fault"] = fault;
    return result;
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
    const auto api = plugin.table<bp_compiler>(BP_COMPILER, 1);
    if (!api.compile) return {{"offered", false}};
    std::string fault;
    const bp_code code = do_nothing(plugin, api, read_skew(step), fault);
    return answer(code, {{"offered", true}, {"fault", fault}});
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
    return {{"unknown", unknown}, {"future", future}, {"known", known}};
  }

  Json probe() {
    OpenedFile opened(file());
    if (!opened.plugin) return refusal_of(opened);
    const bp_plugin& plugin = *opened.plugin;
    Json codes = Json::array();
    for (int i = 0; i < 2; ++i) codes.push_back(plugin.probe ? plugin.probe(plugin.self) : BP_OK);
    // The last call, also where init was never called.
    if (plugin.shutdown) plugin.shutdown(plugin.self);
    return {{"codes", codes}};
  }

  Json two_hosts() {
    DirectPlugin plugin(device_, file());
    OpenedFile second(file());
    Json result = {{"second", second.outcome.code}, {"message", second.outcome.message}};
    const std::int64_t before = second.host.errors, own = plugin.host.errors;
    result["works"] = works(plugin, [&](Scope& scope) {
      const Json too_much =
          scope.step({{"do", "raw"}, {"what", "allocate"}, {"bytes", std::uint64_t{1} << 60}});
      result["told"] = too_much["code"] == BP_OK || plugin.host.errors > own;
    });
    result["strayed"] = second.host.errors - before;
    return result;
  }

  static Json together(const Json& step) {
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
    return {{"outputs", outputs}};
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
  Counters counters() override { return process_counters(); }

 private:
  const std::string device_, plugin_;
};

}  // namespace

std::unique_ptr<LaneDriver> open_bare_lane(const std::string& device, const std::string& plugin) {
  return std::make_unique<BareLane>(device, plugin);
}

}  // namespace bp::conform
