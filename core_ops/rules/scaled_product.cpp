// Products of 8-bit floats with scales: input [M, K], mat2 [K, N].
#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

constexpr DtypeSet eight_bit_floats = set_of(f8_e4m3fn, f8_e5m2);

void check_scale(const Call& call, std::uint32_t place, const Dims& of_each, const char* each) {
  const TensorImpl& scale = impl_arg(call, place);
  const char* const what = call.op.schema->arguments[place].name.c_str();
  BP_CHECK(dtype_of(scale) == f32, "{}: {} is {}; cast it to float32", call.op.name(), what,
           name(dtype_of(scale)));
  BP_CHECK(scale.abi.numel == 1 || shape_of(scale) == IntList(of_each),
           "{}: {} has shape {}; pass one number, or {}, one for each {}", call.op.name(), what,
           bp::to_string(shape_of(scale)), bp::to_string(IntList(of_each)), each);
}

void check_factors(const Call& call) {
  for (const std::uint32_t place : {0u, 1u}) {
    const TensorImpl& factor = impl_arg(call, place);
    const auto& what = call.op.schema->arguments[place].name;
    BP_CHECK(contains(eight_bit_floats, dtype_of(factor)),
             "{}: {} is {}; cast it to float8_e4m3fn or float8_e5m2", call.op.name(), what,
             name(dtype_of(factor)));
    BP_CHECK(factor.abi.dl.ndim == 2, "{}: {} has shape {}; pass a matrix", call.op.name(), what,
             bp::to_string(shape_of(factor)));
  }
  const IntList a = shape_of(impl_arg(call, 0)), b = shape_of(impl_arg(call, 1));
  BP_CHECK(a[1] == b[0],
           "{}: input of shape {} and mat2 of shape {} do not fit ({} against {}); make them equal",
           call.op.name(), bp::to_string(a), bp::to_string(b), a[1], b[0]);
}

void check_bias(const Call& call, std::int64_t columns) {
  if (is_none(call, 4)) return;
  const TensorImpl& bias = impl_arg(call, 4);
  BP_CHECK(is_floating(dtype_of(bias)), "{}: bias is {}; cast it to bfloat16", call.op.name(),
           name(dtype_of(bias)));
  BP_CHECK(shape_of(bias) == IntList(Dims{columns}),
           "{}: bias has shape {}; pass [{}], one number for each column", call.op.name(),
           bp::to_string(shape_of(bias)), columns);
}

}  // namespace

void scaled_mm(const Call& call, Inferred& out) {
  check_factors(call);
  const std::int64_t rows = impl_arg(call, 0).shape[0], columns = impl_arg(call, 1).shape[1];
  check_scale(call, 2, {rows, 1}, "row");
  check_scale(call, 3, {1, columns}, "column");
  check_bias(call, columns);
  if (!is_none(call, 5)) check_scale(call, 5, {1}, "result");
  const Dtype dtype = optional_dtype_arg(call, 6).value_or(dtype_of(impl_arg(call, 0)));
  BP_CHECK(is_floating(dtype) || contains(eight_bit_floats, dtype),
           "{}: out_dtype is {}; pass a floating one", call.op.name(), name(dtype));
  out.compute_dtype = dtype_of(impl_arg(call, 0));
  out.outputs[0] = {dtype, {rows, columns}};
}

}  // namespace bp::rules
