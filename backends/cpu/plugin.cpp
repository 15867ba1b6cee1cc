// The entry point: what this plugin is, and the list of its kernels. Written without BP_PLUGIN, since it makes kernels
// of the host's expressions as well.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include <backplane/extensions/numerics.h>
#include <backplane/extensions/program.h>
#include <backplane/plugin.hpp>

#include "device.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"

namespace bp::cpu {
namespace {

struct AllKernels {
  Kernels rows;
  ExpressionKernels expressions;
  std::vector<const bp_kernel*> list;  // what the host reads: those of both
};

// The library stays mapped (OpenMP's threads live in it), so that a second load finds these again.
constinit bp_plugin the_plugin{};
constinit AllKernels* the_kernels = nullptr;
// Of operators that came later; a list of its own, because the host reads the other one.
constinit ExpressionKernels* the_programs = nullptr;
constinit std::mutex programs_mutex;

void drop_kernels() {
  the_plugin.kernels = nullptr;
  the_plugin.num_kernels = 0;
  delete the_kernels;
  the_kernels = nullptr;
  const std::lock_guard lock(programs_mutex);
  delete the_programs;
  the_programs = nullptr;
}

// A kernel for an expression that the host has just made: its tile program, in microseconds.
bp_code make_program(void*, const bp_operator* op, const bp_kernel** out) noexcept {
  return guarded("cpu: make", [&] {
    const std::lock_guard lock(programs_mutex);
    if (the_programs == nullptr) the_programs = new ExpressionKernels;
    *out = add_pointwise_kernel(*op, *the_programs);
    if (*out != nullptr) return bp_code{BP_OK};
    return fail(BP_UNSUPPORTED, std::string("cpu: the expression of ") + op->name +
                                    " is too long for a tile program, or no pointwise one");
  });
}

void release_program(void*, const bp_kernel* kernel) noexcept {
  const std::lock_guard lock(programs_mutex);
  if (the_programs != nullptr) the_programs->remove(kernel);
}

constexpr bp_program program_extension{
    {sizeof(bp_program), BP_TYPE_EXTENSION, nullptr}, make_program, release_program};

// The processor's own dot product of bf16, which oneDNN uses where it is, reads and gives no denormals.
bool has_bf16_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

const bp_header* extension(void*, const char* name, uint32_t min_version) noexcept {
  static const bp_numerics numerics{{sizeof(bp_numerics), BP_TYPE_EXTENSION, nullptr},
                                    has_bf16_products() ? BP_NUMERICS_FLUSHES_BF16_PRODUCTS : 0u,
                                    0};
  const auto is = [&](const char* known, uint32_t version) {
    return std::strcmp(name, known) == 0 && min_version <= version;
  };
  if (is(BP_PROGRAM, BP_PROGRAM_VERSION)) return &program_extension.h;
  return is(BP_NUMERICS, BP_NUMERICS_VERSION) ? &numerics.h : nullptr;
}

// Quick, because every start of every application waits for it: oneDNN wakes at the first large
// matmul.
bp_code init(void*) noexcept {
  return guarded("cpu: init", [] {
    drop_kernels();
    auto all = std::make_unique<AllKernels>();
    add_reduction_kernels(all->rows);
    add_argmax_kernels(all->rows);
    add_softmax_kernels(all->rows);
    add_logsumexp_kernels(all->rows);
    add_norm_kernels(all->rows);
    add_batch_norm_kernels(all->rows);
    add_attention_kernels(all->rows);
    add_copy_kernels(all->rows);
    add_rearranging_kernels(all->rows);
    add_matmul_kernels(all->rows);
    add_convolution_kernels(all->rows);
    add_packed_convolution_kernels(all->rows);
    add_max_pooling_kernels(all->rows);
    add_max_pooling_backward_kernels(all->rows);
    add_pooling_kernels(all->rows);
    add_recurrence_kernels(all->rows);
    add_gather_kernels(all->rows);
    add_cat_kernels(all->rows);
    add_scan_kernels(all->rows);
    add_sort_kernels(all->rows);
    add_random_kernels(all->rows);
    add_factory_kernels(all->rows);
    add_nonzero_kernels(all->rows);
#ifdef BP_KISSFFT_KERNELS
    add_fourier_kernels(all->rows);
#endif
    add_system_kernels(all->rows);
    add_orthogonal_kernels(all->rows);
    add_eig_kernels(all->rows);
    add_step_kernels(all->rows);
    add_list_kernels(all->rows);
    add_list_norm_kernels(all->rows);
    if (const Status status = all->rows.finish(the_plugin); !status.is_ok()) return status.code();
    all->list.assign(the_plugin.kernels, the_plugin.kernels + the_plugin.num_kernels);
    add_pointwise_kernels(*host(), all->expressions);
    add_list_expressions(*host(), all->expressions);
    const std::vector<const bp_kernel*>& made = all->expressions.pointers();
    all->list.insert(all->list.end(), made.begin(), made.end());
    the_kernels = all.release();
    the_plugin.kernels = the_kernels->list.data();
    the_plugin.num_kernels = static_cast<uint32_t>(the_kernels->list.size());
    return bp_code{BP_OK};
  });
}

std::atomic<bool> serves = false;  // a host, until it has shut the library down

void shutdown(void*) noexcept {
  drop_kernels();
  serves = false;
}

bp_code get_plugin(const bp_host* host, uint32_t* abi, const bp_plugin** out) noexcept {
  if (serves && host != bp::detail::the_host)
    return host->set_error(host, BP_RETRY, "cpu: this library serves another host of the process");
  bp::detail::the_host = host;
  if (*abi == 0 || host->abi_min > BP_ABI_LEVEL)
    return fail(BP_UNSUPPORTED, "cpu: this plugin is older than every ABI level of the host");
  *abi = std::min<uint32_t>(*abi, BP_ABI_LEVEL);

  the_plugin.h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, nullptr};
  the_plugin.abi = *abi;
  the_plugin.name = "cpu";
  the_plugin.vendor = "Backplane";
  the_plugin.version = "1.0.0";
  the_plugin.init = init;
  the_plugin.shutdown = shutdown;
  the_plugin.devices = devices;
  the_plugin.open = open_device;
  the_plugin.close = close_device;
  the_plugin.memory = &memory_functions;
  the_plugin.queue = &queue_functions;
  the_plugin.extension = extension;
  *out = &the_plugin;
  serves = true;
  return BP_OK;
}

}  // namespace

const bp_host* host() {
  return bp::detail::the_host;
}

bp_code fail(bp_code code, const char* message) {
  const bp_host* to = host();
  return to != nullptr ? to->set_error(to, code, message) : code;
}

}  // namespace bp::cpu

bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out) {
  return bp::cpu::get_plugin(host, abi_inout, out);
}
