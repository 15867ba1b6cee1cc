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

}  // namespace

void draft_convolution(Draft& draft) {
  const std::string_view name = draft.op().name();
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
