// Convolutions by packed weights: blocks of points times panels of results, with no matrix of windows in between. A table
// says where each point of a block begins to see numbers at each tap, so that stride, padding and dilation cost nothing.
#include "tile/packed_convolution.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "../constants.hpp"
#include "../host.hpp"
#include "../rounding.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "kernels.hpp"
#include "onednn.hpp"

namespace bp::cpu {
namespace {

using tile::panel_width;
using tile::points_at_once;

struct Axis {
  int64_t size, count, kernel, stride, before, dilation;

  // Where window `i` is at its place `tap`; -1 beside the picture.
  int64_t seen(int64_t i, int64_t tap) const {
    const int64_t point = i * stride + tap * dilation - before;
    return point >= 0 && point < size ? point : -1;
  }
};

struct PackedConvolution {
  int64_t batch, channels, to, groups;
  Axis rows, columns;
  const float *pictures, *weight, *bias, *other;
  float* result;
  tile::Finish finish;
  const float* zeros = nullptr;  // what is seen beside the picture
  int64_t taps_in_run = 1;       // of a row of the kernel, beside each other

  int64_t points() const { return batch * rows.count * columns.count; }
  int64_t blocks() const { return divide_up(points(), points_at_once); }
  int64_t num_taps() const { return rows.kernel * columns.kernel / taps_in_run; }
  int64_t run() const { return channels / groups * taps_in_run; }
  int64_t panels_of_group() const { return divide_up(to / groups, panel_width); }
  int64_t panels() const { return groups * panels_of_group(); }
  int64_t panel_numel() const { return num_taps() * run() * panel_width; }
  int64_t work() const { return points() * to * num_taps() * run(); }
  bool is_depthwise() const { return groups > 1 && channels == groups && to == groups; }
  const float* at(int64_t picture, int64_t y, int64_t x) const {
    return pictures + ((picture * rows.size + y) * columns.size + x) * channels;
  }
};

// A point of the result, and the one after it.
struct Point {
  Point(const PackedConvolution& c, int64_t index)
      : picture(index / (c.rows.count * c.columns.count)),
        y(index / c.columns.count % c.rows.count), x(index % c.columns.count) {}

  void advance(const PackedConvolution& c) {
    if (++x < c.columns.count) return;
    x = 0;
    if (++y < c.rows.count) return;
    y = 0;
    ++picture;
  }

  int64_t picture, y, x;
};

// [block][tap][point]: where the points of these blocks see numbers, for the first group.
using Places = std::vector<const float*>;

void find_places(const PackedConvolution& c, int64_t first, int64_t end, Places& places) {
  const int64_t taps = c.num_taps();
  places.assign(static_cast<size_t>((end - first) * taps * points_at_once), c.zeros);
  Point point(c, first * points_at_once);
  const int64_t last = std::min(end * points_at_once, c.points());
  for (int64_t i = first * points_at_once; i < last; ++i, point.advance(c)) {
    const int64_t own = i - first * points_at_once;
    const float** to =
        places.data() + own / points_at_once * taps * points_at_once + own % points_at_once;
    for (int64_t ky = 0; ky < c.rows.kernel; ++ky) {
      const int64_t y = c.rows.seen(point.y, ky);
      for (int64_t kx = 0; kx < c.columns.kernel; kx += c.taps_in_run, to += points_at_once) {
        const int64_t x = c.columns.seen(point.x, kx);
        if (y >= 0 && x >= 0) *to = c.at(point.picture, y, x);
      }
    }
  }
}

// How the work is cut: parts of the panels times parts of the blocks.
struct Cut {
  explicit Cut(const PackedConvolution& c) {
    using namespace constants;
    const int64_t wanted = num_threads() * ranges_per_thread;
    const bool by_panels =
        c.panels() * c.panel_numel() > c.batch * c.rows.size * c.columns.size * c.channels &&
        c.blocks() * c.num_taps() * points_at_once <= packed_places;
    const int64_t panel_parts = by_panels ? std::min(wanted, c.panels()) : 1;
    panels = divide_up(c.panels(), panel_parts);
    const int64_t left = divide_up(wanted, divide_up(c.panels(), panels));
    blocks = std::max<int64_t>(1, divide_up(c.blocks(), left));
    if (!by_panels) blocks = std::min(blocks, packed_blocks);
  }

