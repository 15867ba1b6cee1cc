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
constexpr std::size_t most_faults = 20;

DirectHost& host_of(const bp_host* host) {
  return *static_cast<DirectHost*>(host->context);
}

// A function of the table that is a method of the host.
template <auto method, class Result, class... Args>
Result forward(const bp_host* host, Args... args) {
  return (host_of(host).*method)(args...);
}

bp_code set_error(const bp_host* host, bp_code code, const char* message) {
  ++host_of(host).errors;
  ToldError& told = told_error();
  told.code = code;
  told.message.assign(message ? message : "", message ? strnlen(message, 4096) : 0);
  return code;
}

bp_code allocate_output(const bp_host* host, const bp_call* call, std::uint32_t index,
                        std::uint32_t ndim, const std::int64_t* shape) {
  if (!call || !call->host_data)
    return set_error(host, BP_BAD_ARGUMENT, "allocate_output: no call of the host's");
  if (ndim > BP_MAX_RANK || (ndim != 0 && !shape))
    return set_error(host, BP_BAD_ARGUMENT, "allocate_output: a bad shape");
  return static_cast<CallContext*>(call->host_data)->allocate_output(index, ndim, shape);
}

bp_code give_workspace(const bp_host* host, const bp_call* call, std::uint64_t bytes,
                       std::uint64_t alignment, bp_region* out) {
  if (!call || !out || !call->host_data)
    return set_error(host, BP_BAD_ARGUMENT, "workspace: no call of the host's");
  return static_cast<CallContext*>(call->host_data)->workspace(bytes, alignment, *out);
}

const bp_settings usual_settings = {{sizeof(bp_settings), BP_TYPE_EXTENSION, nullptr},
                                    [](const bp_host*) { return std::uint32_t{0}; }};

}  // namespace

ToldError& told_error() {
  thread_local ToldError told;
  return told;
}

DirectHost::DirectHost(std::string plugin_path, Skew skew, std::uint32_t lowest)
    : plugin_path_(std::move(plugin_path)), skew_(skew) {
  table_.abi_min = lowest;
  table_.abi_max = lowest > 1    ? lowest + 1
                   : skew.padded ? BP_ABI_LEVEL + 7
                   : skew.level  ? skew.level
                                 : loading::offered_abi_level();
  table_.h = {abi_size("bp_host", loading::offered_abi_level()), BP_TYPE_HOST, nullptr};
  table_.version = "conformance";
  table_.plugin_path = plugin_path_.c_str();
  table_.context = this;
  table_.set_error = set_error;
  table_.set_call_error = [](const bp_host* host, bp_code code, std::uint64_t,
                             const char* message) { return set_error(host, code, message); };
  table_.log = [](const bp_host*, std::uint32_t, const char*) {};
  table_.allocate_output = allocate_output;
  table_.workspace = give_workspace;
  table_.allocate_host = forward<&DirectHost::allocate>;
  table_.release_host = forward<&DirectHost::release>;
  table_.operator_at = forward<&DirectHost::operator_at>;
  table_.find_operator = forward<&DirectHost::find>;
  table_.register_kernels = forward<&DirectHost::add_kernels>;
  table_.num_threads = [](const bp_host* host) { return host_of(host).num_threads.load(); };
  table_.deterministic = [](const bp_host* host) { return host_of(host).deterministic.load(); };
  table_.extension = forward<&DirectHost::extension>;
  if (!skew) return;
  given_ = std::make_unique<SkewedStruct>("bp_host", &table_, sizeof table_, skew);
  settings_ =
      std::make_unique<SkewedStruct>("bp_settings", &usual_settings, sizeof usual_settings, skew);
}

