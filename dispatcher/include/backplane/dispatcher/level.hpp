// Levels: layers that nest in any order, such as vmap within vmap, or jvp within vmap.
#pragma once

#include <backplane/dispatcher/layers.hpp>
#include <backplane/tensor/layer_data.hpp>

namespace bp {

// The layers that run at levels: those with numbers between profile's and autocast's.
inline constexpr std::uint64_t leveled_layers =
    (key_of(Layer::profile) - 1) & ~(2 * key_of(Layer::autocast) - 1);

// Which calls a level sees: those with a tensor that has data of this level (vmap, jvp), or every call of the thread
// (lazy tensors; a vmap that draws random numbers for each sample).
enum class Sees : std::uint8_t { its_own, all };

// One level of the thread's stack, for as long as it lives: one run of a layer, with the state of that run.
//
// A call goes to the highest active level that sees it, which is the one made last. While its handler runs, that level and
// all above it are inactive, so that whatever the handler calls, above all `dispatch(call)` with rewritten arguments, goes
// to the levels below. All levels together take one place among the layers: below profile, above autocast.
// Threads: a level belongs to the thread that made it. Tensors may move to other threads, where the level does not exist.
class BP_API Level {
 public:
  // Throws bad_argument unless the layer runs at levels. `state` belongs to the layer and must outlive the level.
  explicit Level(Layer layer, void* state = nullptr, Sees sees = Sees::its_own);
  ~Level();
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  static void* operator new(std::size_t) = delete;  // levels must end in the reverse order

  Layer layer() const { return layer_; }
  void* state() const { return state_; }
  bool sees_all() const { return sees_ == Sees::all; }
  // Greater than that of every level made before; unique within the process.
  std::uint64_t number() const { return number_; }
  // The key of entries that belong to this level.
  std::uint64_t key() const { return layer_data_key(static_cast<unsigned>(layer_), number_); }
  // The next lower active one.
  const Level* below() const { return below_; }

  // The layer's data for the tensor at this level, or null.
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

// The highest active level of this thread, or null.
inline const Level* active_level() {
  return thread_state().levels;
}

}  // namespace bp
