#include <bit>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/frame.hpp>
#include <backplane/dispatcher/layers.hpp>

#include "layer_table.hpp"
#include "levels.hpp"

namespace bp {
namespace {

std::atomic<LayerHandler> fallbacks[64];
std::atomic<TransferHandler> transfers[64];
std::atomic<WriteCheck> write_checks[64];

// Of at least one key; std::countl_zero would ask for none.
inline unsigned highest_of(std::uint64_t keys) {
  return 63u - static_cast<unsigned>(__builtin_clzll(keys));
}

// The layers above all levels, the levels, and the layers below. Apart, so that other calls need no registers for it.
[[gnu::noinline]] bool handle_with_levels(std::uint64_t keys, const Call& call) {
  std::uint64_t above = keys & ~0ull << static_cast<unsigned>(Layer::profile);
  const std::uint64_t below = keys & ~above & ~leveled_layers;
  for (; above; above &= ~std::bit_floor(above))
    if (const LayerHandler handler = handler_of(call.op, highest_of(above))) {
      handler(call, nullptr);
      return true;
    }
  if ((keys & leveled_layers) && handle_by_level(keys, call)) return true;
  return below && handle_by_layer(below, call);
}

[[gnu::noinline]] bool handle_by_next(std::uint64_t keys, const Call& call) {
  keys &= ~std::bit_floor(keys);
  return keys && handle_by_layer(keys, call);
}

}  // namespace

LayerHandler handler_of(const Operator& op, unsigned layer) {
  if (const LayerHandler handler = op.layer_handlers[layer].load(std::memory_order_acquire))
    return handler;
  return fallbacks[layer].load(std::memory_order_acquire);
}

TransferHandler transfer_handler(unsigned layer) {
  return transfers[layer].load(std::memory_order_acquire);
}

void set_layer_fallback(Layer layer, LayerHandler handler) {
  fallbacks[static_cast<unsigned>(layer)].store(handler, std::memory_order_release);
}

void set_layer_handler(Operator& op, Layer layer, LayerHandler handler) {
  op.layer_handlers[static_cast<unsigned>(layer)].store(handler, std::memory_order_release);
}

void set_layer_transfer(Layer layer, TransferHandler handler) {
  transfers[static_cast<unsigned>(layer)].store(handler, std::memory_order_release);
}

void set_layer_write_check(Layer layer, WriteCheck check) {
  write_checks[static_cast<unsigned>(layer)].store(check, std::memory_order_release);
}

void check_written_by_layers(const Call& call) {
  if (!call.op.schema->returns.empty()) return;
  for_each_tensor(call, [&](std::uint32_t place, const bp_tensor& tensor) {
    if (!(call.op.mutates >> place & 1u)) return;
    std::uint64_t keys = TensorImpl::of(&tensor)->keys & ~thread_state().excluded_layers;
    for (; keys; keys &= ~std::bit_floor(keys))
      if (const WriteCheck check = write_checks[highest_of(keys)].load(std::memory_order_acquire))
        check(call.op.name(), tensor_of(&tensor));
  });
}

Tensor transfer_by_layer(std::uint64_t keys, const Tensor& tensor, MemoryPlace place) {
  for (; keys; keys &= ~std::bit_floor(keys)) {
    if (std::bit_floor(keys) & leveled_layers) {
      if (Tensor moved = transfer_by_level(keys, tensor, place); moved.defined()) return moved;
      keys &= ~leveled_layers;
      if (!keys) break;
    }
    if (const TransferHandler handler = transfer_handler(highest_of(keys)))
      return handler(tensor, place, nullptr);
  }
  return {};
}

bool handle_by_layer(std::uint64_t keys, const Call& call) {
  if (keys >> std::countr_zero(leveled_layers)) [[unlikely]]
    return handle_with_levels(keys, call);
  const LayerHandler handler = handler_of(call.op, highest_of(keys));
  if (!handler) [[unlikely]]
    return handle_by_next(keys, call);
  handler(call, nullptr);
  return true;
}

void redispatch_below(Layer layer, const Call& call) {
  const unsigned bit = static_cast<unsigned>(layer);
  ExcludeLayers excluded(~0ull << bit);
  dispatch(call);
}

}  // namespace bp
