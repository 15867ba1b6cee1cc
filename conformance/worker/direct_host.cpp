#include "worker/direct_host.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/extensions/settings.h>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/runtime/generated/abi_sizes.hpp>

namespace bp::conform {
namespace {

constexpr std::size_t host_zone = 64;  // behind each block of host memory
constexpr unsigned char host_zone_byte = 0xC3;
constexpr std::size_t most_lines = 20;

DirectHost& host_of(const bp_host* host) {
  return *static_cast<DirectHost*>(host->context);
}

bp_code host_set_error(const bp_host* host, bp_code code, const char* message) {
  host_of(host).note_error();
  ToldError& told = told_error();
  told.code = code;
  told.message.assign(message ? message : "", message ? strnlen(message, 4096) : 0);
  return code;
}

bp_code host_set_call_error(const bp_host* host, bp_code code, std::uint64_t, const char* message) {
  return host_set_error(host, code, message);
}

bp_code host_allocate_output(const bp_host* host, const bp_call* call, std::uint32_t index,
                             std::uint32_t ndim, const std::int64_t* shape) {
  if (!call || !call->host_data)
    return host_set_error(host, BP_BAD_ARGUMENT, "allocate_output: no call of the host's");
  if (ndim > BP_MAX_RANK || (ndim != 0 && !shape))
    return host_set_error(host, BP_BAD_ARGUMENT, "allocate_output: a bad shape");
  return static_cast<CallContext*>(call->host_data)->allocate_output(index, ndim, shape);
}

bp_code host_workspace(const bp_host* host, const bp_call* call, std::uint64_t bytes,
                       std::uint64_t alignment, bp_region* out) {
  if (!call || !out || !call->host_data)
    return host_set_error(host, BP_BAD_ARGUMENT, "workspace: no call of the host's");
  return static_cast<CallContext*>(call->host_data)->workspace(bytes, alignment, *out);
}

const bp_operator* host_operator_at(const bp_host* host, std::uint32_t index) {
  const std::vector<Operator*> all = registered_operators();
  return host_of(host).show(index < all.size() ? all[index] : nullptr);
}
const bp_operator* host_find_operator(const bp_host* host, const char* name) {
  return host_of(host).show(name ? find_operator(name) : nullptr);
}

const bp_settings usual_settings = {{sizeof(bp_settings), BP_TYPE_EXTENSION, nullptr},
                                    [](const bp_host*) { return std::uint32_t{0}; }};

void fill_table(bp_host& table) {
  table.abi_min = 1;
  table.abi_max = loading::offered_abi_level();
  table.h = {abi_size("bp_host", table.abi_max), BP_TYPE_HOST, nullptr};
  table.version = "conformance";
  table.set_error = host_set_error;
  table.set_call_error = host_set_call_error;
  table.log = [](const bp_host* host, std::uint32_t level, const char* message) {
    host_of(host).note_log(level, message);
  };
  table.allocate_output = host_allocate_output;
  table.workspace = host_workspace;
  table.allocate_host = [](const bp_host* host, std::uint64_t bytes, std::uint64_t alignment,
                           void** out) { return host_of(host).allocate(bytes, alignment, out); };
  table.release_host = [](const bp_host* host, void* ptr) { host_of(host).release(ptr); };
  table.operator_at = host_operator_at;
  table.find_operator = host_find_operator;
  table.register_kernels = [](const bp_host* host, const bp_kernel* const* kernels,
                              std::uint32_t count) {
    return host_of(host).add_kernels(kernels, count);
  };
  table.num_threads = [](const bp_host* host) { return host_of(host).num_threads.load(); };
  table.deterministic = [](const bp_host* host) { return host_of(host).deterministic.load(); };
  table.extension = [](const bp_host* host, const char* name, std::uint32_t min_version) {
    return host_of(host).extension(name, min_version);
  };
}

}  // namespace

ToldError& told_error() {
  thread_local ToldError told;
  return told;
}

DirectHost::DirectHost(std::string plugin_path) : plugin_path_(std::move(plugin_path)) {
  fill_table(table_);
  table_.plugin_path = plugin_path_.c_str();
  table_.context = this;
}

DirectHost::~DirectHost() {
  for (const auto& [ptr, bytes] : blocks_) std::free(ptr);
}

void DirectHost::set_levels(std::uint32_t lowest, std::uint32_t highest) {
  table_.abi_min = lowest;
  table_.abi_max = highest;
}

void DirectHost::set_skew(Skew skew) {
  skew_ = skew;
  if (!skew) return;
  given_ = std::make_unique<SkewedStruct>("bp_host", &table_, sizeof table_, skew);
  settings_ =
      std::make_unique<SkewedStruct>("bp_settings", &usual_settings, sizeof usual_settings, skew);
}

std::string DirectHost::fault_in_structs() {
  const std::lock_guard lock(mutex_);
  std::string fault;
  for (const SkewedStruct* each : {given_.get(), settings_.get()})
    if (each && fault.empty()) fault = each->fault();
  for (const auto& [op, each] : operators_)
    if (fault.empty()) fault = each.fault();
  return fault;
}

const bp_operator* DirectHost::show(const Operator* op, Skew skew) {
  if (!op || !skew) return op ? &op->abi : nullptr;
  const std::lock_guard lock(mutex_);
  return operators_.try_emplace({op, skew.level}, "bp_operator", &op->abi, sizeof op->abi, skew)
      .first->second.as<const bp_operator>();
}

// No extension of the host is required of any host: a plugin must do without. One of another level offers what it has.
const bp_header* DirectHost::extension(const char* name, std::uint32_t min_version) {
  const bool known =
      name && std::strcmp(name, BP_SETTINGS) == 0 && min_version <= BP_SETTINGS_VERSION;
  return known && settings_ ? settings_->as<const bp_header>() : nullptr;
}

void DirectHost::fail_from(std::int64_t nth) {
  calls_ = 0;
  fail_at_ = nth;
}

void DirectHost::note_fault(std::string what) {
  const std::lock_guard lock(mutex_);
  if (faults_.size() < most_lines) faults_.push_back(std::move(what));
}

void DirectHost::note_log(std::uint32_t level, const char* message) {
  const std::lock_guard lock(mutex_);
  if (log_.size() < most_lines)
    log_.push_back(fmt::format("{}: {}", level, message ? message : "(null)"));
}

std::vector<std::string> DirectHost::take_faults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(faults_, {});
}

