// What the host sees: the correct plugin, with the chosen fault or benign variant between the two.
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <backplane/abi.h>

#include "device.hpp"
#include "faults.hpp"
#include "plans.hpp"
#include "queue_faults.hpp"
#include "variant.hpp"

extern "C" bp_code exam_correct_plugin(const bp_host* host, uint32_t* abi, const bp_plugin** out);

namespace exam {
namespace {

// As a later minor would write it: more at the end than this host knows.
template <class T> struct Grown {
  T known;
  uint64_t unknown[4] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
};

Grown<bp_plugin> plugin;
Grown<bp_memory> memory;
Grown<bp_queue> queue;
std::deque<Grown<bp_kernel>> kernels;
std::vector<const bp_kernel*> kernel_list;
const bp_plugin* correct_plugin = nullptr;

template <class T> void grow(Grown<T>& table) {
  if (variant_is("newer_minor")) table.known.h.size = sizeof table;
}

bp_code run_with_fault(void* self, const bp_call* call) {
  return chosen_kernel_fault()->run(*static_cast<const bp_kernel*>(self), *call);
}

bp_code run_flushing(void* self, const bp_call* call) {
  const bp_code code = run(*static_cast<const bp_kernel*>(self), *call);
  const bp_tensor& out = *call->outputs[0];
  if (code != BP_OK || out.dtype != BP_F32 || out.dl.data == nullptr || is_row(*call, "copy"))
    return code;
  for (int64_t i = 0; i < out.numel; ++i)
    if (const double value = number_at(out, i); value != 0 && std::abs(value) < 0x1p-126)
      set_number(out, i, std::copysign(0.0, value));
  return code;
}

// Each call on a thread that is made for it. An error's message belongs to the thread that called.
bp_code run_on_thread(void* self, const bp_call* call) {
  const bp_kernel& inner = *static_cast<const bp_kernel*>(self);
  bp_code code = BP_OK;
  std::thread([&] { code = run(inner, *call); }).join();
  return code == BP_OK ? code : run(inner, *call);
}

// As in a pool of eleven threads, each of which keeps what its first call of a kernel took, and takes its turn when it happens to.
bp_code run_in_pool(void* self, const bp_call* call) {
  constexpr size_t threads = 11, scratch_bytes = 16 << 10;
  static std::mutex mutex;
  static std::unordered_map<void*, std::vector<std::unique_ptr<char[]>>> kept;
  {
    const std::lock_guard lock(mutex);
    auto& scratch = kept[self];
    if (scratch.size() < threads) scratch.push_back(std::make_unique<char[]>(scratch_bytes));
  }
  return run(*static_cast<const bp_kernel*>(self), *call);
}

// The first input goes through the workspace.
bp_code run_repacked(void* self, const bp_call* call) {
  const bp_kernel& inner = *static_cast<const bp_kernel*>(self);
  ChangedCall changed(*call);
  bp_tensor* const first = call->num_args == 0 ? nullptr : changed.tensor(0);
  if (first == nullptr || first->numel == 0 || is_row(*call, "nonzero")) return run(inner, *call);
  const uint64_t bytes = static_cast<uint64_t>(first->numel) * first->itemsize;
  bp_region scratch{};
  if (const bp_code code = host->workspace(host, call, bytes, 64, &scratch); code != BP_OK)
    return code;
  changed.repack(*first);
  std::memcpy(reinterpret_cast<uint8_t*>(scratch.handle) + scratch.offset, first->dl.data, bytes);
  first->dl.data = reinterpret_cast<void*>(scratch.handle);
  first->dl.byte_offset = scratch.offset;
  return run(inner, changed.call());
}

// Level 2's rows, in f32 and the bools that they compare to.
bool is_left_out(const bp_kernel& kernel) {
  if (!variant_is("l2_f32_only")) return false;
  for (const char* kept : {"add", "sub", "mul", "div", "exp", "log", "sqrt", "tanh", "maximum",
                           "sum", "max", "bmm", "copy", "cast", "cat", "full", "softmax"})
    if (std::strcmp(kernel.op, kept) == 0) return false;
  return true;
}

void add_kernel(const bp_kernel& inner) {
  if (is_left_out(inner)) return;
  Grown<bp_kernel>& outer = kernels.emplace_back();
  outer.known = inner;
  outer.known.self = const_cast<bp_kernel*>(&inner);
  outer.known.run = [](void* self, const bp_call* call) {
    return run(*static_cast<const bp_kernel*>(self), *call);
  };
  outer.known.supports = nullptr;
  if (reference::is_asynchronous()) outer.known.flags |= BP_KERNEL_CAPTURABLE;
  spoil_contract(outer.known);
  if (makes_plans(inner)) make_planned(outer.known);
  if (chosen_kernel_fault() != nullptr) outer.known.run = run_with_fault;
  if (variant_is("flushes_declared")) outer.known.run = run_flushing;
  if (variant_is("threads")) outer.known.run = run_on_thread;
  if (variant_is("pool_keeps_scratch")) outer.known.run = run_in_pool;
  if (variant_is("repacks")) {
    outer.known.run = run_repacked;
    outer.known.flags = (outer.known.flags & ~BP_KERNEL_IN_PLACE_SAFE) | BP_KERNEL_SCRATCH;
  }
  if (variant_is("l2_f32_only")) {
    static std::deque<std::vector<bp_arg>> narrowed;
    auto& args = narrowed.emplace_back(inner.args, inner.args + inner.num_args);
    for (bp_arg& arg : args)
      if (arg.dtypes != 0 && std::strcmp(inner.op, "cast") != 0)
        arg.dtypes &= 1u << BP_F32 | 1u << BP_BOOL;
    outer.known.args = args.data();
  }
  grow(outer);
}

bp_code init(void* self) {
  if (const bp_code code = correct_plugin->init ? correct_plugin->init(self) : BP_OK; code != BP_OK)
    return code;
  kernels.clear();
  kernel_list.clear();
  for (uint32_t i = 0; i < correct_plugin->num_kernels; ++i)
    add_kernel(*correct_plugin->kernels[i]);
  for (const auto& kernel : kernels) kernel_list.push_back(&kernel.known);
  plugin.known.kernels = kernel_list.data();
  plugin.known.num_kernels = static_cast<uint32_t>(kernel_list.size());
  return BP_OK;
}

}  // namespace
}  // namespace exam

extern "C" BP_EXPORT bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi,
                                              const bp_plugin** out) {
  using namespace exam;
  const bp_code code = exam_correct_plugin(host, abi, &correct_plugin);
  const bool takes_over = code == BP_RETRY && fault_is("second_host_takes_over");
  if (code != BP_OK && !takes_over) return code;
  exam::host = host;
  plugin.known = *correct_plugin;
  memory.known = *correct_plugin->memory;
  queue.known = *correct_plugin->queue;
  spoil_memory(memory.known);
  spoil_facts(plugin.known, memory.known, queue.known);
  spoil_spaces(memory.known);
  spoil_queue(queue.known, memory.known);
  grow(plugin);
  grow(memory);
  grow(queue);
  plugin.known.memory = &memory.known;
  plugin.known.queue = &queue.known;
  plugin.known.init = exam::init;
  *out = &plugin.known;
  return BP_OK;
}
