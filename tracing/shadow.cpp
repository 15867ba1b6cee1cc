#include "shadow.hpp"

#include <atomic>
#include <cstdio>
#include <fmt/format.h>
#include <new>
#include <unistd.h>

#include <backplane/dispatcher/observe.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/log.hpp>
#include <backplane/runtime/stream.hpp>
#include <backplane/tracing/compare.hpp>
#include <backplane/tracing/saved_call.hpp>

#include "unseen.hpp"
#include "wishes.hpp"

namespace bp::tracing {
namespace {

constinit std::atomic<bool> is_over{false};
constinit std::atomic<std::uint64_t> num_compared{0};

// The device to compare with; false, after a warning, if there is none.
bool find_shadow(Device& found) {
  const Unseen unseen;
  try {
    found = device(wishes().shadow);
    return true;
  } catch (const Error& error) {
    if (!is_over.exchange(true))
      log_warning(fmt::format("BACKPLANE_SHADOW={}: {}; no call is compared", wishes().shadow,
                              error.what()));
    return false;
  }
}

// Where the call will run; false if it has no tensor and no device that would say so.
bool find_device(const Call& call, Device& found) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    const bp_value& value = call.args[i];
    const bp_tensor* tensor = value.tag == BP_TENSOR ? value.u.tensor : nullptr;
    if (value.tag == BP_TENSOR_LIST) {
      auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
      for (std::uint32_t k = 0; k < value.aux && !tensor; ++k) tensor = elements[k];
    }
    if (tensor) return found = {tensor->device}, true;
  }
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == BP_DEVICE)
      return found = {static_cast<std::uint32_t>(call.args[i].u.i)}, true;
  if (call.results[0].defined()) return found = call.results[0].device(), true;
  found = default_device();
  return true;
}

// Does a kernel give something here that another device would compute as well? A composite's parts are compared
// instead of it, since it may draw random numbers.
bool is_comparable(const Call& call, Device& on, Device& shadow) {
  if (call.op.is_view() || !call.op.infer || call.op.kind == BP_KIND_COMPOSITE || is_capturing())
    return false;
  if (call.num_results == 0) return false;  // nothing comes out to compare
  if (!find_device(call, on) || on == meta_device) return false;
  return find_shadow(shadow) && !(on == shadow);
}

std::string file_for(const SavedCall& saved) {
  std::string op = saved.op;
  for (char& c : op)
    if (c == ':' || c == '/') c = '_';
  return fmt::format("{}/backplane-{}-{}.call", wishes().shadow_folder, op, getpid());
}

void report(SavedCall& saved, const std::string& difference, std::optional<Rung> rung) {
  if (is_over.exchange(true)) return;  // another thread was first
  saved.remark = difference;
  std::string text = fmt::format("{} on {} ({}) differs from {}: {}", saved.op, saved.device,
                                 rung ? name(*rung) : "no kernel", wishes().shadow, difference);
  const std::string file = file_for(saved);
  try {
    write_call(saved, file);
    text += fmt::format(
        "; its inputs are in {}; to repeat it: backplane repeat {} --device {} "
        "--plugin {}",
        file, file, saved.device, saved.plugin);
  } catch (const Error& error) {
    text += fmt::format("; its inputs are lost: {}; BACKPLANE_SHADOW_DIR names another folder",
                        error.what());
  }
  log_line(3, text + " (no further calls are compared)");
}

// Nothing where the host's memory does not suffice.
std::optional<SavedCall> save(const Call& call, Device on) {
  const Unseen unseen;
  try {
    return save_call(call, on);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// What the shadow says of it: nothing if they agree, or if it cannot say.
std::optional<std::string> compare(const SavedCall& saved, const Call& call, Device on,
                                   Device shadow) {
  const Unseen unseen;
  std::vector<Tensor> wanted;
  try {
    wanted = repeat_call(saved, shadow);
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::bad_argument) return {};
    Stream::current(on)
        .synchronize();  // an asynchronous device may say the same: then that is the call's error
    return fmt::format("it gives a result, where {} says: {}", wishes().shadow, error.what());
  }
  num_compared.fetch_add(1, std::memory_order_relaxed);
  return find_difference(saved, {call.results, call.results + call.num_results}, wanted);
}

}  // namespace

bool shadow_is_on() {
  return !wishes().shadow.empty() && !is_over.load(std::memory_order_relaxed);
}

std::optional<Rung> run_shadowed(const Call& call) {
  Device on, shadow;
  if (!is_comparable(call, on, shadow)) return run_observed(call);
  std::optional<SavedCall> saved = save(call, on);
  const std::optional<Rung> rung = run_observed(call);
  if (!saved) return rung;
  if (const auto difference = compare(*saved, call, on, shadow)) report(*saved, *difference, rung);
  return rung;
}

void finish_shadow() {
  const std::uint64_t compared = num_compared.load(std::memory_order_relaxed);
  if (wishes().shadow.empty() || is_over.load(std::memory_order_relaxed)) return;
  const std::string text = fmt::format("backplane: {} calls were compared with {}: none differs\n",
                                       compared, wishes().shadow);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace bp::tracing
