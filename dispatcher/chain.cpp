// Joined operators: what their calls do.
#include <algorithm>
#include <utility>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/rung_policy.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>

#include "joined.hpp"
#include "kernel_table.hpp"
#include "ladder.hpp"
#include "living_chains.hpp"

namespace bp {
namespace {

using From = ChainInput::From;

void check_number(const Call& call, std::uint32_t place, Dtype dtype) {
  BP_CHECK(contains(dtypes_beside(call.args[place]), dtype),
           "{}: the number '{}' would change the dtype {} of the tensors; a chain computes in one "
           "dtype: cast first, or "
           "call the operators one by one",
           call.op.name(), call.op.schema->arguments[place].name, name(dtype));
}

void check_tensor(const Call& call, std::uint32_t place, Dtype wanted) {
  const Dtype own = static_cast<Dtype>(call.args[place].u.tensor->dtype);
  BP_CHECK(own == wanted,
           "{}: '{}' is {}, not {}; a chain computes in one dtype: cast first, or call the "
           "operators one by one",
           call.op.name(), call.op.schema->arguments[place].name, name(own), name(wanted));
}

void broadcast(const Call& call, Inferred& out) {
  Dims& shape = out.outputs[0].shape;
  bool is_first = true;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag != BP_TENSOR) continue;
    const TensorImpl& impl = *TensorImpl::of(call.args[i].u.tensor);
    const IntList own{impl.shape, static_cast<std::size_t>(impl.abi.dl.ndim)};
    if (std::exchange(is_first, false)) {
      shape = own;
    } else if (!(own == shape)) {
      shape = broadcast_shapes(call.op.name(), shape, own);
      out.broadcasts = true;
    }
  }
}

void infer_joined(const Call& call, Inferred& out) {
  const auto& joined = static_cast<const Joined&>(call.op);
  Dtype dtype = boolean;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (joined.arguments[i] != Holds::values) continue;
    dtype = static_cast<Dtype>(call.args[i].u.tensor->dtype);
    break;
  }
  BP_CHECK(contains(call.op.dtypes, dtype),
           "{}: its steps do not all compute in {} as they are; cast the tensors first, or call "
           "the operators one by one",
           call.op.name(), name(dtype));
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (joined.arguments[i] == Holds::number)
      check_number(call, i, dtype);
    else
      check_tensor(call, i, joined.arguments[i] == Holds::bools ? boolean : dtype);
  }
  broadcast(call, out);
  out.compute_dtype = dtype;
  out.outputs[0].dtype = joined.gives_bools ? boolean : dtype;
}

void run_steps(const Call& call) {
  const auto& joined = static_cast<const Joined&>(call.op);
  std::vector<Tensor> results(joined.steps.size());
  bp_value args[max_chain_arguments];
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ChainStep& step = joined.steps[i];
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      const ChainInput& input = step.inputs[k];
      args[k] = input.from == From::step     ? value_of(results[input.index])
                : input.from == From::number ? input.value.value()
                                             : call.args[input.index];
    }
    const auto num_args = static_cast<std::uint32_t>(step.inputs.size());
    if (i + 1 == results.size() && call.results[0].defined())
      call_pointwise_into(*step.op, args, num_args, call.results[0]);
    else
      results[i] = call_pointwise(*step.op, args, num_args);
    for (const ChainInput& input : step.inputs)
      if (input.from == From::step && joined.last_use[input.index] == i) results[input.index] = {};
  }
  if (!call.results[0].defined()) call.results[0] = std::move(results.back());
}

char letter_of(From from) {
  return from == From::argument ? 'a' : from == From::step ? 's' : 'v';
}

// The chain as text: equal for equal chains, and what the operator's name is made of.
std::string text_of(std::span<const ChainStep> steps) {
  std::string text;
  for (const ChainStep& step : steps) {
    text += fmt::format("{}(", step.op->name());
    for (const ChainInput& input : step.inputs) {
      if (input.from == From::number)
        text += fmt::format("n{}:{:a}:{},", input.value.value().tag, input.value.to_double(),
                            input.value.to_int());
      else
        text += fmt::format("{}{},", letter_of(input.from), input.index);
    }
    text += ")";
  }
  return text;
}

// "joined_mul_add_tanh_1f2e3d4c5b6a7988(Tensor a0, Scalar a1) -> Tensor"
std::string schema_of(const Joined& joined, const std::string& text) {
  constexpr std::size_t most_named = 6;
  std::string schema = "joined_";
  for (std::size_t i = 0; i < std::min(joined.steps.size(), most_named); ++i)
    schema += fmt::format("{}_", joined.steps[i].op->name());
  schema += fmt::format("{:016x}(", schema_hash(text));
  for (std::size_t i = 0; i < joined.arguments.size(); ++i)
    schema += fmt::format("{}{} a{}", i ? ", " : "",
                          joined.arguments[i] == Holds::number ? "Scalar" : "Tensor", i);
  return schema + ") -> Tensor";
}

