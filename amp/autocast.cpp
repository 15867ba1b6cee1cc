#include <backplane/amp/autocast.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/tensor/check.hpp>

#include "casting.hpp"
#include "weight_cache.hpp"

namespace bp::amp {
namespace {

constexpr std::uint64_t autocast_key = key_of(Layer::autocast);

// How many UseAutocast live on this thread.
constinit thread_local std::uint32_t thread_depth = 0;

Dtype usual_dtype(const DeviceRecord& record) {
  return record.info.dl_device_type == BP_DL_CPU ? bf16 : f16;
}

void set_bit(std::uint64_t& keys, bool wanted) {
  keys = wanted ? keys | autocast_key : keys & ~autocast_key;
}

AutocastState with(Device device, const AutocastOptions& options) {
  AutocastState state = AutocastState::current();
  state.set(device, options.enabled, options.dtype);
  if (options.cache_enabled) state.set_cache_enabled(*options.cache_enabled);
  return state;
}

}  // namespace

AutocastState AutocastState::current() {
  AutocastState state = thread_autocast;
  if (thread_state().excluded_layers & autocast_key) state.enabled_ = 0;
  return state;
}

bool AutocastState::is_enabled(Device device) const {
  return enabled_ >> device_record(device).backend_number & 1u;
}

Dtype AutocastState::dtype(Device device) const {
  const DeviceRecord& record = device_record(device);
  return is_enabled(device) ? static_cast<Dtype>(dtypes_[record.backend_number])
                            : usual_dtype(record);
}

void AutocastState::set(Device device, bool enabled, std::optional<Dtype> dtype) {
  const DeviceRecord& record = device_record(device);
  const Dtype lower = dtype.value_or(usual_dtype(record));
  BP_CHECK(
      lower == f16 || lower == bf16,
      "Autocast: the dtype is {}, and calls on {} are cast to float16 or bfloat16; pass f16 or "
      "bf16",
      name(lower), record.name);
  const std::uint64_t bit = std::uint64_t{1} << record.backend_number;
  enabled_ = enabled ? enabled_ | bit : enabled_ & ~bit;
  dtypes_[record.backend_number] = static_cast<std::uint8_t>(lower);
}

UseAutocast::UseAutocast(const AutocastState& state)
    : before_(thread_autocast), included_before_(thread_state().included_layers),
      excluded_before_(thread_state().excluded_layers) {
  know_autocast_layer();
  ++thread_depth;
  thread_autocast = state;
  set_bit(thread_state().included_layers, state.is_enabled());
  set_bit(thread_state().excluded_layers, false);
}

UseAutocast::~UseAutocast() {
  thread_autocast = before_;
  set_bit(thread_state().included_layers, included_before_ & autocast_key);
  set_bit(thread_state().excluded_layers, excluded_before_ & autocast_key);
  if (--thread_depth == 0) thread_weight_cache().clear();
}

Autocast::Autocast(Device device, const AutocastOptions& options) : used_(with(device, options)) {}

Autocast::Autocast(std::string_view device_type, const AutocastOptions& options)
    : Autocast(device(device_type), options) {}

bool is_autocast_enabled(Device device) {
  return AutocastState::current().is_enabled(device);
}
Dtype get_autocast_dtype(Device device) {
  return AutocastState::current().dtype(device);
}
bool is_autocast_cache_enabled() {
  return thread_autocast.is_cache_enabled();
}
void clear_autocast_cache() {
  thread_weight_cache().clear();
}

}  // namespace bp::amp
