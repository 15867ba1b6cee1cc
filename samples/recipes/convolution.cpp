// Samples of convolutions.
#include "draft.hpp"

namespace bp {
namespace {

struct ConvolutionSample {
  std::size_t rank = 1;
  std::int64_t batch = 2, from = 2, to = 2, size = 5, kernel = 3, groups = 1;
  std::int64_t stride = 1, padding = 0, dilation = 1, output_padding = 0;
  bool transposed = false, has_bias = false, has_batch = true;

  Dims with_places(std::initializer_list<std::int64_t> first, std::int64_t places) const {
    Dims shape(first);
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(places);
    return shape;
  }
  Dims input() const {
    return has_batch ? with_places({batch, from}, size) : with_places({from}, size);
  }
  Dims weight() const {
    return transposed ? with_places({from, to / groups}, kernel)
                      : with_places({to, from / groups}, kernel);
  }
  Dims result() const {
    const std::int64_t reach = dilation * (kernel - 1) + 1;
    return with_places({batch, to}, (size + 2 * padding - reach) / stride + 1);
  }
};

// The name's last digit, if it has one.
std::size_t rank_in_name(std::string_view name) {
  return name.ends_with("3d") ? 3 : name.ends_with("2d") ? 2 : 1;
}

void choose_sizes(Draft& draft, ConvolutionSample& sample) {
  if (draft.is("two_dims", "transposed", "channels_last")) sample.rank = 2;
  if (draft.is("three_dims")) sample.rank = 3;
  if (sample.rank >= 2) sample.size = 3, sample.kernel = 2;
  if (sample.rank == 3) sample.batch = 1;
  if (draft.is("zero_size")) sample.batch = 0;
  if (draft.is("no_channels")) sample.from = 0;
  if (draft.is("unbatched")) sample.has_batch = false;
  if (draft.is("several_tiles")) {
    sample.rank = std::max<std::size_t>(sample.rank, 2);
    if (draft.op().name() == std::string_view("conv1d") ||
        draft.op().name() == std::string_view("conv_transpose1d"))
      sample.rank = 1;
    sample.from = 3, sample.to = 5, sample.kernel = 3;
    sample.size = sample.rank == 1 ? 1031 : sample.rank == 2 ? 41 : 11;
    sample.padding = 1;
  }
}

void choose_windows(Draft& draft, ConvolutionSample& sample) {
  if (draft.is("strided")) sample.stride = 2, sample.size += 1;
  if (draft.is("padded")) sample.padding = sample.rank == 1 ? 2 : 1;
  if (draft.is("dilated")) sample.dilation = 2;
  if (draft.is("grouped")) sample.groups = 2, sample.from = 4;
  if (draft.is("depthwise")) sample.groups = sample.from = sample.to = 3;
  if (draft.is("backwards")) sample.transposed = true, sample.padding = 1;
  if (draft.is("backwards_strided")) {
    sample.transposed = true;
    sample.stride = 2, sample.dilation = 3, sample.output_padding = 2, sample.padding = 1;
    sample.size = 3;
  }
  if (draft.is("backwards_grouped")) {
    sample.transposed = true;
    sample.groups = 2, sample.to = 4, sample.stride = 2, sample.output_padding = 1, sample.size = 3;
  }
  if (draft.is("with_bias", "no_channels")) sample.has_bias = true;
}

void add_tensors(Draft& draft, const ConvolutionSample& sample) {
  draft.add(draft.tensor(sample.input()));
  draft.add(draft.tensor(sample.weight()));
  sample.has_bias ? draft.add(draft.tensor({sample.to})) : draft.add_none();
}

// Of two dimensions, with channels last.
struct PackedSample {
  std::int64_t batch = 2, channels = 2, to = 3, size = 4, kernel = 2, groups = 1;
  std::int64_t stride = 1, dilation = 1;
  Dims padding{0, 0, 0, 0};

  Dims weight_size() const { return {to, channels / groups, kernel, kernel}; }
  Dims packed() const {
    if (groups > 1 && channels == groups && to == groups) return {kernel, kernel, to};
    return {groups, (to / groups + 31) / 32, kernel, kernel, channels / groups, 32};
  }
  Dims result() const {
    const auto windows = [&](std::size_t dim) {
      const std::int64_t room = size + padding[dim] + padding[dim + 2];
      return (room - dilation * (kernel - 1) - 1) / stride + 1;
    };
    return {batch, windows(0), windows(1), to};
  }
};

PackedSample choose_packed(Draft& draft) {
  PackedSample sample;
  if (draft.is("strided")) sample.stride = 2, sample.size = 5;
  if (draft.is("padded")) sample.padding = {1, 0, 2, 1};
  if (draft.is("dilated")) sample.dilation = 2;
  if (draft.is("grouped")) sample.groups = 2, sample.channels = 4, sample.to = 6;
  if (draft.is("depthwise")) sample.groups = sample.channels = sample.to = 5;
  if (draft.is("zero_size")) sample.batch = 0, sample.to = 0;
  if (draft.is("two_panels")) sample.to = 35, sample.size = 3;
  if (draft.is("several_tiles")) {
    sample.batch = 1, sample.size = 37, sample.to = 5, sample.kernel = 3, sample.channels = 3;
    sample.padding = {1, 1, 1, 1};
  }
  draft.is("same", "non_contiguous", "transposed");
  return sample;
}

void draft_packed_convolution(Draft& draft) {
  const bool has_bias = draft.is("with_bias", "several_tiles"),
             has_other = draft.is("with_other", "several_tiles"), is_limited = draft.is("limited");
  const PackedSample sample = choose_packed(draft);
  draft.add(draft.tensor({sample.batch, sample.size, sample.size, sample.channels}));
  draft.add(draft.tensor(sample.packed()));
  has_bias ? draft.add(draft.tensor({sample.to})) : draft.add_none();
  has_other ? draft.add(draft.tensor(sample.result())) : draft.add_none();
  draft.add_list(sample.weight_size());
  draft.add_list({sample.stride, sample.stride});
  draft.add_list(sample.padding);
  draft.add_list({sample.dilation, sample.dilation});
  draft.add_value(sample.groups);
  is_limited ? draft.add_value(-0.5) : draft.add_none();
  is_limited ? draft.add_value(0.75) : draft.add_none();
}

}  // namespace

void draft_convolution(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "packed_convolution") return draft_packed_convolution(draft);
  if (name == "pack_convolution") {
    const PackedSample sample = choose_packed(draft);
    draft.add(draft.tensor(sample.weight_size()));
    draft.add_value(sample.groups);
    return;
  }
  ConvolutionSample sample;
  sample.rank = rank_in_name(name);
  choose_sizes(draft, sample);
  choose_windows(draft, sample);
  draft.is("same", "one_dim", "non_contiguous");
  if (name == "convolution_backward_weight") {
    draft.add(draft.tensor(sample.result()));
    draft.add(draft.tensor(sample.input()));
    draft.add_list(sample.weight());
  } else {
    sample.transposed |= name.starts_with("conv_transpose");
    add_tensors(draft, sample);
  }
  draft.add_list({sample.stride});
  draft.add_list({sample.padding});
  if (name.starts_with("conv_transpose")) {
    draft.add_list({sample.output_padding});
    draft.add_value(sample.groups);
    draft.add_list({sample.dilation});
    return;
  }
  draft.add_list({sample.dilation});
  if (name == "convolution") {
    draft.add_value(sample.transposed);
    draft.add_list({sample.output_padding});
  }
  draft.add_value(sample.groups);
}

}  // namespace bp
