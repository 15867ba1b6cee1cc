// Levels: layers that nest in an order of their own, as vmap within vmap, or jvp within vmap.
#pragma once

#include <backplane/dispatcher/layers.hpp>
#include <backplane/tensor/layer_data.hpp>

namespace bp {

// The layers that run at levels: those whose numbers lie between profile's and autocast's.
inline constexpr std::uint64_t leveled_layers =
    (key_of(Layer::profile) - 1) & ~(2 * key_of(Layer::autocast) - 1);

// Which calls a level takes: those with a tensor that has data of this level (vmap, jvp), or every call of the thread
// (lazy tensors; vmap that draws random numbers for each sample).
enum class Sees : std::uint8_t { its_own, all };

// One level of the thread's stack, for as long as it lives: a run of a layer, with the state of that run.
//
// A call goes to the highest active level that it concerns, the one made last. While its handler runs, that level and all
// above it are not active, so that what the handler calls, `dispatch(call)` with arguments that it rewrote above all, goes on
// below. All levels together have one place among the layers: below profile, above autocast.
// Threads: a level belongs to the thread that made it. Tensors may go to other threads, which do not have it.
class BP_API Level {
 public:
  // Throws bad_argument unless the layer runs at levels. `state` is the layer's own, and outlives the level.
  explicit Level(Layer layer, void* state = nullptr, Sees sees = Sees::its_own);
  ~Level();
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  static void* operator new(std::size_t) =
      delete;  // levels end in the reverse order of their beginning

  Layer layer() const { return layer_; }
  void* state() const { return state_; }
  bool sees_all() const { return sees_ == Sees::all; }
  // Greater than that of every level made before; no two levels of a process have the same.
  std::uint64_t number() const { return number_; }
  // The key of entries that belong to this level.
  std::uint64_t key() const { return layer_data_key(static_cast<unsigned>(layer_), number_); }
  // The next lower active one.
  const Level* below() const { return below_; }

  // The layer's data for the tensor at this level; null: none.
  LayerData* data_of(const Tensor& tensor) const { return find_layer_data(*tensor.impl(), key()); }

 private:
  friend class BelowLevel;

  const Layer layer_;
  const Sees sees_;
  void* const state_;
  const std::uint64_t number_;
  const Level* const below_;
  const std::uint64_t included_before_;
};

// The highest active level of this thread; null: there is none.
inline const Level* active_level() {
  return thread_state().levels;
}

}  // namespace bp
