#include "worker/direct_plugin.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <sys/mman.h>

#include <backplane/dispatcher/registry.hpp>
#include <backplane/extensions/settings.h>
#include <backplane/runtime/generated/abi_sizes.hpp>
#include <backplane/tensor/error.hpp>

#include "refuse.hpp"

namespace bp::conform {

// ---- The host

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

// ---- The plugin

namespace {

constexpr std::uint64_t ring_bytes = 32u << 20, largest_piece = 4u << 20;

DirectKernel read_declaration(const bp_kernel& kernel, int place) {
  DirectKernel made;
  made.kernel = &kernel;
  made.declared = complete(kernel);
  made.args.assign(kernel.args, kernel.args + kernel.num_args);
  made.place = place;
  const Operator* op = find_operator(kernel.op);
  const KnownArguments known = op ? known_arguments(*op, kernel.schema_hash) : KnownArguments{};
  made.num_known = known.count;
  made.whole = known.whole;
  return made;
}

}  // namespace

const char* code_name(bp_code code) {
  constexpr const char* names[] = {
      "BP_OK",        "BP_BAD_ARGUMENT", "BP_UNSUPPORTED", "BP_OUT_OF_MEMORY",
      "BP_RETRY",     "BP_STREAM_LOST",  "BP_DEVICE_LOST", "BP_INTERNAL",
      "BP_TIMED_OUT", "BP_CANCELLED",    "BP_PEER_LOST"};
  return code == BP_OK || is_error_class(code) ? names[code] : "an unknown code";
}

std::string told(bp_code code) {
  const std::string& message = told_error().message;
  return fmt::format("{}: {}", code_name(code), message.empty() ? "no message" : message);
}

loading::Outcome open_library(const std::string& path, DirectHost& host,
                              loading::PluginLibrary& library) {
  const auto what_was_told = [](const bp_host&) { return std::string_view(told_error().message); };
  return loading::PluginLibrary::open(path, host.given(), what_was_told, &library);
}

void require(bp_code code, const char* what) {
  if (code == BP_OK) return;
  const bool known = is_error_class(code);
  throw_error(known ? static_cast<ErrorClass>(code) : ErrorClass::internal,
              fmt::format("{}: {}", what, told(code)));
}

DirectPlugin::DirectPlugin(const std::string& wanted, const std::string& path, Skew skew)
    : host(path), file(path) {
  if (skew.level != 0) host.set_levels(1, skew.level);
  if (skew.padded) host.set_levels(1, BP_ABI_LEVEL + 7);
  host.set_skew(skew);
  const loading::Outcome opened = open_library(path, host, library_);
  if (!opened.ok()) throw_error(static_cast<ErrorClass>(opened.code), opened.message);
  plugin = library_.plugin();
  try {
    start();
    open(wanted);
  } catch (...) {
    shut_down();
    throw;
  }
}

DirectPlugin::~DirectPlugin() {
  if (device) {
    end_side_stream();
    if (plugin->quiesce) static_cast<void>(plugin->quiesce(plugin->self));
    plugin->close(device);
  }
  shut_down();
}

void DirectPlugin::end_side_stream() {
  if (!side_stream) return;
  static_cast<void>(queue.synchronize(device, side_stream));
  queue.destroy_stream(device, std::exchange(side_stream, nullptr));
}

bp_code DirectPlugin::open_device() {
  if (const bp_code code = plugin->open(plugin->self, index, &device); code != BP_OK) {
    device = nullptr;
    return code;
  }
  if (!device) throw_error(ErrorClass::internal, "open: it succeeded without a device");
  if (queue.create_stream && !synchronous() &&
      queue.create_stream(device, 0, &side_stream) != BP_OK)
    side_stream = nullptr;
  return BP_OK;
}

bp_code DirectPlugin::reopen() {
  end_side_stream();
  plugin->close(std::exchange(device, nullptr));
  return open_device();
}

void DirectPlugin::shut_down() {
  if (plugin->shutdown) plugin->shutdown(plugin->self);
  library_.close();
  if (ring_) munmap(std::exchange(ring_, nullptr), ring_bytes);
}

void DirectPlugin::start() {
  if (plugin->probe) require(plugin->probe(plugin->self), "probe");
  if (plugin->init) require(plugin->init(plugin->self), "init");
  for (std::uint32_t i = 0; i < plugin->num_kernels; ++i)
    if (!plugin->kernels || !plugin->kernels[i] || !plugin->kernels[i]->op ||
        !plugin->kernels[i]->run)
      throw_error(ErrorClass::internal,
                  fmt::format("{}: kernel {} has no name or no function", plugin->name, i));
  memory = complete(*plugin->memory);
  queue = complete(*plugin->queue);
  std::vector<const bp_kernel*> list(plugin->kernels, plugin->kernels + plugin->num_kernels);
  for (const bp_kernel* more : host.more_kernels()) list.push_back(more);
  for (std::size_t i = 0; i < list.size(); ++i)
    kernels.push_back(read_declaration(*list[i], static_cast<int>(i)));
  std::ranges::stable_sort(kernels, [](const DirectKernel& a, const DirectKernel& b) {
    return a.declared.priority > b.declared.priority;
  });
}

// "acme", "acme:1", "vendor:acme:1".
void DirectPlugin::open(const std::string& wanted) {
  if (!plugin->devices)
    refuse("{} has no devices, only extensions; the suite examines devices", plugin->name);
  require(plugin->devices(plugin->self, &num_devices, nullptr), "devices");
  const std::size_t colon = wanted.rfind(':');
  const bool numbered = colon != std::string::npos &&
                        wanted.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  index = numbered ? static_cast<std::uint32_t>(std::stoul(wanted.substr(colon + 1))) : 0;
  if (index >= num_devices)
    refuse("there is no device '{}'; {} has {}", wanted, plugin->name, num_devices);
  std::vector<bp_device_info> infos(num_devices);
  for (bp_device_info& each : infos) {
    each.h = {sizeof(bp_device_info), BP_TYPE_DEVICE_INFO, nullptr};
    each.numa_node = -1;
  }
  std::uint32_t count = num_devices;
  require(plugin->devices(plugin->self, &count, infos.data()), "devices");
  info = infos[index];
  name = fmt::format("{}:{}", plugin->name, index);
  require(open_device(), "open");
}

bp_code DirectPlugin::allocate(std::uint64_t bytes, std::uint64_t alignment, bp_handle& out,
                               std::uint32_t space) {
  const std::lock_guard lock(allocation);
  out = 0;
  if (space == 0) return memory.allocate(device, bytes, alignment, &out);
  return memory.allocate_in(device, space, bytes, alignment, &out);
}

void DirectPlugin::release(bp_handle handle) {
  const std::lock_guard lock(allocation);
  memory.release(device, handle);
}

void DirectPlugin::copy(const bp_region& to, const bp_region& from, std::uint32_t direction) {
  told_error() = {};
  require(memory.copy(device, &to, &from, direction, side_stream), "copy");
  if (!synchronous()) require(queue.synchronize(device, side_stream), "copy");
}

void DirectPlugin::write(bp_handle handle, std::uint64_t offset, const void* from,
                         std::uint64_t bytes) {
  const auto* source = static_cast<const std::uint8_t*>(from);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(bytes - done, largest_piece);
    std::uint8_t* const buffer = staging(piece);
    std::memcpy(buffer, source + done, piece);
    copy({handle, offset + done, piece}, {reinterpret_cast<std::uintptr_t>(buffer), 0, piece},
         BP_COPY_FROM_HOST);
    done += piece;
  }
}

