#include "worker/direct_spaces.hpp"

#include <cstring>
#include <vector>

#include "worker/direct_scope.hpp"

namespace bp::conform {
namespace {

// Beyond it one allocation that cannot be shall do.
constexpr std::uint64_t largest_filled = 64u << 20;
constexpr std::uint64_t pieces = 8;

bp_code ask(DirectPlugin& plugin, std::uint32_t space, bp_space_info& info) {
  info = {};
  info.h = {sizeof info, BP_TYPE_SPACE_INFO, nullptr};
  told_error() = {};
  return plugin.memory.describe_space(plugin.device, space, &info);
}

struct Held {
  DirectPlugin& plugin;
  std::vector<bp_handle> handles{};
  ~Held() { release(); }
  void release() {
    for (const bp_handle handle : handles) plugin.release(handle);
    handles.clear();
  }
};

}  // namespace

Json describe_space(DirectPlugin& plugin, const Json& step) {
  bp_space_info info;
  const bp_code code = ask(plugin, step.at("space").get<std::uint32_t>(), info);
  Json result = answer(code);
  if (code != BP_OK) return result;
  const void* const end = std::memchr(info.name, 0, sizeof info.name);
  result["ends"] = end != nullptr;
  result["named"] = info.name[0] != 0;
  result["flags"] = info.flags;
  result["total"] = info.total_bytes;
  result["free"] = info.free_bytes;
  return result;
}

bool is_host_visible(DirectPlugin& plugin, std::uint32_t space) {
  bp_space_info info;
  return ask(plugin, space, info) == BP_OK && (info.flags & BP_SPACE_HOST_VISIBLE);
}

Json fill_up(DirectPlugin& plugin, const Json& step) {
  const auto space = step.at("space").get<std::uint32_t>();
  bp_space_info info;
  if (const bp_code code = ask(plugin, space, info); code != BP_OK) return answer(code);
  const bool is_small = info.total_bytes != 0 && info.total_bytes <= largest_filled;
  const std::uint64_t piece = is_small ? info.total_bytes / pieces + 1 : std::uint64_t{1} << 60;
  Held held{plugin};
  bp_code code = BP_OK;
  while (code == BP_OK && held.handles.size() <= pieces) {
    bp_handle handle = 0;
    told_error() = {};
    code = plugin.allocate(piece, 64, handle, space);
    if (code == BP_OK) held.handles.push_back(handle);
  }
  Json result = answer(code);
  result["given"] = held.handles.size() * piece;
  result["total"] = info.total_bytes;
  held.release();
  bp_handle handle = 0;
  result["after"] = plugin.allocate(is_small ? piece : 64, 64, handle, space);
  if (handle != 0) plugin.release(handle);
  return result;
}

}  // namespace bp::conform