// Has the device a kernel of its own or a generated one for the whole, that policies let it use?
bool has_one_kernel(const Operator& op, std::uint32_t backend, Dtype dtype) {
  const KernelTable* table = table_of(op, backend);
  if (!table || (table->num_native == 0 && generated_is_restricted())) return false;
  return table->entries[index(dtype)].run || has_kernel(op, backend, dtype);
}

// Would the steps compute in the dtype of the tensors as they are, unseen by layers?
bool goes_as_one(const Joined& joined, const bp_value* args, std::uint32_t num_args) {
  const ThreadState& state = thread_state();
  std::uint64_t keys = state.included_layers & ~capture_key;
  const TensorImpl* first = nullptr;
  for (std::uint32_t i = 0; i < num_args; ++i) {
    if ((args[i].tag == BP_TENSOR) == (joined.arguments[i] == Holds::number)) return false;
    if (args[i].tag != BP_TENSOR) continue;
    const TensorImpl* impl = TensorImpl::of(args[i].u.tensor);
    keys |= impl->keys;
    if (joined.arguments[i] == Holds::values && !first) first = impl;
  }
  if (!first || (keys & ~state.excluded_layers)) return false;
  const auto dtype = static_cast<Dtype>(first->abi.dtype);
  for (std::uint32_t i = 0; i < num_args; ++i) {
    const bool fits = joined.arguments[i] == Holds::number
                          ? contains(dtypes_beside(args[i]), dtype)
                          : args[i].u.tensor->dtype ==
                                index(joined.arguments[i] == Holds::bools ? boolean : dtype);
    if (!fits) return false;
  }
  return contains(joined.dtypes, dtype) && has_one_kernel(joined, first->backend, dtype);
}

// Has `other` the shape, or is it stretched to it?
bool covers(const TensorImpl& impl, const TensorImpl& other) {
  const std::int32_t num_more = impl.abi.dl.ndim - other.abi.dl.ndim;
  if (num_more < 0) return false;
  for (std::int32_t d = 0; d < other.abi.dl.ndim; ++d)
    if (other.shape[d] != impl.shape[d + num_more] && other.shape[d] != 1) return false;
  return true;
}

// The first spent argument that is what the result will be; num_args: none is.
std::uint32_t place_for_result(const Joined& joined, const bp_value* args, std::uint32_t num_args,
                               std::uint32_t spent) {
  for (std::uint32_t i = 0; i < num_args; ++i) {
    if (!(spent >> i & 1u) || joined.gives_bools || joined.arguments[i] != Holds::values) continue;
    const TensorImpl& impl = *TensorImpl::of(args[i].u.tensor);
    bool fits =
        (impl.abi.flags & BP_LAYOUT_CONTIGUOUS) && impl.abi.numel != 0 && impl.abi.space == 0;
    for (std::uint32_t k = 0; k < num_args && fits; ++k)
      fits = args[k].tag != BP_TENSOR || covers(impl, *TensorImpl::of(args[k].u.tensor));
    if (fits) return i;
  }
  return num_args;
}

std::unique_ptr<Joined> make_joined(std::span<const ChainStep> steps, const std::string& text) {
  std::unique_ptr<Joined> joined = join_expressions(steps);
  joined->infer = infer_joined;
  joined->decompose = run_steps;
  joined->text = schema_of(*joined, text);
  joined->schema_text = joined->text.c_str();
  for (const ChainStep& step : steps)
    if (step.op->joined) joined->inner.push_back(Chain::sharing(*step.op));
  return joined;
}

}  // namespace

Chain join(std::span<const ChainStep> steps) {
  ensure_operators();
  BP_CHECK(!steps.empty(), "join: no steps; give at least one");
  for (const ChainStep& step : steps)
    BP_CHECK(step.op && step.op->schema, "join: step {} has no registered operator; give one",
             &step - steps.data());
  return find_or_join(text_of(steps),
                      [&](const std::string& text) { return make_joined(steps, text); });
}

Tensor call_chain(const Chain& chain, bp_value* args, std::uint32_t num_args, std::uint32_t spent) {
  BP_CHECK(chain, "call_chain: the chain is empty; join one");
  auto& op = static_cast<Joined&>(*chain);
  const Joined& joined = op;
  Tensor result;
  if (!goes_as_one(joined, args, num_args)) {
    run_steps(Call{op, args, num_args, &result, 1});
    return result;
  }
  const std::uint32_t place = spent ? place_for_result(joined, args, num_args, spent) : num_args;
  if (place == num_args) return call_pointwise(op, args, num_args);
  result = tensor_of(args[place].u.tensor);
  call_pointwise_into(op, args, num_args, result);
  return result;
}

}  // namespace bp
