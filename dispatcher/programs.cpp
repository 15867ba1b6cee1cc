// Kernels of joined operators by the backends that make them (bp.program), and their end.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>

#include <backplane/dispatcher/generated_kernels.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/runtime/extensions.hpp>
#include <backplane/runtime/log.hpp>

#include "constants.hpp"
#include "kernel_table.hpp"
#include "living_chains.hpp"

namespace bp {
namespace {

struct Maker {
  Backend* backend = nullptr;
  int num_that_stay = 0;

  const bp_program& api() const { return extensions_of(*backend).program; }
};

struct MadeKernel {
  const Backend* backend = nullptr;
  const bp_kernel* kernel = nullptr;

  void release() const { extensions_of(*backend).program.release(backend->plugin->self, kernel); }
};

struct Programs {
  std::mutex mutex;  // held while plugins make and release
  std::vector<Maker> makers;
  std::multimap<const Operator*, MadeKernel> made;  // to be released
};
Programs& programs() {
  static auto* all = new Programs;
  return *all;
}

// May this operator stay for the plugin's sake?
bool may_stay(Maker& maker, const Operator& op) {
  if (maker.num_that_stay < constants::chains_that_stay) return true;
  if (maker.num_that_stay++ == constants::chains_that_stay)
    log_warning(
        fmt::format("{}: no kernel for '{}' and what is joined after it: its '{}' cannot release "
                    "kernels, and has {} of them",
                    maker.backend->name, op.name(), BP_PROGRAM, constants::chains_that_stay));
  return false;
}

void make_kernel(Programs& all, Maker& maker, Operator& op) {
  const bp_program& api = maker.api();
  if (!api.release && !may_stay(maker, op)) return;
  const bp_kernel* kernel = nullptr;
  if (api.make(maker.backend->plugin->self, &op.abi, &kernel) != BP_OK || !kernel) return;
  if (api.release) {
    all.made.emplace(&op, MadeKernel{maker.backend, kernel});
  } else {
    hold_forever(op);
    ++maker.num_that_stay;
  }
  register_kernels(*maker.backend, &kernel, 1);
}

// Under the lock. A backend that has a kernel was offered the operator by another thread meanwhile.
void offer(Programs& all, Maker& maker, Operator& op) {
  const KernelTable* table = table_of(op, maker.backend->number);
  if (table && table->num_native != 0) return;
  try {
    make_kernel(all, maker, op);
  } catch (const Error& error) {
    log_warning(
        fmt::format("{}: no kernel for '{}': {}", maker.backend->name, op.name(), error.what()));
  }
}

void offer_to_makers(Operator& op) {
  if (op.kind != BP_KIND_POINTWISE || op.num_nodes == 0) return;
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  for (Maker& maker : all.makers) offer(all, maker, op);
}

void release_kernels_of(Operator& op) {
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  const auto [begin, end] = all.made.equal_range(&op);
  for (auto each = begin; each != end; ++each) each->second.release();
  all.made.erase(begin, end);
}

// The devices are about to close, and the operators live on.
void release_kernels_by(Backend& backend) {
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  for (auto each = all.made.begin(); each != all.made.end();) {
    const bool is_its = each->second.backend == &backend;
    if (is_its) each->second.release();
    each = is_its ? all.made.erase(each) : std::next(each);
  }
  std::erase_if(all.makers, [&](const Maker& maker) { return maker.backend == &backend; });
}

}  // namespace

void attach_programs(Backend& backend) {
  listen_for_operators({offer_to_makers, release_kernels_of});
  hear_of_closing(backend, release_kernels_by);
  std::vector<Chain> joined_before;  // let go after the lock
  Programs& all = programs();
  const std::lock_guard lock(all.mutex);
  Maker& maker = all.makers.emplace_back(Maker{&backend, 0});
  joined_before = living_chains();
  for (const Chain& chain : joined_before) offer(all, maker, *chain);
}

}  // namespace bp
