// Every operator of the host's table that is an expression: one kernel each, made of tile programs. A new
// row needs nothing here.
#include "kernels/pointwise.hpp"

#include <utility>

#include "host.hpp"
#include "kernels/kernels.hpp"
#include "tensor_view.hpp"

namespace bp::cpu {

bool Pointwise::numbers_are_one(const bp_call& call) const {
  for (int i = 0; i < num_numbers_; ++i) {
    const bp_value& value = call.args[numbers_[i]];
    const bool is_one =
        value.tag == BP_DOUBLE ? value.u.f == 1.0 : value.tag != BP_COMPLEX && value.u.i == 1;
    if (!is_one) return false;
  }
  return true;
}

bool Pointwise::bf16_has_numbers(const bp_call& call, uint32_t others) const {
  for (uint32_t i = 0; i < signature_.num_args; ++i) {
    const bp_value& value = call.args[i];
    if ((others >> i & 1u) != 0 && value.tag != BP_COMPLEX) continue;
    if (value.tag == BP_COMPLEX) return false;
    if (value.tag == BP_DOUBLE && !tile::bf16_has(value.u.f)) return false;
    if (value.tag == BP_INT && !tile::bf16_has(static_cast<double>(value.u.i))) return false;
  }
  return true;
}

uint32_t Pointwise::dtype_of(const bp_call& call) const {
  if (!signature_.result_is_mask) return call.outputs[0]->dtype;
  for (uint32_t i = 0; i < call.num_args; ++i) {
    const bp_value& value = call.args[i];
    if (value.tag == BP_TENSOR && !signature_.is_mask[i]) return value.u.tensor->dtype;
  }
  return BP_BOOL;
}

const tile::Program* Pointwise::compile(std::span<const bp_expr_node> nodes, uint32_t dtype,
                                        bool with_ones) {
  auto program = std::make_unique<tile::Program>();
  if (!tile::compile(nodes, signature_, dtype, with_ones, *program)) return nullptr;
  return owned_.emplace_back(std::move(program)).get();
}

bp_dtype_set Pointwise::compile(const bp_operator& op, bp_dtype_set wanted) {
  if (!tile::read_signature(op, signature_)) return 0;
  for (uint32_t i = 0; i < signature_.num_args; ++i) {
    if (signature_.is_number[i]) numbers_[num_numbers_++] = static_cast<uint8_t>(i);
  }
  const std::span<const bp_expr_node> nodes(op.nodes, op.num_nodes);
  bp_dtype_set dtypes = 0;
  for (uint32_t dtype = 0; dtype < BP_NUM_DTYPES; ++dtype) {
    if (((op.dtypes & wanted) >> dtype & 1u) == 0) continue;
    programs_[dtype] = compile(nodes, dtype, false);
    if (programs_[dtype] == nullptr) continue;
    ones_[dtype] = num_numbers_ == 0 ? programs_[dtype] : compile(nodes, dtype, true);
    dtypes |= 1u << dtype;
  }
  if ((dtypes >> BP_BF16 & 1u) != 0) {
    narrow_ = compile_narrow(nodes, false);
    narrow_ones_ = num_numbers_ == 0 ? narrow_ : compile_narrow(nodes, true);
  }
  return dtypes;
}

const tile::Program* Pointwise::compile_narrow(std::span<const bp_expr_node> nodes,
                                               bool with_ones) {
  auto program = std::make_unique<tile::Program>();
  if (!tile::compile_narrow(nodes, signature_, with_ones, *program)) return nullptr;
  return owned_.emplace_back(std::move(program)).get();
}

namespace {

bp_code run_pointwise(void* self, const bp_call* call) {
  const auto& kernel = *static_cast<const Pointwise*>(self);
  const tile::Program* program = kernel.program_for(*call, kernel.dtype_of(*call));
  if (program == nullptr) return fail(BP_UNSUPPORTED, "cpu: a dtype that this operator lacks");
  return guarded("cpu: pointwise", [&] {
    tile::run(*program, *call);
    return bp_code{BP_OK};
  });
}

void add_operator(const bp_operator& op, ExpressionKernels& list) {
  auto kernel = std::make_unique<Pointwise>();
  const bp_dtype_set dtypes = kernel->compile(op, ~bp_dtype_set{0});
  if (dtypes == 0) return;
  const tile::Signature& signature = kernel->signature();
  std::vector<bp_arg> places;
  for (uint32_t i = 0; i < signature.num_args; ++i) {
    places.push_back(bp_arg{});
    if (!signature.is_tensor[i]) continue;
    places[i] = strided_place(signature.is_mask[i] ? 1u << BP_BOOL : dtypes);
    places[i].scalar_ok = 1;
  }
  places.push_back(strided_place(signature.result_is_mask ? 1u << BP_BOOL : dtypes));
  list.add(op, std::move(places), run_pointwise, BP_KERNEL_DETERMINISTIC | BP_KERNEL_IN_PLACE_SAFE,
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
