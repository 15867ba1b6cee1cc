#include "choices.hpp"

#include <bit>
#include <cstdlib>
#include <dnnl.hpp>

#include "device.hpp"
#include "threads.hpp"

namespace bp::cpu {
namespace {

constexpr uint64_t page = 4096;
thread_local Trial* current_trial = nullptr;

}  // namespace

Trial::Trial() : outer_(current_trial) {
  current_trial = this;
}

Trial::~Trial() {
  current_trial = outer_;
}

bp_code Trial::take(uint64_t bytes, char*& out) {
  out = static_cast<char*>(std::aligned_alloc(page, (bytes + page - 1) / page * page));
  if (out == nullptr) return BP_OUT_OF_MEMORY;
  blocks_.emplace_back(out, std::free);
  return BP_OK;
}

bp_code take_workspace(const bp_call* call, uint64_t bytes, char*& out) {
  if (current_trial) return current_trial->take(bytes, out);
  bp_region region{};
  const bp_code code = host()->workspace(host(), call, bytes, page, &region);
  if (code == BP_OK) out = reinterpret_cast<char*>(region.handle + region.offset);
  return code;
}

bool choices_are_free() {
  return current_trial == nullptr && host() != nullptr && host()->deterministic(host()) == 0;
}

std::string machine() {
  const dnnl_version_t* version = dnnl_version();
  return processor() + "; instruction set " +
         std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa())) + "; oneDNN " +
         std::to_string(version->major) + "." + std::to_string(version->minor) + "; " +
         std::to_string(num_threads()) + " threads";
}

int size_class(int64_t size) {
  return std::bit_width(static_cast<uint64_t>(size + size / 3));
}

}  // namespace bp::cpu
