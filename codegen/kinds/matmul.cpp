// matmul and bmm: which kernels a product takes, and their launches.
//
// On processors a tile of the result stays in registers. Where b's columns lie next to each other and b
// fits the caches, tiles read the operands as they are, in one launch. Else b (and a) are packed into
// panels first: every stride becomes 1, edges are filled up, and a page is left only when all of it was
// read (measured at 2048: 5 times faster). An element is summed up in the order of k whatever the tile, so
// that tuning changes no result.
#include <algorithm>
#include <chrono>
#include <span>

#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tuning/tuner.hpp>

#include "constants.hpp"
#include "kinds/kinds.hpp"
#include "kinds/matmul_text.hpp"

namespace bp::codegen {
namespace {

using constants::Blocking;

// To choose from on processors.
std::span<const Blocking> blockings(const bp_compiler_info& info) {
  // Vectors of the language are 64 bytes long whatever the device has: it has the registers for more or
  // for fewer of them.
  if (info.vector_bytes == 0 || info.vector_bytes >= 64) return constants::blockings_of_64_bytes;
  return constants::blockings_of_32_bytes;
}

// Along its second and third dimension, on some devices.
constexpr std::int64_t longest_grid = 65535;

std::int64_t divide_up(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

// The width of vectors, in elements; 1 where the language has none.
unsigned vector_width(const Invocation& in, Dtype dtype) {
  const bool has_vectors = in.device.language() == Language::opencl_c && in.for_cpu();
  return has_vectors && !is_complex(dtype) ? 64 / accumulator_bytes(dtype) : 1;
}

// Many rows and few columns of work for each item, as many small processors like it.
TileShape plan_for_gpu(const Product& p) {
  TileShape shape;
  shape.dtype = p.dtype;
  const unsigned most = is_complex(p.dtype) ? constants::gpu_tile_of_complex : constants::gpu_tile;
  shape.rows = p.m == 1 ? 1 : most;
  shape.columns =
      p.n <= constants::gpu_tile_of_few_columns ? constants::gpu_tile_of_few_columns : most;
  shape.columns_first = true;
  return shape;
}

// The scalar tile, for what is too small or too odd for anything else.
TileShape plan_scalar(const Product& p) {
  TileShape shape;
  shape.dtype = p.dtype;
  shape.rows = p.m == 1 ? 1 : constants::scalar_tile;
  shape.columns = constants::scalar_tile;
  return shape;
}

TileShape plan_along(const Product& p, unsigned width) {
  TileShape shape = plan_scalar(p);
  shape.form = TileForm::along;
  shape.rows = p.m == 1 ? 1 : constants::rows_along;
  shape.width = width;
  return shape;
}

// Tiles of one vector where `most` of them would leave much of the last tile unused. Each size more is a
// kernel more to compile.
std::int64_t columns_of_tile(std::int64_t n, std::int64_t unit, std::int64_t most) {
  const std::int64_t columns = unit * most;
  return columns > n || divide_up(n, columns) * columns * constants::unused_columns >
                            n * (constants::unused_columns + 1)
             ? unit
             : columns;
}

TileShape plan_for_cpu(const Product& p, unsigned width, const Blocking& blocking) {
  if (is_complex(p.dtype)) return plan_scalar(p);
  const std::int64_t unit = width == 1 ? constants::columns_without_vectors : width;
  const std::int64_t most = p.m == 1     ? constants::vectors_of_one_row
                            : width == 1 ? 1
                                         : blocking.vectors;
  TileShape shape;
  shape.dtype = p.dtype;
  shape.width = width;
  shape.rows = p.m == 1 ? 1 : blocking.rows;
  shape.columns = static_cast<unsigned>(columns_of_tile(p.n, unit, most));

  const std::int64_t work = p.work_per_batch();
  const bool suits = width == 1 || (p.b.column == 1 && p.n >= shape.columns);
  const bool has_rows = width > 1 && p.a.column == 1 && p.b.row == 1 && p.k >= width;
  if (p.m >= constants::packed_rows) {
    const auto bytes = static_cast<std::int64_t>(itemsize(p.dtype));
    shape.packed_b =
        suits ? p.m >= constants::packed_rows_if_suitable &&
                    p.n * p.k > constants::largest_unpacked_bytes / bytes
              : work >= (has_rows ? constants::packed_product_of_rows : constants::packed_product);
  }
  const bool converts = itemsize(p.dtype) != accumulator_bytes(p.dtype);
  shape.packed_a =
      shape.packed_b && (work >= constants::packed_product_of_a || p.a.column != 1 || converts);
  if (suits || shape.packed_b) return shape;
  return has_rows ? plan_along(p, width) : plan_scalar(p);
}

// ---- Launches

class Launches {
 public:
  Launches(Invocation& in, const Product& p, const TileShape& shape)
      : in_(in), p_(p), shape_(shape) {
    row_panels_ = divide_up(p.m, shape.rows);
    column_panels_ = divide_up(p.n, shape.columns);
  }

  void run() {
    const std::int64_t batches = p_.num_batches();
    if (!shape_.packed_a && !shape_.packed_b) return tiles(p_, 0, batches);
    const std::int64_t a_own = own_batches(shape_.packed_a, p_.a),
                       b_own = own_batches(shape_.packed_b, p_.b);
    const std::int64_t each = (a_own * a_panels() + b_own * b_panels()) * bytes();
    const std::int64_t part =
        std::clamp<std::int64_t>(each ? constants::packed_bytes / each : batches, 1, batches);
    const auto panels_of = [&](bool packed, std::int64_t own, std::int64_t size) {
      return packed ? (own ? part : 1) * size : 0;
    };
    const std::int64_t a_size = panels_of(shape_.packed_a, a_own, a_panels()),
                       b_size = panels_of(shape_.packed_b, b_own, b_panels());
    const bp_region scratch = in_.scratch(static_cast<std::uint64_t>((a_size + b_size) * bytes()));
    const auto start = static_cast<std::int64_t>(scratch.offset);
    for (std::int64_t first = 0; first < batches; first += part) {
      const std::int64_t count = std::min(part, batches - first);
      Product packed = p_;
      if (shape_.packed_a) {
        if (a_own || first == 0)
          pack({p_.m, shape_.rows, row_panels_, p_.a, p_.a.row, p_.a.column}, scratch.handle, start,
               first, a_own ? count : 1);
        packed.a = {scratch.handle, start, 1, 1, {}};
      }
      if (shape_.packed_b) {
        const std::int64_t to = start + a_size * bytes();
        if (b_own || first == 0)
          pack({p_.n, shape_.columns, column_panels_, p_.b, p_.b.column, p_.b.row}, scratch.handle,
               to, first, b_own ? count : 1);
        packed.b = {scratch.handle, to, 1, 1, {}};
      }
      tiles(packed, first, count);
    }
  }

 private:
  struct Side {
    std::int64_t count;
    unsigned panel;
    std::int64_t panels;
    const Matrix& matrix;
    std::int64_t step, k_step;
  };

  // 1 for an operand to pack for every batch, 0 for one that is the same in all of them.
  static std::int64_t own_batches(bool packed, const Matrix& matrix) {
    return packed && !matrix.is_same_in_all_batches();
  }
  std::int64_t bytes() const { return accumulator_bytes(p_.dtype); }
  std::int64_t a_panels() const { return row_panels_ * shape_.rows * p_.k; }
  std::int64_t b_panels() const { return column_panels_ * shape_.columns * p_.k; }

  void pack(const Side& side, bp_handle scratch, std::int64_t to, std::int64_t first,
            std::int64_t batches) {
    PackShape shape{p_.dtype, side.panel, shape_.width};
    while (shape.size % shape.width) shape.width /= 2;
    PackValues v;
    v.count = side.count;
    v.k = p_.k;
    v.k_piece = constants::packed_depth;
    v.panels = side.panels;
    v.batches = batches;
    v.first_batch = first;
    v.from = side.matrix.start;
    v.step = side.step;
    v.k_step = side.k_step;
    v.to = to;
    Values values;
    v.add_to(values, p_, side.matrix.batch);
    Grid grid;
    grid.items[0] = static_cast<std::uint64_t>(side.panels);
    grid.items[1] = static_cast<std::uint64_t>(divide_up(p_.k, v.k_piece));
    grid.items[2] = static_cast<std::uint64_t>(batches);
    in_.launch(in_.function(shape.variant(), [&] { return pack_text(shape); }), grid,
               {scratch, side.matrix.memory}, values);
  }

  void tiles(const Product& p, std::int64_t first, std::int64_t batches) {
    TileValues v;
    v.m = p.m;
    v.n = p.n;
    v.k = p.k;
    v.row_panels = row_panels_;
    v.column_panels = column_panels_;
    v.batches = batches;
    v.first_batch = first;
    v.column_panel = shape_.columns_first ? 1 : shape_.columns;
    v.column_step = shape_.columns_first ? column_panels_ : 1;
    if (own_batches(shape_.packed_a, p_.a)) v.a_panels = a_panels();
    if (own_batches(shape_.packed_b, p_.b)) v.b_panels = b_panels();
    group(v);
    Values values;
    v.add_to(values, p);
    in_.launch(in_.function(shape_.variant(), [&] { return tile_text(shape_); }), grid_of(v),
               {p.out.memory, p.a.memory, p.b.memory}, values);
  }

  // On processors a work-item takes several tiles, which share b's panel, as long as some dozen items
  // remain for each core.
  void group(TileValues& v) const {
    if (!in_.for_cpu()) {
      v.batch_group = divide_up(v.batches, longest_grid);
      return;
    }
    const std::int64_t wanted =
        constants::matmul_items_per_core * std::max<std::int64_t>(1, in_.info().compute_units);
    v.row_group = std::clamp<std::int64_t>(v.row_panels * v.column_panels * v.batches / wanted, 1,
                                           constants::most_row_tiles);
    const std::int64_t items = divide_up(v.row_panels, v.row_group) * v.column_panels * v.batches;
    if (v.row_group >= v.row_panels)
      v.batch_group = std::clamp<std::int64_t>(items / wanted, 1, constants::most_batches_of_item);
  }

  Grid grid_of(const TileValues& v) const {
    const auto rows = static_cast<std::uint64_t>(divide_up(v.row_panels, v.row_group));
    const auto columns = static_cast<std::uint64_t>(v.column_panels);
    Grid grid;
    grid.items[0] = shape_.columns_first ? columns : rows;
    grid.items[1] = shape_.columns_first ? rows : columns;
    grid.items[2] = static_cast<std::uint64_t>(divide_up(v.batches, v.batch_group));
    if (!in_.for_cpu() &&
        in_.info().max_group_items >= constants::gpu_group * constants::gpu_group &&
        in_.info().max_group[1] >= constants::gpu_group)
      grid.group[0] = grid.group[1] = constants::gpu_group;
    return grid;
  }

  Invocation& in_;
  const Product& p_;
  const TileShape& shape_;
  std::int64_t row_panels_, column_panels_;
};

// ---- Tuning

void synchronize(Invocation& in) {
  DeviceRecord& record = in.device.record();
  clear_plugin_error();
  const bp_code code = record.queue->synchronize(in.call.device, in.call.stream);
  if (code != BP_OK) throw_plugin_message(code, "synchronize");
}

// Measured on as many rows of the call's own result as take some milliseconds: what they get is right.
double seconds_of(Invocation& in, Product p, unsigned width, const Blocking& blocking) {
  const std::int64_t work_per_row = std::max<std::int64_t>(1, p.work_per_batch() / p.m);
  p.m = std::min(p.m, std::max<std::int64_t>(constants::measured_rows,
                                             constants::measured_product / work_per_row));
  const TileShape shape = plan_for_cpu(p, width, blocking);
  synchronize(in);
  const auto start = std::chrono::steady_clock::now();
  Launches(in, p, shape).run();
  synchronize(in);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Blocking blocking_for(Invocation& in, const Product& p, unsigned width) {
  const std::span<const Blocking> ways = blockings(in.info());
  const bool worth_it =
      width > 1 && p.m >= constants::asked_rows && p.work_per_batch() >= constants::asked_product;
  // A capture must not wait for the device.
  if (!worth_it || is_capturing()) return ways[0];
  const std::string what =
      fmt::format("matmul {} {}", accumulator_type(p.dtype), constants::blockings_version);
  const tuner::Question question{
      .what = what, .identity = in.info().identity, .num_ways = ways.size()};
  return ways[tuner::choose(question,
                            [&](std::size_t way) { return seconds_of(in, p, width, ways[way]); })];
}

class Matmul final : public GeneratedKernel {
 public:
  explicit Matmul(const Operator& op) {
    places = strided_places(op, all_dtypes);
    uses_scratch = true;
  }

  void run(Invocation& in) const override {
    const Product p = product_of(in.call);
    in.require(p.dtype);
    if (!in.for_cpu()) return Launches(in, p, plan_for_gpu(p)).run();
    const unsigned width = vector_width(in, p.dtype);
    const TileShape shape = plan_for_cpu(p, width, blocking_for(in, p, width));
    Launches(in, p, shape).run();
  }
};

}  // namespace

std::unique_ptr<GeneratedKernel> make_matmul(const Operator& op) {
  const std::string_view name = op.name();
  if (name != "matmul" && name != "bmm") return nullptr;
  return std::make_unique<Matmul>(op);
}

}  // namespace bp::codegen
