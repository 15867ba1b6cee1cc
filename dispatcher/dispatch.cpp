// From a boxed call to the ladder: layers, the operator's rule, devices, conversions.
#include <algorithm>
#include <bit>

#include <backplane/dispatcher/argument_check.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/frame.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/level.hpp>
#include <backplane/dispatcher/named.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>
#include <backplane/tensor/views.hpp>

#include "counter_slots.hpp"
#include "devices_differ.hpp"
#include "in_place.hpp"
#include "kernel_table.hpp"
#include "ladder.hpp"
#include "layer_table.hpp"

namespace bp {
namespace {

void count_view(Operator& op, const TensorImpl& result) {
  ThreadState& state = thread_state();
  if (state.uncounted_depth == 0)
    count_call(state, counter_slot(op, result.backend) + static_cast<std::uint32_t>(Rung::view));
}

std::uint64_t visible_layers(const Call& call) {
  const ThreadState& state = thread_state();
  std::uint64_t keys = state.included_layers;
  for_each_tensor(
      call, [&](std::uint32_t, const bp_tensor& tensor) { keys |= TensorImpl::of(&tensor)->keys; });
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (call.results[i].defined()) keys |= call.results[i].impl()->keys;
  return keys & ~state.excluded_layers;
}

void check_missing(const Call& call, const SchemaArgument& argument) {
  BP_CHECK(argument.optional || argument.type != ArgumentType::tensor,
           "{}: argument '{}' is an undefined tensor; give it a value first", call.op.name(),
           argument.name);
}

void check_list(const Call& call, const SchemaArgument& argument, const bp_value& value) {
  if (argument.holes) return;
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  for (std::uint32_t k = 0; k < value.aux; ++k)
    BP_CHECK(elements[k], "{}: tensor {} of '{}' is undefined; give it a value first",
             call.op.name(), k, argument.name);
}

void check_is_dtype(const Call& call, const SchemaArgument& argument, const bp_value& value) {
  BP_CHECK(value.u.i >= 0 && value.u.i < num_dtypes,
           "{}: '{}' is {}, which is not the number of a dtype; pass one of bp::Dtype",
           call.op.name(), argument.name, value.u.i);
}

// What every rule relies on: tensors are there, and dtypes are dtypes. Does the call draw from a generator, without
// that the numbers were taken already?
bool check_values(const Call& call) {
  bool draws = false;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    const bp_value& value = call.args[i];
    if (value.tag == BP_NONE) {
      check_missing(call, call.op.schema->arguments[i]);
      draws |= call.op.schema->arguments[i].type == ArgumentType::generator;
    }
    if (value.tag == BP_TENSOR_LIST) check_list(call, call.op.schema->arguments[i], value);
    if (value.tag == BP_DTYPE) check_is_dtype(call, call.op.schema->arguments[i], value);
    if (value.tag == BP_GENERATOR) draws |= Generator::of(value) != nullptr;
  }
  return draws;
}

// The one device of the call: of its tensors, or of its device argument, or the default.
Device device_of(const Call& call) {
  const bp_tensor* first = nullptr;
  std::uint32_t first_place = 0;
  for_each_tensor(call, [&](std::uint32_t place, const bp_tensor& tensor) {
    if (!first) {
      first = &tensor;
      first_place = place;
    } else if (tensor.device != first->device) {
      throw DevicesDiffer(
          fmt::format("{}: '{}' is on {} and '{}' is on {}; move one with to()", call.op.name(),
                      call.op.schema->arguments[first_place].name, device_name({first->device}),
                      call.op.schema->arguments[place].name, device_name({tensor.device})));
    }
  });
  if (first) return {first->device};
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == BP_DEVICE) return {static_cast<std::uint32_t>(call.args[i].u.i)};
  if (call.num_results && call.results[0].defined()) return call.results[0].device();
  return default_device();
}

bool is_argument(const Call& call, const Tensor& out) {
  bool found = false;
  for_each_tensor(
      call, [&](std::uint32_t, const bp_tensor& tensor) { found |= &tensor == &out.impl()->abi; });
  return found;
}

// An output without elements becomes what the result needs, unless it is written in place.
bool takes_shape(const Call& call, const Tensor& out, IntList shape) {
  return out.numel() == 0 && !is_argument(call, out) && resize_empty_tensor(out, shape);
}

}  // namespace

