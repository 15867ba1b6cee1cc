// The rules of core_ops/batch.hpp, applied to one call.
#include <algorithm>

#include <backplane/core_ops/batch.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/decomposition.hpp>
#include <backplane/tensor/check.hpp>

#include "batched.hpp"

namespace bp::functional {
namespace {

bool has_bit(std::uint32_t mask, std::uint32_t place) {
  return mask >> place & 1u;
}

// [batch, shape...] for each result that one element's call gives.
std::vector<Tensor> reshaped(BatchedCall& call, std::vector<Tensor> wholes,
                             const std::vector<Tensor>& elements) {
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    Dims shape(elements[i].shape());
    shape.insert(0, call.size());
    wholes[i] = reshape(wholes[i], shape);
  }
  return wholes;
}

// ---- pointwise ----------------------------------------------------------------------------------

// Promotion tells tensors without dimensions from others, and a batch of them has one: so what takes part in it is cast
// as an element would be.
void cast_as_one_element(BatchedCall& call) {
  const Operator& op = call.call().op;
  if (!op.infer || !op.promoted) return;
  std::vector<bp_value> args =
      call.arguments([](const Operand& each) { return each.shape_alone(); });
  Inferred inferred;
  op.infer({call.call().op, args.data(), call.call().num_args, nullptr, 1}, inferred);
  if (!inferred.converts) return;
  for (Operand& operand : call.operands())
    if (has_bit(op.promoted, operand.place) && operand.tensor.dtype() != inferred.compute_dtype)
      operand.tensor = cast(operand.tensor, inferred.compute_dtype);
}

std::vector<Tensor> run_pointwise(BatchedCall& call) {
  cast_as_one_element(call);
  std::int64_t rank = 0;
  for (const Operand& operand : call.operands())
    if (operand.tensor.defined()) rank = std::max(rank, operand.ndim());
  for (Operand& operand : call.operands())
    if (operand.batched) operand.tensor = with_rank(operand.tensor, rank + 1, 1);
  return call.run();
}

// ---- lead ---------------------------------------------------------------------------------------

// Tensors of size [0] join with any: cat leaves them out.
bool is_left_out(const BatchedCall& call, const Operand& operand) {
  const std::uint32_t tag = call.call().args[operand.place].tag;
  return tag == BP_TENSOR_LIST && operand.ndim() == 1 && operand.tensor.numel() == 0;
}

// The rank of the elements that lead. One without dimensions gets one, so that dimensions can be named.
std::int64_t let_lead(BatchedCall& call, const BatchRule& rule, std::int64_t least_rank) {
  std::int64_t rank = least_rank;
  for (Operand& operand : call.operands()) {
    if (!operand.tensor.defined() || !has_bit(rule.args, operand.place)) continue;
    if (is_left_out(call, operand)) {
      if (operand.batched)
        operand.tensor = empty({0}, operand.tensor.dtype(), operand.tensor.device());
      continue;
    }
    rank = std::max(rank, operand.ndim());
    if (!operand.batched) operand.tensor = repeated(operand.tensor, call.size());
    operand.tensor = with_rank(operand.tensor, least_rank + 1, 1);
  }
  return rank;
}

std::vector<std::int64_t> from_one(std::int64_t rank) {
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 1; dim <= rank; ++dim) dims.push_back(dim);
  return dims;
}

std::int64_t shifted(std::int64_t dim) {
  return dim < 0 ? dim : dim + 1;
}

std::vector<std::int64_t> list_of(const bp_value& value) {
  auto* begin = static_cast<const std::int64_t*>(value.u.ptr);
  return {begin, begin + value.aux};
}

// No dimension is named: a list means all of them, a number that they are taken as one.
void name_all(BatchedCall& call, const BatchRule& rule, std::uint32_t place, std::int64_t rank) {
  if (call.call().op.schema->arguments[place].type == ArgumentType::integer_list)
    return call.set_list(place, from_one(rank));
  for (Operand& operand : call.operands())
    if (has_bit(rule.args, operand.place)) operand.tensor = flatten(operand.tensor, 1);
  call.value(place) = value_of(std::int64_t{1});
}