DirectHost::~DirectHost() {
  for (const auto& [ptr, bytes] : blocks_) std::free(ptr);
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

const bp_operator* DirectHost::operator_at(std::uint32_t index) {
  const std::vector<Operator*> all = registered_operators();
  return show(index < all.size() ? all[index] : nullptr, skew_);
}
const bp_operator* DirectHost::find(const char* name) {
  return show(name ? find_operator(name) : nullptr, skew_);
}

// No extension of the host is required of any host: a plugin must do without. One of another level offers what it has.
const bp_header* DirectHost::extension(const char* name, std::uint32_t min_version) {
  const bool known =
      name && std::strcmp(name, BP_SETTINGS) == 0 && min_version <= BP_SETTINGS_VERSION;
  return known && settings_ ? settings_->as<const bp_header>() : nullptr;
}

void DirectHost::fail_from(std::int64_t nth) {
  calls = 0;
  fail_at_ = nth;
}

void DirectHost::note_fault(std::string what) {
  const std::lock_guard lock(mutex_);
  if (faults_.size() < most_faults) faults_.push_back(std::move(what));
}

std::vector<std::string> DirectHost::take_faults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(faults_, {});
}

bp_code DirectHost::allocate(std::uint64_t bytes, std::uint64_t alignment, void** out) {
  const std::int64_t nth = ++calls;
  const std::int64_t fails = fail_at_.load();
  *out = nullptr;
  if (fails != 0 && nth >= fails)
    return set_error(&table_, BP_OUT_OF_MEMORY, "the host refuses memory on purpose");
  const std::uint64_t aligned = std::max<std::uint64_t>(alignment, 16);
  void* const block =
      std::aligned_alloc(aligned, (bytes + host_zone + aligned - 1) / aligned * aligned);
  if (!block) return set_error(&table_, BP_OUT_OF_MEMORY, "the host has no memory");
  std::memset(static_cast<char*>(block) + bytes, host_zone_byte, host_zone);
  {
    const std::lock_guard lock(mutex_);
    blocks_[block] = bytes;
  }
  ++live;
  *out = block;
  return BP_OK;
}

void DirectHost::release(void* ptr) {
  if (!ptr) return;
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    auto block = blocks_.extract(ptr);
    if (!block) {
      faults_.push_back(
          "release_host of memory that the host has not given, or that was released before");
      return;
    }
    bytes = block.mapped();
  }
  const auto* zone = static_cast<unsigned char*>(ptr) + bytes;
  if (std::any_of(zone, zone + host_zone, [](unsigned char c) { return c != host_zone_byte; }))
    note_fault(fmt::format("wrote behind the end of {} bytes of host memory", bytes));
  --live;
  std::free(ptr);
}

bp_code DirectHost::add_kernels(const bp_kernel* const* kernels, std::uint32_t count) {
  if (count != 0 && !kernels)
    return set_error(&table_, BP_BAD_ARGUMENT, "register_kernels: kernels at NULL");
  const std::lock_guard lock(mutex_);
  more_kernels_.insert(more_kernels_.end(), kernels, kernels + count);
  return BP_OK;
}

// ---- The plugin

namespace {

constexpr std::uint64_t ring_bytes = 32u << 20, largest_piece = 4u << 20;

DirectKernel read_declaration(const bp_kernel& kernel, int place) {
  const Operator* op = find_operator(kernel.op);
  return {complete(kernel),
          {kernel.args, kernel.args + kernel.num_args},
          place,
          op ? known_arguments(*op, kernel.schema_hash) : KnownArguments{}};
}

}  // namespace

std::string told(bp_code code) {
  std::string name = code == BP_OK ? "BP_OK" : "an unknown code";
  if (is_error_class(code)) {
    name = fmt::format("BP_{}", bp::name(static_cast<ErrorClass>(code)));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  }
  const std::string& message = told_error().message;
  return fmt::format("{}: {}", name, message.empty() ? "no message" : message);
}

void require(bp_code code, const char* what) {
  if (code == BP_OK) return;
  const bool known = is_error_class(code);
  throw_error(known ? static_cast<ErrorClass>(code) : ErrorClass::internal,
              fmt::format("{}: {}", what, told(code)));
}