std::vector<std::string> DirectHost::take_log() {
  const std::lock_guard lock(mutex_);
  return std::exchange(log_, {});
}

std::vector<const bp_kernel*> DirectHost::more_kernels() {
  const std::lock_guard lock(mutex_);
  return more_kernels_;
}

bp_code DirectHost::allocate(std::uint64_t bytes, std::uint64_t alignment, void** out) {
  const std::int64_t nth = ++calls_;
  const std::int64_t fails = fail_at_.load();
  *out = nullptr;
  if (fails != 0 && nth >= fails)
    return host_set_error(&table_, BP_OUT_OF_MEMORY, "the host refuses memory on purpose");
  const std::uint64_t aligned = std::max<std::uint64_t>(alignment, 16);
  void* const block =
      std::aligned_alloc(aligned, (bytes + host_zone + aligned - 1) / aligned * aligned);
  if (!block) return host_set_error(&table_, BP_OUT_OF_MEMORY, "the host has no memory");
  std::memset(static_cast<char*>(block) + bytes, host_zone_byte, host_zone);
  {
    const std::lock_guard lock(mutex_);
    blocks_[block] = bytes;
  }
  ++live_;
  *out = block;
  return BP_OK;
}

void DirectHost::release(void* ptr) {
  if (!ptr) return;
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(ptr);
    if (found == blocks_.end()) {
      faults_.push_back(
          "release_host of memory that the host has not given, or that was released before");
      return;
    }
    bytes = found->second;
    blocks_.erase(found);
  }
  const auto* zone = static_cast<unsigned char*>(ptr) + bytes;
  if (std::any_of(zone, zone + host_zone, [](unsigned char c) { return c != host_zone_byte; }))
    note_fault(fmt::format("wrote behind the end of {} bytes of host memory", bytes));
  --live_;
  std::free(ptr);
}

bp_code DirectHost::add_kernels(const bp_kernel* const* kernels, std::uint32_t count) {
  if (count != 0 && !kernels)
    return host_set_error(&table_, BP_BAD_ARGUMENT, "register_kernels: kernels at NULL");
  const std::lock_guard lock(mutex_);
  more_kernels_.insert(more_kernels_.end(), kernels, kernels + count);
  return BP_OK;
}

}  // namespace bp::conform
