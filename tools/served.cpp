#include "served.hpp"

#include <backplane/core_ops/samples.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/runtime/stream.hpp>

namespace bp::tools {
namespace {

struct SamplesOfDtype {
  Dtype dtype;
  std::vector<Sample> samples;
};

// Made before counting begins, since making them calls operators as well.
std::vector<SamplesOfDtype> make_samples(const Operator& op, Device device) {
  std::vector<SamplesOfDtype> all;
  for (unsigned i = 0; i < num_dtypes; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    if (contains(op.dtypes, dtype)) all.push_back({dtype, samples_of(op, dtype, device)});
  }
  return all;
}

void run_all(Operator& op, const SamplesOfDtype& group, Device device, Served& result) {
  try {
    for (const Sample& sample : group.samples) call_boxed(op, sample.args);
    Stream::current(device).synchronize();
    result.dtypes |= set_of(group.dtype);
  } catch (const Error& error) {
    if (result.error.empty()) result.error = error.what();
  }
}

// Of all calls of the device's backend: of the operator itself, or of those that a composite one is
// made of. Without any, nothing left the device, as for empty().
Rung worst_counted(const Backend& backend) {
  std::uint64_t calls[num_rungs] = {};
  for (const CallCount& count : call_counts())
    for (unsigned i = 0; i < num_rungs && count.backend == backend.name; ++i)
      calls[i] += count.calls[i];
  for (Rung rung : {Rung::none, Rung::host, Rung::decomposed, Rung::generated, Rung::legalized,
                    Rung::native, Rung::view})
    if (calls[static_cast<unsigned>(rung)] != 0) return rung;
  return Rung::native;
}

}  // namespace

Served run_samples(Operator& op, Device device) {
  Served result;
  try {
    const std::vector<SamplesOfDtype> groups = make_samples(op, device);
    reset_call_counts();
    for (const SamplesOfDtype& group : groups) run_all(op, group, device, result);
  } catch (const Error& error) {
    result.error = error.what();
  }
  if (result.error.empty()) result.rung = worst_counted(*device_record(device).backend);
  return result;
}

}  // namespace bp::tools
