// The direct lane, opened: which file is the plugin of a device, and what it says of itself and its devices.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

#include <backplane/extensions/compiler.h>
#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/host_memory.h>
#include <backplane/extensions/inject.h>
#include <backplane/extensions/numerics.h>
#include <backplane/extensions/peer.h>
#include <backplane/extensions/stream_memory.h>
#include <backplane/loading/discovery.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/loading/sha256.hpp>
#include <backplane/runtime/device_facts.hpp>

#include "cases/subject.hpp"
#include "refuse.hpp"
#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

// Also of a text that does not end, about which a probe complains.
template <std::size_t size> std::string text_of(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

Subject subject_of(const DirectPlugin& plugin) {
  const auto offers = [&](const char* name, std::uint32_t version) {
    return plugin.extension(name, version) != nullptr;
  };
  const auto declares = [flags = plugin.table<bp_numerics>(BP_NUMERICS, 1).flags](
                            std::uint32_t flag) { return (flags & flag) != 0; };
  Subject subject;
  subject.device = plugin.name;
  subject.backend = plugin.plugin->name;
  subject.library = plugin.file;
  subject.library_sha256 = loading::sha256_of_file(plugin.file).value_or("");
  subject.version = plugin.plugin->version ? plugin.plugin->version : "";
  subject.vendor = plugin.plugin->vendor ? plugin.plugin->vendor : "";
  subject.device_name = text_of(plugin.info.name);
  subject.abi = plugin.plugin->abi;
  subject.uuid = uuid_of(plugin.info);
  subject.driver = text_of(plugin.info.driver);
  subject.least_priority = plugin.info.least_priority;
  subject.greatest_priority = plugin.info.greatest_priority;
  subject.describes_space = plugin.memory.describe_space != nullptr;
  subject.has_links = plugin.table<bp_peer>(BP_PEER, BP_PEER_VERSION).link != nullptr;
  subject.device_flags = plugin.info.flags;
  subject.total_memory = plugin.info.total_memory;
  subject.num_spaces = std::max(plugin.info.num_spaces, 1u);
  subject.offset_alignment = plugin.offset_alignment();
  subject.has_host_memory = offers(BP_HOST_MEMORY, BP_HOST_MEMORY_VERSION);
  subject.has_streams = plugin.queue.create_stream != nullptr;
  subject.has_events = plugin.queue.create_event != nullptr;
  subject.has_fill = plugin.memory.fill != nullptr;
  subject.compiles = offers(BP_COMPILER, 1);
  subject.has_host_calls = offers(BP_HOST_CALLS, BP_HOST_CALLS_VERSION);
  subject.has_semaphores = takes_timelines(plugin);
  subject.has_stream_memory = offers(BP_STREAM_MEMORY, BP_STREAM_MEMORY_VERSION);
  subject.has_inject = offers(BP_INJECT, BP_INJECT_VERSION);
  subject.numerics = {.flushes_denormals = declares(BP_NUMERICS_FLUSHES_DENORMALS),
                      .tf32_matmul = declares(BP_NUMERICS_TF32_MATMUL),
                      .low_accumulation = declares(BP_NUMERICS_LOW_ACCUMULATION),
                      .flushes_bf16_products = declares(BP_NUMERICS_FLUSHES_BF16_PRODUCTS),
                      .checks_handles = declares(BP_NUMERICS_CHECKS_HANDLES)};
  // In the plugin's order: a script's "kernel" is a place in it.
  subject.kernels.resize(plugin.kernels.size());
  for (const DirectKernel& kernel : plugin.kernels)
    subject.kernels[static_cast<std::size_t>(kernel.place)] = {
        kernel.declared.op, kernel.args, kernel.declared.flags, kernel.declared.priority,
        kernel.declared.plan != nullptr};
  return subject;
}

class DirectLane : public LaneDriver {
 public:
  DirectLane(const std::string& device, const std::string& file) : plugin_(device, file) {}
  std::unique_ptr<Scope> scope(std::uint8_t poison, Scope* within) override {
    return std::make_unique<DirectScope>(plugin_, poison, static_cast<DirectScope*>(within));
  }
  Json describe() override { return to_json(subject_of(plugin_)); }
  Counters counters() override {
    Counters now = process_counters();
    now.host_allocations = plugin_.host.live;
    return now;
  }
  std::uint64_t varying_calls() const override { return plugin_.varying_calls; }
  void reset() override {
    plugin_.host.num_threads = 2;
    plugin_.host.deterministic = 0;
    plugin_.host.fail_from(0);
  }
  std::uint64_t staging_place() const override { return plugin_.staging_place; }
  void return_to(std::uint64_t place) override { plugin_.staging_place = place; }

 private:
  DirectPlugin plugin_;
};

}  // namespace

std::unique_ptr<LaneDriver> open_direct_lane(const std::string& device, const std::string& plugin) {
  return std::make_unique<DirectLane>(device, find_plugin_file(device, plugin));
}

std::string find_plugin_file(const std::string& device, const std::string& plugin) {
  if (!plugin.empty()) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(plugin, error);
    if (error) refuse("{}: there is no such file", plugin);
    return real.string();
  }
  // "acme" of "acme:0" and of "vendor:acme:0".
  const std::string padded = fmt::format(":{}:", device);
  std::string known;
  for (const loading::Candidate& candidate : loading::discover(loading::Environment::current())) {
    if (!candidate.usable()) continue;
    const std::string name =
        candidate.manifest ? candidate.manifest->name : candidate.library.stem().string();
    const bool is_it =
        candidate.manifest
            ? padded.find(fmt::format(":{}:", name)) != std::string::npos
            : name == fmt::format("libbackplane_{}", device.substr(0, device.find(':')));
    if (is_it) return candidate.library.string();
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  refuse(
      "there is no plugin for device '{}'; found are: {}; give the library's "
      "path with --plugin",
      device, known.empty() ? "none" : known);
}

}  // namespace bp::conform
