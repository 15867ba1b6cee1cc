// From what a person wrote to what is run.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <thread>

#include "refuse.hpp"
#include "runner/commands.hpp"

namespace bp::conform {
namespace {

std::uint64_t parse_challenge(std::string text) {
  if (text.starts_with("0x")) text.erase(0, 2);
  std::uint64_t seed = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seed, 16);
  if (problem != std::errc() || end != text.data() + text.size())
    refuse("conform: --challenge {}: not a hexadecimal number of up to 16 digits", text);
  return seed;
}

// "1/4" is the first of four.
void parse_shard(const std::string& text, Selection& out) {
  const char* const end = text.data() + text.size();
  int shard = 0, of = 0;
  const auto first = std::from_chars(text.data(), end, shard);
  bool good = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  if (good) {
    const auto second = std::from_chars(first.ptr + 1, end, of);
    good = second.ec == std::errc() && second.ptr == end && shard >= 1 && shard <= of;
  }
  if (!good) refuse("conform: --shard {}: should be like 1/4, the first of four", text);
  out.shard = shard - 1;
  out.num_shards = of;
}

}  // namespace

const char* name(Profile profile) {
  return profile == Profile::quick ? "quick" : profile == Profile::full ? "full" : "normal";
}

Profile profile_from_name(const std::string& text) {
  for (const Profile profile : {Profile::quick, Profile::normal, Profile::full})
    if (text == name(profile)) return profile;
  refuse("conform: --profile {}: there are quick, normal and full", text);
}

Selection selection_of(const Options& options) {
  Selection out = options.selection;
  out.profile = options.quick  ? Profile::quick
                : options.full ? Profile::full
                               : profile_from_name(options.profile);
  if (out.level < 0 || out.level > 5)
    refuse("conform: --level {}: there are levels 0 to 5", out.level);
  if (!options.challenge.empty()) out.seed = parse_challenge(options.challenge);
  if (!options.shard.empty()) parse_shard(options.shard, out);
  return out;
}

void to_json(Json& json, Profile profile) {
  json = name(profile);
}
void from_json(const Json& json, Profile& profile) {
  profile = profile_from_name(json.get<std::string>());
}

Bench bench_of(const Options& options) {
  if (options.device.empty())
    refuse("conform: which device? --device acme:0; 'backplane devices' lists them");
  Bench bench;
  bench.plan.device = options.device;
  if (!options.plugin.empty()) {
    std::error_code missing;
    bench.plan.plugin = std::filesystem::canonical(options.plugin, missing);
    if (missing) refuse("conform: --plugin {}: {}", options.plugin, missing.message());
  }
  bench.plan.environment = options.environment;
  for (const std::string& entry : options.environment)
    if (entry.find('=') == std::string::npos)
      refuse("conform: --env {}: should be NAME=VALUE", entry);
  bench.subject = describe_subject(bench.plan);
  // A case may have to wait for the compilation of several kernels, on a machine that has others to do.
  if (bench.subject.compiles) bench.patience = 6;
  return bench;
}

int jobs_of(const Options& options) {
  return options.jobs > 0 ? options.jobs
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string journal_of(const std::string& report) {
  return std::filesystem::is_directory(report) ? report + "/journal.jsonl" : report;
}

}  // namespace bp::conform
