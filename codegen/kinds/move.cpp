// Moving elements from one place to another, by the strides of both.
#include <fmt/format.h>

#include "constants.hpp"
#include "kinds/elementwise.hpp"
#include "kinds/walk.hpp"

namespace bp::codegen {

Dtype mover_dtype(std::uint32_t itemsize) {
  switch (itemsize) {
    case 1: return Dtype::u8;
    case 2: return Dtype::u16;
    case 4: return Dtype::u32;
    case 8: return Dtype::u64;
    default: return Dtype::complex128;
  }
}
namespace {

KernelText move_text(std::uint32_t itemsize, int rank, bool is_unit) {
  const Step step = is_unit ? Step::one : Step::any;
  const WalkText walk{rank, {{"out", step}, {"a", step}}};
  KernelText text;
  text.name = fmt::format("move_b{}_r{}{}", itemsize, rank, is_unit ? "_rows" : "");
  text.num_memory = 2;
  walk.add_fields(text.values);
  text.helpers = mover_helpers(itemsize);
  text.body = walk.loop(fill_in(R"(
    GLOBAL $T* out = (GLOBAL $T*)(m0 + v.out_start) + out_at;
    GLOBAL const $T* a = (GLOBAL const $T*)(m1 + v.a_start) + a_at;
    for (i64 j = 0; j < run; ++j) out[j * out_step] = a[j * a_step];
)",
                                {{"T", mover_type(itemsize)}}));
  return text;
}

// Rows without gaps move in elements as wide as the addresses allow.
std::uint32_t widen(Walk& walk, std::uint32_t itemsize, std::int64_t to, std::int64_t from) {
  const auto may_double = [&] {
    if (itemsize >= 8 || walk.row_size() % 2 != 0 ||
        (to | from) % (std::int64_t{2} * itemsize) != 0)
      return false;
    for (int k = 0; k < 2; ++k)
      for (int d = 0; d < walk.rank - 1; ++d)
        if (walk.stride[k][d] % 2 != 0) return false;
    return true;
  };
  for (; may_double(); itemsize *= 2) {
    walk.size[walk.rank - 1] /= 2;
    for (int k = 0; k < 2; ++k)
      for (int d = 0; d < walk.rank - 1; ++d) walk.stride[k][d] /= 2;
  }
  return itemsize;
}

// As the operator `copy` does it.
void move_elementwise(Invocation& invocation, std::span<const std::int64_t> shape,
                      std::uint32_t itemsize, const MoveEnd& to, const MoveEnd& from) {
  std::int64_t numel = 1;
  for (std::int64_t size : shape) numel *= size;
  const auto tensor_of = [&](const MoveEnd& end) {
    bp_tensor tensor{};
    tensor.dl.data = reinterpret_cast<void*>(end.handle);
    tensor.dl.byte_offset = static_cast<std::uint64_t>(end.start);
    tensor.dl.ndim = static_cast<int>(shape.size());
    tensor.dl.shape = const_cast<std::int64_t*>(shape.data());
    tensor.dl.strides = const_cast<std::int64_t*>(end.strides);
    tensor.itemsize = itemsize;
    tensor.numel = numel;
    return tensor;
  };
  const bp_tensor out = tensor_of(to), a = tensor_of(from);
  ElementwiseCall elements;
  elements.add(out);
  elements.add(a);
  elements.launch(
      invocation, numel,
      [&](const Form& form) {
        const std::uint64_t variant =
            (std::uint64_t{1} << 41) | itemsize << form_bits | form.variant();
        return invocation.function(variant, [&] {
          const Dtype dtype = mover_dtype(itemsize);
          ElementwiseText text;
          text.name = fmt::format("move_b{}", itemsize);
          text.form = form;
          text.for_cpu = false;
          text.language = invocation.device.language();
          text.operands = {{dtype, false}, {dtype, false}};
          text.step = [](unsigned, const auto& input, std::string&) { return input(1); };
          return elementwise_text(text);
        });
      },
      [](Values&) {});
}

}  // namespace

void launch_move(Invocation& invocation, std::span<const std::int64_t> shape,
                 std::uint32_t itemsize, const MoveEnd& to, const MoveEnd& from) {
  if (!invocation.for_cpu()) return move_elementwise(invocation, shape, itemsize, to, from);
  Walk walk(shape);
  walk.add(to.strides).add(from.strides).simplify();
  const bool is_unit = walk.step_class(0) == Step::one && walk.step_class(1) == Step::one;
  if (is_unit) itemsize = widen(walk, itemsize, to.start, from.start);
  const int rank = walk.rank_class();
  // Other kernels of the same operator count their variants from 0.
  const std::uint64_t variant = (1u << 31) | itemsize | static_cast<std::uint64_t>(rank) << 8 |
                                static_cast<std::uint64_t>(is_unit) << 16;
  bp_function* function =
      invocation.function(variant, [&] { return move_text(itemsize, rank, is_unit); });
  const Division division = divide(invocation, walk.count(), constants::moved_elements);
  Values values;
  add_walk_values(values, walk, division, {to.start, from.start});
  invocation.launch(function, {{division.items, 1, 1}}, {to.handle, from.handle}, values);
}

}  // namespace bp::codegen
