// Data of layers (autograd, vmap, quantized tensors) for one tensor: a list of entries, each under its key.
#pragma once

#include <cstdint>
#include <memory>

#include <backplane/tensor/api.hpp>

namespace bp {

struct TensorImpl;

// Whose an entry is: the layer's number, which is also its bit in TensorImpl::keys, and the level of that layer
// (dispatcher/level.hpp); 0 outside of levels.
constexpr std::uint64_t layer_data_key(unsigned layer, std::uint64_t level = 0) {
  return level << 8 | layer;
}

// The layer that looks for its entry in every recorded call. Its entry is the first of the list, and the tensor says
// whether it is there, so that finding it costs one comparison and one load.
inline constexpr unsigned autograd_layer = 32;

// An entry. A layer derives its own.
class BP_API LayerData {
 public:
  explicit LayerData(std::uint64_t own_key) : key(own_key) {}
  // Runs when the entry is dropped or the last handle of its tensor is gone, on that thread.
  virtual ~LayerData() = 0;
  LayerData(const LayerData&) = delete;
  LayerData& operator=(const LayerData&) = delete;

  unsigned layer() const { return static_cast<unsigned>(key & 0xff); }
  // Can only the layer compute with this tensor, whose memory holds nothing? Then a call that the layer does not take is
  // an error.
  virtual bool is_opaque() const { return false; }

  const std::uint64_t key;
  LayerData* next = nullptr;  // in the tensor's list, owned
};

inline LayerData::~LayerData() {
  if (next) [[unlikely]]
    delete next;
}

// The entry of this key; null: there is none.
BP_API LayerData* find_layer_data(const TensorImpl& impl, std::uint64_t key);
// Puts an entry in the place of the one with its key, if any. The layer sees calls with the tensor from now on.
// Threads: nobody else uses the tensor meanwhile; so with drop_layer_data.
BP_API void set_layer_data(TensorImpl& impl, std::unique_ptr<LayerData> data);
// Drops the entry of this key, if any. With its last entry the layer's key goes, too.
BP_API void drop_layer_data(TensorImpl& impl, std::uint64_t key);

}  // namespace bp
