// copy and cast, for any strides on both sides.
#include <algorithm>

#include "../constants.hpp"
#include "host.hpp"
#include "kernels/kernels.hpp"
#include "memory.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"
#include "tile/convert.hpp"
#include "tile/move.hpp"
#include "tile/program.hpp"
#include "tile/space.hpp"
#include "tile/transpose.hpp"

namespace bp::cpu {
namespace {

using tile::Convert;
using tile::Program;
using tile::Space;

// The identity of elements of the same size.
tile::Primitive identity_for(uint32_t dtype) {
  switch (tile::itemsize_of(dtype)) {
    case 1: return tile::find_primitive(tile::step_identity, BP_U8);
    case 2: return tile::find_primitive(tile::step_identity, BP_U16);
    case 4: return tile::find_primitive(tile::step_identity, BP_U32);
    case 8: return tile::find_primitive(tile::step_identity, BP_U64);
    default: return tile::find_primitive(tile::step_identity, BP_COMPLEX128);
  }
}

// Where both rows have what is copied.
constexpr auto copied_place = static_cast<uint8_t>(op::copy::place::input);
static_assert(copied_place == static_cast<uint8_t>(op::cast::place::input));

// One tensor's elements into the other's, with a conversion on the way if the dtypes differ.
Program copy_program(uint32_t from, uint32_t to, const Convert& convert) {
  Program program{};
  program.dtype = from;
  program.compute_dtype = program.out_dtype = to;
  if (from != to) program.load = convert;
  program.num_inputs = 1;
  program.inputs[0] = {copied_place, 0};
  program.num_registers = 2;
  program.num_steps = 1;
  program.steps[0] = {identity_for(to), 1, 0, 0, 0, 1, {}};
  const int64_t largest = std::max(tile::itemsize_of(from), tile::itemsize_of(to));
  program.tile = tile::register_bytes / std::max<int64_t>(4, largest);
  program.grain = constants::strided_copy_bytes / largest;
  program.is_direct = from == to;
  return program;
}

// The dimension along which the source runs, if it is another than the destination's; else -1.
int turned_dim(const Space& space) {
  const int last = space.rank - 1;
  if (space.strides[0][last] != 1 || space.strides[1][last] == 1) return -1;
  for (int dim = 0; dim < last; ++dim) {
    if (space.strides[1][dim] != 1) continue;
    const int64_t rows = space.shape[dim], columns = space.shape[last];
    if (std::min(rows, columns) >= constants::turned_side) return dim;
    const bool are_together =
        (columns <= tile::most_together && space.strides[0][dim] == columns) ||
        (rows <= tile::most_together && space.strides[1][last] == rows);
    if (are_together && std::max(rows, columns) >= constants::turned_side) return dim;
  }
  return -1;
}

// Blocks of all planes, a plane being the dimensions `turned` and the last.
void copy_turned(Space space, int turned, const bp_tensor& out, const bp_tensor& from) {
  const int64_t itemsize = out.itemsize;
  const int last = space.rank - 1;
  const int64_t rows = space.shape[turned], columns = space.shape[last];
  const int64_t dst_stride = space.strides[0][turned], src_stride = space.strides[1][last];
  const int64_t planes = space.numel / (rows * columns);
  space.shape[turned] = space.shape[last] = 1;
  const int64_t few = std::min(rows, columns);
  const bool are_few = few < constants::turned_side;
  const int64_t block_of_few = constants::turned_few_bytes / (few * itemsize);
  const bool streams = tile::worth_streaming(space.numel * itemsize, space.numel * itemsize);
  const int64_t rows_bytes =
                    streams ? constants::turned_far_rows_bytes : constants::turned_rows_bytes,
                columns_bytes =
                    streams ? constants::turned_far_columns_bytes : constants::turned_columns_bytes;
  const int64_t block_rows = are_few ? block_of_few : rows_bytes / itemsize;
  const int64_t block_columns = are_few ? block_of_few : columns_bytes / itemsize;
  const int64_t down = (rows + block_rows - 1) / block_rows;
  const int64_t across = (columns + block_columns - 1) / block_columns;
  const int64_t block_bytes =
      std::min(rows, block_rows) * std::min(columns, block_columns) * itemsize;
  const int64_t grain = std::max<int64_t>(1, constants::strided_copy_bytes / block_bytes);
  parallel_for(planes * down * across, grain, [&](int64_t begin, int64_t end) {
    tile::Position at;
    for (int64_t i = begin; i < end; ++i) {
      at.seek(space, i / (down * across));
      const int64_t row = i % down * block_rows, column = i / down % across * block_columns;
      char* dst = data_of<char>(out) + (at.offsets[0] + row * dst_stride + column) * itemsize;
      const char* src =
          data_of<char>(from) + (at.offsets[1] + column * src_stride + row) * itemsize;
      tile::transpose({dst, src, dst_stride, src_stride, std::min(block_rows, rows - row),
                       std::min(block_columns, columns - column), itemsize, streams});
    }
    if (streams) tile::finish_streaming();
  });
}

// What both kernels know, filled where they are declared, before they run.
struct Copies {
  Convert converts[BP_NUM_DTYPES][BP_NUM_DTYPES];
  Program programs[BP_NUM_DTYPES];  // for equal dtypes
};
constinit Copies copies{};

Status run_copy(Call call, In a, Out result) {
  copy_elements(call, a.abi(), result.abi());
  return ok;
}

// Contiguous on both sides.
void cast_run(const Convert& convert, char* out, const char* from, int64_t numel) {
  const int64_t to_bytes = convert.to_bytes, from_bytes = convert.from_bytes;
  const int64_t grain = constants::strided_copy_bytes / std::max(to_bytes, from_bytes);
  const bool streams = tile::worth_streaming(numel * from_bytes, numel * to_bytes);
  parallel_for(numel, grain, [&](int64_t begin, int64_t end) {
    if (!streams) return convert(out + begin * to_bytes, from + begin * from_bytes, end - begin);
    alignas(64) char buffer[constants::streamed_tile_bytes];
    const int64_t size = static_cast<int64_t>(sizeof buffer) / to_bytes;
    for (int64_t i = begin, count = 0; i < end; i += count) {
      char* to = out + i * to_bytes;
      const auto past_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & 63);
      count = std::min(end - i, size - past_line / to_bytes);
      convert(buffer, from + i * from_bytes, count);
      tile::stream(to, buffer, count * to_bytes);
    }
    tile::finish_streaming();
  });
}

Status run_cast(Call call, In a, Dtype, Out result) {
  const bp_tensor &out = result.abi(), &from = a.abi();
  if (out.dtype == from.dtype) return run_copy(call, a, result);
  const Convert& convert = copies.converts[from.dtype][out.dtype];
  if (is_contiguous(out) && is_contiguous(from)) {
    cast_run(convert, data_of<char>(out), data_of<char>(from), out.numel);
  } else {
    tile::run(copy_program(from.dtype, out.dtype, convert), call.abi());
  }
  return ok;
}

template <class Op, class F> void add_copy(Kernels& k, F run) {
  k.add<Op>(run).dtypes(all).dtypes(Op::place::out, all).layouts(strided).deterministic();
}

}  // namespace

