// Attention: query [b, h, l, e], key [b, g, s, e], value [b, g, s, v], mask [b, h, l, s].
#include <limits>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

// Where a row has its arguments.
struct Places {
  std::uint32_t query, key, value, mask;
};

void check_heads(const Call& call, const Places& at) {
  const TensorImpl& query = impl_arg(call, at.query);
  check_dtype(call.op, dtype_of(query));
  const IntList q = shape_of(query);
  for (const std::uint32_t place : {at.query, at.key, at.value}) {
    const TensorImpl& input = impl_arg(call, place);
    BP_CHECK(dtype_of(input) == dtype_of(query), "{}: query is {} and {} is {}; cast one of them",
             call.op.name(), name(dtype_of(query)), call.op.schema->arguments[place].name,
             name(dtype_of(input)));
    BP_CHECK(input.abi.dl.ndim == 4, "{}: {} has shape {}, which are {} dimensions; give 4",
             call.op.name(), call.op.schema->arguments[place].name, bp::to_string(shape_of(input)),
             input.abi.dl.ndim);
  }
  const IntList k = shape_of(impl_arg(call, at.key)), v = shape_of(impl_arg(call, at.value));
  BP_CHECK(q[3] == k[3],
           "{}: query of shape {} and key of shape {} do not fit ({} against {} in the last "
           "dimension); make them equal",
           call.op.name(), bp::to_string(q), bp::to_string(k), q[3], k[3]);
  BP_CHECK(k[0] == v[0] && k[1] == v[1] && k[2] == v[2],
           "{}: key of shape {} and value of shape {} do not fit; all but the last size must be "
           "equal",
           call.op.name(), bp::to_string(k), bp::to_string(v));
  BP_CHECK(q[0] == k[0] && (k[1] == 0 ? q[1] == 0 : q[1] % k[1] == 0),
           "{}: query of shape {} and key of shape {} do not fit; the batches must be equal, and "
           "query's heads a multiple of key's",
           call.op.name(), bp::to_string(q), bp::to_string(k));
}

void check_mask(const Call& call, const Places& at) {
  if (is_none(call, at.mask)) return;
  const TensorImpl& mask = impl_arg(call, at.mask);
  const Dtype dtype = dtype_of(impl_arg(call, at.query));
  const IntList q = shape_of(impl_arg(call, at.query)), k = shape_of(impl_arg(call, at.key));
  BP_CHECK(dtype_of(mask) == boolean || dtype_of(mask) == dtype,
           "{}: attn_mask is {} and query is {}; cast the mask to that or to bool", call.op.name(),
           name(dtype_of(mask)), name(dtype));
  const Dims scores{q[0], q[1], q[2], k[2]};
  BP_CHECK(shape_of(mask) == IntList(scores),
           "{}: attn_mask has shape {} and the scores have {}; expand it to that", call.op.name(),
           bp::to_string(shape_of(mask)), bp::to_string(scores));
}

}  // namespace

void attention(const Call& call, Inferred& out) {
  constexpr Places at{0, 1, 2, 3};
  check_heads(call, at);
  check_mask(call, at);
  const Dtype dtype = dtype_of(impl_arg(call, at.query));
  const IntList q = shape_of(impl_arg(call, at.query)), v = shape_of(impl_arg(call, at.value));
  out.compute_dtype = dtype;
  out.outputs[0] = {dtype, {q[0], q[1], q[2], v[3]}};
  out.outputs[1] = {dtype == f64 ? f64 : f32, {q[0], q[1], q[2]}};
  out.fills = v[2] == 0;  // no keys: as if all were masked, but for the sums
  out.fill_value = 0;
}

void attention_backward(const Call& call, Inferred& out) {
  constexpr Places at{2, 3, 4, 5};
  check_heads(call, at);
  check_mask(call, at);
  const Dtype dtype = dtype_of(impl_arg(call, at.query));
  const IntList q = shape_of(impl_arg(call, at.query)), v = shape_of(impl_arg(call, at.value));
  const Dims result{q[0], q[1], q[2], v[3]};
  for (const std::uint32_t place : {0u, 6u}) {
    const TensorImpl& input = impl_arg(call, place);
    BP_CHECK(
        dtype_of(input) == dtype && shape_of(input) == IntList(result),
        "{}: {} is {} of shape {}, where {} of shape {} is expected; give what native_attention "
        "returned",
        call.op.name(), call.op.schema->arguments[place].name, name(dtype_of(input)),
        bp::to_string(shape_of(input)), name(dtype), bp::to_string(result));
  }
  const Dtype sums_dtype = dtype == f64 ? f64 : f32;
  for (const std::uint32_t place : {1u, 7u}) {
    if (is_none(call, place)) continue;
    const TensorImpl& input = impl_arg(call, place);
    BP_CHECK(dtype_of(input) == sums_dtype && shape_of(input) == IntList(result.data(), 3),
             "{}: {} is {} of shape {}, where {} of shape {} is expected; give that of "
             "native_attention's logsumexp",
             call.op.name(), call.op.schema->arguments[place].name, name(dtype_of(input)),
             bp::to_string(shape_of(input)), name(sums_dtype), bp::to_string({result.data(), 3}));
  }
  out.compute_dtype = dtype;
  for (std::uint32_t i = 0; i < 3; ++i)
    out.outputs[i] = {dtype, shape_of(impl_arg(call, at.query + i))};
  out.fills = v[2] == 0 || q[2] == 0 || q[1] == 0;
  out.fill_value = 0;
}

}  // namespace bp::rules
