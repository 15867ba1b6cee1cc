// What the instruments saw, and the counters of the process.
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include "worker/scope.hpp"

namespace bp::conform {
namespace {

constexpr std::size_t most_entries = 6;  // of a kind: one is enough to fail, a few to see a pattern

std::int64_t count_entries(const char* folder) {
  DIR* const open = opendir(folder);
  if (open == nullptr) return -1;
  std::int64_t count = 0;
  while (const dirent* entry = readdir(open)) count += entry->d_name[0] != '.';
  closedir(open);
  return count;
}

// All mappings together. statm would count an emulator's own ones as well.
std::int64_t address_space() {
  std::FILE* const file = std::fopen("/proc/self/maps", "r");
  if (file == nullptr) return -1;
  std::int64_t bytes = 0;
  char line[512];
  bool is_start = true;  // of a line: long names come in several parts
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long long begin = 0, end = 0;
    if (is_start && std::sscanf(line, "%llx-%llx", &begin, &end) == 2)
      bytes += static_cast<std::int64_t>(end - begin);
    is_start = std::strchr(line, '\n') != nullptr;
  }
  std::fclose(file);
  return bytes;
}

}  // namespace

void Watch::add(const char* kind, Json entry) {
  Json& list = seen_[kind];
  if (list.is_null()) list = Json::array();
  if (list.size() < most_entries) list.push_back(std::move(entry));
}

void Watch::merge(const Watch& other) {
  for (const auto& [kind, list] : other.seen_.items())
    for (const Json& entry : list) add(kind.c_str(), entry);
  if (!other.lost_.empty()) lost_ = other.lost_;
}

Json Watch::json() const {
  Json all = seen_;
  if (!lost_.empty()) all["lost"] = lost_;
  return all;
}

Counters process_counters() {
  Counters now;
  now.files = count_entries("/proc/self/fd");
  now.threads = count_entries("/proc/self/task");
  const struct mallinfo2 heap = mallinfo2();
  now.heap = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  return now;
}

Counters with_address_space(Counters counters) {
  counters.address = address_space();
  return counters;
}

Json counters_json(const Counters& counters) {
  return {{"host_allocations", counters.host_allocations},
          {"device_allocations", counters.device_allocations},
          {"files", counters.files},
          {"threads", counters.threads},
          {"heap", counters.heap},
          {"address", counters.address}};
}

Json growth_json(const Counters& from, const Counters& to) {
  const Json base = counters_json(from);
  Json growth = counters_json(to);
  for (auto& [key, value] : growth.items())
    value = value.get<std::int64_t>() - base[key].get<std::int64_t>();
  return growth;
}

void add_growth(Json& growth, const Counters& from, const Counters& to) {
  const Json grown = growth_json(from, to);
  for (const auto& [key, value] : grown.items()) growth[key].push_back(value);
}

Json failure_json(const Error& error) {
  return {{"code", static_cast<bp_code>(error.error_class())}, {"message", error.what()}};
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) {
  const auto* from = static_cast<const unsigned char*>(data);
  std::uint64_t hash = seed;
  for (; bytes >= 8; bytes -= 8, from += 8) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    hash = (hash ^ word) * 0x100000001b3ull;
    hash ^= hash >> 29;  // FNV alone carries no bit downwards
  }
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ from[i]) * 0x100000001b3ull;
  return hash ^ (hash >> 32);
}

}  // namespace bp::conform