void check_output_dtype(const Operator& op, Dtype result, Dtype output) {
  const bool is_part = op.complex_gives_real && is_complex(output) && !is_complex(result);
  BP_CHECK(!is_part && can_cast(result, output),
           "{}: the result is {} and cannot be written to an output of {}; cast it yourself",
           op.name(), name(result), name(output));
}

namespace {

void check_given_results(const Call& call, const Inferred& inferred, Device device) {
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    const Tensor& out = call.results[i];
    if (!out.defined()) continue;
    BP_CHECK(out.device() == device,
             "{}: the output is on {} and the arguments are on {}; move one "
             "with to()",
             call.op.name(), device_name(out.device()), device_name(device));
    if (call.op.flags & BP_OP_SHAPE_DATA) continue;
    const OutputSpec& spec = inferred.outputs[i];
    check_output_dtype(call.op, spec.dtype, out.dtype());
    BP_CHECK(out.shape() == IntList(spec.shape) || takes_shape(call, out, spec.shape),
             "{}: the output has shape {}, the result has {}; give one of that shape",
             call.op.name(), to_string(out.shape()), to_string(spec.shape));
    BP_CHECK(
        !has_internal_overlap(*out.impl()),
        "{}: several elements of the output share one place in memory (strides {}); write to a "
        "copy of it",
        call.op.name(), to_string(out.strides()));
  }
}

// Row by row, or in the order of the source's elements if nothing lies between them: as one run each, where a row-major copy of a
// transposed matrix would go through memory in large strides.
Tensor cast_for_call(const Tensor& source, Dtype dtype) {
  const std::uint32_t flags = source.impl()->abi.flags;
  const bool keeps_order =
      (flags & BP_LAYOUT_DENSE) && !(flags & BP_LAYOUT_CONTIGUOUS) && source.impl()->abi.space == 0;
  if (!keeps_order) {
    Tensor target = empty_tensor(source.shape(), dtype, source.device());
    copy_into(target, source);
    return target;
  }
  Tensor target = empty_strided_tensor(source.shape(), source.strides(), dtype, source.device());
  const auto as_run = [](const Tensor& tensor) {
    return views::as_strided(tensor, {tensor.numel()}, {1}, tensor.storage_offset());
  };
  copy_into(as_run(target), as_run(source));
  return target;
}

// Casts what takes part in promotion, and expands to the common shape.
void convert_inputs(const Call& call, const Inferred& inferred, Temporaries& temporaries) {
  if (!inferred.converts && !inferred.broadcasts) return;
  const IntList shape = inferred.outputs[0].shape;
  rewrite_tensors(call, temporaries, [&](std::uint32_t place, const bp_tensor* tensor) {
    const TensorImpl& impl = *TensorImpl::of(tensor);
    const bool casts = inferred.converts && (call.op.promoted >> place & 1u) &&
                       tensor->dtype != index(inferred.compute_dtype);
    const IntList own{impl.shape, static_cast<std::size_t>(tensor->dl.ndim)};
    const bool expands = inferred.broadcasts && !(own == shape);
    if (!casts && !expands) return tensor;
    Tensor converted = tensor_of(tensor);
    if (casts) {
      UncountedScope uncounted;
      converted = cast_for_call(converted, inferred.compute_dtype);
    }
    if (expands) converted = views::expand(converted, shape);
    return temporaries.keep(std::move(converted));
  });
}

bool all_results_empty(const Call& call, const Inferred& inferred) {
  if ((call.op.flags & BP_OP_SHAPE_DATA) || call.num_results == 0) return false;
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    bool empty = false;
    for (std::int64_t size : IntList(inferred.outputs[i].shape)) empty |= size == 0;
    if (!empty) return false;
  }
  return true;
}

void allocate_all(const Call& call, const Inferred& inferred, Device device) {
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (!call.results[i].defined())
      call.results[i] = empty_tensor(inferred.outputs[i].shape, inferred.outputs[i].dtype, device);
}

// The memory of all that this call is about; what is made on the way belongs to the stream itself.
void note_uses(const Call& call, StreamImpl& stream) {
  for_each_tensor(call, [&](std::uint32_t, const bp_tensor& tensor) {
    note_use(*TensorImpl::of(&tensor), stream);
  });
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    if (call.results[i].defined()) note_use(*call.results[i].impl(), stream);
}

