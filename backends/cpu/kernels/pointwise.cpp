// Every operator of the host's table that is an expression: one kernel each, made of tile programs. A new
// row needs nothing here.
#include <array>
#include <memory>
#include <optional>
#include <span>

#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"
#include "tile/program.hpp"

namespace bp::cpu {
namespace {

using tile::Program;
using tile::Signature;

// The programs of one operator by dtype.
struct Pointwise {
  Signature signature;
  int num_numbers = 0;
  uint8_t numbers[Signature::max_args];  // places of arguments that are always numbers
  std::array<const Program*, BP_NUM_DTYPES> programs{};
  std::array<const Program*, BP_NUM_DTYPES> ones{};  // for numbers that are all 1
  std::vector<std::unique_ptr<Program>> owned;

  bool numbers_are_one(const bp_call& call) const {
    for (int i = 0; i < num_numbers; ++i) {
      const bp_value& value = call.args[numbers[i]];
      const bool is_one =
          value.tag == BP_DOUBLE ? value.u.f == 1.0 : value.tag != BP_COMPLEX && value.u.i == 1;
      if (!is_one) return false;
    }
    return true;
  }

  // The computation's: of the output, unless that is bool for every type.
  uint32_t dtype_of(const bp_call& call) const {
    if (!signature.result_is_mask) return call.outputs[0]->dtype;
    for (uint32_t i = 0; i < call.num_args; ++i) {
      const bp_value& value = call.args[i];
      if (value.tag == BP_TENSOR && !signature.is_mask[i]) return value.u.tensor->dtype;
    }
    return BP_BOOL;
  }
};

bp_code run(void* self, const bp_call* call) {
  const auto& kernel = *static_cast<const Pointwise*>(self);
  const uint32_t dtype = kernel.dtype_of(*call);
  const Program* program =
      kernel.numbers_are_one(*call) ? kernel.ones[dtype] : kernel.programs[dtype];
  if (program == nullptr) return fail(BP_UNSUPPORTED, "cpu: a dtype that this operator lacks");
  return guarded("cpu: pointwise", [&] {
    tile::run(*program, *call);
    return bp_code{BP_OK};
  });
}

const Program* compile(Pointwise& kernel, std::span<const bp_expr_node> nodes, uint32_t dtype,
                       bool numbers_are_one) {
  auto program = std::make_unique<Program>();
  if (!tile::compile(nodes, kernel.signature, dtype, numbers_are_one, *program)) return nullptr;
  return kernel.owned.emplace_back(std::move(program)).get();
}

constexpr bp_arg tensor_place(bp_dtype_set dtypes) {
  bp_arg place{};
  place.dtypes = dtypes;
  place.layouts = BP_LAYOUT_STRIDED;
  return place;
}

void add_operator(const bp_operator& op, ExpressionKernels& list) {
  auto kernel = std::make_unique<Pointwise>();
  const Signature& signature = kernel->signature;
  if (!tile::read_signature(op, kernel->signature)) return;
  for (uint32_t i = 0; i < signature.num_args; ++i) {
    if (signature.is_number[i]) kernel->numbers[kernel->num_numbers++] = static_cast<uint8_t>(i);
  }
  bp_dtype_set dtypes = 0;
  for (uint32_t dtype = 0; dtype < BP_NUM_DTYPES; ++dtype) {
    if (((op.dtypes >> dtype) & 1u) == 0) continue;
    const std::span<const bp_expr_node> nodes(op.nodes, op.num_nodes);
    kernel->programs[dtype] = compile(*kernel, nodes, dtype, false);
    if (kernel->programs[dtype] == nullptr) continue;
    kernel->ones[dtype] =
        kernel->num_numbers == 0 ? kernel->programs[dtype] : compile(*kernel, nodes, dtype, true);
    dtypes |= 1u << dtype;
  }
  if (dtypes == 0) return;
  std::vector<bp_arg> places;
  for (uint32_t i = 0; i < signature.num_args; ++i) {
    places.push_back(bp_arg{});
    if (!signature.is_tensor[i]) continue;
    places[i] = tensor_place(signature.is_mask[i] ? 1u << BP_BOOL : dtypes);
    places[i].scalar_ok = 1;
  }
  places.push_back(tensor_place(signature.result_is_mask ? 1u << BP_BOOL : dtypes));
  list.add(op, std::move(places), run, BP_KERNEL_DETERMINISTIC | BP_KERNEL_IN_PLACE_SAFE,
           std::move(kernel));
}

}  // namespace

void add_pointwise_kernels(const bp_host& host, ExpressionKernels& list) {
  for (uint32_t i = 0; const bp_operator* op = host.operator_at(&host, i); ++i) {
    if (op->kind == BP_KIND_POINTWISE && op->num_nodes > 0) add_operator(*op, list);
  }
}

const bp_kernel* add_pointwise_kernel(const bp_operator& op, ExpressionKernels& list) {
  const size_t before = list.size();
  if (op.kind == BP_KIND_POINTWISE && op.num_nodes > 0) add_operator(op, list);
  return list.size() > before ? list.last() : nullptr;
}

}  // namespace bp::cpu
