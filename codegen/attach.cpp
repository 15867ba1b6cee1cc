// Which kernels there are: one for each operator and backend that can compile, registered as rung 3.
#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include <backplane/codegen/codegen.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/measured.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/extensions.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tuning/tuner.hpp>

#include "constants.hpp"
#include "device/invocation.hpp"
#include "dialect/spirv.hpp"
#include "kinds/elementwise.hpp"
#include "kinds/kinds.hpp"

namespace bp::codegen {
namespace {

constexpr int max_backend_devices = 64;

// A device of an attached backend; its compiler wakes at the first call.
struct AttachedDevice {
  DeviceRecord* record = nullptr;
  std::mutex mutex;
  std::atomic<DeviceCompiler*> compiler{nullptr};
  std::unique_ptr<DeviceCompiler> owned;
};

struct AttachedBackend;

// What bp_kernel.self points to.
struct AttachedKernel {
  AttachedBackend* backend;
  const Operator* op;
  std::unique_ptr<GeneratedKernel> kernel;
  bp_kernel declaration{};
  std::unique_ptr<FunctionTable[]> functions;  // by the backend's index of the device
};

struct AttachedBackend {
  Backend* backend = nullptr;
  bp_compiler api{};
  std::uint32_t num_devices = 0;
  AttachedDevice devices[max_backend_devices];
  std::list<AttachedKernel> kernels;

  std::uint32_t find(const bp_device* handle) const {
    for (std::uint32_t i = 0; i < num_devices; ++i)
      if (devices[i].record->handle == handle) return i;
    throw_error(ErrorClass::internal, "codegen: a call on a device that its backend does not have");
  }