std::uint8_t* DirectPlugin::staging(std::uint64_t bytes) {
  const std::lock_guard lock(staging_mutex_);
  if (!ring_) {
    void* const made =
        mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
      throw_error(ErrorClass::out_of_memory, "the worker has no memory for its copies");
    ring_ = static_cast<std::uint8_t*>(made);
  }
  if (staging_place + bytes > ring_bytes) staging_place = 0;
  std::uint8_t* const taken = ring_ + staging_place;
  staging_place += (bytes + 63) / 64 * 64;
  return taken;
}

void DirectPlugin::read(bp_handle handle, std::uint64_t offset, void* to, std::uint64_t bytes) {
  if (bytes == 0) return;
  // Where the host may look, it looks: a copy would be ordered behind work that is not done yet.
  if (host_readable()) {
    std::memcpy(to, reinterpret_cast<const void*>(handle + offset), bytes);
    return;
  }
  auto* target = static_cast<std::uint8_t*>(to);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(bytes - done, largest_piece);
    std::uint8_t* const buffer = staging(piece);
    std::memset(buffer, 0x96,
                std::min<std::uint64_t>(
                    piece, 4096));  // what the last copy brought must not pass for this one
    copy({reinterpret_cast<std::uintptr_t>(buffer), 0, piece}, {handle, offset + done, piece},
         BP_COPY_TO_HOST);
    std::memcpy(target + done, buffer, piece);
    done += piece;
  }
}

const bp_header* DirectPlugin::extension(const char* name_of_it, std::uint32_t version) const {
  return plugin->extension ? plugin->extension(plugin->self, name_of_it, version) : nullptr;
}

}  // namespace bp::conform
