#include "levels.hpp"

#include <atomic>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/frame.hpp>
#include <backplane/tensor/check.hpp>

#include "layer_table.hpp"

namespace bp {

// While one lives, `level` and what is above it is not active, and neither are the layers above all levels.
class BelowLevel {
 public:
  explicit BelowLevel(const Level& level)
      : state_(thread_state()), levels_(state_.levels), included_(state_.included_layers),
        excluded_(state_.excluded_layers) {
    state_.levels = level.below_;
    state_.included_layers =
        (included_ & ~leveled_layers) | (level.included_before_ & leveled_layers);
    state_.excluded_layers |= ~0ull << static_cast<unsigned>(Layer::profile);
  }
  ~BelowLevel() {
    state_.levels = levels_;
    state_.included_layers = included_;
    state_.excluded_layers = excluded_;
  }
  BelowLevel(const BelowLevel&) = delete;
  BelowLevel& operator=(const BelowLevel&) = delete;

 private:
  ThreadState& state_;
  const Level* const levels_;
  const std::uint64_t included_, excluded_;
};

namespace {

std::uint64_t next_number() {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Calls visit(place, impl) for every tensor of the call, also those that it writes; their place is -1.
template <class Visit> void each_tensor(const Call& call, const Visit& visit) {
  for_each_tensor(call, [&](std::uint32_t place, const bp_tensor& tensor) {
    visit(static_cast<int>(place), *TensorImpl::of(&tensor));
  });
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (call.results[i].defined()) visit(-1, *call.results[i].impl());
}

bool concerns(const Level& level, const Call& call) {
  if (level.sees_all()) return true;
  bool found = false;
  each_tensor(call, [&](int, const TensorImpl& impl) {
    found = found || find_layer_data(impl, level.key());
  });
  return found;
}

[[noreturn]] void fail_opaque(const char* op, const std::string& what, const LayerData& data) {
  throw_error(
      ErrorClass::bad_argument,
      fmt::format("{}: {} belongs to a level of layer {} that is not active here; use it where the "
                  "level was made and before it ends, or turn it into an ordinary tensor there",
                  op, what, data.layer()));
}

const LayerData* opaque_data(std::uint64_t keys, const TensorImpl& impl) {
  for (const LayerData* data = impl.layer_data; data; data = data->next)
    if ((1ull << data->layer() & keys & leveled_layers) && data->is_opaque()) return data;
  return nullptr;
}

}  // namespace

Level::Level(Layer layer, void* state, Sees sees)
    : layer_(layer), sees_(sees), state_(state), number_(next_number()),
      below_(thread_state().levels), included_before_(thread_state().included_layers) {
  BP_CHECK(key_of(layer) & leveled_layers,
           "layer {} does not run at levels; take a number between {} and {}",
           static_cast<unsigned>(layer), static_cast<unsigned>(Layer::autocast),
           static_cast<unsigned>(Layer::profile));
  ThreadState& thread = thread_state();
  thread.levels = this;
  if (sees_all()) thread.included_layers |= key_of(layer);
}

Level::~Level() {
  ThreadState& thread = thread_state();
  BP_ASSERT(thread.levels == this);
  thread.levels = below_;
  thread.included_layers =
      (thread.included_layers & ~leveled_layers) | (included_before_ & leveled_layers);
}

bool handle_by_level(std::uint64_t keys, const Call& call) {
  for (const Level* level = active_level(); level; level = level->below()) {
    if (!(keys & key_of(level->layer())) || !concerns(*level, call)) continue;
    const LayerHandler handler = handler_of(call.op, static_cast<unsigned>(level->layer()));
    if (!handler) continue;
    const BelowLevel below(*level);
    handler(call, level);
    return true;
  }
  each_tensor(call, [&](int place, const TensorImpl& impl) {
    const LayerData* data = opaque_data(keys, impl);
    if (!data) return;
    const auto argument = static_cast<std::size_t>(place);
    fail_opaque(
        call.op.name(),
        place < 0 ? "the output" : fmt::format("'{}'", call.op.schema->arguments[argument].name),
        *data);
  });
  return false;
}

Tensor transfer_by_level(std::uint64_t keys, const Tensor& tensor, MemoryPlace place) {
  for (const Level* level = active_level(); level; level = level->below()) {
    if (!(keys & key_of(level->layer())) || !level->data_of(tensor)) continue;
    const TransferHandler handler = transfer_handler(static_cast<unsigned>(level->layer()));
    if (!handler) continue;
    const BelowLevel below(*level);
    return handler(tensor, place, level);
  }
  if (const LayerData* data = opaque_data(keys, *tensor.impl()))
    fail_opaque("to", "the tensor", *data);
  return {};
}

}  // namespace bp