void shift_dims(BatchedCall& call, const BatchRule& rule, std::int64_t rank) {
  for (std::uint32_t place = 0; place < call.call().num_args; ++place) {
    if (!has_bit(rule.dims | rule.order, place)) continue;
    bp_value& value = call.value(place);
    const bool of_none = value.tag == BP_INT_LIST && value.aux == 0;
    if (value.tag == BP_NONE || (of_none && call.call().op.kind == BP_KIND_REDUCTION)) {
      name_all(call, rule, place, rank);
    } else if (value.tag == BP_INT) {
      value.u.i = shifted(value.u.i);
    } else if (value.tag == BP_INT_LIST) {
      std::vector<std::int64_t> dims = list_of(value);
      for (std::int64_t& dim : dims) dim = shifted(dim);
      if (has_bit(rule.order, place)) dims.insert(dims.begin(), 0);
      call.set_list(place, std::move(dims));
    }
  }
}

void lead_sizes(BatchedCall& call, const BatchRule& rule, const Tensor& element) {
  for (std::uint32_t place = 0; place < call.call().num_args; ++place) {
    if (!has_bit(rule.sizes, place)) continue;
    std::vector<std::int64_t> sizes(element.shape().begin(), element.shape().end());
    sizes.insert(sizes.begin(), call.size());
    call.set_list(place, std::move(sizes));
  }
}

bool is_without_dims(BatchedCall& call, const BatchRule& rule) {
  return std::any_of(call.operands().begin(), call.operands().end(), [&](const Operand& operand) {
    return operand.tensor.defined() && has_bit(rule.args, operand.place) && operand.ndim() == 0;
  });
}

// Does a number that is left out name all dimensions? They are taken as one then.
bool takes_all_as_one(BatchedCall& call, const BatchRule& rule) {
  for (std::uint32_t place = 0; place < call.call().num_args; ++place)
    if (has_bit(rule.dims, place) && call.value(place).tag == BP_NONE &&
        call.call().op.schema->arguments[place].type != ArgumentType::integer_list)
      return true;
  return false;
}

std::vector<Tensor> run_lead(BatchedCall& call, const BatchRule& rule) {
  const bool adds_dims = rule.dims && is_without_dims(call, rule);
  const bool reshapes = adds_dims || takes_all_as_one(call, rule);
  std::vector<Tensor> elements;
  if (reshapes || rule.sizes) elements = call.shapes();
  const std::int64_t least_rank = rule.sizes ? elements[0].ndim() : adds_dims;
  const std::int64_t rank = let_lead(call, rule, least_rank);
  shift_dims(call, rule, rank);
  if (rule.sizes) lead_sizes(call, rule, elements[0]);
  return reshapes ? reshaped(call, call.run(), elements) : call.run();
}

// ---- fold ---------------------------------------------------------------------------------------

std::vector<Tensor> run_fold(BatchedCall& call, const BatchRule& rule) {
  for (Operand& operand : call.operands()) {
    if (!operand.tensor.defined() || !has_bit(rule.args, operand.place)) continue;
    if (!operand.batched) operand.tensor = repeated(operand.tensor, call.size());
    Dims shape(operand.tensor.shape());
    shape[1] *= shape[0];
    shape.erase(0);
    operand.tensor = reshape(operand.tensor, shape);
  }
  for (std::uint32_t place = 0; place < call.call().num_args; ++place) {
    if (!has_bit(rule.sizes, place)) continue;
    std::vector<std::int64_t> sizes = list_of(call.value(place));
    if (!sizes.empty()) sizes[0] *= call.size();
    call.set_list(place, std::move(sizes));
  }
  std::vector<Tensor> wholes = call.run();
  for (Tensor& whole : wholes) {
    Dims shape(whole.shape());
    shape[0] /= call.size();
    shape.insert(0, call.size());
    whole = reshape(whole, shape);
  }
  return wholes;
}

// ---- products -----------------------------------------------------------------------------------

std::vector<Tensor> run_products(BatchedCall& call) {
  const std::vector<Tensor> elements = call.shapes();
  std::int64_t rank = 2;
  for (const Operand& operand : call.operands()) rank = std::max(rank, operand.ndim());
  for (Operand& operand : call.operands()) {
    if (operand.ndim() == 1)
      operand.tensor = unsqueeze(operand.tensor, operand.place == 0 ? -2 : -1);
    if (operand.batched) operand.tensor = with_rank(operand.tensor, rank + 1, 1);
  }
  return reshaped(call, call.run(), elements);
}

// ---- decompose and loop -------------------------------------------------------------------------

