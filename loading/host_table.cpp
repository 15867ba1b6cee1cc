#include "host_table.hpp"

#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <span>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/submit.hpp>
#include <backplane/extensions/settings.h>
#include <backplane/loading/host_extension.hpp>
#include <backplane/loading/plugin_library.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/generated/abi_sizes.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

HostContext& context_of(const bp_host* host) {
  return *static_cast<HostContext*>(host->context);
}

// Runs `f`, turning whatever it throws into a code with a message: nothing crosses the boundary.
template <class F> bp_code guarded(F&& f) noexcept {
  ThreadState& state = thread_state();
  try {
    f();
    return BP_OK;
  } catch (const Error& error) {
    state.error_message = error.what();
    return state.error_code = static_cast<bp_code>(error.error_class());
  } catch (const std::bad_alloc&) {
    state.error_message = "out of host memory";
    return state.error_code = BP_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    state.error_message = error.what();
    return state.error_code = BP_INTERNAL;
  }
}

bp_code set_error(const bp_host*, bp_code code, const char* message) {
  ThreadState& state = thread_state();
  state.error_code = code;
  // A message of absurd length is cut: it came from outside.
  constexpr std::size_t longest = 16384;
  state.error_message.assign(message ? message : "", message ? strnlen(message, longest) : 0);
  state.error_call = 0;
  return code;
}

bp_code set_call_error(const bp_host* host, bp_code code, std::uint64_t number,
                       const char* message) {
  set_error(host, code, message);
  thread_state().error_call = number;
  return code;
}

void log(const bp_host* host, std::uint32_t level, const char* message) {
  log_line(level, fmt::format("{}: {}", context_of(host).plugin_name, message ? message : ""));
}

bp_code allocate_output(const bp_host*, const bp_call* call, std::uint32_t index,
                        std::uint32_t ndim, const std::int64_t* shape) {
  return guarded([&] {
    BP_CHECK(call && call->host_data, "allocate_output: the call is not one of the host's");
    Launch& launch = *static_cast<Launch*>(call->host_data);
    Frame& frame = *launch.frame;
    const char* op = frame.op().name();
    BP_CHECK((frame.op().flags & BP_OP_SHAPE_DATA) && launch.results,
             "{}: allocate_output is for operators whose shape depends on data", op);
    BP_CHECK(index < frame.call.num_results, "{}: allocate_output of output {}; there are {}", op,
             index, frame.call.num_results);
    check_rank(op, ndim);
    BP_CHECK(ndim == 0 || shape, "{}: allocate_output with a shape at NULL", op);
    launch.results[index] =
        empty_tensor({shape, ndim}, frame.inferred.outputs[index].dtype, frame.device());
    launch.outputs[index] = &launch.results[index].impl()->abi;
  });
}

bp_code workspace(const bp_host*, const bp_call* call, std::uint64_t bytes, std::uint64_t alignment,
                  bp_region* out) {
  return guarded([&] {
    BP_CHECK(call && out, "workspace: call or region is NULL");
    BP_CHECK(call->host_data, "workspace: the kernel does not declare BP_KERNEL_SCRATCH");
    *out = allocate_workspace(*static_cast<Launch*>(call->host_data), bytes, alignment);
  });
}

bp_code allocate_host_memory(const bp_host* host, std::uint64_t bytes, std::uint64_t alignment,
                             void** out) {
  *out = allocate_host(bytes, alignment);
  return *out ? BP_OK : set_error(host, BP_OUT_OF_MEMORY, "out of host memory");
}
void release_host_memory(const bp_host*, void* ptr) {
  release_host(ptr);
}

const bp_operator* operator_at(const bp_host*, std::uint32_t index) {
  const bp_operator* found = nullptr;
  guarded([&] {
    const std::vector<Operator*> all = registered_operators();
    if (index < all.size()) found = &all[index]->abi;
  });
  return found;
}
const bp_operator* find_operator_by_name(const bp_host*, const char* name) {
  const bp_operator* found = nullptr;
  guarded([&] {
    if (Operator* op = name ? find_operator(name) : nullptr) found = &op->abi;
  });
  return found;
}

bp_code register_more_kernels(const bp_host* host, const bp_kernel* const* kernels,
                              std::uint32_t num_kernels) {
  return guarded([&] {
    Backend* backend = context_of(host).backend.load(std::memory_order_acquire);
    BP_CHECK(backend,
             "register_kernels: the plugin's devices are not registered yet; offer these "
             "kernels in bp_plugin.kernels");
    register_kernels(*backend, kernels, num_kernels);
  });
}

std::uint32_t thread_count(const bp_host*) {
  return num_threads();
}
std::uint32_t is_deterministic(const bp_host*) {
  return deterministic();
}
const bp_settings settings = {{sizeof(bp_settings), BP_TYPE_EXTENSION, nullptr},
                              [](const bp_host*) { return std::uint32_t{allow_tf32()}; }};

// Filled while the library is loaded, read afterwards.
constinit loading::HostExtension offered[8];
constinit std::size_t num_offered = 0;

const bp_header* extension(const bp_host* host, const char* name, std::uint32_t min_version) {
  if (std::strcmp(name, BP_SETTINGS) == 0)
    return min_version <= BP_SETTINGS_VERSION ? &settings.h : nullptr;
  for (const loading::HostExtension& each : std::span(offered, num_offered))
    if (std::strcmp(name, each.name) == 0 && min_version <= each.version &&
        each.level <= host->abi_max)
      return each.table;
  return nullptr;
}

}  // namespace

void fill_host_table(HostContext& context, std::string plugin_path) {
  context.plugin_path = std::move(plugin_path);
  context.plugin_name = context.plugin_path;
  bp_host& host = context.host;
  host.abi_min = lowest_abi_level;
  host.abi_max = loading::offered_abi_level();
  host.h = {abi_size("bp_host", host.abi_max), BP_TYPE_HOST, nullptr};
  host.version = BP_VERSION;
  host.plugin_path = context.plugin_path.c_str();
  host.context = &context;
  host.set_error = set_error;
  host.log = log;
  host.allocate_output = allocate_output;
  host.workspace = workspace;
  host.allocate_host = allocate_host_memory;
  host.release_host = release_host_memory;
  host.operator_at = operator_at;
  host.find_operator = find_operator_by_name;
  host.register_kernels = register_more_kernels;
  host.num_threads = thread_count;
  host.deterministic = is_deterministic;
  host.extension = extension;
  host.set_call_error = set_call_error;
}

void loading::offer_to_plugins(const HostExtension& extension) {
  BP_CHECK(num_offered < std::size(offered), "{}: there is no room for more extensions",
           extension.name);
  offered[num_offered++] = extension;
}

std::string loading::plugin_of(const bp_host* host) {
  const HostContext& context = context_of(host);
  const Backend* backend = context.backend.load(std::memory_order_acquire);
  return backend ? fmt::format("{} {}", backend->name, backend->version) : context.plugin_name;
}

std::string_view last_plugin_message(const bp_host&) {
  return thread_state().error_message;
}

}  // namespace bp