OpenedFile::OpenedFile(const std::string& path, Skew skew, std::uint32_t lowest)
    : file(path), host(path, skew, lowest),
      outcome(loading::PluginLibrary::open(
          path, host.given(), [](const bp_host&) { return std::string_view(told_error().message); },
          &library)),
      plugin(outcome.ok() ? library.plugin() : nullptr) {}

DirectPlugin::DirectPlugin(const std::string& wanted, const std::string& path, Skew skew)
    : OpenedFile(path, skew) {
  if (!plugin) throw_error(static_cast<ErrorClass>(outcome.code), outcome.message);
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
  library.close();
  if (ring_) munmap(std::exchange(ring_, nullptr), ring_bytes);
}

void DirectPlugin::start() {
  if (plugin->probe) require(plugin->probe(plugin->self), "probe");
  if (plugin->init) require(plugin->init(plugin->self), "init");
  memory = complete(*plugin->memory);
  queue = complete(*plugin->queue);
  std::vector<const bp_kernel*> list(plugin->kernels, plugin->kernels + plugin->num_kernels);
  list.insert(list.end(), host.more_kernels().begin(), host.more_kernels().end());
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
  std::vector<bp_device_info> infos;
  std::uint32_t count = num_devices;
  require(ask_devices(count, infos), "devices");
  info = infos[index];
  name = fmt::format("{}:{}", plugin->name, index);
  require(open_device(), "open");
}

bp_code DirectPlugin::ask_devices(std::uint32_t& count, std::vector<bp_device_info>& infos) const {
  bp_device_info asked{};
  asked.h = {sizeof asked, BP_TYPE_DEVICE_INFO, nullptr};
  asked.numa_node = -1;
  infos.assign(count, asked);
  return plugin->devices(plugin->self, &count, infos.data());
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

void DirectPlugin::copy_and_wait(const bp_region& to, const bp_region& from,
                                 std::uint32_t direction) {
  told_error() = {};
  require(copy(to, from, direction, side_stream), "copy");
  if (!synchronous()) require(queue.synchronize(device, side_stream), "copy");
}

void DirectPlugin::write(bp_handle handle, std::uint64_t offset, const void* from,
                         std::uint64_t bytes) {
  const auto* source = static_cast<const std::uint8_t*>(from);
  for (std::uint64_t done = 0; done < bytes; done += largest_piece) {
    const std::uint64_t piece = std::min(bytes - done, largest_piece);
    std::uint8_t* const buffer = staging(piece);
    std::memcpy(buffer, source + done, piece);
    copy_and_wait({handle, offset + done, piece}, at_host(buffer, piece), BP_COPY_FROM_HOST);
  }
}

void DirectPlugin::read(bp_handle handle, std::uint64_t offset, void* to, std::uint64_t bytes) {
  if (bytes == 0) return;
  // Where the host may look, it looks: a copy would be ordered behind work that is not done yet.
  if (host_readable()) {
    std::memcpy(to, reinterpret_cast<const void*>(handle + offset), bytes);
    return;
  }
  auto* target = static_cast<std::uint8_t*>(to);
  for (std::uint64_t done = 0; done < bytes; done += largest_piece) {
    const std::uint64_t piece = std::min(bytes - done, largest_piece);
    std::uint8_t* const buffer = staging(piece);
    // What the last copy brought must not pass for this one.
    std::memset(buffer, 0x96, std::min<std::uint64_t>(piece, 4096));
    copy_and_wait(at_host(buffer, piece), {handle, offset + done, piece}, BP_COPY_TO_HOST);
    std::memcpy(target + done, buffer, piece);
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

const bp_header* DirectPlugin::extension(const char* name_of_it, std::uint32_t version) const {
  return plugin->extension ? plugin->extension(plugin->self, name_of_it, version) : nullptr;
}

}  // namespace bp::conform