  int64_t panels, blocks;  // of a part
};

// Numbers of each point that are summed together: of some taps those from `begin` to `end`.
struct Depth {
  int64_t first_tap, num_taps, begin, end;
};

// As much of a panel at a time as the second cache keeps while all points of a part meet it.
std::vector<Depth> cut_depth(const PackedConvolution& c) {
  const int64_t run = c.run();
  std::vector<Depth> cut;
  if (run < constants::packed_depth) {
    const int64_t taps = constants::packed_depth / std::max<int64_t>(1, run);
    for (int64_t tap = 0; tap < c.num_taps(); tap += taps)
      cut.push_back({tap, std::min(taps, c.num_taps() - tap), 0, run});
    return cut;
  }
  const int64_t step = divide_up(run, divide_up(run, constants::packed_depth));
  for (int64_t tap = 0; tap < c.num_taps(); ++tap)
    for (int64_t begin = 0; begin < run; begin += step)
      cut.push_back({tap, 1, begin, std::min(begin + step, run)});
  return cut;
}

void convolve_block(const PackedConvolution& c, int64_t panel, int64_t block, const Depth& depth,
                    const float* const* seen) {
  const int64_t of_group = c.panels_of_group(), group = panel / of_group;
  const int64_t results = c.to / c.groups, in_group = panel % of_group * panel_width;
  const int64_t channel = group * results + in_group, first = block * points_at_once;
  tile::PanelPoints p{};
  p.seen = seen + depth.first_tap * points_at_once;
  p.num_taps = depth.num_taps;
  p.run = c.run();
  p.begin = depth.begin;
  p.end = depth.end;
  p.panel = c.weight + panel * c.panel_numel() + depth.first_tap * p.run * panel_width;
  p.bias = c.bias ? c.bias + channel : nullptr;
  p.other = c.other ? c.other + first * c.to + channel : nullptr;
  p.to = c.result + first * c.to + channel;
  p.to_step = c.to;
  p.num_points = std::min(points_at_once, c.points() - first);
  p.num_results = std::min(panel_width, results - in_group);
  p.goes_on = depth.first_tap > 0 || depth.begin > 0;
  p.is_whole = depth.first_tap + depth.num_taps == c.num_taps() && depth.end == p.run;
  p.finish = c.finish;
  tile::convolve_points(p);
}

// What a group sees lies behind what the first does; beside the picture it stays.
void move_places(const PackedConvolution& c, int64_t by, Places& places) {
  if (by == 0) return;
  for (const float*& place : places)
    if (place != c.zeros) place += by;
}

void convolve_part(const PackedConvolution& c, const Cut& cut, int64_t panel_part,
                   int64_t block_part) {
  const int64_t first = block_part * cut.blocks, end = std::min(first + cut.blocks, c.blocks());
  const int64_t first_panel = panel_part * cut.panels;
  const int64_t end_panel = std::min(first_panel + cut.panels, c.panels());
  const int64_t places_of_block = c.num_taps() * points_at_once;
  const std::vector<Depth> depths = cut_depth(c);
  Places places;
  find_places(c, first, end, places);
  int64_t group = 0;
  for (int64_t panel = first_panel; panel < end_panel; ++panel) {
    const int64_t own = panel / c.panels_of_group();
    move_places(c, (own - group) * (c.channels / c.groups), places);
    group = own;
    for (const Depth& depth : depths)
      for (int64_t block = first; block < end; ++block)
        convolve_block(c, panel, block, depth, places.data() + (block - first) * places_of_block);
  }
}

void convolve_groups(const PackedConvolution& c) {
  const Cut cut(c);
  const int64_t block_parts = divide_up(c.blocks(), cut.blocks);
  const int64_t parts = block_parts * divide_up(c.panels(), cut.panels);
  parallel_parts(parts, c.work() / constants::convolution_work, [&](int64_t part) {
    convolve_part(c, cut, part / block_parts, part % block_parts);
  });
}

// Where the points from (picture, y, x) on see channels at each tap, as a row of the result has them beside each other.
void find_depth_places(const PackedConvolution& c, const Point& point, int64_t num_points,
                       const float** to) {
  for (int64_t ky = 0; ky < c.rows.kernel; ++ky) {
    const int64_t y = c.rows.seen(point.y, ky);
    const float* const row = y >= 0 ? c.at(point.picture, y, 0) : nullptr;
    for (int64_t kx = 0; kx < c.columns.kernel; ++kx, to += tile::depth_at_once)
      for (int64_t i = 0; i < num_points; ++i) {
        const int64_t x = c.columns.seen(point.x + i, kx);
        to[i] = row && x >= 0 ? row + x * c.channels : c.zeros;
      }
  }
}

void convolve_each_channel(const PackedConvolution& c) {
  const int64_t line = c.columns.count,
                work = std::max<int64_t>(1, line * c.num_taps() * c.channels);
  parallel_for(c.batch * c.rows.count, std::max<int64_t>(1, constants::loop_products / work),
               [&](int64_t begin, int64_t end) {
                 Places seen(static_cast<size_t>(c.num_taps() * tile::depth_at_once));
                 for (int64_t i = begin * line, count = 0; i < end * line; i += count) {
                   const Point point(c, i);
                   count = std::min(tile::depth_at_once, line - point.x);
                   find_depth_places(c, point, count, seen.data());
                   const int64_t place = i * c.to;
                   tile::convolve_depth({seen.data(), c.num_taps(), c.channels, c.weight, c.bias,
                                         c.other ? c.other + place : nullptr, c.result + place,
                                         count, c.finish});
                 }
               });
}

// Pictures of few channels, with zeros around: a row of the kernel is then one run of numbers.
bool pays_to_pad(const PackedConvolution& c) {
  return c.groups == 1 && c.columns.dilation == 1 && c.columns.kernel > 1 &&
         c.channels < constants::padded_channels;
}

bp_code with_rows_in_runs(const bp_call* call, PackedConvolution& c, const Ints& padding) {
  const int64_t height = c.rows.size + padding[0] + padding[2],
                width = c.columns.size + padding[1] + padding[3], line = width * c.channels;
  char* memory = nullptr;
  const bp_code code =
      take_workspace(call, static_cast<uint64_t>(c.batch * height * line) * 4, memory);
  if (code != BP_OK) return code;
  float* const padded = reinterpret_cast<float*>(memory);
  parallel_for(c.batch * height, std::max<int64_t>(1, constants::element_grain / line),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   float* const to = padded + i * line;
                   const int64_t y = i % height - padding[0];
                   std::fill_n(to, line, 0.0f);
                   if (y >= 0 && y < c.rows.size)
                     std::copy_n(c.at(i / height, y, 0), c.columns.size * c.channels,
                                 to + padding[1] * c.channels);
                 }
               });
  c.pictures = padded;
  c.rows.size = height;
  c.columns.size = width;
  c.rows.before = c.columns.before = 0;
  return BP_OK;
}

