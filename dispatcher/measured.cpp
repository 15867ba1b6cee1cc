#include "measured.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <fmt/format.h>

#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/measured.hpp>
#include <backplane/dispatcher/rung_policy.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/error.hpp>

#include "constants.hpp"

namespace bp {
namespace {

std::atomic<KernelChooser> chooser{nullptr};

// In the order of preference while nothing is known.
struct Rivals {
  const Candidate* ways[2] = {};
};

bool is_measured(const Candidate& candidate) {
  return (candidate.declared.flags & BP_KERNEL_MEASURED) != 0;
}

// The first of each sort that takes the call.
bool find_rivals(Frame& frame, const KernelTable& table, Rivals& rivals) {
  const bool generates = rung_allowed(frame.device(), Rung::generated);
  for (std::uint32_t i = 0; i < table.num_candidates; ++i) {
    const Candidate& candidate = *table.candidates[i];
    const Candidate*& place = rivals.ways[is_measured(candidate) ? 1 : 0];
    if (place || (candidate.rung == Rung::generated && !generates)) continue;
    if (accepts(candidate, frame)) place = &candidate;
  }
  return rivals.ways[0] && rivals.ways[1];
}

// The nearest power of two.
long size_class(std::int64_t size) {
  return size <= 0 ? 0 : std::lround(std::log2(static_cast<double>(size)));
}

// The calls that share a decision.
std::string class_of(const Frame& frame, const Rivals& rivals) {
  std::string text =
      fmt::format("kernel of {} {:#x}", frame.op().name(), rivals.ways[1]->declared.schema_hash);
  for_each_tensor(frame.call, [&](std::uint32_t, const bp_tensor& tensor) {
    text += fmt::format("; {}", name(static_cast<Dtype>(tensor.dtype)));
    for (int dim = 0; dim < tensor.dl.ndim; ++dim)
      text += fmt::format(" {}", size_class(tensor.dl.shape[dim]));
    const std::uint32_t layouts = tensor.flags & (BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE);
    text += fmt::format(" layout {}", layouts);
  });
  return text;
}

bool is_worth_it(const Frame& frame) {
  std::int64_t elements = 0;
  for_each_tensor(frame.call,
                  [&](std::uint32_t, const bp_tensor& tensor) { elements += tensor.numel; });
  for (std::uint32_t i = 0; i < frame.call.num_results; ++i) {
    std::int64_t of_result = 1;
    for (std::int64_t size : IntList(frame.inferred.outputs[i].shape)) of_result *= size;
    elements += of_result;
  }
  return elements >= constants::measured_elements;
}

// May this call be done several times, and waited for?
bool can_measure(const Frame& frame) {
  if (is_capturing() || frame.op().mutates) return false;
  // A given result may be an argument as well, which the first run would change.
  for (std::uint32_t i = 0; i < frame.call.num_results; ++i)
    if (frame.call.results[i].defined()) return false;
  return true;
}

void drop_results(Frame& frame) {
  for (std::uint32_t i = 0; i < frame.call.num_results; ++i) frame.call.results[i] = Tensor();
}

// The stream is idle.
double seconds_of(const Candidate& candidate, Frame& frame) {
  drop_results(frame);
  const auto start = std::chrono::steady_clock::now();
  if (!launch(candidate, frame))
    throw_error(ErrorClass::unsupported, "a kernel does not take the call after all");
  synchronize_stream(frame.stream);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The order in which to try the rivals.
struct Order {
  std::size_t first = 0, second = 1;
};

Order decide(Frame& frame, const Rivals& rivals) {
  const KernelChooser choose = chooser.load(std::memory_order_acquire);
  // What was measured may differ from one process to the next, and so may the bits of the results.
  if (!choose || deterministic() || !is_worth_it(frame)) return {};
  const bool measures = can_measure(frame);
  bool failed[2] = {};
  std::exception_ptr earlier;  // of work that was given before: the caller's to know
  const std::size_t way =
      choose(frame.device(), class_of(frame, rivals), 2, [&](std::size_t tried) {
        if (!measures) throw_error(ErrorClass::unsupported, "this call cannot be repeated");
        try {
          synchronize_stream(frame.stream);
        } catch (const Error&) {
          earlier = std::current_exception();
          throw;
        }
        failed[tried] = true;
        const double seconds = seconds_of(*rivals.ways[tried], frame);
        failed[tried] = false;
        return seconds;
      });
  if (measures) drop_results(frame);
  if (earlier) std::rethrow_exception(earlier);
  const bool turns = failed[way] && !failed[1 - way];
  return turns ? Order{1 - way, way} : Order{way, 1 - way};
}

}  // namespace

void set_kernel_chooser(KernelChooser by) {
  chooser.store(by, std::memory_order_release);
}

const Candidate* try_measured(Frame& frame, const KernelTable& table) {
  Rivals rivals;
  if (!find_rivals(frame, table, rivals)) return nullptr;
  const Order order = decide(frame, rivals);
  for (const std::size_t way : {order.first, order.second})
    if (launch(*rivals.ways[way], frame)) return rivals.ways[way];
  return nullptr;
}

}  // namespace bp
