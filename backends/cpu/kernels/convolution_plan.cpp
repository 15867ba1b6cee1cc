#include "convolution_plan.hpp"

#include <algorithm>

#include <backplane/abi.h>

#include "../constants.hpp"

namespace bp::cpu {
namespace {

struct Traits {
  bool is_product = true;  // of matrices: the kernel is a point, and no element is left out
  bool is_point = true;    // of which it may leave some out
  bool has_many_channels;  // so that reordering the weight takes about as long as the work
  int64_t plane = 1, weights;

  explicit Traits(const ConvolutionKey& key) : weights(key.weight[0] * key.weight[1]) {
    for (int64_t dim = 0; dim < key.rank; ++dim) {
      is_point = is_point && key.weight[dim + 2] == 1 && key.padding[dim] == 0;
      is_product = is_product && key.stride[dim] == 1;
      plane *= key.small[dim + 2];
    }
    is_point = is_point && key.groups == 1;
    is_product = is_product && is_point;
    has_many_channels = weights >= constants::many_channels;
  }
};

Pictures in_blocks_if(bool in_blocks) {
  return in_blocks ? Pictures::in_blocks : Pictures::as_they_lie;
}

// Any other processor, as measured on Zen 5.
Pictures choose_elsewhere(const ConvolutionKey& key) {
  const Traits traits(key);
  if (key.large_order == channels_last) {
    if (key.way == to_weight) return in_blocks_if(traits.is_point);
    if (key.way == to_input) return in_blocks_if(traits.has_many_channels);
    return in_blocks_if(traits.is_point && traits.has_many_channels);
  }
  if (key.way == to_weight && traits.has_many_channels && traits.plane <= constants::small_plane)
    return in_blocks_if(key.groups != 1);
  if (!traits.is_product) return Pictures::in_blocks;
  if (key.way == to_weight) return in_blocks_if(traits.weights <= constants::few_weights);
  return in_blocks_if(traits.plane <
                      (key.way == forwards ? constants::large_plane : constants::larger_plane));
}

// Xeons with AMX, f32 in one group: small planes in blocks, large ones as they lie.
Pictures choose_on_xeon(const ConvolutionKey& key) {
  const Traits traits(key);
  if (key.large_order == channels_last) {
    // A large gradient to a kernel of points: oneDNN's own reorder of it takes as long as the work.
    if (key.way == to_weight && traits.is_point && key.weight[1] >= constants::reordered_channels &&
        traits.weights >= constants::reordered_weights)
      return Pictures::by_rows;
    return in_blocks_if(traits.plane < constants::large_plane);
  }
  if (key.way == to_weight) return in_blocks_if(!traits.is_point);
  if (traits.is_product) return in_blocks_if(traits.plane < constants::larger_plane);
  const bool has_window =
      key.way == forwards && !traits.is_point && key.weight[1] >= constants::channels_of_window;
  return has_window && traits.plane >= constants::large_plane ? Pictures::by_channels_last
                                                              : Pictures::in_blocks;
}

}  // namespace

bool is_on_amx() {
  return dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx;
}

Pictures choose_pictures(const ConvolutionKey& key) {
  if (key.large_order != key.small_order) return Pictures::in_blocks;
  const bool on_xeon = is_on_amx();
  const bool was_measured = key.dtype == BP_F32 && key.groups == 1;
  return on_xeon && was_measured ? choose_on_xeon(key) : choose_elsewhere(key);
}

bool pays_by_winograd(const ConvolutionKey& key) {
  const auto is_each = [](const int64_t* values, int64_t value) {
    return values[0] == value && values[1] == value;
  };
  return key.way == to_weight && key.dtype == BP_F32 && key.groups == 1 && key.rank == 2 &&
         is_each(key.weight + 2, 3) && is_each(key.stride, 1) && is_each(key.dilation, 1) &&
         std::min(key.weight[0], key.weight[1]) >= constants::winograd_channels &&
         key.small[2] * key.small[3] >= constants::winograd_plane;
}

std::vector<ConvolutionWay> ways_of(const ConvolutionKey& key) {
  std::vector<ConvolutionWay> ways(1);
  const Pictures usual = choose_pictures(key);
  for (const Pictures each :
       {Pictures::as_they_lie, Pictures::by_channels_last, Pictures::in_blocks})
    if (each != usual) ways.push_back({static_cast<int64_t>(each) + 1, ConvolutionWay::by_shape});
  const int64_t as_usual = static_cast<int64_t>(usual) + 1;
  if (pays_by_winograd(key)) ways.push_back({as_usual, ConvolutionWay::by_shape});
  if (key.small[0] > 1) ways.push_back({as_usual, ConvolutionWay::in_parts});
  ways.push_back({as_usual, ConvolutionWay::whole});
  return ways;
}

std::string class_of(const ConvolutionKey& key) {
  constexpr const char* ways[] = {"forwards", "to input", "to weight"};
  constexpr const char* orders[] = {"rows", "channels last", "other"};
  std::string text = "convolution 1 ";
  text += ways[key.way];
  text += key.dtype == BP_F32 ? "; f32" : "; bf16";
  const auto add = [&](const char* name, const int64_t* numbers, int64_t count) {
    text += std::string("; ") + name;
    for (int64_t i = 0; i < count; ++i) text += ' ' + std::to_string(numbers[i]);
  };
  // Of the number of pictures the class alone.
  text += "; about " + std::to_string(int64_t{1} << (size_class(key.large[0]) - 1)) + " pictures";
  add("of", key.large + 1, key.rank + 1);
  add("weight", key.weight, key.rank + 2);
  add("stride", key.stride, key.rank);
  add("padding", key.padding, key.rank);
  add("dilation", key.dilation, key.rank);
  add("groups", &key.groups, 1);
  for (const int64_t order : {key.large_order, key.small_order, key.weight_order})
    text += std::string("; ") + orders[order];
  return text;
}

}  // namespace bp::cpu
