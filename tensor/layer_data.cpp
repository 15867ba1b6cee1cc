#include <backplane/tensor/layer_data.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {
namespace {

constexpr std::uint64_t autograd_data_key = layer_data_key(autograd_layer);

// The place in the list that points to the entry of this key, or null at the end of the list.
LayerData** place_of(TensorImpl& impl, std::uint64_t key) {
  LayerData** place = &impl.layer_data;
  while (*place && (*place)->key != key) place = &(*place)->next;
  return place;
}

bool has_layer(const TensorImpl& impl, unsigned layer) {
  for (const LayerData* data = impl.layer_data; data; data = data->next)
    if (data->layer() == layer) return true;
  return false;
}

}  // namespace

LayerData* find_layer_data(const TensorImpl& impl, std::uint64_t key) {
  return *place_of(const_cast<TensorImpl&>(impl), key);
}

void set_layer_data(TensorImpl& impl, std::unique_ptr<LayerData> data) {
  const std::uint64_t key = data->key;
  std::unique_ptr<LayerData> before;  // dropped at the end, since that may run anything
  if (LayerData** place = place_of(impl, key); *place) {
    before.reset(*place);
    *place = std::exchange(before->next, nullptr);
  }
  if (key == autograd_data_key) return put_autograd_data(impl, data.release());
  LayerData** place = impl.has_autograd_data ? &impl.layer_data->next : &impl.layer_data;
  data->next = *place;
  impl.keys |= 1ull << data->layer();
  *place = data.release();
}

void drop_layer_data(TensorImpl& impl, std::uint64_t key) {
  LayerData** place = place_of(impl, key);
  const std::unique_ptr<LayerData> gone(*place);
  if (!gone) return;
  *place = std::exchange(gone->next, nullptr);
  if (key == autograd_data_key) impl.has_autograd_data = false;
  if (!has_layer(impl, gone->layer())) impl.keys &= ~(1ull << gone->layer());
}

}  // namespace bp