  DeviceCompiler& compiler_of(std::uint32_t index) {
    AttachedDevice& device = devices[index];
    if (DeviceCompiler* ready = device.compiler.load(std::memory_order_acquire)) return *ready;
    const std::lock_guard lock(device.mutex);
    if (!device.owned) {
      device.owned = std::make_unique<DeviceCompiler>(*device.record, api);
      device.compiler.store(device.owned.get(), std::memory_order_release);
    }
    return *device.owned;
  }
};

// Backends that are attached now.
struct Attached {
  std::mutex mutex;
  std::map<const Backend*, std::unique_ptr<AttachedBackend>> backends;
};
Attached& attached() {
  static auto* all = new Attached;
  return *all;
}

bp_code report(const bp_host& host, bp_code code, const char* message) {
  return host.set_error(&host, code, message);
}

bp_code run(void* self, const bp_call* call) {
  auto& attached_kernel = *static_cast<AttachedKernel*>(self);
  AttachedBackend& backend = *attached_kernel.backend;
  const bp_host& host = *backend.backend->host;
  try {
    const std::uint32_t index = backend.find(call->device);
    Invocation invocation(*call, host, backend.compiler_of(index),
                          attached_kernel.functions[index]);
    attached_kernel.kernel->run(invocation);
    return BP_OK;
  } catch (const Error& error) {
    return report(host, static_cast<bp_code>(error.error_class()), error.what());
  } catch (const std::bad_alloc&) {
    return report(host, BP_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return report(host, BP_INTERNAL, error.what());
  }
}

void add_kernel(AttachedBackend& backend, const Operator& op) {
  std::unique_ptr<GeneratedKernel> kernel = make_kernel(op);
  if (!kernel) return;
  AttachedKernel& made = backend.kernels.emplace_back();
  made.backend = &backend;
  made.op = &op;
  made.kernel = std::move(kernel);
  made.functions = std::make_unique<FunctionTable[]>(backend.num_devices);
  bp_kernel& declaration = made.declaration;
  declaration.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, nullptr};
  declaration.op = op.abi.name;
  declaration.schema_hash = op.abi.schema_hash;
  declaration.args = made.kernel->places.data();
  declaration.num_args = static_cast<std::uint32_t>(made.kernel->places.size());
  declaration.flags = made.kernel->flags | (made.kernel->uses_scratch ? BP_KERNEL_SCRATCH : 0);
  declaration.self = &made;
  declaration.run = run;
  const bp_kernel* list[] = {&declaration};
  register_kernels(*backend.backend, list, 1, Rung::generated);
}

auto find_kernel(AttachedBackend& backend, const Operator& op) {
  return std::find_if(backend.kernels.begin(), backend.kernels.end(),
                      [&](const AttachedKernel& each) { return each.op == &op; });
}

// Null: the device cannot compile, or, unless it is woken, has not yet been asked to.
DeviceCompiler* find_compiler(Device device, bool wakes) {
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  for (auto& [_, backend] : all.backends)
    for (std::uint32_t i = 0; i < backend->num_devices; ++i)
      if (backend->devices[i].record->device == device)
        return wakes ? &backend->compiler_of(i) : backend->devices[i].compiler.load();
  return nullptr;
}

// Between kernels, one of which is usually ours: our first call may compile and tune, and another's library may
// take seconds to make itself ready.
std::size_t choose_kernel(Device device, std::string_view what, std::size_t num_ways,
                          const std::function<double(std::size_t)>& measure) {
  const DeviceRecord& record = device_record(device);
  std::string identity =
      fmt::format("{} {}; {}", record.backend->name, record.backend->version, record.info.name);
  try {
    if (const DeviceCompiler* compiler = find_compiler(device, /*wakes=*/true))
      identity = compiler->info().identity;
  } catch (const Error&) {  // it speaks no language of ours
  }
  return tuner::choose({.what = what,
                        .identity = identity,
                        .num_ways = num_ways,
                        .budget_seconds = constants::kernel_choice_seconds},
                       measure);
}

void add_operator(Operator& op) {
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  for (auto& [_, backend] : all.backends)
    if (!op.joined || find_kernel(*backend, op) == backend->kernels.end()) add_kernel(*backend, op);
}

// A joined one: nobody calls it, and its work is done.
void end_operator(Operator& op) {
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  for (auto& [_, backend] : all.backends) {
    const auto kernel = find_kernel(*backend, op);
    if (kernel == backend->kernels.end()) continue;
    for (std::uint32_t i = 0; i < backend->num_devices; ++i)
      if (DeviceCompiler* compiler = backend->devices[i].compiler.load())
        compiler->forget(function_name(op.name()) + "_");
    backend->kernels.erase(kernel);
  }
}

void detach(Backend& backend) {
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  all.backends.erase(&backend);
}

// What was compiled for a device that may be opened again.
void close_compiler(Backend& backend, DeviceRecord& record) {
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  const auto found = all.backends.find(&backend);
  if (found == all.backends.end()) return;
  AttachedBackend& mine = *found->second;
  for (std::uint32_t i = 0; i < mine.num_devices; ++i) {
    if (mine.devices[i].record != &record) continue;
    for (AttachedKernel& kernel : mine.kernels) kernel.functions[i].clear();
    mine.devices[i].compiler = nullptr;
    mine.devices[i].owned.reset();
  }
}

void attach(Backend& backend) {
  auto made = std::make_unique<AttachedBackend>();
  made->backend = &backend;
  made->api = extensions_of(backend).compiler;
  for (DeviceRecord* record : backend.devices)
    if (made->num_devices < max_backend_devices) made->devices[made->num_devices++].record = record;
  AttachedBackend& kept = *made;
  std::vector<Chain> joined_before;  // let go after the lock
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  all.backends[&backend] = std::move(made);
  hear_of_closing(backend, detach);
  hear_of_closing(backend, close_compiler);
  for (Operator* op : registered_operators()) add_kernel(kept, *op);
  joined_before = living_chains();
  for (const Chain& chain : joined_before) add_kernel(kept, *chain);
}

}  // namespace

BuildCounts build_counts() {
  const BuildCounters& counters = build_counters();
  return {counters.compiled, counters.from_cache};
}

std::vector<GeneratedSource> generated_sources(Device device) {
  const DeviceCompiler* compiler = find_compiler(device, /*wakes=*/false);
  return compiler ? compiler->sources() : std::vector<GeneratedSource>{};
}

std::string spirv_of(const GeneratedSource& source) {
  return to_spirv(source.text, std::chrono::seconds(60));
}

}  // namespace bp::codegen

void bp_codegen_attach(bp::Backend* backend) {
  bp::listen_for_operators({bp::codegen::add_operator, bp::codegen::end_operator});
  bp::codegen::attach(*backend);
  bp::set_kernel_chooser(bp::codegen::choose_kernel);
}