void fill_result(const Call& call, const Inferred& inferred, Device device) {
  allocate_all(call, inferred, device);
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    const Tensor& out = call.results[i];
    if (out.numel() == 0) continue;
    copy_into(out,
              views::expand(scalar_tensor(inferred.fill_value, out.dtype(), device), out.shape()));
  }
}

void make_view_results(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    BP_CHECK(!call.results[i].defined(), "{}: a view cannot be written to an output; use copy_into",
             call.op.name());
  if (call.op.views)
    call.op.views(call);
  else
    call.results[0] = call.op.view(call);
  count_view(call.op, *call.results[0].impl());
}

void execute(const Call& call) {
  Inferred inferred(call.num_results);
  call.op.infer(call, inferred);
  if (inferred.decomposes) return run_decomposition(call.op, call);
  const Device device = device_of(call);
  check_given_results(call, inferred, device);
  if (device == meta_device) return allocate_all(call, inferred, device);
  if (all_results_empty(call, inferred)) return allocate_all(call, inferred, device);
  if (inferred.fills) return fill_result(call, inferred, device);
  DeviceRecord& record = device_record(device);
  Temporaries temporaries;
  convert_inputs(call, inferred, temporaries);
  Frame frame{call, inferred, record, current_stream_impl(record), temporaries};
  if (!record.synchronous) note_uses(call, frame.stream);
  climb(frame);
  if (call.op.check && record.synchronous && !is_capturing()) {
    UncountedScope uncounted;
    call.op.check(call);
  }
}

// A composite row is its decomposition, and layers see the operators inside, unless it has a
// derivative of its own.
bool decomposes_above_layers(const Operator& op) {
  return op.kind == BP_KIND_COMPOSITE && op.decompose && !op.infer && !op.has_gradient;
}

// A layer that has a handler of its own for such a row takes it whole: vmap, where no decomposition serves a batch, and
// autocast, whose rule is the row's. Asks those of `layers`.
bool is_taken_whole(const Call& call, std::uint64_t layers) {
  const ThreadState& state = thread_state();
  if (!(state.levels || state.included_layers)) return false;
  std::uint64_t keys = visible_layers(call) & layers;
  for (std::uint64_t left = keys; left; left &= left - 1) {
    const auto layer = static_cast<unsigned>(std::countr_zero(left));
    if (!call.op.layer_handlers[layer].load(std::memory_order_acquire)) keys &= ~(1ull << layer);
  }
  return keys && handle_by_layer(keys, call);
}

// Of the results, or where data decide their shapes, of the tensors among the arguments.
std::uint64_t num_elements(const Call& call, const Inferred& inferred) {
  std::uint64_t count = 0;
  if (call.op.flags & BP_OP_SHAPE_DATA) {
    for_each_tensor(call, [&](std::uint32_t, const bp_tensor& tensor) {
      count += static_cast<std::uint64_t>(tensor.numel);
    });
    return count;
  }
  for (std::uint32_t i = 0; i < call.num_results; ++i)
    count += static_cast<std::uint64_t>(checked_numel(call.op.name(), inferred.outputs[i].shape));
  return count;
}

// Takes the numbers before layers and rungs see the call, so that whatever runs it, once or again, draws the same: a
// step of the generator, four 32-bit numbers, for each element.
void dispatch_drawing(const Call& call) {
  std::vector<bp_value> args(call.args, call.args + call.num_args);
  Inferred inferred(call.num_results);
  call.op.infer({call.op, args.data(), call.num_args, call.results, call.num_results}, inferred);
  std::copy_n(call.args, call.num_args, args.begin());  // as they were before the rule
  const Device device = device_of(call);
  const std::uint64_t num_steps = std::max<std::uint64_t>(num_elements(call, inferred), 1);
  std::vector<bp_generator> taken;
  taken.reserve(call.num_args);
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.op.schema->arguments[i].type != ArgumentType::generator) continue;
    Generator* given = Generator::of(args[i]);
    if (args[i].tag == BP_GENERATOR && !given) continue;
    const PhiloxState state = draw_from(given, device, 4 * num_steps);
    args[i] = {};
    args[i].tag = BP_GENERATOR;
    args[i].u.ptr = &taken.emplace_back(
        bp_generator{{sizeof(bp_generator), BP_TYPE_GENERATOR, nullptr}, state.seed, state.offset});
  }
  dispatch({call.op, args.data(), call.num_args, call.results, call.num_results});
}