void copy_elements(const Call& call, const bp_tensor& from, const bp_tensor& out) {
  const int64_t bytes = out.numel * out.itemsize;
  if (is_contiguous(out) && is_contiguous(from)) {
    copy_bytes(data_of<char>(out), data_of<char>(from), static_cast<uint64_t>(bytes));
    return;
  }
  Space space;
  space.set_shape(out);
  space.add(out);
  space.add(from);
  space.join();
  if (space.is_flat(0) && space.is_flat(1)) {
    copy_bytes(data_of<char>(out), data_of<char>(from), static_cast<uint64_t>(bytes));
  } else if (const int turned = turned_dim(space); turned >= 0) {
    copy_turned(space, turned, out, from);
  } else {
    tile::run(copies.programs[out.dtype], call.abi());
  }
}

void add_copy_kernels(Kernels& k) {
  for (uint32_t from = 0; from < BP_NUM_DTYPES; ++from) {
    for (uint32_t to = 0; to < BP_NUM_DTYPES; ++to) {
      copies.converts[from][to] = tile::find_convert(from, to);
    }
    copies.programs[from] = copy_program(from, from, copies.converts[from][from]);
  }
  add_copy<op::copy>(k, run_copy);
  add_copy<op::cast>(k, run_cast);
}

}  // namespace bp::cpu
