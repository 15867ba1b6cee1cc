// Samples of pools.
#include "draft.hpp"

namespace bp {
namespace {

struct PoolSample {
  std::size_t rank = 1;
  std::int64_t batch = 2, channels = 2, size = 7, kernel = 2, result = 3;
  std::int64_t stride = 0, padding = 0, dilation = 1;  // no stride: the kernel's size
  bool ceil_mode = false, has_batch = true;

  Dims shape(std::int64_t places) const {
    Dims shape;
    if (has_batch) shape.push_back(batch);
    shape.push_back(channels);
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(places);
    return shape;
  }
  std::int64_t plane() const {
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < rank; ++i) elements *= size;
    return elements;
  }
  std::int64_t num_windows() const {
    const std::int64_t step = stride ? stride : kernel;
    const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
    return (room + (ceil_mode ? step - 1 : 0)) / step + 1;
  }
};

PoolSample choose_pool(Draft& draft) {
  PoolSample sample;
  const std::string_view name = draft.op().name();
  if (name.ends_with("2d") || draft.is("two_dims", "transposed", "channels_last")) sample.rank = 2;
  if (name.ends_with("3d") || draft.is("three_dims")) sample.rank = 3;
  if (sample.rank > 1) sample.size = 4, sample.kernel = 2, sample.result = 3;
  if (sample.rank > 2) sample.size = 3, sample.batch = 1, sample.result = 2;
  if (draft.is("several_tiles")) {
    if (name.find('1') == name.npos) sample.rank = std::max<std::size_t>(sample.rank, 2);
    sample.size = sample.rank == 1 ? 1031 : sample.rank == 2 ? 41 : 11;
    sample.kernel = 3, sample.stride = 2, sample.padding = 1, sample.result = 5;
  }
  if (draft.is("zero_size")) sample.batch = 0;
  if (draft.is("unbatched")) sample.has_batch = false;
  if (draft.is("strided")) sample.stride = 1;
  if (draft.is("padded", "excluding")) sample.kernel = 3, sample.stride = 2, sample.padding = 1;
  if (draft.is("dilated")) {
    sample.size = 5;
    sample.dilation = 2, sample.kernel = 3, sample.stride = 1, sample.padding = 2;
  }
  if (draft.is("ceil_mode")) {
    sample.size = 6;
    sample.kernel = 3, sample.stride = 2, sample.padding = 1, sample.ceil_mode = true;
  }
  if (draft.is("even")) sample.size = 6, sample.result = 3;
  if (draft.is("global")) sample.result = 1;
  if (draft.is("wider")) sample.size = 2, sample.result = 3;
  draft.is("same", "one_dim", "non_contiguous");
  return sample;
}

void add_windows(Draft& draft, const PoolSample& sample) {
  draft.add_list({sample.kernel});
  sample.stride ? draft.add_list({sample.stride}) : draft.add_list({});
  draft.add_list({sample.padding});
}

}  // namespace

void draft_pooling(Draft& draft) {
  const std::string_view name = draft.op().name();
  const PoolSample sample = choose_pool(draft);
  const bool backward = name.ends_with("_backward");
  const Dims shape = sample.shape(backward ? sample.num_windows() : sample.size);
  draft.add(draft.tensor(shape));
  // Of any place, since windows of an adaptive pool may be any.
  if (name == "max_pool_backward") draft.add(draft.indices(shape, sample.plane()));
  if (backward) draft.add_list(sample.shape(sample.size));
  if (name == "max_pool_backward") return;
  if (name.starts_with("adaptive")) return draft.add_list({sample.result});
  add_windows(draft, sample);
  if (name.starts_with("max")) {
    draft.add_list({sample.dilation});
    return draft.add_value(sample.ceil_mode);
  }
  draft.add_value(sample.ceil_mode);
  draft.add_value(!draft.is("excluding"));
  if (draft.is("divided")) draft.add_value(std::int64_t{5});
}

}  // namespace bp