void check_defined(const Operator& op, const Tensor& out) {
  BP_CHECK(out.defined(),
           "{}: the output is an undefined tensor; make one with empty(), or call the form "
           "that returns its result",
           op.name());
}

}  // namespace

void dispatch_below_layers(const Call& call) {
  if (call.op.is_view()) return make_view_results(call);
  if (!call.op.infer) return run_decomposition(call.op, call);
  execute(call);
}

Tensor call_view(Operator& op, bp_value* args, std::uint32_t num_args) {
  const ThreadState& state = thread_state();
  const bool plain =
      args[0].tag == BP_TENSOR &&
      !((state.included_layers | TensorImpl::of(args[0].u.tensor)->keys) & ~state.excluded_layers);
  if (!plain) [[unlikely]]
    return call_one(op, args, num_args);
  Tensor result = op.view(Call{op, args, num_args, nullptr, 0});
  count_view(op, *result.impl());
  return result;
}

void call_one_into(Operator& op, bp_value* args, std::uint32_t num_args, const Tensor& out) {
  check_defined(op, out);
  Tensor result = out;
  const bool is_in_place =
      num_args != 0 && args[0].tag == BP_TENSOR && args[0].u.tensor == &out.impl()->abi;
  try {
    dispatch(Call{op, args, num_args, &result, 1});
  } catch (...) {
    if (is_in_place) rethrow_in_place(op.name());
    throw;
  }
}

void call_many_into(Operator& op, bp_value* args, std::uint32_t num_args, Tensor* results,
                    std::uint32_t num_results) {
  const std::uint32_t wanted = num_results_of(op, args, num_args);
  BP_CHECK(num_results == wanted,
           "{}: {} outputs are given and there are {} results; give one for each", op.name(),
           num_results, wanted);
  for (std::uint32_t i = 0; i < num_results; ++i) check_defined(op, results[i]);
  dispatch(Call{op, args, num_args, results, num_results});
}

std::uint32_t num_results_of(Operator& op, bp_value* args, std::uint32_t num_args) {
  if (!op.registered.load(std::memory_order_acquire)) ensure_operators();
  const auto num_declared = static_cast<std::uint32_t>(op.schema->returns.size());
  if (!op.count) return num_declared;
  return named(op.name(), [&] {
    const Call call{op, args, num_args, nullptr, 0};
    check_values(call);
    return num_declared - 1 + op.count(call);
  });
}

std::vector<Tensor> call_all(Operator& op, bp_value* args, std::uint32_t num_args) {
  std::vector<Tensor> results(num_results_of(op, args, num_args));
  dispatch(Call{op, args, num_args, results.data(), static_cast<std::uint32_t>(results.size())});
  return results;
}

namespace {

void dispatch_named(const Call& call) {
  const bool draws = check_values(call);
  if (decomposes_above_layers(call.op)) {
    if (is_taken_whole(call, leveled_layers | key_of(Layer::autocast))) return;
    check_written_by_layers(call);
    return run_decomposition(call.op, call);
  }
  if (draws && call.op.infer) [[unlikely]] {
    // The rule that says how many numbers sees the arguments as autocast leaves them.
    if (is_taken_whole(call, key_of(Layer::autocast))) return;
    return dispatch_drawing(call);
  }
  const std::uint64_t keys = visible_layers(call);
  if (keys) [[unlikely]] {
    if (handle_by_layer(keys, call)) return;
  }
  dispatch_below_layers(call);
}

}  // namespace

void dispatch(const Call& call) {
  // A process may begin with a call of no device: on meta, or a wrong one.
  if (!call.op.registered.load(std::memory_order_acquire)) [[unlikely]]
    ensure_operators();
  // A list without elements, such as unbind of a dimension without any.
  if (call.num_results == 0 && !call.op.schema->returns.empty()) [[unlikely]]
    return;
  try {
    dispatch_named(call);
  } catch (const DevicesDiffer&) {
    device_of(call);  // throws it of this operator's arguments
    rethrow_named(call.op.name());
  } catch (...) {
    rethrow_named(call.op.name());
  }
}

}  // namespace bp