void decompose_element(const Call& call) {
  Inferred inferred(call.num_results);
  if (run_rule_and_decomposition(call, inferred)) return;
  const Device device{call.args[0].u.tensor->device};
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    call.results[i] =
        full(inferred.outputs[i].shape, inferred.fill_value, inferred.outputs[i].dtype, device);
}

// A decomposition at a level of its own must not let them join that one.
void let_written_join(BatchedCall& call) {
  for (Operand& operand : call.operands()) {
    if (!operand.tensor.defined() || operand.batched) continue;
    if (!has_bit(call.call().op.mutates, operand.place)) continue;
    operand.tensor = whole_to_write(call, operand.tensor);
    operand.batched = true;
  }
}

std::vector<Tensor> run_decomposed(BatchedCall& call) {
  const Call& outer = call.call();
  let_written_join(call);
  const NewTensorKeys inside(keys_inside(state_of(call.level())));
  const Level again(Layer::vmap, call.level().state(), Sees::all);
  std::vector<bp_value> args = call.arguments([&](const Operand& operand) {
    return operand.batched ? batched(again, operand.tensor) : operand.tensor;
  });
  std::vector<Tensor> results(outer.num_results);
  decompose_element({outer.op, args.data(), outer.num_args, results.data(), outer.num_results});
  for (Tensor& result : results) {
    const Tensor whole = whole_of(again, result);
    result = whole.defined() ? whole : repeated(result, 1);
  }
  return results;
}

void check_same_shape(const char* op, std::int64_t element, const Tensor& result,
                      const Tensor& first) {
  BP_CHECK(result.shape() == first.shape(),
           "{}: element {} of the batch gives a result of shape {} and element 0 one of {}; call "
           "it separately for each element",
           op, element, to_string(result.shape()), to_string(first.shape()));
}

std::vector<Tensor> run_for_each(BatchedCall& call) {
  const Call& outer = call.call();
  std::vector<std::vector<Tensor>> by_result(outer.num_results);
  for (std::int64_t i = 0; i < call.size(); ++i) {
    // A copy: strides, and a place in the storage, are those of a tensor of its own.
    std::vector<bp_value> args = call.arguments([&](const Operand& operand) {
      return operand.batched ? copy(select(operand.tensor, 0, i)) : operand.tensor;
    });
    const std::vector<Tensor> results = call_all(outer.op, args.data(), outer.num_args);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (i > 0) check_same_shape(outer.op.name(), i, results[k], by_result[k][0]);
      by_result[k].push_back(results[k]);
    }
  }
  std::vector<Tensor> wholes;
  for (const std::vector<Tensor>& each : by_result) wholes.push_back(stack(each));
  return wholes;
}

// ---- which of them ------------------------------------------------------------------------------

// A batch where the rule has no place for one: what the operator is made of has.
Batch rule_for(BatchedCall& call, const BatchRule* rule) {
  const Operator& op = call.call().op;
  const Batch otherwise = op.decompose ? Batch::decompose : Batch::loop;
  if (!rule) return otherwise;
  if (rule->how != Batch::lead && rule->how != Batch::fold) return rule->how;
  for (const Operand& operand : call.operands()) {
    const bool is_named = has_bit(rule->args, operand.place);
    if (operand.batched && !is_named) return otherwise;
    // Without a dimension to fold into: the row itself says what it takes.
    if (rule->how == Batch::fold && is_named && operand.tensor.defined() && operand.ndim() == 0)
      return otherwise;
  }
  return rule->how;
}

std::vector<Tensor> run_by_rule(BatchedCall& call) {
  const BatchRule* rule = find_batch_rule(call.call().op);
  switch (rule_for(call, rule)) {
    case Batch::pointwise: return run_pointwise(call);
    case Batch::lead: return run_lead(call, *rule);
    case Batch::fold: return run_fold(call, *rule);
    case Batch::products: return run_products(call);
    case Batch::decompose: return run_decomposed(call);
    case Batch::shared:
    case Batch::loop: break;
  }
  return run_for_each(call);
}

}  // namespace

void call_batched(const Call& call, const Level* level) {
  BatchedCall batched_call(call, *level);
  if (!batched_call.is_batched()) return batched_call.run_unbatched();
  const NewTensorKeys outside(state_of(*level).keys_outside);
  batched_call.deliver(run_by_rule(batched_call));
}

}  // namespace bp::functional
