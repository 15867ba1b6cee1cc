#include <bit>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/layers.hpp>

#include "layer_table.hpp"

namespace bp {
namespace {

std::atomic<LayerHandler> fallbacks[64];
std::atomic<TransferHandler> transfers[64];

}  // namespace

void set_layer_fallback(Layer layer, LayerHandler handler) {
  fallbacks[static_cast<unsigned>(layer)].store(handler, std::memory_order_release);
}

void set_layer_handler(Operator& op, Layer layer, LayerHandler handler) {
  op.layer_handlers[static_cast<unsigned>(layer)].store(handler, std::memory_order_release);
}

void set_layer_transfer(Layer layer, TransferHandler handler) {
  transfers[static_cast<unsigned>(layer)].store(handler, std::memory_order_release);
}

TransferHandler transfer_of_layer(std::uint64_t keys) {
  for (; keys; keys &= ~std::bit_floor(keys))
    if (TransferHandler handler =
            transfers[63 - std::countl_zero(keys)].load(std::memory_order_acquire))
      return handler;
  return nullptr;
}

bool handle_by_layer(std::uint64_t keys, const Call& call) {
  while (keys) {
    const unsigned layer = 63u - static_cast<unsigned>(std::countl_zero(keys));
    LayerHandler handler = call.op.layer_handlers[layer].load(std::memory_order_acquire);
    if (!handler) handler = fallbacks[layer].load(std::memory_order_acquire);
    if (handler) {
      handler(call);
      return true;
    }
    keys &= ~(1ull << layer);
  }
  return false;
}

void redispatch_below(Layer layer, const Call& call) {
  const unsigned bit = static_cast<unsigned>(layer);
  ExcludeLayers excluded(~0ull << bit);
  dispatch(call);
}

}  // namespace bp
