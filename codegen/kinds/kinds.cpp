#include "kinds/kinds.hpp"

#include <string_view>

namespace bp::codegen {

bp_arg tensor_place(bp_dtype_set dtypes, bool scalar_ok) {
  bp_arg place{};
  place.dtypes = dtypes;
  place.layouts = BP_LAYOUT_STRIDED;
  place.scalar_ok = scalar_ok;
  return place;
}

bp_arg any_place() {
  return bp_arg{};
}

std::vector<bp_arg> strided_places(const Operator& op, bp_dtype_set dtypes) {
  std::vector<bp_arg> places;
  for (const SchemaArgument& argument : op.schema->arguments) {
    const bool is_tensor =
        argument.type == ArgumentType::tensor || argument.type == ArgumentType::tensor_list;
    places.push_back(is_tensor ? tensor_place(dtypes) : any_place());
  }
  for (std::size_t i = 0; i < op.schema->returns.size(); ++i)
    places.push_back(tensor_place(dtypes));
  return places;
}

namespace {

bool is_norm(std::string_view name) {
  return name == "native_layer_norm" || name == "native_rms_norm" || name == "norm_backward" ||
         name == "norm_weight_backward" || name == "norm_gradients";
}

}  // namespace

std::unique_ptr<GeneratedKernel> make_kernel(const Operator& op) {
  const std::string_view name = op.name();
  if (op.flags & BP_OP_SHAPE_DATA) return nullptr;  // the host must know the shape first
  switch (op.kind) {
    case BP_KIND_POINTWISE: return make_pointwise(op);
    case BP_KIND_COPY: return make_copy(op);
    case BP_KIND_FACTORY: return make_factory(op);
    case BP_KIND_SCAN: return make_scan(op);
    case BP_KIND_SCATTER:
      return name == "scatter_add" || name == "one_hot" ? make_scatter(op) : nullptr;
    case BP_KIND_SORT: return make_sort(op);
    case BP_KIND_MATMUL: return name == "matmul" || name == "bmm" ? make_matmul(op) : nullptr;
    case BP_KIND_RANDOM: return make_random(op);
    case BP_KIND_REDUCTION:
      if (op.num_nodes) return make_reduction(op);
      if (name == "softmax" || name == "log_softmax") return make_softmax(op);
      if (is_norm(name)) return make_norm(op);
      return name == "argmax" ? make_arg_reduction(op) : nullptr;
    case BP_KIND_GATHER:
      if (name == "cat") return make_cat(op);
      if (name == "constant_pad_nd") return make_pad(op);
      return name == "gather" || name == "index_select" ? make_gather(op) : nullptr;
    default: return nullptr;
  }
}

}  // namespace bp::codegen