Axis axis_of(In input, Out result, Ints weight_size, Ints stride, Ints padding, Ints dilation,
             int dim) {
  return {input.abi().dl.shape[dim + 1],
          result.abi().dl.shape[dim + 1],
          weight_size[static_cast<size_t>(dim) + 2],
          of_dim(stride, dim),
          padding[static_cast<size_t>(dim)],
          of_dim(dilation, dim)};
}

Status packed_convolution(Call call, In input, In weight, std::optional<In> bias,
                          std::optional<In> other, Ints weight_size, Ints stride, Ints padding,
                          Ints dilation, int64_t groups, std::optional<double> min,
                          std::optional<double> max, Out result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  PackedConvolution c{
      input.abi().dl.shape[0],
      input.abi().dl.shape[3],
      weight_size[0],
      groups,
      axis_of(input, result, weight_size, stride, padding, dilation, 0),
      axis_of(input, result, weight_size, stride, padding, dilation, 1),
      data_of<float>(input.abi()),
      data_of<float>(weight.abi()),
      bias ? data_of<float>(bias->abi()) : nullptr,
      other ? data_of<float>(other->abi()) : nullptr,
      data_of<float>(result.abi()),
      {static_cast<float>(min.value_or(-infinity)), static_cast<float>(max.value_or(infinity))}};
  bp_code code = BP_OK;
  if (pays_to_pad(c)) {
    code = with_rows_in_runs(&call.abi(), c, padding);
    c.taps_in_run = c.columns.kernel;
  }
  char* zeros = nullptr;
  const auto bytes = static_cast<uint64_t>(c.is_depthwise() ? c.channels : c.run()) * 4;
  if (code == BP_OK) code = take_workspace(&call.abi(), bytes, zeros);
  if (code != BP_OK) return Status::from_host(code);
  std::fill_n(zeros, bytes, char{0});
  c.zeros = reinterpret_cast<const float*>(zeros);
  if (c.is_depthwise()) {
    convolve_each_channel(c);
  } else {
    convolve_groups(c);
  }
  return ok;
}

}  // namespace

void add_packed_convolution_kernels(Kernels& k) {
  using place = op::packed_convolution::place;
  k.add<op::packed_convolution>(packed_convolution)
      .dtypes(f32)
      .dtypes(place::out, f32)
      .layouts(contiguous)
      .layouts(place::out, contiguous)
      .deterministic()
      .scratch();
}

}  // namespace bp::cpu
