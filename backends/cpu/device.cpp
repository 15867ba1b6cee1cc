// One device, cpu:0, which stands for all cores that the process may use.
#include "device.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "host.hpp"

// There is nothing to remember about a device whose memory is the process's own.
struct bp_device {
  uint32_t index;
};

namespace bp::cpu {
namespace {

bp_device the_device{0};

// What /proc/cpuinfo says of the first processor; empty: nothing.
std::string field_of_processor(const char* name) {
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return {};
  const size_t length = std::strlen(name);
  std::string value;
  char line[256];
  while (value.empty() && std::fgets(line, sizeof line, file) != nullptr) {
    const char* colon = std::strchr(line, ':');
    if (colon == nullptr || std::strncmp(line, name, length) != 0 ||
        line + length + std::strspn(line + length, " \t") != colon)
      continue;
    const char* text = colon + 1 + std::strspn(colon + 1, " \t");
    value.assign(text, std::strcspn(text, "\n"));
  }
  std::fclose(file);
  return value;
}

// x86's; on aarch64 there is none worth showing.
std::string model_name() {
  const std::string name = field_of_processor("model name");
  return name.empty() ? "CPU" : name;
}

uint64_t total_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

// Those that the process may run on: what the device stands for.
uint32_t num_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  return static_cast<uint32_t>(CPU_COUNT(&allowed));
}

// The first number of a line that begins with `key`; 0 if there is none.
uint64_t number_in(const char* path, const char* key) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  const size_t length = std::strlen(key);
  unsigned long long number = 0;
  char line[256];
  while (number == 0 && std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, key, length) == 0) std::sscanf(line + length, "%llu", &number);
  std::fclose(file);
  return number;
}

// Virtual machines often do not say.
uint32_t clock_mhz() {
  constexpr const char* path = "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
  return static_cast<uint32_t>(number_in(path, "") / 1000);
}

}  // namespace

std::string processor() {
  return model_name() + " " + field_of_processor("cpu family") + "-" + field_of_processor("model") +
         "-" + field_of_processor("stepping");
}

bp_code describe_space(bp_device*, uint32_t space, bp_space_info* out) noexcept {
  if (space != 0) return fail(BP_BAD_ARGUMENT, "cpu: there is one memory, space 0");
  bp_space_info info{};
  info.h = out->h;
  std::snprintf(info.name, sizeof info.name, "host");
  info.total_bytes = total_memory();
  // With what the system would give up of its caches.
  info.free_bytes = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  std::memcpy(out, &info, std::min<size_t>(info.h.size, sizeof info));
  return BP_OK;
}

bp_code devices(void*, uint32_t* count, bp_device_info* infos) noexcept {
  if (infos != nullptr && *count > 0) {
    // The host may know a shorter struct than ours.
    bp_device_info info{};
    info.h = infos[0].h;
    std::snprintf(info.name, sizeof info.name, "%s", model_name().c_str());
    info.dl_device_type = BP_DL_CPU;
    info.flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE | BP_DEVICE_CAN_SUBALLOCATE |
                 BP_DEVICE_SYNCHRONOUS;
    info.num_spaces = 1;
    info.total_memory = total_memory();
    info.offset_alignment = 64;
    info.numa_node = -1;  // all of them
    info.num_cores = num_cores();
    info.clock_mhz = clock_mhz();
    std::memcpy(infos, &info, std::min<size_t>(info.h.size, sizeof info));
  }
  *count = 1;
  return BP_OK;
}

bp_code open_device(void*, uint32_t index, bp_device** out) noexcept {
  if (index != 0) return fail(BP_BAD_ARGUMENT, "cpu: there is one device, cpu:0");
  *out = &the_device;
  return BP_OK;
}

void close_device(bp_device*) noexcept {}

}  // namespace bp::cpu
