// Rows over lists whose places are an expression: its tile program, for all tensors in one call, which the threads
// share.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host.hpp"
#include "kernels/kernels.hpp"
#include "kernels/pointwise.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"

namespace bp::cpu {
namespace {

constexpr std::string_view prefix = "_foreach_";

// The row of one place: _foreach_add and _foreach_add_ are add. Two have another name there.
std::string row_of_a_place(std::string_view list_row) {
  list_row.remove_prefix(prefix.size());
  if (list_row.ends_with('_')) list_row.remove_suffix(1);
  if (list_row == "clamp_min") return "maximum";
  if (list_row == "clamp_max") return "minimum";
  return std::string(list_row);
}

bool is_list(const bp_value& value) {
  return value.tag == BP_TENSOR_LIST;
}

const bp_tensor* listed(const bp_value& list, size_t index) {
  return static_cast<const bp_tensor* const*>(list.u.ptr)[index];
}

// The call of the row of a place, for one place after the other.
class PlaceCall {
 public:
  explicit PlaceCall(const bp_call& of_lists) : of_lists_(of_lists), call_(of_lists) {
    std::copy_n(of_lists.args, of_lists.num_args, args_);
    call_.args = args_;
    call_.outputs = &output_;
    call_.num_outputs = 1;
  }
  PlaceCall(const PlaceCall&) = delete;
  PlaceCall& operator=(const PlaceCall&) = delete;

  const bp_call& at(size_t index) {
    for (uint32_t i = 0; i < of_lists_.num_args; ++i) {
      const bp_value& given = of_lists_.args[i];
      if (!is_list(given)) continue;
      args_[i].tag = BP_TENSOR;
      args_[i].u.tensor = beside(i, listed(given, index), *listed(of_lists_.args[0], index));
    }
    // What the row writes stays the caller's argument, if it gives nothing.
    output_ = of_lists_.num_outputs != 0 ? of_lists_.outputs[index]
                                         : const_cast<bp_tensor*>(args_[0].u.tensor);
    return call_;
  }

 private:
  // One number beside a tensor, for each of its elements.
  const bp_tensor* beside(uint32_t place, const bp_tensor* each, const bp_tensor& first) {
    if (each->dl.ndim == first.dl.ndim) return each;
    bp_tensor& repeated = repeated_[place] = *each;
    repeated.dl.ndim = first.dl.ndim;
    repeated.dl.shape = first.dl.shape;
    repeated.dl.strides = no_strides_;
    repeated.numel = first.numel;
    repeated.flags = BP_LAYOUT_STRIDED;
    return &repeated;
  }

  const bp_call& of_lists_;
  bp_call call_;
  bp_value args_[tile::Signature::max_args];
  bp_tensor* output_ = nullptr;
  bp_tensor repeated_[tile::Signature::max_args];
  int64_t no_strides_[BP_MAX_RANK] = {};
};

// Large tensors are shared by the threads one by one, and the small ones by their elements: each belongs to the thread
// in whose range it begins.
void run_all(const tile::Program& program, const bp_call& call) {
  const bp_value& first = call.args[0];
  std::vector<std::pair<int64_t, size_t>> small;  // where each begins
  int64_t total = 0;
  PlaceCall large(call);
  for (size_t i = 0; i < first.aux; ++i) {
    const int64_t numel = listed(first, i)->numel;
    if (numel > program.grain) {
      tile::run(program, large.at(i));
    } else {
      small.emplace_back(total, i);
      total += numel;
    }
  }
  parallel_for(total, program.grain, [&](int64_t begin, int64_t end) {
    PlaceCall place(call);
    auto at = std::lower_bound(small.begin(), small.end(), std::pair<int64_t, size_t>(begin, 0));
    for (; at != small.end() && at->first < end; ++at) tile::run(program, place.at(at->second));
  });
}

bp_code run_lists(void* self, const bp_call* call) {
  const auto& kernel = *static_cast<const Pointwise*>(self);
  const tile::Program* program = kernel.program_for(*call, listed(call->args[0], 0)->dtype);
  if (program == nullptr) return fail(BP_UNSUPPORTED, "cpu: a dtype that this operator lacks");
  return guarded("cpu: lists", [&] {
    run_all(*program, *call);
    return bp_code{BP_OK};
  });
}

constexpr bp_dtype_set floats = 1u << BP_F16 | 1u << BP_BF16 | 1u << BP_F32 | 1u << BP_F64;

// Of "add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor": 3.
uint32_t num_arguments(std::string_view schema) {
  const std::string_view inside = schema.substr(0, schema.find(") ->"));
  const bool has_star = inside.find(", *,") != inside.npos;
  return static_cast<uint32_t>(std::count(inside.begin(), inside.end(), ',') + 1 - has_star);
}

void add_list_row(const bp_operator& op, const bp_operator& of_a_place, ExpressionKernels& list) {
  auto kernel = std::make_unique<Pointwise>();
  const bp_dtype_set dtypes = kernel->compile(of_a_place, op.dtypes & floats);
  if (dtypes == 0) return;
  const tile::Signature& signature = kernel->signature();
  if (signature.num_args != num_arguments(op.schema)) return;
  std::vector<bp_arg> places(signature.num_args);
  for (uint32_t i = 0; i < signature.num_args; ++i) {
    if (!signature.is_tensor[i]) continue;
    places[i] = strided_place(dtypes);
    places[i].scalar_ok = 1;
  }
  const bool gives_results = !std::string_view(op.name).ends_with('_');
  if (gives_results) places.push_back(strided_place(dtypes));
  list.add(op, std::move(places), run_lists, BP_KERNEL_DETERMINISTIC | BP_KERNEL_IN_PLACE_SAFE,
           std::move(kernel));
}

Status zero(Stream, InList self) {
  parallel_for(static_cast<int64_t>(self.size()), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const In each = self[static_cast<size_t>(i)];
      std::memset(address(each.abi()), 0, static_cast<size_t>(each.numel() * each.itemsize()));
    }
  });
  return ok;
}

const bp_operator* find_expression(const bp_host& host, std::string_view name) {
  for (uint32_t i = 0; const bp_operator* op = host.operator_at(&host, i); ++i) {
    if (op->kind == BP_KIND_POINTWISE && op->num_nodes > 0 && op->name == name) return op;
  }
  return nullptr;
}

}  // namespace

void add_list_kernels(Kernels& k) {
  k.add<op::_foreach_zero_>(zero).dtypes(f16, bf16, f32, f64).layouts(contiguous).deterministic();
}

void add_list_expressions(const bp_host& host, ExpressionKernels& list) {
  for (uint32_t i = 0; const bp_operator* op = host.operator_at(&host, i); ++i) {
    if (!std::string_view(op->name).starts_with(prefix)) continue;
    const bp_operator* of_a_place = find_expression(host, row_of_a_place(op->name));
    if (of_a_place != nullptr) add_list_row(*op, *of_a_place, list);
  }
}

}  // namespace bp::cpu
