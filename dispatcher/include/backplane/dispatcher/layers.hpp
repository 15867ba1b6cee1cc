// Layers, which wrap every operator call on its way to a backend.
#pragma once

#include <cstdint>

#include <backplane/dispatcher/operator.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/thread_state.hpp>

namespace bp {

// From the outermost to the innermost; each layer is one bit of a key set. Applications may add layers in the gaps. Layers
// between profile and autocast run at levels (dispatcher/level.hpp), which nest in the order in which they begin.
enum class Layer : std::uint8_t {
  profile = 56,
  vmap = 48,
  autocast = 40,
  autograd = autograd_layer,
  inference = 31,  // marks tensors made in inference mode, through which no gradient may flow
  trace = 24,
};
constexpr std::uint64_t key_of(Layer layer) {
  return 1ull << static_cast<unsigned>(layer);
}

// Sets a layer's handler for operators that have no handler of their own; with null they pass. A handler does its
// work and continues with redispatch_below; one that runs at a level continues with dispatch.
BP_API void set_layer_fallback(Layer layer, LayerHandler handler);
BP_API void set_layer_handler(Operator& op, Layer layer, LayerHandler handler);

// Called when a tensor that carries the layer's key moves to another device or memory; it calls to_place again below its
// own layer. `level` is as for calls.
using TransferHandler = Tensor (*)(const Tensor& tensor, MemoryPlace place, const Level* level);
BP_API void set_layer_transfer(Layer layer, TransferHandler handler);

// Throws if the operator `op` may not write into a tensor that carries the layer's key. A composite operator that writes
// into several tensors asks before it writes into the first.
using WriteCheck = void (*)(const char* op, const Tensor& target);
BP_API void set_layer_write_check(Layer layer, WriteCheck check);

// Continues a call below `layer`: every layer at or above it is skipped.
BP_API void redispatch_below(Layer layer, const Call& call);

// Makes this thread's calls visible, or invisible, to layers while it lives.
class IncludeLayers {
 public:
  explicit IncludeLayers(std::uint64_t keys) : before_(thread_state().included_layers) {
    thread_state().included_layers |= keys;
  }
  ~IncludeLayers() { thread_state().included_layers = before_; }
  IncludeLayers(const IncludeLayers&) = delete;
  IncludeLayers& operator=(const IncludeLayers&) = delete;

 private:
  std::uint64_t before_;
};
class ExcludeLayers {
 public:
  explicit ExcludeLayers(std::uint64_t keys) : before_(thread_state().excluded_layers) {
    thread_state().excluded_layers |= keys;
  }
  ~ExcludeLayers() { thread_state().excluded_layers = before_; }
  ExcludeLayers(const ExcludeLayers&) = delete;
  ExcludeLayers& operator=(const ExcludeLayers&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace bp
